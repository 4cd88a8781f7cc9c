#!/usr/bin/env python3
"""Writes a signal at other rates, resampled by the libraries of the families' authors.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 torchaudio==2.9.1 librosa==0.11.0 safetensors numpy
    VENV/bin/python make_golden.py

`hann.A.B` is torchaudio.transforms.Resample(A, B), `soxr.A.B` librosa.resample(orig_sr=A, target_sr=B). Prints the
distance of FFmpeg's own filter from them.
"""
import pathlib
import subprocess

import librosa
import numpy as np
import torch
import torchaudio
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent / "golden"
RATES = [(8000, 16000), (8000, 24000), (8000, 44100), (11025, 24000), (16000, 24000), (22050, 16000), (24000, 16000),
         (44100, 16000), (44100, 24000), (48000, 16000), (48000, 24000), (48000, 44100), (96000, 16000)]


def signal(count):
    """Returns a sweep through the whole band, harmonics and noise; the ends are not silent."""
    t = np.arange(count) / count
    x = 0.4 * np.cos(np.pi * 0.49 * count * t**2) + sum(0.3 / k * np.sin(40 * k * t + k) for k in range(1, 12))
    return (x + 0.02 * np.random.default_rng(7).standard_normal(count)).astype(np.float32)


def ffmpeg(x, a, b):
    out = subprocess.run(["ffmpeg", "-v", "error", "-f", "f32le", "-ar", str(a), "-ac", "1", "-i", "pipe:", "-af",
                          f"aresample={b}", "-f", "f32le", "pipe:"], input=x.tobytes(), capture_output=True, check=True)
    return np.frombuffer(out.stdout, np.float32)


def main():
    x = signal(1501)
    golden = {"signal": torch.from_numpy(x)}
    for a, b in RATES:
        golden[f"hann.{a}.{b}"] = torchaudio.transforms.Resample(a, b)(torch.from_numpy(x))
        golden[f"soxr.{a}.{b}"] = torch.from_numpy(librosa.resample(x, orig_sr=a, target_sr=b))
        y = ffmpeg(x, a, b)
        for kind in ("hann", "soxr"):
            want = golden[f"{kind}.{a}.{b}"].numpy()
            n = min(len(y), len(want))
            far = np.sqrt(np.mean((y[:n] - want[:n])**2) / np.mean(want**2))
            print(f"{kind} {a} to {b}: {len(want)} samples, FFmpeg's {len(y)}, {100 * far:.2f} % RMS apart")
    HERE.mkdir(exist_ok=True)
    save_file({k: v.contiguous() for k, v in golden.items()}, HERE / "golden.safetensors")


if __name__ == "__main__":
    main()
