#!/usr/bin/env python3
"""Qwen3-TTS beside audio.cpp, in turn in one run: processor seconds, and seconds, for a second of audio.

qwen3_tts.py --model CHECKPOINT --peer build/peers/audiocpp_qwen3_tts --peer-dir build/peers/audio.cpp
             [--ours build/release/syrinx] [--rounds 3] [--frames 24] [--streams 1,8] [--threads 1]

Both read the same files (random_checkpoint.py makes them; README.md says how the peer is built): linears in 8 bits,
convolutions as each has them (bf16 here, f16 there). What ours takes to start is taken off by two runs of different
length; the peer tells its own. Its sessions take one request at a time, so eight streams are eight in a row.
Prints a table in Markdown with the least and the median of the rounds.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile

TEXT = "Hello there."


def peer(a):
    environment = dict(os.environ, OMP_WAIT_POLICY="passive")  # its threads would spin beside other jobs
    command = [str(a.peer.resolve()), str(a.model.resolve()), str(a.threads), "q8_0", "f16", str(a.frames), "1"]
    out = subprocess.run(command, cwd=a.peer_dir, env=environment, capture_output=True, text=True, check=True).stdout
    audio, wall, cpu = map(float, re.search(r"audio (\S+) wall (\S+) cpu (\S+)", out).groups())
    return cpu / audio, wall / audio


def spoken(a, streams, frames):
    """Processor seconds of the whole process; seconds and audio of what is counted; all audio."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [a.ours, "bench", "-n", str(streams), "--repeats", "1", "--model", str(a.model), "--weights", "q8",
                   "--threads", str(a.threads), "--ignore-stop", "--max-frames", str(frames), "--text", TEXT,
                   "--voice", "ryan", "--language", "english", "--json", str(report)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = json.loads(report.read_text())["runs"][0]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, run["seconds"], streams * frames * 0.08, (streams + 1) * frames * 0.08  # one goes ahead


def ours(a, streams):
    short, long = (spoken(a, streams, frames) for frames in (2, a.frames + 2))
    return (long[0] - short[0]) / (long[3] - short[3]), long[1] / long[2]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--model", type=pathlib.Path, required=True)
    p.add_argument("--peer", type=pathlib.Path, required=True)
    p.add_argument("--peer-dir", type=pathlib.Path, required=True)
    p.add_argument("--ours", default="build/release/syrinx")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--frames", type=int, default=24)
    p.add_argument("--streams", default="1,8")
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    spoken(a, 1, 2)  # keeps the packed weights
    print("| streams | audio.cpp: processor s, s | ours | times as fast by processor time, by the clock |\n|---|---|---|---|")
    for streams in map(int, a.streams.split(",")):
        pairs = [(peer(a), ours(a, streams)) for _ in range(a.rounds)]
        cell = lambda side, what: [pair[side][what] for pair in pairs]
        shown = lambda side: ", ".join(f"{min(cell(side, w)):.2f} ({statistics.median(cell(side, w)):.2f})" for w in (0, 1))
        ratio = ", ".join(f"{statistics.median(x / y for x, y in zip(cell(0, w), cell(1, w))):.1f}x" for w in (0, 1))
        print(f"| {streams} | {shown(0)} | {shown(1)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
