#!/usr/bin/env python3
"""Writes the authors' results with make_golden.py's checkpoint in the default mode: the flow attends to everything.

    VENV/bin/python make_full_golden.py --chatterbox chatterbox

The environment is that of make_golden.py. `samples` belong to the first 24 greedy tokens of its case "samples".
`emotional` has the rows of the voice that generate(exaggeration=1.25) feeds to the language model.
"""
import argparse
import pathlib

import torch
from safetensors.torch import load_file, save_file

import make_golden as base

TOKENS = 24


def main():
    here = pathlib.Path(__file__).resolve().parent / "golden"
    parser = argparse.ArgumentParser()
    parser.add_argument("--chatterbox", required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    t3, flow, hift, hifigan = base.build(args.chatterbox)
    with base.seeded.restored(here / "checkpoint") as checkpoint:
        codec, model = (load_file(checkpoint / f"{name}.safetensors") for name in ("s3gen", "t3_cfg"))
    weights = {k: v.float() for k, v in codec.items()}
    of = lambda prefix: {k[len(prefix):]: v for k, v in weights.items() if k.startswith(prefix)}
    flow.load_state_dict(of("flow."))
    hift.load_state_dict(of("mel2wav."))
    t3.load_state_dict({k: v.float() for k, v in model.items()})
    flow.encoder.static_chunk_size = flow.decoder.estimator.static_chunk_size = 0
    hift.double()
    hift.stft_window = hift.stft_window.double()
    conds = torch.load(here / "checkpoint/conds.pt", weights_only=True)
    torch.manual_seed(0)
    fixed = torch.randn(1, 80, 15000)
    from chatterbox.models.t3.modules.cond_enc import T3Cond
    stored = load_file(here / "samples.safetensors")
    tokens = stored["tokens"].tolist()[:TOKENS]
    assert max(tokens) < 6561
    samples = base.speak(flow, hift, hifigan, conds["gen"], tokens, fixed)
    causal = stored["samples"][:samples.numel()]
    print(samples.shape, "causal mode differs by",
          ((causal - samples).square().mean() / samples.square().mean()).sqrt().item(), "of the RMS")
    conds["t3"]["emotion_adv"] = 1.25 * torch.ones(1, 1, 1)
    with torch.inference_mode():
        rows = t3.prepare_conditioning(T3Cond(**conds["t3"]))[0].clone()
    save_file({"samples": samples.contiguous(), "emotional": rows.contiguous()}, here / "full.safetensors")


if __name__ == "__main__":
    with torch.no_grad():
        main()
