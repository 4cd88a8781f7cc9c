"""Measures how sentences end, as a listener hears it: by how many semitones the last 120 ms with a pitch are above or
below the rest. The built program speaks; Praat measures the pitch of its samples.

    python3 tunes.py BUILD/syrinx [--model VOICE_DIR] [--sentences tunes.txt] [--seeds N] [--speakers finch,raven,...]

tunes.txt: yes-no questions, other questions and statements that are not in the training data. High: above half a
semitone. Low: -1.5 or less. Needs the package praat-parselmouth.
"""
import argparse
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import hear
from voicing import heard_pitch

END = 12                # number of steps of 10 ms with a pitch
HIGH, LOW = 0.5, -1.5   # semitones
WH_WORDS = ("how", "what", "when", "where", "which", "who", "whose", "why")


def kind_of(text):
    if not text.endswith("?"):
        return "statements"
    return "other questions" if text.lower().startswith(WH_WORDS) else "yes-no questions"


def ending(hz):
    """Returns the semitones from the median pitch before the end to that of the end; nan if too little is voiced."""
    tones = 12 * np.log2(hz[hz > 0])
    return np.median(tones[-END:]) - np.median(tones[:-END]) if len(tones) > 2 * END else np.nan


def shares(title, texts, ends):
    """Prints for each kind of sentence the mean, and how many end high and low. `ends` [seeds, texts]."""
    kinds, parts = np.array([kind_of(t) for t in texts]), []
    for kind in dict.fromkeys(kinds):
        of = ends[:, kinds == kind].ravel()
        of = of[np.isfinite(of)]
        parts.append(f"{kind} {of.mean():+.1f}, high {np.mean(of > HIGH):.0%}, low {np.mean(of <= LOW):.0%}")
    print(f"{title}: {'; '.join(parts)}", flush=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("--model", default="finch")
    args.add_argument("--sentences", default=Path(__file__).parent / "tunes.txt")
    args.add_argument("--seeds", type=int, default=3)
    args.add_argument("--speakers", default="finch,linnet,raven,heron")
    args = args.parse_args()
    texts = Path(args.sentences).read_text().splitlines()
    with TemporaryDirectory() as folder:
        for speaker in args.speakers.split(","):
            def end_of(seed, text):
                path = Path(folder) / f"{seed}.{hash(text)}.wav"
                subprocess.run([args.program, "say", text, "--voice", speaker, "--seed", str(seed), "--threads", "1",
                                "-m", args.model, "-o", str(path)], check=True, stdout=subprocess.DEVNULL)
                return ending(heard_pitch(hear.read_wav(path), 16000))
            shares(speaker, texts, np.array([[end_of(1 + seed, text) for text in texts] for seed in range(args.seeds)]))


if __name__ == "__main__":
    main()
