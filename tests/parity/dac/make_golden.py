"""Writes a small DAC checkpoint, and the samples that DacModel of transformers (4.57.3) decodes with it.

Run: python make_golden.py
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import DacConfig, DacModel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

OUT = pathlib.Path(__file__).parent / "golden"


def main():
    torch.manual_seed(4)
    torch.set_num_threads(1)
    config = DacConfig(encoder_hidden_size=2, downsampling_ratios=[2, 4, 8, 8], decoder_hidden_size=48, n_codebooks=9,
                       codebook_size=1024, codebook_dim=8, upsampling_ratios=[8, 8, 4, 2], sampling_rate=44100)
    model = DacModel(config).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("alpha"):
                value.uniform_(0.5, 2.0)
            elif value.dim() == 3 and name.startswith("decoder."):
                fan = value[0].numel() if "conv_t1" not in name else value.shape[0] * 2
                value.copy_(torch.randn_like(value) * (0.4 if "conv2" in name else 0.9) / fan**0.5)
            elif value.dim() == 3 and "out_proj" in name:
                value.copy_(torch.randn_like(value) * 0.1)
            elif "bias" in name:
                value.uniform_(-0.1, 0.1)
    weights = seeded.Weights(4)
    weights.over({k: v for k, v in model.named_parameters() if not k.startswith("encoder.")})
    folder = OUT / "checkpoint"
    model.save_pretrained(folder)
    kept = load_file(folder / "model.safetensors")
    save_file({k: v for k, v in kept.items() if not k.startswith("encoder.") or k == "encoder.conv1.bias"},
              folder / "model.safetensors", metadata={"format": "pt"})  # Syrinx does not read the encoder
    gen = torch.Generator().manual_seed(3)
    codes = torch.randint(0, 1024, (1, 9, 60), generator=gen)
    out = {"codes": codes[0].t().contiguous().int()}
    for frames in (1, 2, 10, 20, 21, 22, 60):
        with torch.no_grad():
            out[f"samples_{frames}"] = model.decode(audio_codes=codes[..., :frames]).audio_values[0].contiguous()
    whole = out["samples_60"]
    print("rms", float(whole.pow(2).mean().sqrt()), "peak", float(whole.abs().max()), whole.shape)
    save_file(out, OUT / "golden.safetensors")
    weights.hollow(folder / "model.safetensors")


if __name__ == "__main__":
    main()
