"""Tests `syrinx chat`: written and spoken answers, also while the user types."""
import array
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import wave

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "http"))
import harness  # noqa: E402
from harness import BIN, run_cli  # noqa: E402

TEXT_MODEL = os.path.join(harness.PARITY, "llm", "qwen3")
COMMON = ["chat", "--model", TEXT_MODEL, "--max-tokens", "40", "--temperature", "0", "--weights", "f32"]


class Chat(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def wav(self, name="answer.wav"):
        return os.path.join(self.dir.name, name)

    def read(self, name="answer.wav"):
        with open(self.wav(name), "rb") as file:
            return file.read()

    def once(self, question, name="answer.wav", *more):
        done = run_cli(*COMMON, "--once", question, "-o", self.wav(name), *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_once(self):
        done = self.once("Who are you?")
        self.assertGreater(len(done.stdout), 10)
        self.assertRegex(done.stderr.decode(), r"first text \d+ ms, first audio \d+ ms\n$")
        self.assertGreater(harness.wav_header(self.read())[1], 1000)
        again = self.once("Who are you?", "again.wav", "--no-predict")
        self.assertEqual(again.stdout, done.stdout)
        self.assertTrue(self.read("again.wav") == self.read())

    def test_lines_of_a_file(self):
        done = run_cli(*COMMON, "-o", self.wav(), stdin=b"Who are you?\n\nAnd who am I?\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(b"first text"), 2)

    def typed(self):
        """Starts a chat at a terminal. Returns its process, the terminal, and a function that waits for output."""
        main, child = pty.openpty()
        process = subprocess.Popen([harness.BIN, *COMMON, "-o", self.wav("typed.wav")],
                                   stdin=child, stdout=child, stderr=child, close_fds=True)
        os.close(child)
        self.addCleanup(process.kill)
        seen = b""

        def until(pattern, seconds=60):
            nonlocal seen
            end = time.time() + seconds
            while not re.search(pattern, seen):
                self.assertLess(time.time(), end, seen[-400:])
                if select.select([main], [], [], 0.2)[0]:
                    try:
                        seen += os.read(main, 4096)
                    except OSError:
                        break
        until(rb"> ")
        return process, main, until

    def test_typed(self):
        """The answer is drafted while the user types, and equals the answer without drafts."""
        process, main, until = self.typed()
        os.write(main, b"Who arr")
        until(rb"\x1b\[2m  \S")  # a draft appears
        os.write(main, b"\x7f")
        time.sleep(0.5)
        for byte in b"e you?":
            os.write(main, bytes([byte]))
            time.sleep(0.3)
        os.write(main, b"\n")
        until(rb"first audio \d+ ms; \d+ drafts")
        os.write(main, b"\x04")
        self.assertEqual(process.wait(30), 0)
        self.once("Who are you?")
        self.assertTrue(self.read("typed.wav") == self.read())

    def test_typed_and_interrupted_what_was_said_is_kept(self):
        process, main, until = self.typed()
        os.write(main, b"Who are you?\n")
        until(rb"first audio \d+ ms")
        time.sleep(0.5)  # the chat waits for the next question
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), -signal.SIGINT)
        self.assertEqual(os.listdir(self.dir.name), ["typed.wav"])
        self.once("Who are you?")
        self.assertTrue(self.read("typed.wav") == self.read())

    def test_what_is_wrong(self):
        for code, words, arguments in [
                (1, "does not answer messages", ["chat", "--model", "finch", "--once", "Hi"]),
                (1, "cannot speak a text", [*COMMON, "--speaker", TEXT_MODEL, "--once", "Hi"]),
                (1, "no-such", ["chat", "--model", "/no-such", "--once", "Hi"])]:
            done = run_cli(*arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr.decode())


class BuiltIn(unittest.TestCase):
    """Tests chats without --model, which the built-in model wren answers."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def test_tells_the_time(self):
        done = run_cli("chat", "--once", "What time is it?", "-o", self.path("answer.wav"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"^It is \d\d:\d\d\.\n$")

    def question(self):
        """Writes a file that contains the output of a recorder."""
        question, raw = self.path("question.wav"), self.path("question.raw")
        self.assertEqual(run_cli("say", "What time is it?", "--voice", "curlew", "-o", question).returncode, 0)
        with wave.open(question) as file, open(raw, "wb") as out:
            self.assertEqual(file.getframerate(), 24000)  # keeps two of three samples, which gives a recorder's rate
            spoken = array.array("h", file.readframes(file.getnframes()))
            heard = ((spoken[3 * i // 2] + spoken[(3 * i + 1) // 2]) // 2
                     for i in range(len(spoken) * 2 // 3))
            out.write(bytes(32000) + array.array("h", heard).tobytes() + bytes(48000))
        return raw

    def test_spoken_questions(self):
        """The recorder returns a question once. When it starts again, it returns no samples."""
        raw = self.question()
        recorder = f"test ! -e {raw} || (mv {raw} {raw}.once && cat {raw}.once)"
        done = run_cli("chat", "--listen", "-o", self.path("answer.wav"), env={"SYRINX_RECORDER": recorder})
        if b"install" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"^> what time is it\nIt is \d\d:\d\d\.\n$")
        times = re.search(rb"first text (\d+) ms, first audio (\d+) ms; (\d+) ms from the end of speech to the first "
                          rb"audio: pause (\d+), words (\d+), text (\d+), audio (\d+)", done.stderr)
        self.assertTrue(times, done.stderr)
        text, audio, whole, *parts = (int(each) for each in times.groups())
        self.assertLessEqual(abs(whole - sum(parts)), 3)
        self.assertLessEqual(abs(audio - text - parts[3]), 2)

    def test_interrupted_the_recording_is_kept(self):
        raw = self.question()
        recorder = f"cat {raw} 2>/dev/null && rm -f {raw} || cat /dev/zero"
        process = subprocess.Popen([BIN, "chat", "--listen", "-o", self.path("answer.wav")], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, "SYRINX_RECORDER": recorder})
        try:
            heard = process.stdout.readline()
            if not heard:
                self.skipTest(process.stderr.read().decode())
            self.assertIn(b"It is", process.stdout.readline())
            time.sleep(0.5)  # the chat listens again
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(30), -signal.SIGINT)
        finally:
            process.kill()
            process.communicate()
        self.assertEqual(sorted(os.listdir(self.dir.name)), ["answer.wav", "question.wav"])
        with wave.open(self.path("answer.wav")) as file:
            self.assertGreater(file.getnframes(), 24000)

    def test_once_is_not_listened_to(self):
        self.assertEqual(run_cli("chat", "--listen", "--once", "Hi").returncode, 2)


if __name__ == "__main__":
    harness.main()
