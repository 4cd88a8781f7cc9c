#!/usr/bin/env python3
"""Writes two small random Mimi checkpoints, and the results of transformers' MimiModel with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==4.57.3 safetensors numpy
    VENV/bin/python make_golden.py [--out DIR]

Everything is float32 on the CPU with the eager attention, one thread. Layout and names are the published
ones (kyutai/mimi); only sizes are smaller.

Mimi was trained with attention over the last 250 positions (moshi's `context`), which its config states as well
(sliding_window). transformers 4.57.3 builds a plain causal mask for it, which is the same up to 250 positions (125
frames) and differs after them. So the goldens use transformers' own sliding-window mask. The script checks that both
masks give the same results up to 250 positions.
"""
import argparse
import json
import pathlib
import sys
import wave

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import MimiConfig, MimiModel, masking_utils
from transformers.models.mimi import modeling_mimi

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

WINDOW_FRAMES = 125  # 250 positions
PLAIN_MASK = modeling_mimi.create_causal_mask


def windowed(on):
    modeling_mimi.create_causal_mask = (
        masking_utils.create_sliding_window_causal_mask if on else PLAIN_MASK)


def randomise(model, seed, gain):
    """Sets random weights at scales where every part of the network affects its output."""
    gen = torch.Generator().manual_seed(seed)
    rand = lambda t, scale: t.copy_(torch.randn(t.shape, generator=gen) * scale)
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    with torch.no_grad():
        for name, p in sorted(state.items()):
            last = name.rsplit(".", 1)[-1]
            if last == "cluster_usage":
                p.copy_(0.5 + 3.5 * torch.rand(p.shape, generator=gen))
            elif last == "embed_sum":
                rand(p, 1.0)
            elif last == "scale":
                p.copy_(0.3 + 0.1 * torch.randn(p.shape, generator=gen))
            elif "layernorm" in name and last == "weight":
                p.copy_(1.0 + 0.2 * torch.randn(p.shape, generator=gen))
            elif last == "bias":
                rand(p, 0.2)
            elif last == "weight":
                fan_in = np.prod(p.shape[1:]) if "upsample" not in name else 2
                # Sharp attention, so that a wrong window or position has an effect.
                sharp = 2.5 if "q_proj" in name or "k_proj" in name else 1.0
                rand(p, sharp * gain / np.sqrt(fan_in))


def dead_entries(model):
    """Makes one entry of each codebook almost unused, so that the floor applies to it."""
    with torch.no_grad():
        for name, p in model.named_buffers():
            if name.endswith("cluster_usage"):
                p[3] = 0.0
            elif name.endswith("embed_sum"):
                p[3] *= 1e-5


def level(model):
    """Scales the last convolution so that random codes give samples of rms 0.2, centred."""
    config, last = model.config, model.decoder.layers[-1].conv
    gen = torch.Generator().manual_seed(3)
    codes = torch.randint(0, config.codebook_size, (1, config.num_quantizers, 60), generator=gen)
    with torch.no_grad():
        wav = model.decode(codes)[0]
        scale = 0.2 / wav.std()
        last.bias.sub_(wav.mean()).mul_(scale)
        last.weight.mul_(scale)


def random_model(config, seed):
    config._attn_implementation = "eager"
    model = MimiModel(config).eval()
    randomise(model, seed, 1.2)
    weights = seeded.Weights(seed)
    weights.over(model)
    dead_entries(model)
    level(model)
    return model, weights


def decode_goldens(model, keep, lengths):
    """Writes the samples of random codes decoded at once. All lengths are prefixes of one list of codes."""
    config, longest = model.config, max(lengths)
    gen = torch.Generator().manual_seed(7)
    codes = torch.randint(0, config.codebook_size, (1, config.num_quantizers, longest), generator=gen)
    codes[0, :, 5] = 3  # the dead codebook entries
    out = {"codes": codes[0].t().int().contiguous()}
    with torch.no_grad():
        for n in lengths:
            windowed(False)
            plain = model.decode(codes[..., :n])[0][0, 0]
            windowed(True)
            wav = model.decode(codes[..., :n])[0][0, 0]
            if n <= WINDOW_FRAMES:
                assert torch.equal(plain, wav)
            else:
                print("  window matters at", n, "frames:", float((plain - wav).abs().max()))
            out[f"tail_{n}"] = wav[-keep:].clone()  # the network is causal, so the ends depend on everything before
    print("  decode: peak", float(wav.abs().max()), "rms", float(wav.pow(2).mean().sqrt()))
    return out


def speech(path, samples):
    """Returns the first samples of a 16-bit WAV, at the model's rate instead of its own."""
    with wave.open(str(path)) as file:
        data = np.frombuffer(file.readframes(samples), dtype="<i2")
    return torch.from_numpy(data.astype(np.float32) / 32768)


def encode_goldens(model, lengths):
    """Writes codes of speech and of noise, and the smallest lead of a chosen centroid over the next one."""
    config = model.config
    here = pathlib.Path(__file__).parent
    gen = torch.Generator().manual_seed(11)
    longest = max(lengths)
    signals = {"speech": speech(here / "speech.wav", longest), "noise": torch.randn(longest, generator=gen) * 0.3}
    leads, quantize = [], modeling_mimi.MimiEuclideanCodebook.quantize

    def watched(self, hidden):
        best = torch.cdist(hidden[None], self.embed[None])[0].topk(2, largest=False).values
        leads.append(float(((best[:, 1] - best[:, 0]) / best[:, 1]).min()))
        return quantize(self, hidden)

    out = {}
    modeling_mimi.MimiEuclideanCodebook.quantize = watched
    windowed(True)
    with torch.no_grad():
        for name, signal in signals.items():
            for n in lengths:
                codes = model.encode(signal[None, None, :n]).audio_codes[0]
                out[f"{name}_{n}"] = codes.t().int().contiguous()
    modeling_mimi.MimiEuclideanCodebook.quantize = quantize
    out["noise"] = signals["noise"].clone()
    distinct = len(set(out[f"speech_{longest}"].flatten().tolist()))
    print("  encode: smallest lead", min(leads), "distinct codes", distinct)
    return out


SIZES = {
    # The published rates (1920 samples a frame) and codebooks, bf16 weights.
    "published_rates": dict(
        seed=5, dtype=torch.bfloat16, lengths=[1, 2, 124, 125, 126, 200], keep=3840,
        encode=[1, 1919, 1920, 1921, 30000],
        config=dict(hidden_size=32, num_filters=4, codebook_size=64, codebook_dim=16, upsample_groups=32,
                    vector_quantization_hidden_dimension=16, num_hidden_layers=4, intermediate_size=64,
                    num_attention_heads=4, num_key_value_heads=4, head_dim=8)),
    # Other rates, two residual layers, grouped heads, two semantic codebooks, f32 weights.
    "other_shapes": dict(
        seed=6, dtype=torch.float32, lengths=[1, 2, 124, 125, 126, 300], keep=28800, encode=[1, 47, 96, 97, 30000],
        config=dict(hidden_size=24, num_filters=6, codebook_size=32, codebook_dim=12, upsample_groups=24,
                    vector_quantization_hidden_dimension=12, num_hidden_layers=2, intermediate_size=40,
                    num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_residual_layers=2,
                    upsampling_ratios=[4, 3, 4], num_quantizers=6, num_semantic_quantizers=2, compress=3,
                    kernel_size=5, last_kernel_size=7)),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name, size in SIZES.items():
        print(name)
        folder = args.out / name
        folder.mkdir(parents=True, exist_ok=True)
        config = MimiConfig(**size["config"])
        model, made = random_model(config, size["seed"])
        weights = {k: v.to(size["dtype"]).contiguous() for k, v in model.state_dict().items()}
        model.load_state_dict(weights)  # the weights in the file's rounding
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        made.hollow(folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config.to_dict(), indent=1) + "\n")
        for layer in model.modules():
            if hasattr(layer, "_embed"):
                layer._embed = None
        save_file(decode_goldens(model, size["keep"], size["lengths"]), folder / "decode.safetensors")
        save_file(encode_goldens(model, size["encode"]), folder / "encode.safetensors")


if __name__ == "__main__":
    main()
