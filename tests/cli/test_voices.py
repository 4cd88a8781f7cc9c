"""Tests stored voices on the command line, and the errors of a model that cannot clone."""
import array
import json
import math
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import MODEL, run_cli  # noqa: E402


def wav(path, seconds=2.0, level=8000, rate=16000):
    samples = array.array("h", (int(level * math.sin(0.05 * i))
                                for i in range(int(seconds * rate))))
    data = samples.tobytes()
    header = (b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " +
              (16).to_bytes(4, "little") + (1).to_bytes(2, "little") + (1).to_bytes(2, "little") +
              rate.to_bytes(4, "little") + (2 * rate).to_bytes(4, "little") +
              (2).to_bytes(2, "little") + (16).to_bytes(2, "little") + b"data" +
              len(data).to_bytes(4, "little"))
    with open(path, "wb") as file:
        file.write(header + data)
    return header + data


class Voices(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.store = os.path.join(self.dir.name, "store")
        self.wav = os.path.join(self.dir.name, "anna.wav")
        self.bytes = wav(self.wav)

    def tearDown(self):
        self.dir.cleanup()

    def voice(self, command, *arguments):
        return run_cli("voice", command, *arguments, env={"SYRINX_VOICES": self.store})

    def fails(self, done, code, *says):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        for text in says:
            self.assertIn(text.encode(), done.stderr)

    def test_kept_shown_given_away_removed(self):
        done = self.voice("list")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        done = self.voice("add", "Anna Bell", self.wav, "--text", "Hello there.", "--consent",
                          "by mail")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"anna-bell: 2.0 s", done.stdout)
        self.assertEqual(os.stat(self.store).st_mode & 0o077, 0)
        listed = self.voice("list").stdout.decode()
        self.assertRegex(listed, r"\nanna-bell +2\.0 ")
        shown = self.voice("show", "anna bell").stdout.decode()
        self.assertIn("Hello there.", shown)
        self.assertIn("by mail", shown)
        out = os.path.join(self.dir.name, "out.wav")
        self.assertEqual(self.voice("export", "anna-bell", "-o", out).returncode, 0)
        with open(out, "rb") as file:
            self.assertTrue(file.read() == self.bytes)
        self.fails(self.voice("add", "anna-bell", self.wav), 1, "already")
        self.assertEqual(self.voice("add", "anna-bell", self.wav, "--replace").returncode, 0)
        self.assertEqual(self.voice("remove", "Anna Bell").returncode, 0)
        self.fails(self.voice("show", "anna-bell"), 1, "no voice 'anna-bell'", "voice list")
        self.assertEqual(os.listdir(os.path.join(self.store, "recordings")), [])

    def test_recordings_that_are_none(self):
        quiet = os.path.join(self.dir.name, "quiet.wav")
        wav(quiet, level=9)
        self.fails(self.voice("add", "a", quiet), 1, "almost silent (-75 dB)")
        self.fails(self.voice("add", "a", __file__), 1, "unsupported audio format")
        self.fails(self.voice("add", "a", self.wav + "x"), 1, "anna.wavx")
        self.fails(self.voice("add", "a+b", self.wav), 1, "not a valid name of a voice")
        short = os.path.join(self.dir.name, "short.wav")
        wav(short, 0.1)
        self.fails(self.voice("add", "a", short), 1, "too short")
        faint = os.path.join(self.dir.name, "faint.wav")
        wav(faint, level=100)
        done = self.voice("add", "faint", faint)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"quiet", done.stderr)

    def test_a_model_that_cannot_clone(self):
        if MODEL != "finch":
            self.skipTest("of the built-in voice")
        out = os.path.join(self.dir.name, "out.wav")
        says = ["'finch' cannot clone a voice", "fixed"]

        def say(*arguments):
            return run_cli("say", "Hello.", "--model", MODEL, "-o", out, *arguments,
                           env={"SYRINX_VOICES": self.store})
        self.fails(say("--ref-audio", self.wav), 1, *says)
        self.voice("add", "anna", self.wav)
        self.fails(say("--voice", "anna"), 1, *says)
        self.fails(self.voice("add", "ben", self.wav, "--model", MODEL), 1, *says)
        embedding = os.path.join(self.dir.name, "speaker.json")
        with open(embedding, "w", encoding="utf-8") as file:
            json.dump([0.5] * 8, file)
        self.fails(say("--speaker-embedding", embedding), 1, "does not accept speaker embeddings")
        self.fails(say("--speaker-embedding", self.wav), 1, "list of numbers")
        self.fails(say("--ref-audio", self.wav, "--voice", "anna"), 2, "one of")
        self.fails(say("--ref-text", "Hi."), 2, "--ref-audio")
        self.fails(say("--voice", "nobody"), 1, "nobody")
        self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    harness.main()
