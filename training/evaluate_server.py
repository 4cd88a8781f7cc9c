"""Measures the built program: word error rate against the teacher, sentence ends, speed, and the judgement of
Whisper and DNSMOS.

    python3 evaluate_server.py BUILD/syrinx [--voice finch] [--sentences heldout.txt]
                               [--stop stop.txt] [--limit N] [--teacher] [--at-most RATE]
                               [--judge] [--model VOICE_DIR]

Speaks every sentence with `syrinx say`, and transcribes it with PocketSphinx. --teacher compares with the
voice's teacher if it is one of flite's voices (program flite). --judge also uses Whisper and DNSMOS (judge.py).
--model: another voice folder than the program's own. --at-most fails if the word error rate exceeds RATE, as a
quick test.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import hear

HERE = Path(__file__).parent
VOICES = json.loads((HERE / "speakers.json").read_text())
TEACHERS = {voice: teacher for teacher, voice in VOICES["teachers"].items()}


def say(program, voice, texts, folder, prefix, model=None):
    """Returns the samples of each sentence. Raises an exception if the program fails."""
    waves = []
    for i, text in enumerate(texts):
        path = Path(folder) / f"{prefix}{i}.wav"
        if program == "flite":
            if TEACHERS[voice].startswith(("hts", "hibari", "kokoro")):
                sys.exit(f"--teacher: {voice} learned from {TEACHERS[voice]}, which flite lacks; use evaluate.py")
            command = ["flite", "-voice", TEACHERS[voice], "-t", text, "-o", str(path)]
        else:
            command = [program, "say", text, "--voice", voice, "-o", str(path)] + (["-m", model] if model else [])
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        waves.append(hear.read_wav(path))
    return waves


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("--voice", default="finch")
    args.add_argument("--sentences", default=HERE / "heldout.txt")
    args.add_argument("--stop")
    args.add_argument("--limit", type=int)
    args.add_argument("--teacher", action="store_true")
    args.add_argument("--at-most", type=float)
    args.add_argument("--judge", action="store_true")
    args.add_argument("--model")
    args.add_argument("--show", action="store_true")
    args = args.parse_args()
    if args.judge:
        import judge
        if not judge.available():
            sys.exit("--judge: install the packages faster-whisper, speechmos and librosa")
    if not hear.available():
        print("skipped: pocketsphinx is not installed")
        sys.exit(77)
    texts = Path(args.sentences).read_text().splitlines()[: args.limit]
    with tempfile.TemporaryDirectory() as folder:
        made = say(args.program, args.voice, texts, folder, "said", args.model)
        rate, exact = hear.word_error_rate(texts, made, args.show)
        print(f"{args.voice}: word error rate {100 * rate:.1f} %, heard exactly {exact}/{len(texts)}")
        if args.judge:
            print(", ".join(f"{k} {v if isinstance(v, str) else round(float(v), 2)}" for k, v in judge.judged(texts, made).items()))
        if args.teacher:
            spoken = say("flite", args.voice, texts, folder, "teacher")
            base, exact = hear.word_error_rate(texts, spoken)
            print(f"teacher: {100 * base:.1f} %, exactly {exact}/{len(texts)}; "
                  f"ratio {rate / base:.2f}")
        if args.stop:
            lines = Path(args.stop).read_text().splitlines()
            lengths = [len(w) / 16000 for w in say(args.program, args.voice, lines, folder,
                                                  "stop")]
            slow = sum(s > 1.5 + 0.15 * len(t) for s, t in zip(lengths, lines))
            print(f"stop: {len(lengths)}/{len(lines)} ended, {slow} of them too long")
            rate = 1.0 if slow else rate
    if args.at_most is not None and rate > args.at_most:
        sys.exit(f"word error rate {rate:.2f} is above {args.at_most}")


if __name__ == "__main__":
    main()
