#!/usr/bin/env python3
"""Kokoro and Piper beside onnxruntime and Piper's own program, as one table in Markdown, in less than six minutes.

    PYTHON voices.py --syrinx build/release/syrinx --kokoro DIR --piper FILE.onnx [--seconds 7]

PYTHON has numpy and onnxruntime; for Kokoro's voices torch; where it has the package piper, that is measured, too.
DIR is a checkpoint of Kokoro-82M with its ONNX export beside it (or --kokoro-graph FILE).

Each row is a process of its own. Clients (1, 8, 32) ask again when they have their answer, listeners when they have
heard it. Texts are sentences without a comma, so that onnxruntime's graph, which gets the same phonemes, does the same
work. onnxruntime has a thread a core: all of them on one request where there is one client, else one request a thread.
Piper's program speaks one request at a time. First audio of both is the whole sentence. Times are of the clock: nothing
else should run.
"""
import argparse
import json
import os
import pathlib
import queue
import random
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time

SENTENCES = ["Good morning and welcome.",
             "Your order has shipped today.",
             "Could you spell that name for me?",
             "Turn left at the old stone mill.",
             "The lights are on in the kitchen.",
             "The next train leaves at seven from platform three.",
             "It will be bright and cold with a light wind from the north.",
             "The quick brown fox jumps over the lazy dog near the bank of the river."]
LOADS = ("1", "8", "32")  # clients; "L12": listeners
WARMUP_S = 1


def run(command, **options):
    """Returns the output of a program, its processor seconds and its largest memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    output = process.stdout.read()
    reader.join()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command[:4]))} ...: {errors[0].strip().splitlines()[-1:]}")
    return output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def phoneme_ids(args, model):
    """Returns the phoneme ids of each sentence, as Syrinx reads it."""
    ids = []
    with tempfile.TemporaryDirectory() as folder:
        for sentence in SENTENCES:
            dump = f"{folder}/ids.safetensors"
            run([args.syrinx, "trace", *model, "--text", sentence, "--dump", dump])
            data = pathlib.Path(dump).read_bytes()
            size = struct.unpack("<Q", data[:8])[0]
            begin, end = json.loads(data[8:8 + size])["prompt_ids"]["data_offsets"]
            ids.append(list(struct.unpack(f"<{(end - begin) // 4}i", data[8 + size + begin:8 + size + end])))
    return ids


# ---------------------------------------------------------------------------- other programs, in a process each

def kokoro_speaker(args, threads):
    import numpy as np
    import torch
    session = open_session(args.graph, threads)
    voice = torch.load(args.voice_file, weights_only=True).numpy()
    names = [each.name for each in session.get_inputs()]

    def speak(ids):
        feed = {names[0]: np.array([ids]), names[1]: voice[len(ids) - 3], names[2]: np.ones(1, np.float32)}
        return session.run(None, feed)[0].size / 24000
    return speak


def piper_graph_speaker(args, threads):
    import numpy as np
    session = open_session(args.graph, threads)
    config = json.loads(pathlib.Path(args.graph + ".json").read_text())
    scales = [config["inference"][name] for name in ("noise_scale", "length_scale", "noise_w")]

    def speak(ids):
        feed = {"input": np.array([ids]), "input_lengths": np.array([len(ids)]), "scales": np.array(scales, np.float32)}
        return session.run(None, feed)[0].size / config["audio"]["sample_rate"]
    return speak


def piper_speaker(args, _):
    from piper import PiperVoice
    voice = PiperVoice.load(args.graph)

    def speak(sentence):
        return sum(len(chunk.audio_int16_array) / chunk.sample_rate for chunk in voice.synthesize(sentence))
    return speak


def open_session(graph, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def peer(args):
    """Runs another program under one load and prints its figures."""
    cores, listeners = os.cpu_count(), args.load.startswith("L")
    clients = int(args.load.lstrip("L"))
    workers = 1 if args.peer == "piper" or clients == 1 else cores
    speaker = {"kokoro": kokoro_speaker, "piper-graph": piper_graph_speaker, "piper": piper_speaker}[args.peer]
    speak = speaker(args, cores if workers == 1 else 1)
    work = SENTENCES if args.peer == "piper" else json.loads(pathlib.Path(args.ids).read_text())
    speak(work[0])
    asked, lock, first, spoken, ended = queue.Queue(), threading.Lock(), [], [], []
    begin = time.monotonic() + WARMUP_S
    end = begin + args.seconds

    def serve():
        while True:
            item, done = asked.get()
            done.put(speak(item))

    def ask(seed):
        order, done = random.Random(seed), queue.Queue()
        time.sleep(order.random() * (WARMUP_S if listeners else 0))
        while time.monotonic() < end:
            due = time.monotonic()
            asked.put((order.choice(work), done))
            audio = done.get()
            came = time.monotonic()
            if came >= begin:
                with lock:
                    first.append(came - due), spoken.append(audio), ended.append(came)
            if listeners:
                time.sleep(audio)

    for _ in range(workers):
        threading.Thread(target=serve, daemon=True).start()
    threads = [threading.Thread(target=ask, args=(seed,), daemon=True) for seed in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first.sort()
    at = {name: first[min(len(first) - 1, int(share * len(first)))] for name, share in (("p50", 0.5), ("p95", 0.95))}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"audio": sum(spoken) / (max(ended) - begin), "memory": memory, **at}), flush=True)
    os._exit(0)  # the worker threads would wait for more work


# ---------------------------------------------------------------------------- the table

def seconds_of(args, load):
    return str(args.seconds * (2 if load.startswith("L") else 1))


def ours(args, model, load, texts):
    clients = ["--realtime", load[1:]] if load.startswith("L") else ["--streams", load]
    command = [args.syrinx, "bench", *model, *clients, "-d", seconds_of(args, load), "--warmup", str(WARMUP_S),
               "--max-wait", "600", "--text-file", texts, "--json", "-"]
    output, _, memory = run(command)
    found = json.loads(output[output.index("{"):])["runs"][0]
    if found["ok"] == 0:
        return None
    first = found["first_audio_s"]
    return {"audio": found["audio_s_per_s"], "p50": first["p50"], "p95": first["p95"], "memory": memory,
            "no_gap": found["share_no_underrun"], "failed": found["failed"]}


def row(model, program, load, figures):
    clients = f"{load[1:]} listeners" if load.startswith("L") else f"{load} at once"
    no_gap = f"{100 * figures['no_gap']:.1f} %" if "no_gap" in figures else ""
    failed = f", {figures['failed']} failed" if figures.get("failed") else ""
    print(f"| {model} | {program} | {clients}{failed} | {figures['audio']:.1f} | {1000 * figures['p50']:.0f} / "
          f"{1000 * figures['p95']:.0f} | {no_gap} | {figures['memory']:.0f} |", flush=True)


def measure(args, name, model, peers, listeners, folder):
    texts = f"{folder}/texts"
    pathlib.Path(texts).write_text("\n".join(SENTENCES) + "\n")
    ids = f"{folder}/{name}.json"
    if peers:
        pathlib.Path(ids).write_text(json.dumps(phoneme_ids(args, model)))
    for load in (*LOADS, f"L{listeners}"):
        figures = ours(args, model, load, texts)
        if figures is None:
            print(f"| {name} | Syrinx | {load}: no request ended, give more --seconds | | | | |", flush=True)
            continue
        row(name, "Syrinx", load, figures)
        for program, kind, extra in peers:
            command = [sys.executable, __file__, "--peer", kind, "--load", load, "--ids", ids, "--seconds", seconds_of(args, load), *extra]
            theirs = json.loads(run(command)[0])
            row(name, program, load, theirs)
            if not load.startswith("L"):
                print(f"| | ratio to {program} | | {figures['audio'] / max(theirs['audio'], 1e-9):.2f}x | | | |", flush=True)


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--syrinx", default="build/release/syrinx")
    parser.add_argument("--kokoro", help="directory of the checkpoint")
    parser.add_argument("--kokoro-graph", help="its ONNX export; by default the *.onnx of the directory")
    parser.add_argument("--kokoro-voice", help="by default the first of voices/*.pt")
    parser.add_argument("--kokoro-listeners", type=int, default=12)
    parser.add_argument("--piper", help="the .onnx of a voice")
    parser.add_argument("--piper-listeners", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=7, help="of a row; rows of listeners take twice as long")
    for inner in ("--peer", "--load", "--ids", "--graph", "--voice-file"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return peer(args)
    if not args.kokoro and not args.piper:
        parser.error("needs --kokoro or --piper")
    runtime = has("onnxruntime") and has("numpy")
    began = time.monotonic()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, {time.strftime('%Y-%m-%d %H:%M')}\n")
    print("| model | program | clients | audio s/s | first audio p50 / p95, ms | without a gap | MB |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        if args.kokoro:
            voices = pathlib.Path(args.kokoro, "voices")
            voice = args.kokoro_voice or sorted(voices.glob("*.pt"))[0].stem
            graph = args.kokoro_graph or next(map(str, sorted(pathlib.Path(args.kokoro).glob("*.onnx"))), None)
            usable = runtime and graph and has("torch") and (voices / f"{voice}.pt").exists()
            peers = [("onnxruntime", "kokoro", ["--graph", graph, "--voice-file", str(voices / f"{voice}.pt")])] if usable else []
            model = ["--model", args.kokoro, "--voice", voice, "--language", "en-us"]
            measure(args, "Kokoro", model, peers, args.kokoro_listeners, folder)
        if args.piper:
            peers = [("onnxruntime", "piper-graph", ["--graph", args.piper])] if runtime else []
            if has("piper"):
                peers.append(("piper", "piper", ["--graph", args.piper]))
            measure(args, "Piper", ["--model", args.piper], peers, args.piper_listeners, folder)
    print(f"\n{time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
