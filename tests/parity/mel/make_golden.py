#!/usr/bin/env python3
"""Writes a signal, and its mel spectrograms by the libraries that models were trained with.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.15.0 torchaudio==2.11.0 librosa==0.11.0 safetensors numpy
    VENV/bin/python make_golden.py

Every line of `variants` is one front end as the authors call it, in float64 where the library allows it.
"""
import pathlib

import librosa
import numpy as np
import torch

torch.version.cuda = None  # torchaudio refuses a torch built for another CUDA; only the CPU is used
import torchaudio
from safetensors.torch import save_file

torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent / "golden"
RATE = 16000


def signal(count):
    """Returns a sweep, a low hum of voice-like harmonics, noise, and a stretch of silence."""
    t = np.arange(count) / RATE
    x = 0.3 * np.sin(2 * np.pi * (100 * t + 0.5 * 7000 / t[-1] * t**2))
    x += sum(0.2 / k * np.sin(2 * np.pi * 120 * k * t + k) for k in range(1, 20)) * (np.sin(9 * t) > 0)
    x += 0.01 * np.random.default_rng(3).standard_normal(count)
    x[count // 2: count // 2 + 900] = 0
    return x.astype(np.float32)


def whisper(x, mels):
    stft = torch.stft(x, 400, 160, window=torch.hann_window(400, dtype=x.dtype), return_complex=True)
    bands = torch.from_numpy(librosa.filters.mel(sr=RATE, n_fft=400, n_mels=mels, dtype=np.float64))
    log = torch.clamp(bands @ stft[..., :-1].abs()**2, min=1e-10).log10()
    return (torch.maximum(log, log.max() - 8.0) + 4.0) / 4.0


def hifi_gan(x, rate, n_fft, hop, mels, high):
    pad = (n_fft - hop) // 2
    x = torch.nn.functional.pad(x[None, None], (pad, pad), mode="reflect")[0, 0]
    stft = torch.stft(x, n_fft, hop, window=torch.hann_window(n_fft, dtype=x.dtype), center=False, return_complex=True)
    spec = torch.sqrt(torch.view_as_real(stft).pow(2).sum(-1) + 1e-9)
    bands = torch.from_numpy(librosa.filters.mel(sr=rate, n_fft=n_fft, n_mels=mels, fmin=0, fmax=high, dtype=np.float64))
    return torch.log(torch.clamp(bands @ spec, min=1e-5))


def main():
    x = torch.from_numpy(signal(6400))
    d = x.double()
    mel = torchaudio.transforms.MelSpectrogram
    variants = {
        "whisper": whisper(d, 128).T,
        "kaldi": torchaudio.compliance.kaldi.fbank(d[None], num_mel_bins=80),
        "kaldi_hamming": torchaudio.compliance.kaldi.fbank(d[None], num_mel_bins=40, window_type="hamming", low_freq=0,
                                                           preemphasis_coefficient=0, remove_dc_offset=False),
        "hifi_gan": hifi_gan(d, 24000, 1920, 480, 80, 8000).T,
        "librosa": torch.from_numpy(librosa.feature.melspectrogram(
            y=d.numpy(), sr=RATE, n_fft=400, hop_length=160, n_mels=40, power=2.0, pad_mode="reflect",
            fmin=0, fmax=8000, dtype=np.float64)).T,
        # HTK bands, a short window in the middle of a longer frame, zeros at the ends, magnitudes, an offset.
        "htk": torch.log(mel(RATE, n_fft=512, win_length=400, hop_length=160, n_mels=80, power=1, center=True,
                             pad_mode="constant", norm=None, mel_scale="htk").double()(d) + 1e-6).T,
    }
    HERE.mkdir(exist_ok=True)
    save_file({"signal": x, **{k: v.float().contiguous() for k, v in variants.items()}}, HERE / "golden.safetensors")
    for name, v in variants.items():
        print(name, tuple(v.shape), float(v.min()), float(v.max()))


if __name__ == "__main__":
    main()
