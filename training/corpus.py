"""The spoken corpus as flat arrays, 25 codec frames (of 640 samples) a second, utterances joined.

`prepare` turns synth's files into numpy arrays once; `Corpus` maps them. T is codec frames,
4 T feature frames of 10 ms.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch

RATE, HOP, FRAME, MELS = 16000, 160, 640, 80
PITCH_MEAN, PITCH_STD = 5.15, 0.18  # of ln Hz, voiced frames of the teacher


def mel_filters(n_fft=512, rate=RATE, mels=MELS, low=40.0, high=8000.0):
    """Triangular filters [n_fft/2+1, mels] on the mel scale, area of one bin at least."""
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    edges = 700 * (10 ** (np.linspace(to_mel(low), to_mel(high), mels + 2) / 2595) - 1)
    bins = np.arange(n_fft // 2 + 1) * rate / n_fft
    left, mid, right = edges[:-2], edges[1:-1], edges[2:]
    up = (bins[:, None] - left) / (mid - left)
    down = (right - bins[:, None]) / (right - mid)
    bank = np.maximum(0, np.minimum(up, down))
    return torch.tensor(bank / np.maximum(bank.sum(0), 1e-3), dtype=torch.float32)


FILTERS = mel_filters()


def log_mel(wave):
    """wave [..., 640 T] in [-1, 1] -> [..., 4 T, 80]; frame i is centred at sample 160 i + 80."""
    padded = torch.nn.functional.pad(wave, (176, 512))
    spec = torch.stft(padded, 512, HOP, window=torch.hann_window(512), center=False,
                      return_complex=True).abs().transpose(-1, -2)
    return torch.log(spec[..., : wave.shape[-1] // HOP, :] @ FILTERS + 1e-3)


def load_sentences(stem):
    """(records, samples int16) of one pair of files written by synth."""
    records = [json.loads(line) for line in open(f"{stem}.jsonl")]
    return records, np.fromfile(f"{stem}.pcm", dtype=np.int16)


def pointer_path(record, frames):
    """For each frame the index of the symbol that covers its centre (never moves back)."""
    centres = (np.arange(frames) + 0.5) * FRAME
    path = np.searchsorted(np.array(record["end"]), centres, side="right")
    return np.minimum(path, len(record["end"]) - 1).astype(np.int16)


def prepare(stems, out):
    """All utterances of `stems` -> pcm.npy, mel.npy, pitch.npy, phone.npy and utterances.json."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    pcm, mel, pitch, phone, meta, at = [], [], [], [], [], 0
    for stem in stems:
        records, samples = load_sentences(stem)
        for record in records:
            frames = -(-record["samples"] // FRAME)
            if not 8 <= frames <= 300:
                continue
            wave = np.zeros(frames * FRAME, dtype=np.int16)
            first = record["offset"]
            wave[: record["samples"]] = samples[first : first + record["samples"]]
            track = np.zeros(frames * 4, dtype=np.float32)
            track[: len(record["pitch"])] = record["pitch"][: frames * 4]
            path = pointer_path(record, frames)
            pcm.append(wave)
            mel.append(log_mel(torch.tensor(wave / 32768.0, dtype=torch.float32)).half().numpy())
            pitch.append(track)
            around = np.array([0] + record["phone"] + [0], dtype=np.int16)
            phone.append(np.stack([around[path + 1], around[path], around[path + 2]], -1))
            meta.append({"text": record["text"], "start": at, "frames": frames,
                         "path": path.tolist(), "phone": record["phone"],
                         "phrase": record["phrase"], "place": record["place"]})
            at += frames
    for name, parts in (("pcm", pcm), ("mel", mel), ("pitch", pitch), ("phone", phone)):
        np.save(out / f"{name}.npy", np.concatenate(parts))
    (out / "utterances.json").write_text(json.dumps(meta))
    print(f"{out}: {len(meta)} utterances, {at / 25 / 3600:.2f} h")


class Corpus:
    def __init__(self, folder):
        folder = Path(folder)
        self.pcm = np.load(folder / "pcm.npy", mmap_mode="r")
        self.mel = np.load(folder / "mel.npy", mmap_mode="r")
        self.pitch = np.load(folder / "pitch.npy", mmap_mode="r")
        self.phone = np.load(folder / "phone.npy", mmap_mode="r")
        self.frames = len(self.phone)

    def crops(self, rng, count, frames):
        """`count` random windows: wave [B, 640 T], mel [B, 4T, 80], pitch [B, 4T], phone [B, T, 3]:
        the symbol spoken at the middle of each frame, the one before and the one after."""
        return self.windows(rng.integers(0, self.frames - frames, size=count), frames)

    def windows(self, starts, frames):
        take = lambda array, k: torch.tensor(
            np.stack([array[s * k : (s + frames) * k] for s in starts]).astype(np.float32))
        return (take(self.pcm, FRAME) / 32768.0, take(self.mel, 4), take(self.pitch, 4),
                take(self.phone, 1).long())


if __name__ == "__main__":
    prepare(sys.argv[2:], sys.argv[1])
