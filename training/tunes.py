"""Measures how sentences end: by how many semitones the last 120 ms with a pitch are above or below the
sentence's pitch.

    python3 tunes.py VOICE_DIR SPOKEN_STEM [--seeds N] [--speakers finch,raven,...] [--lm LM.pt]

SPOKEN_STEM: synth's files for tunes.txt, with yes-no questions, other questions and statements that are not in
the training data. The pitch is the decoder's own, so it is exact. High: above half a semitone. Low: -1.5 or
less.
"""
import argparse

import numpy as np
import torch
import torch.nn.functional as F

import codec
import lm
from corpus import PITCH_MEANS, TEACHERS, load_sentences
from evaluate import one_speaker
from infer import load_lm, speak_codes, symbols_of
from voice_file import from_folder

END = 12                # number of steps of 10 ms with a pitch
HIGH, LOW = 0.5, -1.5   # semitones


def kind_of(record):
    if record["phrase"][-1] in lm.RISING_PHRASES:
        return "yes-no questions"
    return "other questions" if record["text"].endswith("?") else "statements"


def ending(pitch):
    """Returns the semitones from the median pitch before the end to that of the end; nan if too little is
    voiced."""
    tones = 12 * np.log2(pitch[pitch > 0])
    return np.median(tones[-END:]) - np.median(tones[:-END]) if len(tones) > 2 * END else np.nan


@torch.no_grad()
def pitches(voice, records, speaker, seed, temperature=0.4):
    """Returns the pitch of each sentence in Hz, 100 a second, 0 where unvoiced."""
    speech_lm, decoder, books = voice
    mix = one_speaker(speaker)
    texts = [lm.Text(r["phone"], r["phrase"], r["place"]) for r in records]
    codes, paths, _ = speak_codes(speech_lm, texts, mix, 1.0, (temperature,) * codec.BOOKS, seed)
    out = []
    for text, code, path in zip(texts, codes, paths):
        z = sum(books[b][code[:, b]] for b in range(codec.BOOKS))
        symbols = symbols_of(text, path[: len(code)])
        hidden = decoder.trunk(F.pad(z, (0, 0, 0, 1))[None], F.pad(symbols, (0, 0, 0, 1))[None], mix)
        out.append(codec.predicted_pitch(decoder.tone(hidden), mix @ PITCH_MEANS)[0].numpy())
    return out


def shares(title, records, ends):
    """Returns one line: for each kind of sentence the mean, and how many end high and low. `ends` [seeds,
    records]."""
    kinds = np.array([kind_of(r) for r in records])
    parts = []
    for kind in dict.fromkeys(kinds):
        of = ends[:, kinds == kind].ravel()
        of = of[np.isfinite(of)]
        parts.append(f"{kind} {of.mean():+.1f}, high {np.mean(of > HIGH):.0%}, low {np.mean(of <= LOW):.0%}")
    print(f"{title}: {'; '.join(parts)}", flush=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("voice")
    args.add_argument("spoken")
    args.add_argument("--seeds", type=int, default=3)
    args.add_argument("--speakers", default="finch,linnet,raven")
    args.add_argument("--lm", help="a checkpoint that replaces the voice's speech LM")
    args = args.parse_args()
    torch.set_num_threads(1)
    voice = from_folder(args.voice)
    if args.lm:
        voice = (load_lm(args.lm), *voice[1:])
    records, _ = load_sentences(args.spoken)
    shares("teacher", records, np.array([[ending(np.array(r["pitch"])) for r in records]]))
    for name in args.speakers.split(","):
        speaker = list(TEACHERS.values()).index(name)
        made = [pitches(voice, records, speaker, 1 + seed) for seed in range(args.seeds)]
        shares(name, records, np.array([[ending(p) for p in each] for each in made]))


if __name__ == "__main__":
    main()
