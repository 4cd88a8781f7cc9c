#!/usr/bin/env python3
"""Prints arguments of `syrinx chat` for a talk with trained models: Whisper base, Qwen2.5-Coder-0.5B and finch.

Writes to standard error what it downloads, with size and licence. Writes the arguments, one per line, to standard
output. `./run chat --real` calls it.
"""
import os
import pathlib
import shutil
import sys

import fetch
import models

PARTS = (("hears", "Whisper base", "whisper-base", "MIT"),
         ("answers", "Qwen2.5-Coder-0.5B-Instruct, 4 bits", "qwen", "Apache-2.0"),
         ("speaks", "finch, built in", None, "Apache-2.0, and its own notices"))
SYSTEM = "You talk with a person by voice. Answer in one or two short sentences of plain words."


def can_record():
    if os.environ.get("SYRINX_RECORDER"):
        return True
    recorder = any(shutil.which(each) for each in ("arecord", "parec", "rec"))
    return recorder and (pathlib.Path("/dev/snd").is_dir() or bool(os.environ.get("PULSE_SERVER")))


def main():
    for does, name, group, licence in PARTS:
        size = sum(int(row["bytes"]) for row in fetch.table([group])) / 1e6
        print(f"{does:8} {name}: {licence}{f', {size:.0f} MB' if group else ''}", file=sys.stderr)
    try:
        ears, answers = models.whisper("base"), models.qwen()
    except fetch.Offline as fault:
        sys.exit(f"cannot download: {fault}")
    arguments = ["--model", answers, "--system", SYSTEM]
    if can_record():
        arguments += ["--listen", "--ears", ears]
        print("speak; a pause ends your turn, Ctrl-C the conversation", file=sys.stderr)
    else:
        print("no microphone here (SYRINX_RECORDER names a command that records): type instead", file=sys.stderr)
    print("\n".join(str(each) for each in arguments))


if __name__ == "__main__":
    main()
