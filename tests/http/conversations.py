"""Holds many conversations at once, in real time. Every client has a microphone that never stops. It asks, plays the whole
answer while it arrives, and asks again. A gap is a moment without audio to play.

`conversations.py --conversations 20 --seconds 120` starts a server (finch, wren, PocketSphinx) and prints figures; `--ears
DIR` sets another recogniser, such as a Whisper; further options are passed to the server (`--vad FILE`). One thread serves
all connections, so that the clients need little processor time. The script prints how late that thread was.
"""
import argparse
import base64
import heapq
import itertools
import json
import os
import selectors
import statistics
import struct
import sys
import time

import harness
from ws import WebSocket

RATE = 24000
CHUNK_MS = 40
QUESTIONS = ["What time is it?", "What is the capital of Norway?", "What is ten plus seven?", "What can you do?",
             "What is the capital of Italy?", "How many minutes are in two hours?", "What day is tomorrow?"]
PAUSE_S = 1  # pause between the end of an answer and the next question


def append_frame(pcm):
    """Returns the WebSocket frame of an append. Its mask is zero, because Python masks slowly."""
    event = {"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()}
    data = json.dumps(event).encode()
    return struct.pack("!BBH", 0x81, 0x80 | 126, len(data)) + bytes(4) + data


def frames_of(pcm):
    step = RATE * 2 * CHUNK_MS // 1000
    pcm += bytes(-len(pcm) % step)
    return [append_frame(pcm[at:at + step]) for at in range(0, len(pcm), step)]


SILENCE = frames_of(bytes(RATE * 2 * CHUNK_MS // 1000))[0]


class Player:
    """A player that starts with the first sample, waits when it has no audio, and records those waits."""

    def __init__(self):
        self.ends, self.gaps, self.audio_s = None, [], 0

    def arrive(self, now, seconds):
        if self.ends is not None and now > self.ends:
            self.gaps.append(now - self.ends)
        self.ends = max(self.ends or 0, now) + seconds
        self.audio_s += seconds


class Talker:
    """One conversation. `due` is the time of its microphone's next piece."""

    def __init__(self, server, questions, first_at, ears):
        self.ws = WebSocket(server.port, "/v1/realtime?model=wren")
        if self.ws.status != 101:
            raise RuntimeError(f"status {self.ws.status}")
        self.ws.send({"type": "session.update", "session": {
            "type": "realtime", "audio": {"input": {"transcription": {"model": ears}}}}})
        self.socket = self.ws.socket
        self.socket.setblocking(False)
        self.got, self.unsent = b"", b""
        self.questions, self.asking, self.ask_at = questions, iter(()), first_at
        self.due = first_at
        self.spoke_until = None  # time at which the question ended
        self.player, self.answered = Player(), False
        self.turns, self.troubles = [], []
        self.turn = {}

    def speak(self, now):
        """Sends the piece that is due."""
        if self.ask_at is not None and now >= self.ask_at:
            self.asking, self.ask_at = iter(next(self.questions)), None
            self.turn = {}
            self.player, self.answered = Player(), False
        piece = next(self.asking, None)
        if piece is None and self.ask_at is None and "asked" not in self.turn:
            self.turn["asked"] = now
        self.unsent += piece or SILENCE
        self.flush()
        self.due += CHUNK_MS / 1000

    def flush(self):
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            pass

    def read(self, now):
        try:
            data = self.socket.recv(1 << 20)
        except BlockingIOError:
            return
        if not data:
            raise RuntimeError("the server closed a conversation")
        self.got += data
        while True:
            head = 2
            if len(self.got) < head:
                return
            size = self.got[1] & 127
            if size == 126:
                head = 4
                size = struct.unpack("!H", self.got[2:4])[0] if len(self.got) >= head else None
            elif size == 127:
                head = 10
                size = struct.unpack("!Q", self.got[2:10])[0] if len(self.got) >= head else None
            if size is None or len(self.got) < head + size:
                return
            opcode, body = self.got[0] & 15, self.got[head:head + size]
            self.got = self.got[head + size:]
            if opcode == 1:
                self.event(json.loads(body), now)

    def event(self, event, now):
        kind = event["type"]
        if kind == "error":
            self.troubles.append(event["error"]["message"])
        elif kind == "input_audio_buffer.speech_stopped":
            self.turn.setdefault("stopped", now)
        elif kind.endswith("input_audio_transcription.completed"):
            self.turn["heard"], self.turn["transcript"] = now, event["transcript"]
            if not event["transcript"]:  # no question was recognised, so it is asked again
                self.end(now)
        elif kind.endswith("input_audio_transcription.failed"):
            if event["error"]["code"] == "server_is_overloaded":
                self.turn["refused"] = now
            else:
                self.troubles.append(event["error"]["message"])
            self.end(now)
        elif kind == "response.output_audio.delta":
            self.turn.setdefault("audio", now)
            self.player.arrive(now, len(event["delta"]) * 3 // 4 / 2 / RATE)
        elif kind == "response.done":
            self.turn["status"] = event["response"]["status"]
            self.end(now)

    def end(self, now):
        self.turns.append({**self.turn, "gaps": self.player.gaps, "audio_s": self.player.audio_s})
        self.ask_at = max(now, self.player.ends or 0) + PAUSE_S


def waits_of(server, part, since):
    """Returns (turns, total seconds) of a histogram of turns in /metrics."""
    text = server.get("/metrics")[2]
    name, labels = f"syrinx_turn_{part}_seconds", f'{{since="{since}"}} '
    return tuple(float(text.split(f"\n{name}{end}{labels}")[1].split("\n")[0]) for end in ("_count", "_sum"))


def hearing_and_all(process):
    """Returns the processor seconds of the threads with low priority, and of all threads."""
    low = every = 0
    for task in os.listdir(f"/proc/{process.pid}/task"):
        try:
            with open(f"/proc/{process.pid}/task/{task}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        every += seconds
        low += seconds if int(fields[16]) > os.getpriority(os.PRIO_PROCESS, process.pid) else 0  # lower priority
    return low, every


def hold(server, count, seconds, enough=0, ears="pocketsphinx"):
    """Holds conversations for `seconds`, or until each had `enough` turns. Returns (turns, problems, the clients' largest
    delay)."""
    spoken = []
    for at, text in enumerate(QUESTIONS):
        pcm = server.speak({"input": text, "voice": "raven", "response_format": "pcm", "seed": at})[2]
        spoken.append(frames_of(pcm))
    period = 6.0  # about one turn, which spreads the first questions
    began = time.monotonic() + 0.5
    talkers = [Talker(server, itertools.cycle(spoken[i % len(spoken):] + spoken[:i % len(spoken)]),
                      began + period * i / count, ears) for i in range(count)]
    selector = selectors.DefaultSelector()
    for talker in talkers:
        selector.register(talker.socket, selectors.EVENT_READ, talker)
    queue = [(talker.due, i) for i, talker in enumerate(talkers)]
    heapq.heapify(queue)
    late = 0
    while (now := time.monotonic()) < began + seconds:
        while queue[0][0] <= now:
            _, i = heapq.heappop(queue)
            late = max(late, now - talkers[i].due)
            talkers[i].speak(now)
            heapq.heappush(queue, (talkers[i].due, i))
        if enough and all(len(talker.turns) >= enough for talker in talkers):
            break
        for key, _ in selector.select(max(0, queue[0][0] - time.monotonic())):
            key.data.read(time.monotonic())
    for talker in talkers:
        talker.socket.close()
    return ([turn for talker in talkers for turn in talker.turns],
            [trouble for talker in talkers for trouble in talker.troubles], late)


def spread(values):
    values = sorted(values)
    return (f"median {statistics.median(values):.0f}, p90 {values[int(0.9 * (len(values) - 1))]:.0f}, "
            f"most {values[-1]:.0f} ms" if values else "none")


def measure(count, seconds, ears, options):
    with harness.Server("--quiet", "--model", "wren", "--ears", ears, *options) as server:
        return report(server, count, seconds, os.path.basename(ears.rstrip("/")))


def report(server, count, seconds, ears):
    """Returns whether every conversation was answered or refused, and no stream had a gap. Gaps that a client itself
    caused do not count."""
    before = hearing_and_all(server.process)
    began = time.monotonic()
    turns, troubles, late = hold(server, count, seconds, ears=ears)
    took = time.monotonic() - began
    low, every = (b - a for a, b in zip(before, hearing_and_all(server.process)))
    answered = [turn for turn in turns if turn["audio_s"] > 0]
    gaps = [gap for turn in answered for gap in turn["gaps"]]

    def ms(a, b, of=answered):
        return [1000 * (turn[b] - turn[a]) for turn in of if a in turn and b in turn]
    print(f"{count} conversations for {seconds} s: {len(turns)} turns, {len(answered)} answered aloud "
          f"({sum(turn['audio_s'] for turn in answered):.0f} s), load {os.getloadavg()[0]:.1f}")
    print(f"  streams with a gap: {sum(1 for turn in answered if turn['gaps'])} of {len(answered)}, "
          f"gaps: {len(gaps)}, longest {1000 * max(gaps, default=0):.0f} ms; clients late by {1000 * late:.0f} ms at most")
    print(f"  end of the question until speech_stopped: {spread(ms('asked', 'stopped'))}")
    print(f"  until the transcript: {spread(ms('stopped', 'heard'))}")
    print(f"  until a turn is refused because a recogniser is late: {spread(ms('stopped', 'refused', turns))}, "
          f"{sum(1 for turn in turns if 'refused' in turn)} turns")
    print(f"  until the first audio: {spread(ms('heard', 'audio'))}")
    print(f"  from the end of the question until the first audio: {spread(ms('asked', 'audio'))}")
    print(f"  processor: {every / took:.2f} cores, {low / took:.2f} of them for threads of lower priority")
    for trouble in sorted(set(troubles)):
        print(f"  trouble, {troubles.count(trouble)} times: {trouble}")
    heard = [gap for gap in gaps if gap > late + 0.02]
    print(f"{len(answered)} answers of {count} conversations, {len(heard)} gaps that the server caused")
    return sum(1 for turn in turns if "refused" in turn) + len(answered) >= count and not heard and not troubles


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--ears", default="pocketsphinx", help="what hears: pocketsphinx, or a model's directory")
    arguments, rest = parser.parse_known_args()
    sys.exit(not measure(arguments.conversations, arguments.seconds, arguments.ears, rest))
