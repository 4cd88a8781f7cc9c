"""Writes small SNAC checkpoints, and the samples that the authors' package decodes with them.

The package draws its noise from torch; here torch.randn is replaced by the counter-based numbers that
Syrinx uses, so that the samples can be compared. Needs snac (1.2.1), einops, torch (2.9.1) and
safetensors: python make_golden.py
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from snac import SNAC

sys.path.append(str(pathlib.Path(__file__).parent.parent))
import seeded  # noqa: E402
import thin  # noqa: E402
from philox import block_noise  # noqa: E402

OUT = pathlib.Path(__file__).parent / "golden"
SEED = 1234567890123

CONFIGS = {
    # The shape of the published 24 kHz model, but narrower; in a pickle, as published.
    "narrow": dict(sampling_rate=24000, encoder_dim=4, encoder_rates=[2, 4, 8, 8], decoder_dim=64,
                   decoder_rates=[8, 8, 4, 2], attn_window_size=None, codebook_size=64, codebook_dim=8,
                   vq_strides=[4, 2, 1], noise=True, depthwise=True),
    # Odd rates, dense convolutions, no noise; safetensors.
    "odd": dict(sampling_rate=16000, encoder_dim=8, encoder_rates=[2, 3], decoder_dim=32, decoder_rates=[3, 2],
                attn_window_size=None, codebook_size=16, codebook_dim=4, vq_strides=[2, 1], noise=False,
                depthwise=False),
}


def make(name, config):
    torch.manual_seed(len(name))
    model = SNAC(**config).eval()
    with torch.no_grad():
        for key, value in model.named_parameters():
            if key.endswith("alpha"):
                value.uniform_(0.5, 2.0)
            elif key.endswith("original0"):
                value.mul_(torch.empty_like(value).uniform_(0.7, 1.3))
    weights = seeded.Weights(f"snac {name}")
    weights.over(model)
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    decoding = {k: v for k, v in model.state_dict().items() if not k.startswith("encoder.")}
    decoding["encoder.block.0.bias"] = model.state_dict()["encoder.block.0.bias"]  # no other encoder tensors are needed
    if name == "narrow":
        file = folder / "pytorch_model.bin"
        torch.save(decoding, file)
    else:
        file = folder / "model.safetensors"
        save_file({k: v.contiguous() for k, v in decoding.items()}, file)
    weights.hollow(file)
    return model


def decode(model, codes):
    """Decodes codes [T, Q] of latent frames; the package expects one list for each quantizer."""
    split = [codes[:: s, q][None] for q, s in enumerate(model.vq_strides)]
    calls = iter(range(100))
    randn = torch.randn
    torch.randn = lambda shape, **kw: torch.from_numpy(block_noise(SEED, next(calls), shape[-1]))[None, None]
    with torch.no_grad():
        audio = model.decode(split)[0, 0]
    torch.randn = randn
    return audio


def main():
    for name, config in CONFIGS.items():
        model = make(name, config)
        stride, longest = config["vq_strides"][0], 20 if name == "narrow" else 60
        gen = torch.Generator().manual_seed(3)
        codes = torch.zeros(longest * stride, len(config["vq_strides"]), dtype=torch.int64)
        for q, s in enumerate(config["vq_strides"]):
            drawn = torch.randint(0, config["codebook_size"], (longest * stride // s,), generator=gen)
            codes[:, q] = drawn.repeat_interleave(s)
        out = {"codes": codes.int()}
        for frames in (1, 2, 4, 5, 6, longest):
            out[f"samples_{frames * stride}"] = decode(model, codes[: frames * stride]).contiguous()
        whole = out[f"samples_{longest * stride}"]
        print(name, "rms", float(whole.pow(2).mean().sqrt()), "peak", float(whole.abs().max()))
        save_file(out, OUT / name / "golden.safetensors")
        thin.thin(OUT / name / "golden.safetensors")


if __name__ == "__main__":
    main()
