#!/usr/bin/env python3
"""Writes the results of the authors' text_normalize for texts with numbers, without a normaliser: golden/numbers.json.

    VENV/bin/pip install inflect==7.5.0
    VENV/bin/python make_numbers_golden.py --cosyvoice CosyVoice

The environment is that of make_golden.py (torch, transformers, regex and tiktoken suffice). CosyVoiceFrontEnd runs unchanged, with
the tokenizer of the small checkpoint and the package inflect. It does not need ONNX and Whisper for this.
"""
import argparse
import importlib.machinery
import json
import logging
import pathlib
import sys
import types

import inflect
import torch

HERE = pathlib.Path(__file__).resolve().parent
NUMBERS = ["0", "00", "007", "7", "13", "20", "45", "100", "101", "999", "1000", "1001", "1010", "1100", "1984", "2000", "12345", "100000",
           "1000000", "1000001", "1000100", "1234567", "123456789012", "1" + "0" * 35]
TEXTS = ["123 people", "in 1984", "$5.50", "1,234", "10:30 on 3/4/2024", "007, 2nd, 50%", "It is 5 o'clock. It is 17!",
         "3个苹果，2024年", "<|endofprompt|>12 apples.", "v2.0 of 2 parts " * 12]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cosyvoice", required=True)
    args = parser.parse_args()
    sys.path.insert(0, args.cosyvoice)
    for name in ("onnxruntime", "whisper", "whisper.tokenizer", "torchaudio", "torchaudio.compliance", "torchaudio.compliance.kaldi",
                 "cosyvoice.utils.file_utils"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules["torchaudio.compliance"].kaldi = sys.modules["torchaudio.compliance.kaldi"]
    sys.modules["whisper.tokenizer"].Tokenizer = None
    sys.modules["cosyvoice.utils.file_utils"].logging, sys.modules["cosyvoice.utils.file_utils"].load_wav = logging, None
    from cosyvoice.cli.frontend import CosyVoiceFrontEnd
    from cosyvoice.tokenizer.tokenizer import get_qwen_tokenizer
    frontend = CosyVoiceFrontEnd.__new__(CosyVoiceFrontEnd)
    frontend.tokenizer = get_qwen_tokenizer(str(HERE / "golden/checkpoint/CosyVoice-BlankEN"), skip_special_tokens=True)
    frontend.device, frontend.allowed_special, frontend.text_frontend = torch.device("cpu"), "all", ""
    frontend.inflect_parser = inflect.engine()
    golden = {"numbers": [[n, frontend.inflect_parser.number_to_words(n)] for n in NUMBERS],
              "texts": [dict(text=t, parts=frontend.text_normalize(t), whole=frontend.text_normalize(t, split=False)) for t in TEXTS]}
    lines = [json.dumps(golden["numbers"], ensure_ascii=False)] + [json.dumps(t, ensure_ascii=False) for t in golden["texts"]]
    (HERE / "golden/numbers.json").write_text('{"numbers": ' + lines[0] + ',\n"texts": [\n' + ",\n".join(lines[1:]) + "]}\n")


if __name__ == "__main__":
    main()
