"""The spoken corpus as flat arrays of 25 codec frames (40 ms each) a second, with all utterances joined.

The sample rate, 24000 or 16000 Hz, is FINCH_RATE or the rate in the file of the voices: a voice made from
another voice keeps its rate.

speakers.json beside this file, or the file in FINCH_SPEAKERS, describes the voices: each teacher with the name
of its voice, in the order of the tables; the means of ln Hz in voiced frames (codes store pitch relative to
them); the highest frequency of a teacher that lacks the upper band; by how many dB a dull teacher is raised
above 2.5 kHz; which voices an adversary judges (`natural`); the speaker whose rows a voice with a new teacher
takes at first (`begin_as`); the speaker whose rising questions teach a voice whose teacher's questions fall
(`rise_as`); the default voice; and a description of each voice.

`prepare` converts synth's files to numpy arrays once, and `Corpus` maps these arrays. T is codec frames,
4 T feature frames of 10 ms.
"""
import json
import os
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.signal import lfilter

VOICES = json.loads(Path(os.environ.get("FINCH_SPEAKERS")
                         or Path(__file__).parent / "speakers.json").read_text())
RATE = int(os.environ.get("FINCH_RATE") or VOICES["rate"])
HOP = RATE // 100                # samples of a step
FRAME = 4 * HOP                  # samples of a codec frame
N_FFT = HOP // 5 * 16            # 32 ms
MELS = 80 if RATE == 16000 else 96
TEACHERS = VOICES["teachers"]
SPEAKERS = len(TEACHERS)
PITCH_MEANS, PITCH_STD = torch.tensor(VOICES["pitch_means"]), 0.18
PRESENCE = VOICES.get("presence_db", {})
BANDS = torch.tensor([float(VOICES.get("bands_hz", {}).get(t, RATE / 2)) for t in TEACHERS])  # Hz


def mel_edges(mels, rate, low=40.0):
    """Returns [mels + 2] in Hz: three consecutive values are a band's lower end, centre and upper end."""
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    return 700 * (10 ** (np.linspace(to_mel(low), to_mel(rate / 2), mels + 2) / 2595) - 1)


def mel_filters(n_fft=N_FFT, rate=RATE, mels=MELS):
    """Returns triangular filters [n_fft/2+1, mels] on the mel scale, each with an area of at least one bin."""
    edges = mel_edges(mels, rate)
    bins = np.arange(n_fft // 2 + 1) * rate / n_fft
    left, mid, right = edges[:-2], edges[1:-1], edges[2:]
    up = (bins[:, None] - left) / (mid - left)
    down = (right - bins[:, None]) / (right - mid)
    bank = np.maximum(0, np.minimum(up, down))
    return torch.tensor(bank / np.maximum(bank.sum(0), 1e-3), dtype=torch.float32)


FILTERS = mel_filters()
MEL_HZ = mel_edges(MELS, RATE)[2:]  # upper ends of the bands


def log_mel(wave):
    """Converts wave [..., FRAME T] in [-1, 1] to [..., 4 T, MELS]. Frame i is centred at the middle of its
    hop."""
    padded = torch.nn.functional.pad(wave, ((N_FFT - HOP) // 2, N_FFT))
    spec = torch.stft(padded, N_FFT, HOP, window=torch.hann_window(N_FFT), center=False,
                      return_complex=True).abs().transpose(-1, -2)
    return torch.log(spec[..., : wave.shape[-1] // HOP, :] @ FILTERS + 1e-3)


def shelf(db, hz=2500):
    """Returns (b, a) of the second-order shelf that raises frequencies above `hz` (R. Bristow-Johnson, Audio EQ
    Cookbook)."""
    a, w = 10 ** (db / 40), 2 * np.pi * hz / RATE
    c, slope = np.cos(w), np.sqrt(2 * a) * np.sin(w)
    low, high = a + 1 - (a - 1) * c, a + 1 + (a - 1) * c
    return (a * np.array([high + slope, -2 * (a - 1 + (a + 1) * c), high - slope]),
            np.array([low + slope, 2 * (a - 1 - (a + 1) * c), low - slope]))


def load_sentences(stem, teacher=None):
    """Returns (records, samples int16) of a pair of files that synth wrote."""
    records = [json.loads(line) for line in open(f"{stem}.jsonl")]
    samples = np.fromfile(f"{stem}.pcm", dtype=np.int16)
    if teacher in PRESENCE:
        lifted = lfilter(*shelf(PRESENCE[teacher]), samples)
        samples = np.clip(lifted, -32767, 32767).round().astype(np.int16)
    return records, samples


def pointer_path(record, frames):
    """Returns for each frame the index of the symbol at its centre. The index never decreases."""
    centres = (np.arange(frames) + 0.5) * FRAME
    path = np.searchsorted(np.array(record["end"]), centres, side="right")
    path[0] = 0  # at the beginning of speech, the pointer is at the first pause
    return np.minimum(path, len(record["end"]) - 1).astype(np.int16)


def spoken_by_all(folder):
    """Yields every teacher's sentences, well mixed: (speaker, record, samples of the record, and the log-mel
    and pitch that replace the encoder's input, or None)."""
    spoken = []
    for speaker, teacher in enumerate(TEACHERS):
        for done in sorted(Path(folder).glob(f"{teacher}.*.done")):
            records, samples = load_sentences(done.with_suffix(""), teacher)
            path, at = done.with_suffix(".heard.npy"), 0
            heard = np.load(path) if path.exists() else None
            for r in records:
                rows = r["samples"] // HOP
                spoken.append((speaker, r, samples[r["offset"] : r["offset"] + r["samples"]],
                               None if heard is None else heard[at : at + rows]))
                at += rows
    np.random.default_rng(7).shuffle(spoken)
    return spoken


def prepare(folder, out):
    """Converts all teachers' sentences in `folder` to pcm.npy, mel.npy, pitch.npy, phone.npy, speaker.npy and
    utterances.json, and to heard.npy if the encoder's input is replaced."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    arrays = {name: [] for name in ("pcm", "mel", "heard", "pitch", "phone", "speaker")}
    meta, at = [], 0
    for speaker, record, samples, heard in spoken_by_all(folder):
        frames = -(-record["samples"] // FRAME)
        if not 8 <= frames <= 300:
            continue
        wave = np.zeros(frames * FRAME, dtype=np.int16)
        wave[: record["samples"]] = samples
        track = np.zeros(frames * 4, dtype=np.float32)
        track[: len(record["pitch"])] = record["pitch"][: frames * 4]
        path = pointer_path(record, frames)
        around = np.array([0] + record["phone"] + [0], dtype=np.int16)
        arrays["pcm"].append(wave)
        arrays["mel"].append(log_mel(torch.tensor(wave / 32768.0, dtype=torch.float32))
                             .half().numpy())
        if heard is not None:
            silent = np.repeat(heard[-1:], frames * 4 - len(heard), 0)
            arrays["heard"].append(np.concatenate([heard, silent]))
        arrays["pitch"].append(track)
        arrays["phone"].append(np.stack([around[path + 1], around[path], around[path + 2]], -1))
        arrays["speaker"].append(np.full(frames, speaker, dtype=np.int8))
        meta.append({"text": record["text"], "speaker": speaker, "speed": record["speed"],
                     "start": at, "frames": frames, "path": path.tolist(),
                     "phone": record["phone"], "phrase": record["phrase"],
                     "place": record["place"], "word": record["word"]})
        at += frames
    for name, parts in arrays.items():
        if parts:
            np.save(out / f"{name}.npy", np.concatenate(parts))
    (out / "utterances.json").write_text(json.dumps(meta))
    hours = np.bincount(np.load(out / "speaker.npy"), minlength=SPEAKERS) / 25 / 3600
    print(f"{out}: {len(meta)} utterances, hours of {list(TEACHERS)}: {hours.round(2)}")


class Corpus:
    def __init__(self, folder):
        folder = Path(folder)
        self.pcm = np.load(folder / "pcm.npy", mmap_mode="r")
        self.mel = np.load(folder / "mel.npy", mmap_mode="r")
        self.pitch = np.load(folder / "pitch.npy", mmap_mode="r")
        self.heard_mel, self.heard_pitch = self.mel, self.pitch
        if (folder / "heard.npy").exists():  # the encoder's input is replaced
            heard = np.load(folder / "heard.npy", mmap_mode="r")
            self.heard_mel, self.heard_pitch = heard[:, :MELS], heard[:, MELS]
        self.phone = np.load(folder / "phone.npy", mmap_mode="r")
        self.speaker = np.load(folder / "speaker.npy", mmap_mode="r")
        self.frames = len(self.phone)
        of = ((index, np.flatnonzero(np.array(self.speaker) == index)) for index in range(SPEAKERS))
        self.spoken_by = {index: where for index, where in of if len(where)}

    def starts(self, rng, count, frames, among=None):
        """Returns where `count` windows begin. Each speaker gets the same number of windows, even with less
        speech. `among`: the numbers of the speakers; by default, all that speak."""
        among = among or list(self.spoken_by)
        middles = [rng.choice(self.spoken_by[among[who]]) for who in rng.integers(0, len(among), size=count)]
        return np.clip(np.array(middles) - frames // 2, 0, self.frames - frames)

    def windows(self, starts, frames):
        """Returns windows of `frames` frames: wave [B, FRAME T], mel [B, 4T, MELS], pitch [B, 4T], phone [B, T,
        3] (the symbol at the middle of each frame, its predecessor and its successor) and speaker [B, T]."""
        take = lambda array, k: torch.tensor(
            np.stack([array[s * k : (s + frames) * k] for s in starts]).astype(np.float32))
        return (take(self.pcm, FRAME) / 32768.0, take(self.mel, 4), take(self.pitch, 4),
                take(self.phone, 1).long(), take(self.speaker, 1).long())


if __name__ == "__main__":
    prepare(sys.argv[2], sys.argv[1])
