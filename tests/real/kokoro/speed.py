#!/usr/bin/env python3
"""Compares Syrinx and onnxruntime: processor seconds per second of audio, one thread each, with checkpoint.py's weights.

    VENV/bin/python speed.py --syrinx build/release/syrinx --checkpoint OUT [--rounds 2]

Syrinx: the time of a text minus that of its first sentence alone, so loading does not count. onnxruntime: the int8 graph on the
same sentence, after one run that does not count.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import tempfile
import time
import wave

import numpy as np
import onnxruntime
import torch

SENTENCE = "The quick brown fox jumps over the lazy dog near the bank of the river."
FIRST = "Good morning, everyone."


def seconds_of(path):
    with wave.open(str(path)) as file:
        return file.getnframes() / file.getframerate()


def cpu_of(command):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.time() - begin, out.stdout + out.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--syrinx", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    graph = onnxruntime.InferenceSession(f"{args.checkpoint}/kokoro.int8.onnx", options)
    voice = torch.load(f"{args.checkpoint}/voices/jf_alpha.pt", weights_only=True)
    common = ["--model", args.checkpoint, "--voice", "jf_alpha", "--language", "en-us", "--threads", "1"]
    with tempfile.TemporaryDirectory() as folder:
        dump = f"{folder}/ids.safetensors"
        subprocess.run([args.syrinx, "trace", *common[:-2], "--text", SENTENCE, "--dump", dump], check=True, capture_output=True)
        from safetensors.numpy import load_file
        ids = load_file(dump)["prompt_ids"].reshape(1, -1).astype(np.int64)

        def peer():
            begin = time.process_time()
            audio = graph.run(None, {"tokens": ids, "style": voice[ids.shape[1] - 3].numpy(), "speed": np.ones(1, np.float32)})[0]
            return (time.process_time() - begin) / (audio.size / 24000)

        def say(text, weights):
            wav = f"{folder}/out.wav"
            cpu, _, told = cpu_of([args.syrinx, "say", text, *common, "--weights", weights, "-o", wav])
            return cpu, seconds_of(wav), told.strip().splitlines()[-1]

        peer()
        for _ in range(args.rounds):
            row = {"onnxruntime int8": round(peer(), 3)}
            for weights in ("f32", "q8"):
                short, long = say(FIRST, weights), say(f"{FIRST} {SENTENCE} {SENTENCE}", weights)
                row[weights] = round((long[0] - short[0]) / (long[1] - short[1]), 3)
                row[weights + " told"] = long[2]
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
