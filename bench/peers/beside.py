#!/usr/bin/env python3
"""A family beside another program, in turn in one run: processor seconds, and seconds, for a second of audio.

beside.py FAMILY --model CHECKPOINT --peer build/peers/audiocpp --peer-dir build/peers/audio.cpp
          [--ours build/release/syrinx] [--rounds 3] [--frames N] [--streams 8] [--threads 1] [OPTIONS OF OURS...]

FAMILY: qwen3_tts, chatterbox, voxcpm2, higgs_audio or fish_speech beside audio.cpp, orpheus beside TTS.cpp (--peer-model GGUF; ours takes
a folder of published configs and --load-format dummy). In all but the last case both read the same numbers (random_checkpoint.py makes them;
README.md says how the peers are built): linears in 8 bits; --conv says what the peer keeps convolutions in (ours: bf16).
Whole requests are counted on both sides, prompts included; what ours takes to start is found by two short runs and taken off,
and the peer is started once and asked once a round. Its sessions take one request at a time, so eight
streams are eight in a row. Prints a table in Markdown with the least and the median of the rounds.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

TEXT = "Hello there."
# By family: frames of a request and of a short one, type of the peer's convolutions, further arguments of ours.
FAMILIES = {"qwen3_tts": (24, 2, "f16", ["--voice", "ryan", "--language", "english"]),
            "chatterbox": (50, 25, "f16", ["--flow", "full"]),
            "voxcpm2": (12, 4, "f16", []),
            "higgs_audio": (25, 12, "f16", []),
            "fish_speech": (22, 8, "f16", []),
            "orpheus": (48, 16, None, [])}


class Peer:
    def __init__(self, a):
        environment = dict(os.environ, OMP_WAIT_POLICY="passive")  # otherwise its threads spin beside other jobs
        folder = a.model.resolve()
        folder = folder / "peer" if (folder / "peer").is_dir() else folder
        command = [str(a.peer.resolve()), a.family, str(folder), str(a.threads), a.weights, a.conv, str(a.frames)]
        if a.peer_model:
            command = [str(a.peer.resolve()), str(a.peer_model.resolve()), str(a.threads), str(a.frames // 4)]
        self.process = subprocess.Popen(command, cwd=a.peer_dir, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.read("ready")

    def read(self, begin):
        for line in self.process.stdout:
            if line.startswith(begin):
                return line
        raise SystemExit("the peer ended")

    def speak(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.read("audio ")
        audio, wall, cpu = map(float, re.search(r"audio (\S+) wall (\S+) cpu (\S+)", line).groups())
        return cpu / audio, wall / audio

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def spoken(a, streams, repeats=1, frames=None):
    """Returns the whole process's processor seconds, and seconds and audio of all requests but the first."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [a.ours, "bench", "-n", str(streams), "--repeats", str(repeats), "--model", str(a.model), "--weights", "q8",
                   "--threads", str(a.threads), "--ignore-stop", "--max-frames", str(frames or a.frames), "--text", TEXT,
                   "--timeout", "3600", "--json", str(report), *FAMILIES[a.family][3], *a.options]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = json.loads(report.read_text())["runs"][0]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, run["seconds"], run["audio_s"]


def start(a):
    """Returns the cost of a process without its requests, from runs of 2 and of 3 short requests."""
    few = FAMILIES[a.family][1]
    return 3 * spoken(a, 1, 1, few)[0] - 2 * spoken(a, 1, 2, few)[0]


def alone(a, started):
    cpu, wall, audio = spoken(a, 1)
    return (cpu - started) / (2 * audio), wall / audio


def crowd(a, started, ahead):
    cpu, wall, audio = spoken(a, a.streams)
    return (cpu - started - ahead * audio / a.streams) / audio, wall / audio


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("family", choices=FAMILIES)
    p.add_argument("--model", type=pathlib.Path, required=True)
    p.add_argument("--peer", type=pathlib.Path, required=True)
    p.add_argument("--peer-dir", type=pathlib.Path, required=True)
    p.add_argument("--peer-model", type=pathlib.Path, help="a GGUF")
    p.add_argument("--ours", default="build/release/syrinx")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--crowds", type=int, default=100, help="rounds in which ours has a crowd too")
    p.add_argument("--frames", type=int)
    p.add_argument("--weights", default="q8_0", help="of the peer's linears")
    p.add_argument("--conv", help="of the peer's convolutions")
    p.add_argument("--streams", type=int, default=8)
    p.add_argument("--threads", type=int, default=1)
    a, a.options = p.parse_known_args()
    a.frames = a.frames or FAMILIES[a.family][0]
    a.conv = a.conv or FAMILIES[a.family][2]
    spoken(a, 1, 1, FAMILIES[a.family][1])  # this run stores the packed weights
    peer = Peer(a)
    started = start(a)
    print(f"ours takes {started:.1f} processor seconds to start", file=sys.stderr)
    pairs = {1: [], a.streams: []}
    for n in range(a.rounds):
        theirs, one = peer.speak(), alone(a, started)
        pairs[1].append((theirs, one))
        if n < a.crowds:
            pairs[a.streams].append((theirs, crowd(a, started, one[0])))
        print(pairs, file=sys.stderr, flush=True)
    print("| streams | the peer: processor s, s | ours | times as fast by processor time, by the clock |\n|---|---|---|---|")
    for streams, rounds in pairs.items():
        cell = lambda side, what: [each[side][what] for each in rounds]
        shown = lambda side: ", ".join(f"{min(cell(side, w)):.2f} ({statistics.median(cell(side, w)):.2f})" for w in (0, 1))
        ratios = ([x / y for x, y in zip(cell(0, w), cell(1, w))] for w in (0, 1))
        ratio = ", ".join(f"{statistics.median(r):.1f}x ({min(r):.1f}-{max(r):.1f})" for r in ratios)
        print(f"| {streams} | {shown(0)} | {shown(1)} | {ratio} |", flush=True)
    peer.end()


if __name__ == "__main__":
    main()
