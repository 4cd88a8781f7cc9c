"""The spoken corpus as flat arrays, 25 codec frames of 40 ms a second, utterances joined.

Samples a second, 24000 or 16000, are FINCH_RATE or what the file of the voices says: a voice that is
made from another has its rate.

Whose voices they are says speakers.json beside this file, or the file that FINCH_SPEAKERS names: each
teacher and the name of its voice in the order of the tables, the means of ln Hz in voiced frames
(codes hold pitch relative to them), up to which frequency the teacher sounds where that is not all,
by how many dB a dull teacher is made brighter above 2.5 kHz, which voices an adversary hears (`natural`), which one is
the default, and what each is like.

`prepare` turns synth's files into numpy arrays once; `Corpus` maps them. T is codec frames,
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
FRAME = 4 * HOP                  # of a codec frame
N_FFT = HOP // 5 * 16            # 32 ms
MELS = 80 if RATE == 16000 else 96
TEACHERS = VOICES["teachers"]
SPEAKERS = len(TEACHERS)
PITCH_MEANS, PITCH_STD = torch.tensor(VOICES["pitch_means"]), 0.18
PRESENCE = VOICES.get("presence_db", {})
BANDS = torch.tensor([float(VOICES.get("bands_hz", {}).get(t, RATE / 2)) for t in TEACHERS])  # Hz


def mel_edges(mels, rate, low=40.0):
    """[mels + 2] in Hz: a band's lower end, centre and upper end are neighbours."""
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    return 700 * (10 ** (np.linspace(to_mel(low), to_mel(rate / 2), mels + 2) / 2595) - 1)


def mel_filters(n_fft=N_FFT, rate=RATE, mels=MELS):
    """Triangular filters [n_fft/2+1, mels] on the mel scale, area of one bin at least."""
    edges = mel_edges(mels, rate)
    bins = np.arange(n_fft // 2 + 1) * rate / n_fft
    left, mid, right = edges[:-2], edges[1:-1], edges[2:]
    up = (bins[:, None] - left) / (mid - left)
    down = (right - bins[:, None]) / (right - mid)
    bank = np.maximum(0, np.minimum(up, down))
    return torch.tensor(bank / np.maximum(bank.sum(0), 1e-3), dtype=torch.float32)


FILTERS = mel_filters()
MEL_HZ = mel_edges(MELS, RATE)[2:]  # the upper ends


def log_mel(wave):
    """wave [..., FRAME T] in [-1, 1] -> [..., 4 T, MELS]; frame i is centred at the middle of its hop."""
    padded = torch.nn.functional.pad(wave, ((N_FFT - HOP) // 2, N_FFT))
    spec = torch.stft(padded, N_FFT, HOP, window=torch.hann_window(N_FFT), center=False,
                      return_complex=True).abs().transpose(-1, -2)
    return torch.log(spec[..., : wave.shape[-1] // HOP, :] @ FILTERS + 1e-3)


def shelf(db, hz=2500):
    """(b, a) of the second-order shelf that lifts what lies above `hz`: R. Bristow-Johnson, Audio EQ
    Cookbook."""
    a, w = 10 ** (db / 40), 2 * np.pi * hz / RATE
    c, slope = np.cos(w), np.sqrt(2 * a) * np.sin(w)
    low, high = a + 1 - (a - 1) * c, a + 1 + (a - 1) * c
    return (a * np.array([high + slope, -2 * (a - 1 + (a + 1) * c), high - slope]),
            np.array([low + slope, 2 * (a - 1 - (a + 1) * c), low - slope]))


def load_sentences(stem, teacher=None):
    """(records, samples int16) of one pair of files written by synth."""
    records = [json.loads(line) for line in open(f"{stem}.jsonl")]
    samples = np.fromfile(f"{stem}.pcm", dtype=np.int16)
    if teacher in PRESENCE:
        lifted = lfilter(*shelf(PRESENCE[teacher]), samples)
        samples = np.clip(lifted, -32767, 32767).round().astype(np.int16)
    return records, samples


def pointer_path(record, frames):
    """For each frame the index of the symbol that covers its centre (never moves back)."""
    centres = (np.arange(frames) + 0.5) * FRAME
    path = np.searchsorted(np.array(record["end"]), centres, side="right")
    path[0] = 0  # as speech begins: the pointer stands on the first pause
    return np.minimum(path, len(record["end"]) - 1).astype(np.int16)


def spoken_by_all(folder):
    """(speaker, record, samples of the record, log-mel and pitch that the encoder hears instead of
    theirs or None) of every teacher's sentences, well mixed."""
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
    """All teachers' sentences in `folder` -> pcm.npy, mel.npy, pitch.npy, phone.npy, speaker.npy,
    heard.npy where the encoder hears something else, and utterances.json."""
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
        if (folder / "heard.npy").exists():  # the encoder hears something else
            heard = np.load(folder / "heard.npy", mmap_mode="r")
            self.heard_mel, self.heard_pitch = heard[:, :MELS], heard[:, MELS]
        self.phone = np.load(folder / "phone.npy", mmap_mode="r")
        self.speaker = np.load(folder / "speaker.npy", mmap_mode="r")
        self.frames = len(self.phone)
        of = ((index, np.flatnonzero(np.array(self.speaker) == index)) for index in range(SPEAKERS))
        self.spoken_by = {index: where for index, where in of if len(where)}

    def starts(self, rng, count, frames, among=None):
        """Where `count` windows begin, as many of each speaker as of any other, however much they spoke; `among`: the
        numbers of the speakers, without it all that speak."""
        among = among or list(self.spoken_by)
        middles = [rng.choice(self.spoken_by[among[who]]) for who in rng.integers(0, len(among), size=count)]
        return np.clip(np.array(middles) - frames // 2, 0, self.frames - frames)

    def windows(self, starts, frames):
        """Of `frames` frames each: wave [B, FRAME T], mel [B, 4T, MELS], pitch [B, 4T], phone [B, T, 3] (the symbol
        spoken at the middle of each frame, the one before and the one after) and speaker [B, T]."""
        take = lambda array, k: torch.tensor(
            np.stack([array[s * k : (s + frames) * k] for s in starts]).astype(np.float32))
        return (take(self.pcm, FRAME) / 32768.0, take(self.mel, 4), take(self.pitch, 4),
                take(self.phone, 1).long(), take(self.speaker, 1).long())


if __name__ == "__main__":
    prepare(sys.argv[2], sys.argv[1])
