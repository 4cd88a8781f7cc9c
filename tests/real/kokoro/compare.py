#!/usr/bin/env python3
"""Compares Syrinx with the authors' torch code and with onnxruntime on the trained weights of checkpoint.py.

    VENV/bin/pip install torch transformers==5.24.0 loguru attrs scipy safetensors onnxruntime
    VENV/bin/pip download --no-deps -d KOKORO kokoro==0.9.4 && unzip -d KOKORO KOKORO/*.whl
    VENV/bin/python compare.py --syrinx build/release/syrinx --checkpoint OUT --kokoro KOKORO [--weights f32]

Both get the ids that Syrinx reads. The authors' code gets Syrinx's noise; the ONNX graph has no noise. `rms` is that of the
difference over that of the samples. `dB` is the mean distance of the logarithms of their spectra (1024, hop 256, at most 60 dB
below the loudest). The table also compares the authors' own code in float32 and float64, because phases near half a turn may flip.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import types

import numpy as np
import torch
from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "parity"))
import philox  # noqa: E402

NOISE = 0x4B4B0001
TEXTS = ["Good morning, everyone.", "Yes.", "She sells sea shells by the sea shore."]  # each text is one utterance


def spectrum(samples):
    s = torch.stft(torch.as_tensor(samples, dtype=torch.float64), 1024, 256, window=torch.hann_window(1024).double(),
                   return_complex=True).abs()
    return 20 * torch.log10(torch.clamp(s, min=float(s.max()) / 1000))


def apart(a, b):
    n = min(len(a), len(b))
    a, b = np.asarray(a[:n], np.float64), np.asarray(b[:n], np.float64)
    return dict(rms=float(np.sqrt(((a - b) ** 2).mean() / (b ** 2).mean())),
                dB=float((spectrum(a) - spectrum(b)).abs().mean()))


def load_authors(root, checkpoint):
    package = types.ModuleType("kokoro")
    package.__path__ = [f"{root}/kokoro"]
    sys.modules["kokoro"] = package
    from loguru import logger
    logger.disable("kokoro")
    from kokoro.model import KModel
    return KModel(repo_id="hexgrad/Kokoro-82M", config=f"{checkpoint}/config.json",
                  model=f"{checkpoint}/kokoro-v1_0.pth").eval()


def speak(model, ids, style, seed):
    generator = model.decoder.generator
    source = generator.m_source
    kind = source.l_linear.weight.dtype
    generator.stft.window = generator.stft.window.to(kind)
    weight = source.l_linear.weight[0].detach()

    def randn_like(x):
        if x.shape[-1] == 1:
            return torch.zeros_like(x)
        rows = np.concatenate([philox.philox_normal(seed, f, NOISE, 300) for f in range(x.shape[1] // 300)])
        return (torch.from_numpy(rows).to(kind)[:, None] * weight / weight.norm())[None]

    saved, torch.randn_like = torch.randn_like, randn_like
    torch.set_default_dtype(kind)
    try:
        with torch.no_grad():
            audio, frames = model.forward_with_tokens(torch.tensor([ids]), style.to(kind), 1.0)
    finally:
        torch.randn_like = saved
        torch.set_default_dtype(torch.float32)
    return audio.reshape(-1).numpy(), frames.reshape(-1).tolist()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--syrinx", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--kokoro", required=True)
    parser.add_argument("--voice", default="jf_alpha")
    parser.add_argument("--weights", default="f32")
    args = parser.parse_args()
    torch.set_num_threads(2)
    import onnxruntime
    onnx = onnxruntime.InferenceSession(f"{args.checkpoint}/kokoro.int8.onnx")
    single = load_authors(args.kokoro, args.checkpoint)
    double = load_authors(args.kokoro, args.checkpoint).double()
    voice = torch.load(f"{args.checkpoint}/voices/{args.voice}.pt", weights_only=True)
    total = {}
    for number, text in enumerate(TEXTS):
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as dump:
            subprocess.run([args.syrinx, "trace", "--model", args.checkpoint, "--voice", args.voice, "--language", "en-us",
                            "--seed", str(number), "--weights", args.weights, "--text", text, "--dump", dump.name],
                           check=True, capture_output=True)
            got = load_file(dump.name)
        ids, samples = got["prompt_ids"].reshape(-1).tolist(), got["samples"].reshape(-1)
        style = voice[len(ids) - 3]
        exact, frames = speak(double, ids, style, number)
        theirs, frames_single = speak(single, ids, style, number)
        graph = onnx.run(None, {"tokens": np.array([ids]), "style": style.numpy(), "speed": np.ones(1, np.float32)})[0].reshape(-1)
        row = dict(text=text[:24], ids=len(ids), frames=len(samples) // 600, authors=sum(frames), single=sum(frames_single),
                   onnx=round(len(graph) / 600), syrinx_to_double=apart(samples, exact),
                   single_to_double=apart(theirs, exact), onnx_to_double=apart(graph, exact))
        print(json.dumps(row), flush=True)
        for name in ("syrinx_to_double", "single_to_double", "onnx_to_double"):
            for key, value in row[name].items():
                total.setdefault((name, key), []).append(value)
    print({f"{a} {b}": round(float(np.mean(v)), 4) for (a, b), v in total.items()})


if __name__ == "__main__":
    main()
