"""Word error rate of speech, as PocketSphinx (with its own 20k-word trigram) hears it."""
import re
import subprocess
import tempfile
import wave
from pathlib import Path

import numpy as np

MODEL = Path("/usr/share/pocketsphinx/model/en-us")


FLOOR = 3e-4  # -70 dB


def words(text):
    return re.sub(r"[^a-z' ]", " ", text.lower()).split()


def errors(said, heard):
    """Word edits between two word lists."""
    row = list(range(len(heard) + 1))
    for i, a in enumerate(said, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(heard, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def write_wav(path, samples, rate=16000):
    """samples in [-1, 1]."""
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def hear(waves):
    """16 kHz mono recordings -> what PocketSphinx hears, one string each."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        silence, rng = np.zeros(3200), np.random.default_rng(0)
        for i, samples in enumerate(waves):
            padded = np.concatenate([silence, samples, silence])
            # Digital silence is nothing that the recogniser was trained on: a faint room noise.
            padded = padded + FLOOR * rng.standard_normal(len(padded))
            write_wav(folder / f"{i}.wav", padded)
        (folder / "list").write_text("".join(f"{i}\n" for i in range(len(waves))))
        subprocess.run(
            ["pocketsphinx_batch", "-hmm", MODEL / "en-us", "-lm", MODEL / "en-us.lm.bin",
             "-dict", MODEL / "cmudict-en-us.dict", "-adcin", "yes", "-adchdr", "44", "-cepdir",
             folder, "-cepext", ".wav", "-ctl", folder / "list", "-hyp", folder / "heard"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        heard = [""] * len(waves)
        for line in (folder / "heard").read_text().splitlines():
            match = re.match(r"(.*?)\s*\((\d+) -?\d+\)$", line)
            if match:
                heard[int(match[2])] = match[1]
    return heard


def word_error_rate(texts, waves, show=False):
    """(rate, sentences heard exactly)."""
    wrong = total = exact = 0
    for text, heard in zip(texts, hear(waves)):
        edits = errors(words(text), words(heard))
        wrong, total, exact = wrong + edits, total + len(words(text)), exact + (edits == 0)
        if show:
            print(f"{edits:3d}  {text}  |  {heard}")
    return wrong / total, exact
