"""Computes the word error rate of speech, as transcribed by PocketSphinx with its own 20k-word trigram.

Needs only Python's standard library and the Debian packages pocketsphinx, pocketsphinx-en-us and sox.
"""
import array
import os
import random
import re
import shutil
import subprocess
import tempfile
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODEL = Path("/usr/share/pocketsphinx/model/en-us")
FLOOR = 3e-4    # -70 dB of noise: the recogniser's training data has no digital silence
MARGIN = 3200   # samples of silence added before and after


def available():
    return MODEL.exists() and all(map(shutil.which, ("pocketsphinx_batch", "sox")))


def words(text):
    return re.sub(r"[^a-z' ]", " ", text.lower()).split()


def errors(said, heard):
    """Returns the number of word edits between two word lists."""
    row = list(range(len(heard) + 1))
    for i, a in enumerate(said, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(heard, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def write_wav(path, samples, rate=16000):
    """Writes samples in [-1, 1]."""
    pcm = array.array("h", (round(max(-1.0, min(1.0, float(s))) * 32767) for s in samples))
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(pcm.tobytes())


def read_wav(path):
    """Reads a mono file as samples in [-1, 1] at 16 kHz; sox converts files of other rates."""
    with wave.open(str(path)) as file:
        assert file.getnchannels() == 1, path
        pcm = array.array("h", file.readframes(file.getnframes()))
        rate = file.getframerate()
    if rate != 16000:
        raw = subprocess.run(["sox", "-D", path, "-t", "raw", "-r", "16000", "-"], check=True,
                             capture_output=True).stdout
        pcm = array.array("h", raw)
    return [s / 32768.0 for s in pcm]


def hear(waves):
    """Returns PocketSphinx's text for each 16 kHz mono recording. Uses all cores; the result for one recording
    does not depend on the others."""
    with tempfile.TemporaryDirectory() as folder:
        folder, rng = Path(folder), random.Random(0)
        for i, samples in enumerate(waves):
            padded = [0.0] * MARGIN + [float(s) for s in samples] + [0.0] * MARGIN
            write_wav(folder / f"{i}.wav", [s + rng.gauss(0, FLOOR) for s in padded])
        cores = len(os.sched_getaffinity(0))
        lists = [range(first, len(waves), cores) for first in range(min(cores, len(waves)))]
        with ThreadPoolExecutor(cores) as pool:
            heard = dict(row for rows in pool.map(lambda some: hear_list(folder, some), lists) for row in rows)
    return [heard.get(i, "") for i in range(len(waves))]


def hear_list(folder, numbers):
    """Yields (number, PocketSphinx's text) for each file NUMBER.wav in the folder with a text that is not
    empty."""
    listed, out = folder / f"list{numbers[0]}", folder / f"heard{numbers[0]}"
    listed.write_text("".join(f"{i}\n" for i in numbers))
    subprocess.run(
        ["pocketsphinx_batch", "-hmm", MODEL / "en-us", "-lm", MODEL / "en-us.lm.bin",
         "-dict", MODEL / "cmudict-en-us.dict", "-adcin", "yes", "-adchdr", "44", "-cepdir",
         folder, "-cepext", ".wav", "-ctl", listed, "-hyp", out],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    matches = (re.match(r"(.*?)\s*\((\d+) -?\d+\)$", line) for line in out.read_text().splitlines())
    return [(int(match[2]), match[1]) for match in matches if match]


def word_count(texts):
    return sum(len(words(text)) for text in texts)


def word_error_rate(texts, waves, show=False):
    """Returns (word error rate, number of sentences without errors)."""
    wrong = exact = 0
    for text, heard in zip(texts, hear(waves)):
        edits = errors(words(text), words(heard))
        wrong, exact = wrong + edits, exact + (edits == 0)
        if show:
            print(f"{edits:3d}  {text}  |  {heard}")
    return wrong / word_count(texts), exact
