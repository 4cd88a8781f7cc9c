#!/usr/bin/env python3
"""Writes the beginning of speech after recordings of 3, 10 and 25 s, as the authors' package decodes it.

The environment is that of make_golden.py; golden/base/checkpoint is read. In context the package decodes the frames of
the recording and of the speech together, in windows of 300 frames with 25 of left context, and removes the recording.
`speech_F`: the first two frames of speech after F frames; the codes are those of code().
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Config
from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

HOP, SPOKEN = 1920, 2
BASE = pathlib.Path(__file__).resolve().parent / "golden" / "base"


def code(frame, book):
    return (frame * (2 * book + 7) + frame * frame // 5 + book) % 64


def main():
    torch.set_num_threads(1)
    with seeded.restored(BASE / "checkpoint") as folder:
        write(folder / "speech_tokenizer")


def write(folder):
    config = Qwen3TTSTokenizerV2Config.from_pretrained(folder)
    config._attn_implementation = "eager"
    model = Qwen3TTSTokenizerV2Model(config).eval()
    print(model.load_state_dict(load_file(folder / "model.safetensors")))
    decoder = model.decoder
    golden = {}
    for frames in (38, 125, 313):
        codes = torch.tensor([[[code(t, k) for t in range(frames + SPOKEN)] for k in range(6)]])
        # Only the last window of chunked_decode() contains speech; the earlier ones are removed.
        begin = frames // 300 * 300
        left = min(begin, 25)
        with torch.inference_mode():
            wav = decoder(codes[:, :, begin - left:])[0, 0, left * HOP:]
        speech = wav[(frames - begin) * HOP:]
        assert speech.numel() == SPOKEN * HOP
        golden[f"speech_{frames}"] = speech.clone()
        print(frames, "rms", speech.square().mean().sqrt().item(), flush=True)
        save_file(golden, BASE / "heard.safetensors")


if __name__ == "__main__":
    main()
