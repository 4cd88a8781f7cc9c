"""Tests `syrinx transcribe`: every format, one and several recordings, from files and a pipe."""
import json
import os
import random
import re
import struct
import sys
import tempfile
import unittest
import wave

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import run_cli  # noqa: E402

SAID = "Good evening. Please come in and sit down."


class AModel(unittest.TestCase):
    """Tests a small random Whisper with several options."""
    MODEL = os.path.join(harness.PARITY, "whisper", "small")

    def setUp(self):
        dir = tempfile.TemporaryDirectory()
        self.addCleanup(dir.cleanup)
        self.wav = os.path.join(dir.name, "noise.wav")
        draws = random.Random(1)
        with wave.open(self.wav, "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(struct.pack("<16000h", *(draws.randrange(-9000, 9000) for _ in range(16000))))

    def segments(self, *options):
        done = run_cli("transcribe", "-m", self.MODEL, "--threads", "1", "--kv-mib", "64", "--device", "cpu",
                       "--weights-cache", "off", "--language", "en", "--format", "json", *options, self.wav)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["segments"]

    def test_weights(self):
        wide, narrow = (self.segments("--weights", weights, "--temperature", "0", "--no-fallback")
                        for weights in ("f32", "q8"))
        self.assertTrue(wide)
        self.assertNotEqual([each["avg_logprob"] for each in wide], [each["avg_logprob"] for each in narrow])

    def test_temperatures(self):
        for options, least in ((["--temperature", "0.5", "--no-fallback", "--no-condition"], 0.5), (["--no-fallback"], 0)):
            for segment in self.segments(*options):
                self.assertEqual(segment["temperature"], least)
        for segment in self.segments("--temperature", "0.5"):
            self.assertIn(segment["temperature"], (0.5, 0.7, 0.9))


class Transcribe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.wav = cls.at("talk.wav")
        run_cli("say", "--model", harness.MODEL, "--voice", "crake", "--seed", "5", SAID, "-o", cls.wav)
        done = run_cli("transcribe", cls.wav)
        if b"libpocketsphinx" in done.stderr:
            print("skipped: PocketSphinx is not installed")
            sys.exit(77)
        assert done.returncode == 0, done.stderr
        cls.text = done.stdout.decode()

    @classmethod
    def at(cls, name):
        return os.path.join(cls.dir.name, name)

    def read(self, name):
        with open(self.at(name), encoding="utf-8") as file:
            return file.read()

    def words(self, text):
        return re.findall(r"[a-z']+", text)

    def test_lines(self):
        self.assertIn("good evening", self.text)
        self.assertTrue(self.text.endswith("\n"))

    def test_several_into_a_directory(self):
        """One of the files is not a recording. The error names it, and the other files are transcribed."""
        broken, other = self.at("letter.wav"), self.at("again.wav")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("Dear sister, " * 100)
        os.symlink(self.wav, other)
        done = run_cli("transcribe", self.wav, broken, other, "--format", "srt", "-o", self.at("texts/"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("letter.wav", done.stderr.decode())
        self.assertEqual(sorted(os.listdir(self.at("texts"))), ["again.srt", "talk.srt"])
        srt = self.read("texts/talk.srt")
        self.assertRegex(srt, r"\A1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n")
        self.assertEqual(self.words(srt), self.words(self.text))
        self.assertEqual(self.read("texts/again.srt"), srt)

    def test_the_name_tells_the_format(self):
        done = run_cli("transcribe", self.wav, "-o", self.at("talk.vtt"))
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        vtt = self.read("talk.vtt")
        self.assertTrue(vtt.startswith("WEBVTT\n\n00:00:0"), vtt)
        self.assertEqual(self.words(vtt), self.words(self.text))

    def test_a_pipe_with_the_times_of_words(self):
        with open(self.wav, "rb") as file:
            done = run_cli("transcribe", "--format", "json", "--words", "-", stdin=file.read())
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = json.loads(done.stdout)
        words = whole["words"]
        self.assertEqual([word["word"] for word in words], self.words(self.text))
        times = [time for word in words for time in (word["start"], word["end"])]
        self.assertEqual(times, sorted(times))
        self.assertLessEqual(times[-1], whole["duration"])

    def test_what_makes_no_sense(self):
        for arguments, why in (
                ([self.wav, "-o", self.at("talk.doc")], "'.doc' is an unsupported transcript format"),
                ([self.wav, self.wav, "-o", self.at("both.SRT")], "-o DIRECTORY --format srt"),
                ([self.wav, self.wav, "--format", "srt"], "subtitles of several files need a directory"),
                (["-", "-"], "can be read only once"),
                ([self.wav, "--language", "de"], "de"),
                ([self.wav, "--translate"], "translate")):
            done = run_cli("transcribe", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(why, done.stderr.decode())


if __name__ == "__main__":
    harness.main()
