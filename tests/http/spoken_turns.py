"""Measures the waits of a spoken turn, for the documentation. A question is spoken in real time over loopback. The
parts are the waits until the server reports its end, until its transcript, and until the first text and the first
audio of the answer.

    tests/http/spoken_turns.py                                  PocketSphinx, a small random text model, finch
    tests/http/spoken_turns.py --trained                        Whisper base, Qwen2.5-Coder-0.5B (tests/real), finch
    tests/http/spoken_turns.py --ears DIR --writer FILE         other models
    ... --side '' --side '--executors shared'                   two servers with these options, in turn
    ... --side PROGRAM                                          another program, as a side
    ... --conversations 20 --seconds 40                         then 20 at once on each side

Times are medians in ms since the last sample of the question was sent. `voice` is the server's own mean, of
syrinx_turn_*_seconds, since the last voice. `processor` has seconds of the server for a turn.
"""
import argparse
import os
import pathlib
import shlex
import statistics
import sys
import threading
import time

import conversations
import harness
from test_realtime import Conversation, silence

HERE = pathlib.Path(__file__).parent
WRITER = pathlib.Path(harness.PARITY) / "llm" / "qwen3"
QUESTION = "What is the capital of Norway?"
INSTRUCTIONS = "You talk with a person by voice. Answer in one short sentence of plain words."
PARTS = {"speech_stopped": "input_audio_buffer.speech_stopped",
         "transcript": "conversation.item.input_audio_transcription.completed",
         "first text": "response.output_audio_transcript.delta",
         "first audio": "response.output_audio.delta"}


def processor_s(process):
    return conversations.hearing_and_all(process)[1]


def turn(server, model, question):
    """Returns (ms of each part since the end of the question, its transcript)."""
    with Conversation(server, "?model=" + model, instructions=INSTRUCTIONS, temperature=0, max_output_tokens=40,
                      audio={"input": {"transcription": {"model": "any"}}}) as ws:
        at, heard = {}, []

        def read():
            for name, kind in PARTS.items():
                event = ws.until_type(kind)[-1]
                at[name] = time.monotonic()
                heard.append(event.get("transcript"))

        reader = threading.Thread(target=read)
        reader.start()
        ws.talk(silence(400) + question, pace=True)
        end = time.monotonic()
        ws.talk(silence(2500), pace=True)
        reader.join()
    return {name: 1000 * (at[name] - end) for name in PARTS}, heard[1]


class Side:
    """A server of the comparison, and its measurements."""

    def __init__(self, options, ears, writer):
        words = shlex.split(options)
        program = words.pop(0) if words and not words[0].startswith("-") else harness.BIN
        self.name = options or "as it is"
        self.model = pathlib.Path(writer).stem if str(writer).endswith(".gguf") else pathlib.Path(writer).name
        self.ears = os.path.basename(str(ears).rstrip("/"))
        self.server = harness.Server("--quiet", "--model", str(writer), "--model", "wren", "--ears", str(ears), *words,
                                     program=program)
        self.rows, self.spent, self.texts = [], [], set()

    def measure(self, question):
        before = processor_s(self.server.process)
        row, text = turn(self.server, self.model, question)
        time.sleep(1)  # so that the rest of the answer arrives
        self.spent.append(processor_s(self.server.process) - before)
        self.rows.append(row)
        self.texts.add(text)

    def report(self):
        parts = ", ".join(f"{name} {statistics.median(row[name] for row in self.rows):.0f} "
                          f"({min(row[name] for row in self.rows):.0f} to {max(row[name] for row in self.rows):.0f})"
                          for name in PARTS)
        print(f"{self.name}: {len(self.rows)} turns: {parts}; processor {statistics.median(self.spent):.2f} s; "
              f"heard {sorted(self.texts)}")
        try:
            sums = [conversations.waits_of(self.server, part, "voice") for part in ("transcript", "first_text", "first_audio")]
        except IndexError:
            return  # an older program does not have these metrics
        print("  voice until transcript, first text, first audio: "
              + ", ".join(f"{1000 * seconds / max(1, count):.0f}" for count, seconds in sums) + " ms, means")


def interruptions(server, question, times=4):
    """Prints how soon a voice cancels an answer."""
    rows = []
    for _ in range(times):
        with Conversation(server, temperature=0, max_output_tokens="inf") as ws:
            stop = {}

            def listen(stop=stop, ws=ws):
                events = ws.until_type("input_audio_buffer.speech_started")
                stop["voice_ms"] = events[-1]["audio_start_ms"]
                # A client that reads fast may already have the whole answer. In that case it stays silent from here on.
                if "response.done" not in [event["type"] for event in events]:
                    ws.until_type("response.done")
                stop["done"] = time.monotonic()

            ws.talk(silence(1000))
            ws.say("Tell me all.")
            ws.respond()
            ws.until_type("response.output_audio.delta")
            listener = threading.Thread(target=listen)
            listener.start()
            began = time.monotonic()
            ws.talk(question, pace=True)
            listener.join()
            # The voice began after a prefix of 300 ms, and the detector reported it 120 ms later. Each piece of audio is sent
            # when its first sample is due.
            enough = began + (stop["voice_ms"] + 300 + 120 - 1000) / 1000
            rows.append(1000 * (stop["done"] - enough))
    print(f"interrupted: {statistics.median(rows):.1f} ms from enough of a voice to the answer's end, most {max(rows):.1f}")


def trained():
    sys.path.insert(0, str(HERE.parent / "real"))
    import models  # pylint: disable=import-outside-toplevel
    return models.whisper("base"), models.qwen()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trained", action="store_true")
    parser.add_argument("--ears", default="pocketsphinx")
    parser.add_argument("--writer", default=WRITER)
    parser.add_argument("--turns", type=int, default=6, help="of each side")
    parser.add_argument("--side", action="append", help="options of a server, or another program and its options")
    parser.add_argument("--conversations", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--interruptions", action="store_true", help="with the random text model")
    args = parser.parse_args()
    ears, writer = trained() if args.trained else (args.ears, args.writer)
    sides = []
    try:
        for options in args.side or [""]:
            sides.append(Side(options, ears, writer))
        question = sides[0].server.speak({"input": QUESTION, "response_format": "pcm", "seed": 5})[2]
        print(f"a question of {len(question) / 2 / conversations.RATE:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        for side in sides:
            side.measure(question)  # the first turn reads the pages of the weights for the first time
            side.rows, side.spent = [], []
        for at in range(args.turns):
            for side in sides if at % 2 == 0 else sides[::-1]:
                side.measure(question)
        for side in sides:
            side.report()
        if args.interruptions:
            interruptions(sides[0].server, question)
        for side in sides if args.conversations else []:
            print(side.name)
            conversations.report(side.server, args.conversations, args.seconds, side.ears)
        print(f"load {os.getloadavg()[0]:.1f}")
    finally:
        for side in sides:
            side.server.__exit__()


if __name__ == "__main__":
    main()
