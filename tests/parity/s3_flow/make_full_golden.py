#!/usr/bin/env python3
"""Writes the authors' results with the flow of make_golden.py if attention includes the whole utterance.

    VENV/bin/python make_full_golden.py --cosyvoice CosyVoice --matcha Matcha-TTS --chatterbox chatterbox

The environment is that of make_golden.py, whose weights and inputs are read. `full.P.T`: CosyVoice2 with streaming=False and
Chatterbox unchanged (its chunk sizes are 0), which must agree. `odd.P.T`: Chatterbox, with one mel frame more in the prompt
than its tokens make, as after recordings that end within a token. The first frame of speech then belongs to the prompt, and
one frame less comes out.
"""
import argparse
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

import make_golden as base

FULL = [(0, 6), (7, 1), (7, 31), (18, 12)]
ODD = [(7, 12)]


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--cosyvoice", required=True)
    parser.add_argument("--matcha", required=True)
    parser.add_argument("--chatterbox", required=True)
    args = parser.parse_args()
    sys.path[:0] = [args.cosyvoice, args.matcha]
    base.stub("cosyvoice.utils.onnx", SpeechTokenExtractor=None, online_feature=False, onnx_path="")
    base.stub("matcha.utils.pylogger", get_pylogger=lambda name: None)
    base.stub("matcha.utils").__path__ = []
    torch.set_num_threads(1)
    flow, other = base.build_cosyvoice(), base.build_chatterbox(args.chatterbox)
    sys.path.insert(0, str(here.parent))
    import seeded
    with seeded.restored(here / "golden") as whole:
        weights, stored = (load_file(whole / f"{name}.safetensors") for name in ("model", "golden"))
    flow.load_state_dict(weights)
    other.load_state_dict(weights)
    other.encoder.static_chunk_size = other.decoder.estimator.static_chunk_size = 0
    torch.randn_like = lambda mu: flow.decoder.rand_noise[:, :, :mu.size(2)]
    golden = {}
    for kind, cases in (("full", FULL), ("odd", ODD)):
        for prompt, length in cases:
            frames = 2 * prompt + (kind == "odd")
            common = dict(
                token=stored["tokens"][None, :length], token_len=torch.tensor([length], dtype=torch.int32),
                prompt_token=stored["prompt_tokens"][None, :prompt],
                prompt_token_len=torch.tensor([prompt], dtype=torch.int32),
                prompt_feat=stored["prompt_mel"][None, :frames],
                prompt_feat_len=torch.tensor([frames], dtype=torch.int32), embedding=stored["speaker"][None])
            mel, _ = other.inference(finalize=True, **common)
            assert mel.shape == (1, 80, 2 * (prompt + length) - frames)
            worst = 0
            if kind == "full":
                same, _ = flow.inference(streaming=False, finalize=True, **common)
                worst = (same - mel).abs().max().item()
                assert worst < 1e-4, f"the two originals differ by {worst}"
            golden[f"{kind}.{prompt}.{length}"] = mel[0].T.contiguous()
            line = f"{kind} {prompt} + {length}: rms {mel.square().mean().sqrt().item():.3f}, originals differ by {worst:.1e}"
            if f"mel.{prompt}.{length}" in stored and kind == "full":
                causal = stored[f"mel.{prompt}.{length}"]
                line += f", causal mode by {((causal - mel[0].T).square().mean() / mel.square().mean()).sqrt():.2f} of the RMS"
            print(line)
    save_file(golden, here / "golden/full.safetensors")


if __name__ == "__main__":
    with torch.no_grad():
        main()
