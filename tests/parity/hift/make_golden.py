#!/usr/bin/env python3
"""Writes a small random HiFT vocoder, and the authors' samples for random mels with it.

    git clone https://github.com/FunAudioLLM/CosyVoice && git clone https://github.com/resemble-ai/chatterbox
    python3.11 -m venv VENV && VENV/bin/pip install torch==2.9.1 safetensors numpy scipy
    VENV/bin/python make_golden.py --cosyvoice CosyVoice --chatterbox chatterbox

The original runs in float64 on the CPU, so that its rounding (phases are sums of whole streams) has no effect. It gets
noise from a seed: all harmonics of a sample have the same number, times their part of the merging weights' direction. So
the weighted sum over the harmonics, divided by the length of the weights, is this number. The golden stores it.
"""
import argparse
import importlib.util
import pathlib
import sys
import types

import numpy as np
import torch
from safetensors.torch import save_file

MEL, CHANNELS, F0_CHANNELS = 12, 32, 16
LENGTHS = [1, 2, 21, 70]


def load(path, name, package=None):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    if package:
        module.__package__ = package
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stub(name, **members):
    module = types.ModuleType(name)
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[name] = module


def randomise(model, generator):
    """Gives filters a norm near 1, so that the signal neither vanishes nor grows. The pitch reaches ~400 Hz."""
    def normal(shape, scale=1.0):
        return torch.randn(shape, generator=generator) * scale

    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("original0"):
                value.copy_((0.3 if "conv_post" in name else 0.6) * (1 + 0.3 * normal(value.shape)))
            elif name.endswith("alpha"):
                value.copy_(0.5 + 1.5 * torch.rand(value.shape, generator=generator))
            elif name.endswith("bias"):
                value.copy_(normal(value.shape, 0.1))
            elif name.endswith("original1"):
                value.copy_(normal(value.shape))
            else:
                value.copy_(normal(value.shape, 1 / np.sqrt(value[0].numel())))
        model.m_source.l_linear.weight.mul_(6)
        model.f0_predictor.condnet[8].parametrizations.weight.original0.fill_(2.0)
        model.f0_predictor.classifier.weight.mul_(300)
        model.f0_predictor.classifier.bias.fill_(20.0)


def run(module, model, mel, noise, generator):
    """Returns the original's samples for the noise [samples], and its phases."""
    weight = model.m_source.l_linear.weight[0].detach()
    harmonics = (weight / weight.norm())[:, None] * noise.double()

    def randn_like(x):  # the sines' noise [1, harmonics, samples] or [1, samples, harmonics]; another draw is not used
        return (harmonics if x.shape[1] == len(weight) else harmonics.T)[None] if len(weight) in x.shape else x * 0

    phases = 2 * np.pi * (torch.rand(1, 9, 1, generator=generator, dtype=torch.float64) - 0.5)
    saved = torch.randn_like, module.Uniform.sample
    torch.randn_like = randn_like
    module.Uniform.sample = lambda self, sample_shape: phases.clone()
    try:
        samples, _ = model.inference(mel)
    finally:
        torch.randn_like, module.Uniform.sample = saved
    phases[:, 0] = 0
    return samples[0], phases.reshape(-1) / (2 * np.pi)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--cosyvoice", required=True)
    parser.add_argument("--chatterbox", required=True)
    parser.add_argument("--out", default=str(here / "golden"))
    args = parser.parse_args()
    sys.path.insert(0, args.cosyvoice)
    torch.set_num_threads(1)
    from cosyvoice.hifigan import f0_predictor, generator as cosyvoice
    chatterbox = load(f"{args.chatterbox}/src/chatterbox/models/s3gen/hifigan.py", "chatterbox_hifigan")
    sizes = dict(in_channels=MEL, base_channels=CHANNELS, sampling_rate=24000, upsample_rates=[8, 5, 3],
                 upsample_kernel_sizes=[16, 11, 7], source_resblock_kernel_sizes=[7, 7, 11],
                 source_resblock_dilation_sizes=[[1, 3, 5]] * 3)
    random = torch.Generator().manual_seed(3)
    models = {}
    for name, module in (("interpolated", cosyvoice), ("held", chatterbox)):
        models[name] = module.HiFTGenerator(
            f0_predictor=f0_predictor.ConvRNNF0Predictor(in_channels=MEL, cond_channels=F0_CHANNELS), **sizes).eval()
    randomise(models["interpolated"], random)
    sys.path.insert(0, str(here.parent))
    import seeded
    import thin
    seeds = seeded.Weights("hift")
    seeds.over(models["interpolated"], keep=("m_source", "f0_predictor"))
    models["held"].load_state_dict(models["interpolated"].state_dict())
    weights = {k: v.clone() for k, v in models["interpolated"].state_dict().items()}
    save_file(weights, f"{args.out}/model.safetensors")
    seeds.hollow(f"{args.out}/model.safetensors")

    mel = torch.randn(1, MEL, LENGTHS[-1], generator=random)
    noise = {f"{name}.{length}.noise": torch.randn(480 * length, generator=random)
             for name in models for length in LENGTHS}
    seeds = seeded.Weights("hift noise")
    seeds.over(noise)
    golden = {"mel": mel[0].T.contiguous(), **noise}
    for name, module in (("interpolated", cosyvoice), ("held", chatterbox)):
        model = models[name].double()
        model.stft_window = model.stft_window.double()
        for length in LENGTHS:
            key = f"{name}.{length}"
            samples, phases = run(module, model, mel[:, :, :length].double(), noise[key + ".noise"], random)
            assert samples.shape[0] == 480 * length
            golden[key + ".samples"] = samples.float()
            golden[key + ".phases"] = phases.float()
            print(key, "rms", samples.square().mean().sqrt().item(), "peak", samples.abs().max().item())
        f0 = model.f0_predictor(mel.double())[0]
        print("f0", f0.min().item(), f0.max().item(), "voiced", (f0 > 10).double().mean().item())
    save_file({k: v.detach().contiguous() for k, v in golden.items()}, f"{args.out}/golden.safetensors")
    thin.thin(pathlib.Path(args.out) / "golden.safetensors")
    seeds.hollow(f"{args.out}/golden.safetensors")


if __name__ == "__main__":
    main()
