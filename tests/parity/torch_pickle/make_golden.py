"""Writes the small PyTorch files that src/io/torch_pickle_test.cc reads.

Needs torch (2.9.1 was used). Run in any directory: python make_golden.py
"""
import collections
import pathlib

import torch

OUT = pathlib.Path(__file__).parent


def main():
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    tensors = collections.OrderedDict()
    tensors["plain"] = torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4
    tensors["transposed"] = base.t()
    tensors["part"] = base[1:3, 2:5]
    tensors["half"] = torch.tensor([0.5, -2.0], dtype=torch.float16)
    tensors["brain"] = torch.tensor([[1.5], [-3.0]], dtype=torch.bfloat16)
    tensors["ids"] = torch.tensor([7, -8], dtype=torch.int64)
    tensors["flags"] = torch.tensor([True, False])
    tensors["scalar"] = torch.tensor(2.5)
    tensors["none"] = torch.zeros(0, 3)
    tensors["parameter"] = torch.nn.Parameter(torch.tensor([9.0]))
    nested = {"state": tensors, "epoch": 3, "rate": 1e-4, "name": "tiny", "list": [torch.ones(2), None],
              "speakers": {5: {"embedding": torch.full((3,), 0.25)}}}
    torch.save(nested, OUT / "nested.pt")
    torch.save(torch.nn.Linear(2, 1).state_dict(), OUT / "state_dict.bin")
    torch.save({"w": torch.ones(2)}, OUT / "protocol4.pt", pickle_protocol=4)
    torch.save({"w": torch.ones(2), "f": torch.nn.functional.relu}, OUT / "function.pt")
    torch.save({"w": torch.ones(2)}, OUT / "legacy.pt", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main()
