"""Tests CSM in a conversation: earlier turns as recordings, a numbered speaker with a recording, and float recordings
with an offset, from the command line and over HTTP."""
import base64
import math
import os
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import PARITY, Server, run_cli  # noqa: E402

CSM = os.path.join(PARITY, "csm/golden/published_rates/checkpoint")
TEXT, RATE, FRAMES = "die Strasse", 24000, 12
TURNS = [("1", "hello there, how are you?"), ("0", " I'm fine")]


def float_wav(path, step, offset):
    samples = [offset + 0.2 * math.sin(step * i) for i in range(2 * RATE)]
    data = struct.pack(f"<{len(samples)}f", *samples)
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 3, 1, RATE, 4 * RATE, 4, 32)
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + head + b"data" + struct.pack("<I", len(data)) + data)


def samples_of(wav):
    return wav[wav.index(b"data") + 8:]


class Turns(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.heard = [os.path.join(self.dir.name, name) for name in ("a.wav", "b.wav")]
        float_wav(self.heard[0], 0.05, 0.0123)
        float_wav(self.heard[1], 0.03, -0.03)

    def tearDown(self):
        self.dir.cleanup()

    def say(self, *options):
        out = os.path.join(self.dir.name, "out.wav")
        done = run_cli("say", TEXT, "--model", CSM, "--weights", "f32", "--temperature", "0", "--max-frames",
                       str(FRAMES), "-o", out, *options)
        self.assertEqual(done.returncode, 3, done.stderr)  # the requested number of frames was reached
        with open(out, "rb") as file:
            return samples_of(file.read())

    def turns(self, count):
        return [part for (who, words), heard in zip(TURNS[:count], self.heard)
                for part in ("--turn", who, heard, words)]

    def base64(self, which):
        with open(self.heard[which], "rb") as file:
            return base64.b64encode(file.read()).decode()

    def test_all_turns_are_heard_from_both_sides(self):
        both = self.say("--voice", "1", *self.turns(2))
        self.assertEqual(len(both), 2 * 1920 * FRAMES)
        one = self.say("--voice", "1", *self.turns(1))
        self.assertEqual(len({both, one, self.say("--voice", "1")}), 3)
        third = self.say("--speaker", "3", "--ref-audio", self.heard[0], "--ref-text", TURNS[0][1])
        zeroth = self.say("--speaker", "0", "--ref-audio", self.heard[0], "--ref-text", TURNS[0][1])
        self.assertNotEqual(third, zeroth)
        with Server("--weights", "f32", model=CSM) as server:
            def post(**fields):
                status, _, body = server.speak({"input": TEXT, "temperature": 0, "response_format": "wav",
                                                "stream": False, **fields})
                self.assertEqual(status, 200, body[:300])
                return samples_of(body)[:2 * 1920 * FRAMES]
            context = [{"speaker": int(who), "text": words, "audio": self.base64(i)}
                       for i, (who, words) in enumerate(TURNS)]
            self.assertTrue(post(voice="1", context=context) == both)
            self.assertTrue(post(voice="1", context=context[:1]) == one)
            self.assertTrue(post(speaker=3, ref_audio=self.base64(0), ref_text=TURNS[0][1]) == third)

    def test_a_recording_that_is_none_is_named(self):
        for options in (["--ref-audio", __file__, "--ref-text", "x"],
                        ["--turn", "1", self.heard[0], "a", "--turn", "0", __file__, "b"]):
            done = run_cli("say", TEXT, "--model", CSM, "-o", os.path.join(self.dir.name, "out.wav"), *options)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"syrinx: {__file__}: unsupported audio format".encode(), done.stderr)

    def test_a_recording_comes_back_as_it_went_in(self):
        env = {"SYRINX_VOICES": os.path.join(self.dir.name, "store")}
        out, again = (os.path.join(self.dir.name, name) for name in ("out.wav", "again.wav"))
        for name, source, copy in (("anna", self.heard[0], out), ("ben", out, again)):
            self.assertEqual(run_cli("voice", "add", name, source, "--text", "Hello.", env=env).returncode, 0)
            self.assertEqual(run_cli("voice", "export", name, "-o", copy, env=env).returncode, 0)
            with open(self.heard[0], "rb") as want, open(copy, "rb") as got:
                self.assertTrue(got.read() == want.read(), name)


if __name__ == "__main__":
    harness.main()
