"""Converts recordings with transcripts to training data: for a person, the files that synth.cc writes for a
teacher.

    python3 recordings.py RECORDINGS WORK_DIR NAME --synth PATH_OF_synth

RECORDINGS contains metadata.csv, with a line `file|text` for each recording (LJSpeech's `id|text|text as words`
is also accepted), and the files as WAV, beside it or in wavs/. The teacher with the nearest pitch speaks the
same texts, and its speech is aligned with the recordings (dynamic time warping of cepstra). This gives the
times of the phones. The encoder gets the teacher's spectrum and melody in the recording's time, so that codes
keep the meaning that the speech LM has learned. The decoder learns the person's sound from the recordings. One
sentence in twenty is held out. Writes WORK_DIR/audio/{own.00,heldout.own,stop.own}.{pcm,jsonl,heard.npy} and
WORK_DIR/speakers.json.
"""
import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
import torch
from scipy.fft import dct
from scipy.io import wavfile
from scipy.signal import resample_poly

from corpus import HOP, MELS, RATE, load_sentences, log_mel
from measure import BLOCK, SILENCE, loudness
from voicing import pitch

LEAD, TAIL, LEVEL, PEAK = RATE // 50, RATE * 4 // 25, -20.0, 0.9  # samples, samples, LUFS, full scale 1; as in synth.cc
SHORTEST, LONGEST = 0.5, 12.0                    # seconds
STAY = 0.3        # cost of a step in only one of the two, as a share of the median distance: prefers straight paths
WORST_FIT = 1.6   # times the median cost of warping; above it, the text is probably another one
HELD_OUT = 20     # one sentence in this many is held out


def read_wav(path):
    """Reads any WAV file as mono at RATE in [-1, 1]."""
    rate, samples = wavfile.read(path)
    scale = {"i": lambda x: x / float(2 ** (8 * x.itemsize - 1)), "f": lambda x: x,
             "u": lambda x: (x - 128.0) / 128.0}[samples.dtype.kind]
    wave = scale(samples.astype(samples.dtype))
    wave = wave.mean(-1) if wave.ndim > 1 else wave
    return resample_poly(wave, RATE, rate) if rate != RATE else wave


def trimmed(wave):
    """Returns the wave from LEAD before the first sound to TAIL after the last, at the teachers' loudness."""
    blocks = wave[: len(wave) // BLOCK * BLOCK].reshape(-1, BLOCK)
    level = np.sqrt((blocks ** 2).mean(-1))
    loud = np.flatnonzero(level > max(SILENCE, 4 * np.quantile(level, 0.05) / level.max())
                          * level.max())
    first, last = loud[0] * BLOCK - LEAD, (loud[-1] + 1) * BLOCK + TAIL
    padded = np.pad(wave, (max(0, -first), max(0, last - len(wave))))
    cut = padded[max(0, first) : max(0, first) + last - first]
    gain = min(10 ** ((LEVEL - loudness(cut)) / 20), PEAK / np.abs(cut).max())
    return cut * gain


def cepstra(wave):
    """Returns [T, 26] at 100 Hz: 13 cepstra and their slopes, each with mean 0 and deviation 1."""
    c = dct(mel_of(wave), norm="ortho", axis=-1)[:, :13]
    both = np.concatenate([c, np.gradient(c, axis=0)], -1)
    return (both - both.mean(0)) / (both.std(0) + 1e-6)


def warp(a, b):
    """Aligns a [N, D] and b [M, D] by dynamic time warping. Returns for each row of a the mean index of its
    rows of b [N], and the cost per step."""
    cost = np.sqrt(np.maximum(0, (a ** 2).sum(-1)[:, None] + (b ** 2).sum(-1) - 2 * a @ b.T))
    stay = STAY * np.median(cost)
    n, m = cost.shape
    best = np.full((n + 1, m + 1), np.inf)
    best[0, 0] = 0
    for diagonal in range(2, n + m + 1):  # all cells with i + j == diagonal at once
        i = np.arange(max(1, diagonal - m), min(n, diagonal - 1) + 1)
        j = diagonal - i
        before = np.minimum(best[i - 1, j - 1] + cost[i - 1, j - 1],  # a step in both counts twice
                            stay + np.minimum(best[i - 1, j], best[i, j - 1]))
        best[i, j] = before + cost[i - 1, j - 1]
    rows, hits = np.zeros(n), np.zeros(n)
    i, j = n, m
    while i > 0:
        rows[i - 1] += j - 1
        hits[i - 1] += 1
        options = [(best[i - 1, j - 1] + cost[i - 1, j - 1], i - 1, j - 1),
                   (best[i - 1, j] + stay, i - 1, j), (best[i, j - 1] + stay, i, j - 1)]
        _, i, j = min(options)
    return rows / np.maximum(hits, 1), best[n, m] / (n + m)


def nearest_teacher(pitch):
    """Returns (name, mean ln Hz) of the teacher with the nearest pitch. voice_file.load_known() starts from its
    codes."""
    known = json.loads((Path(__file__).parent / "speakers.json").read_text())
    distances = np.abs(np.array(known["pitch_means"]) - pitch)
    nearest = int(distances.argmin())
    return list(known["teachers"])[nearest], known["pitch_means"][nearest]


def spoken_by_teacher(synth, teacher, texts, folder):
    """Returns the teacher's record and samples for each text, or None if the teacher does not speak it."""
    lines = "".join(t.replace("\n", " ") + "\n" for t in texts)
    stem = Path(folder) / "teacher"
    subprocess.run([synth, teacher, f"{stem}.pcm", f"{stem}.jsonl", str(RATE)], input=lines,
                   text=True, check=True)
    records, pcm = load_sentences(stem, teacher)
    known = {r["text"]: (r, pcm[r["offset"] : r["offset"] + r["samples"]] / 32768.0)
             for r in records}
    return [known.get(t) for t in texts]


def mel_of(wave):
    return log_mel(torch.tensor(wave[: len(wave) // HOP * HOP], dtype=torch.float32)).numpy()


def aligned(record, teacher_wave, wave, pitch, higher):
    """Returns the teacher's record with the times, length and pitch of the recording; the teacher's log-mel and
    pitch (multiplied by `higher`) in the recording's time [T, 81]; and the cost."""
    where, cost = warp(cepstra(teacher_wave), cepstra(wave))
    ends = np.interp(np.array(record["end"]) / HOP, np.arange(len(where)) + 0.5,
                     (where + 0.5) * HOP)
    ends = np.maximum.accumulate(np.clip(np.round(ends), 0, len(wave))).astype(int)
    ends[-1] = len(wave)
    found = {**record, "samples": len(wave), "end": ends.tolist(), "speed": 1.0,
              "pitch": pitch.tolist()}
    mel = mel_of(teacher_wave)[: len(where)]
    at = np.interp(np.arange(len(wave) // HOP), where[: len(mel)], np.arange(len(mel)))
    below = np.minimum(at.astype(int), len(mel) - 2)
    part = (at - below)[:, None]
    melody = higher * np.pad(record["pitch"], (0, len(mel)))[np.round(at).astype(int)]
    heard = np.concatenate([mel[below] * (1 - part) + mel[below + 1] * part, melody[:, None]], -1)
    return found, heard, cost


def write(stem, spoken):
    at = 0
    with open(f"{stem}.pcm", "wb") as pcm, open(f"{stem}.jsonl", "w") as lines:
        for record, wave, _ in spoken:
            lines.write(json.dumps({**record, "offset": at}) + "\n")
            pcm.write(np.round(wave * 32767).clip(-32768, 32767).astype("<i2").tobytes())
            at += len(wave)
    heard = [mel for _, _, mel in spoken]
    np.save(f"{stem}.heard.npy", np.concatenate(heard or [np.zeros((0, MELS + 1))]).astype(np.float16))
    Path(f"{stem}.done").touch()


def read_folder(folder):
    """Returns (name, text, samples) of each line of metadata.csv. Prints the lines that it omits."""
    for number, line in enumerate((folder / "metadata.csv").read_text().splitlines(), 1):
        parts = line.split("|")
        if len(parts) < 2 or not parts[1].strip():
            raise SystemExit(f"metadata.csv, line {number}: expected 'file|text', got {line!r}")
        name = parts[0] if parts[0].endswith(".wav") else parts[0] + ".wav"
        path = next((p for p in (folder / name, folder / "wavs" / name) if p.exists()), None)
        if path is None:
            raise SystemExit(f"metadata.csv, line {number}: the recording {name} is missing")
        yield parts[0], parts[1].strip(), read_wav(path)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("recordings", type=Path)
    args.add_argument("work", type=Path)
    args.add_argument("name")
    args.add_argument("--synth", required=True)
    args = args.parse_args()
    audio = args.work / "audio"
    audio.mkdir(parents=True, exist_ok=True)
    known = [(name, text, trimmed(wave)) for name, text, wave in read_folder(args.recordings)
             if SHORTEST * RATE < len(wave) < LONGEST * RATE]
    spoken, costs, names = [], [], []
    tracks = [pitch(wave) for _, _, wave in known]
    hz = np.concatenate(tracks)
    mean = float(np.log(hz[hz > 0]).mean())
    teacher, usual = nearest_teacher(mean)
    records = spoken_by_teacher(args.synth, teacher, [text for _, text, _ in known], audio)
    for (name, _, wave), track, found in zip(known, tracks, records):
        if found:
            record, heard, cost = aligned(*found, wave, track, np.exp(mean - usual))
            spoken.append((record, wave, heard))
            costs.append(cost)
            names.append(name)
    good = np.array(costs) < WORST_FIT * np.median(costs)
    for name in np.array(names)[~good]:
        print(f"left out, its text does not seem to fit: {name}")
    spoken = [s for s, fits in zip(spoken, good) if fits]
    held, rest = spoken[::HELD_OUT], [s for i, s in enumerate(spoken) if i % HELD_OUT]
    write(audio / "own.00", rest)
    write(audio / "heldout.own", held)
    write(audio / "stop.own", [])
    (args.work / "speakers.json").write_text(json.dumps({
        "rate": RATE, "teachers": {"own": args.name}, "pitch_means": [mean], "default": args.name,
        "descriptions": {args.name: "made of recordings"}}))
    minutes = sum(len(w) for _, w, _ in rest) / RATE / 60
    print(f"{len(rest)} recordings, {minutes:.1f} min, to learn from; {len(held)} held out; "
          f"mean pitch {np.exp(mean):.0f} Hz; teacher {teacher}; cost of warping {np.median(costs):.2f}")


if __name__ == "__main__":
    main()
