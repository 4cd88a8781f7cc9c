#!/usr/bin/env python3
"""One decode step beside ggml's, in turn in one run: the least disturbed step of each, in ms.

decode_step.py --ggml build/peers/ggml_step --ours build/bench/decoder_bench [--rounds 3]
               [--sizes small,mid] [--batches 1,8,32] [--threads 1,2] [--seconds 0.4] [--cpu] [--nice COMMAND]

Prints a table in Markdown: ggml's best as stored, its best repacked, ours with 8 and 4 bits and
either cache, and how many times as fast ours is as the best of ggml. README.md says how to build
both.
"""
import argparse
import collections
import re
import subprocess

OURS = [("q8", "f16"), ("q8", "i8"), ("q8a8", "i8"), ("q4", "f16"), ("q4", "i8")]


def lines(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def theirs(a, size, batch, threads):
    for line in lines(a.nice + [a.ggml, size, batch, threads, str(a.seconds / 2)]):
        kind, wall, cpu = re.fullmatch(r"\S+ B=\d+ threads=\d+ (.+): ([\d.]+) ms, ([\d.]+) of processors",
                                     line).groups()
        yield ("repacked" if "repacked" in kind else "stored"), float(cpu if a.cpu else wall)


def ours(a, size, batch, threads):
    kinds = "|".join(f"{w}/kv_{c}" for w, c in OURS)
    pattern = f"step/{size}/({kinds})/B:{batch}/threads:{threads}/"
    command = [a.ours, f"--benchmark_filter={pattern}", f"--benchmark_min_time={a.seconds}"]
    name = "best_cpu_ms" if a.cpu else "best_ms"
    for line in lines(a.nice + command):
        found = re.match(rf"step/\w+/(\w+)/kv_(\w+)/.*\b{name}=([\d.]+)(m|u)?\b", line)
        if found and "_best" not in line.split()[0]:
            scale = {"m": 1e-3, "u": 1e-6, None: 1}[found[4]]
            yield (found[1], found[2]), float(found[3]) * scale


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--ggml", required=True)
    p.add_argument("--ours", required=True)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--sizes", default="small,mid")
    p.add_argument("--batches", default="1,8,32")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--cpu", action="store_true",
                   help="processor time instead of the clock: for one thread beside other jobs")
    p.add_argument("--nice", type=str.split, default=[], help="put before each program")
    a = p.parse_args()
    heads = [f"{w}, {c} cache" for w, c in OURS]
    print("| size, B, threads | ggml as stored | Q4_0 repacked | " + " | ".join(heads) +
          " | best of ggml / best of ours |")
    print("|---" * (len(heads) + 4) + "|")
    for size in a.sizes.split(","):
        for batch in a.batches.split(","):
            for threads in a.threads.split(","):
                best = collections.defaultdict(lambda: float("inf"))
                for _ in range(a.rounds):
                    for side in (theirs, ours):
                        for key, ms in side(a, size, batch, threads):
                            best[key] = min(best[key], ms)
                ggml = min(best["stored"], best["repacked"])
                cells = [best["stored"], best["repacked"]] + [best[k] for k in OURS]
                ratio = ggml / min(best[k] for k in OURS)
                print(f"| {size}, {batch}, {threads} | " + " | ".join(f"{c:.3g}" for c in cells) +
                      f" | {ratio:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
