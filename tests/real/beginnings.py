#!/usr/bin/env python3
"""Judges what Whisper base transcribes from unfinished speech: the windows of live turns, with 4 s of silence after them, beside
whole windows of 30 s.

    SYRINX_BIN=build/release/syrinx tests/real/beginnings.py

Recordings of speech are cut after 2 and 5 s. The expected words are those that faster-whisper (float32) finds in the whole
recording up to the cut. The word at the cut is optional.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import fetch
import models
import recordings
import whisper
from words import errors

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "http"))
import harness  # noqa: E402
from test_realtime import Conversation  # noqa: E402

CUTS_S = (2, 5)


def clips(folder):
    """Yields (recording, seconds, path) of beginnings of recordings with speech, at 24 kHz for the server."""
    for each in recordings.all_recordings():
        if not each.language or each.kind == "long":
            continue
        for cut_s in CUTS_S:
            path = folder / f"{each.name}@{cut_s}.wav"
            subprocess.run(["ffmpeg", "-loglevel", "error", "-i", each.path, "-t", str(cut_s), "-ar", "24000", "-bitexact", path],
                           check=True, stdin=subprocess.DEVNULL)
            if path.stat().st_size > (cut_s - 0.1) * 48000:
                yield each, cut_s, path


def heard_live(server, path):
    update = {"type": "transcription", "audio": {"input": {
        "format": {"type": "audio/pcm", "rate": 24000}, "turn_detection": None, "transcription": {"model": "any"}}}}
    with Conversation(server, "?intent=transcription") as ws:
        ws.send({"type": "session.update", "session": update})
        ws.until_type("session.updated")
        ws.talk(path.read_bytes()[44:])
        ws.send({"type": "input_audio_buffer.commit"})
        return ws.until_type("conversation.item.input_audio_transcription.completed")[-1]["transcript"]


def wrong(text, segments, cut_s):
    """Returns (wrong words of `text`, expected words)."""
    said = [word for segment in segments for word in segment["words"]]
    ended = "".join(word for word, _, end_s in said if end_s <= cut_s)
    begun = "".join(word for word, begin_s, _ in said if begin_s < cut_s)
    return min(errors(text, ended)[0], errors(text, begun)[0]), errors("", ended)[1]


def main():
    base = str(models.whisper("base"))
    wanted = whisper.reference("base", base, recordings.all_recordings(), os.cpu_count())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        each_clip = list(clips(folder))
        subprocess.run([harness.BIN, "transcribe", "-q", "-m", base, "--format", "json", "-o", folder,
                        *(path for _, _, path in each_clip)], check=True)
        sums = {"whole windows": 0, "live turns": 0, "words": 0}
        with harness.Server("--quiet", "--model", "wren", "--ears", base) as server:
            for recording, cut_s, path in each_clip:
                segments = wanted[recording.name]["segments"]
                whole = whisper.text_of(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
                sums["whole windows"] += wrong(whole, segments, cut_s)[0]
                live, words = wrong(heard_live(server, path), segments, cut_s)
                sums["live turns"] += live
                sums["words"] += words
        print(f"{len(each_clip)} beginnings:", sums)


if __name__ == "__main__":
    try:
        main()
    except fetch.Offline as offline:
        sys.exit(str(offline))
