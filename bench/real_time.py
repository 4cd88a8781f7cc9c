#!/usr/bin/env python3
"""What a second of audio costs one listener: processor seconds of the server, and seconds.

    real_time.py DIR... [--ours build/release/syrinx] [--weights q8,q4] [--seconds 4] [--threads 2] [OPTIONS OF SERVE...]

For each folder (which may hold nothing but the published configs) and kind of weights a server is started with random
weights, and one stream is heard: from its first audio until so many more seconds of audio have come. What the server has
taken by then of its processors (/proc) and of the clock, divided by the audio, is a line in Markdown; also the seconds and
processor seconds until the first audio, and the load of the machine. The text is long, so that the stream does not end before.
"""
import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import time

TEXT = "The quick brown fox jumps over the lazy dog, and then it goes home to sleep. " * 3
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wait_until_ready(port, process):
    while process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            connection.request("GET", "/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise RuntimeError("the server ended")


def listen(port, pid, seconds):
    """Returns seconds and processor seconds, until the first audio and for each second of audio after it."""
    marks = []

    def mark(audio):
        marks.append((time.monotonic(), processor_seconds(pid), audio))

    mark(0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)
    connection.request("POST", "/v1/audio/speech", json.dumps({"input": TEXT, "response_format": "wav", "seed": 1}),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(response.read().decode())
    head = response.read(44)
    rate, heard = int.from_bytes(head[24:28], "little"), 0
    while not heard or heard < first + int(2 * rate * seconds):
        data = response.read1(1 << 20)
        if not data:
            break
        heard += len(data)
        mark(heard / (2 * rate))
        if len(marks) == 2:
            first = heard
    connection.close()
    (t0, c0, _), (t1, c1, a1), (t2, c2, a2) = marks[0], marks[1], marks[-1]
    if a2 - a1 < seconds / 2:
        raise RuntimeError(f"only {a2 - a1:.2f} s after the first audio")
    return t1 - t0, c1 - c0, (t2 - t1) / (a2 - a1), (c2 - c1) / (a2 - a1), a2 - a1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("folders", nargs="+")
    p.add_argument("--ours", default="build/release/syrinx")
    p.add_argument("--weights", default="q8,q4")
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--threads", type=int, default=2)
    a, options = p.parse_known_args()
    print("| model | weights | first audio: s, processor s | a second of audio: s, processor s | of audio | load |\n|---|---|---|---|---|---|")
    for folder in a.folders:
        for weights in a.weights.split(","):
            port = free_port()
            process = subprocess.Popen([a.ours, "serve", "--model", folder, "--load-format", "dummy", "--weights", weights,
                                        "--threads", str(a.threads), "--port", str(port), *options],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            name = os.path.basename(os.path.normpath(folder))
            try:
                wait_until_ready(port, process)
                wall0, cpu0, wall, cpu, audio = listen(port, process.pid, a.seconds)
            except RuntimeError as error:
                print(f"{name}, {weights}: {error}", file=sys.stderr)
                continue
            finally:
                process.terminate()
                process.wait()
            print(f"| {name} | {weights} | {wall0:.2f}, {cpu0:.2f} | {wall:.2f}, {cpu:.2f} | {audio:.1f} s | "
                  f"{os.getloadavg()[0]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
