"""Tests help, completion, the manual, and playback."""
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import BIN, MODEL, run_cli  # noqa: E402


def commands():
    text = run_cli("--help").stdout.decode()
    return re.findall(r"^  (\w+) {2,}", text[text.index("Subcommands:"):text.index("Examples:")],
                      re.MULTILINE)


class Texts(unittest.TestCase):
    def complete(self, *words):
        """Returns bash's completions of the last word."""
        script = run_cli("completion", "bash").stdout.decode()
        quoted = " ".join(f"'{word}'" for word in words)
        script += f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}; _syrinx\n"
        script += "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, check=True)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().split()

    def test_bash(self):
        self.assertEqual(self.complete("syrinx", "ser"), ["serve"])
        self.assertLessEqual(set(commands()), set(self.complete("syrinx", "")))
        self.assertEqual(self.complete("syrinx", "say", "--weig"), ["--weights", "--weights-cache"])
        self.assertEqual(self.complete("syrinx", "say", "--weights", "b"), ["bf16"])
        self.assertEqual(self.complete("syrinx", "completion", "f"), ["fish"])
        self.assertIn(BIN, self.complete("syrinx", "say", "-f", BIN[:-1]))

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        script = run_cli("completion", "zsh").stdout
        subprocess.run(["zsh", "-n"], input=script, check=True)
        loaded = b"autoload -U compinit; compinit -D -u\n" + script + b"\nprint $_comps[syrinx]"
        done = subprocess.run(["zsh", "-f"], input=loaded, capture_output=True, check=True)
        self.assertEqual((done.stdout, done.stderr), (b"_syrinx\n", b""))

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        with tempfile.TemporaryDirectory() as home:
            path = os.path.join(home, "syrinx.fish")
            with open(path, "wb") as file:
                file.write(run_cli("completion", "fish").stdout)
            done = subprocess.run(
                ["fish", "--no-config", "-c", f"source {path}; complete -C 'syrinx ser'; "
                 "complete -C 'syrinx say --weights q'"], capture_output=True, check=True,
                env=dict(os.environ, HOME=home))
        self.assertTrue(done.stdout.startswith(b"serve\t"), done.stdout)
        self.assertIn(b"q8\t", done.stdout)

    def test_manual_tells_every_option(self):
        done = run_cli("manual")
        self.assertEqual(done.returncode, 0)
        page = done.stdout.decode().replace("\\-", "-")
        for command in commands():
            self.assertRegex(page, rf'(?m)^\.SS "{command} ')
            for option in re.findall(r"(--[\w-]+)", run_cli(command, "--help").stdout.decode()):
                self.assertIn(option, page, command)
        for word in ["EXIT STATUS", "SYRINX_API_KEY", "SYRINX_PLAYER"]:
            self.assertIn(word, page)
        if shutil.which("mandoc"):
            lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning"], input=done.stdout,
                                  capture_output=True, check=False).stdout.decode()
            self.assertEqual([line for line in lint.splitlines() if "missing date" not in line], [])

    def test_help_teaches(self):
        self.assertNotIn("Examples:", run_cli("inspect", "--help").stdout.decode())
        for command in ["say", "book", "completion", "manual"]:
            text = run_cli(command, "--help").stdout.decode()
            self.assertIn("Examples:\n", text)
            # Every option that an example uses exists.
            options, examples = text.split("Examples:\n")
            for line in examples.splitlines():
                for part in line.split("|"):
                    if part.strip().startswith("syrinx " + command):
                        for option in re.findall(r" (--?\w[\w-]*)", part):
                            self.assertRegex(options, rf"(^|[ ,]){option}\b")
        self.assertIn("Exit codes: 0", run_cli("--help").stdout.decode())


class Play(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = place.name
        self.heard = os.path.join(place.name, "heard.wav")

    def say(self, *arguments, player=None):
        environment = dict(os.environ, SYRINX_PLAYER=player or f"cat > {self.heard}")
        return subprocess.run([BIN, "say", "--model", MODEL, "Hello there.", *arguments],
                              capture_output=True, cwd=self.dir, env=environment, timeout=60,
                              check=False)

    def read(self, name):
        with open(os.path.join(self.dir, name), "rb") as file:
            return file.read()

    def test_scripts_get_a_file(self):
        done = self.say()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.dir), ["speech.wav"])

    def test_play_and_keep(self):
        done = self.say("--play", "-o", "kept.wav")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.read("heard.wav")[44:] == self.read("kept.wav")[44:])
        harness.wav_header(self.read("heard.wav"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["heard.wav", "kept.wav"])

    def test_at_a_terminal_it_is_heard(self):
        master, slave = pty.openpty()
        environment = dict(os.environ, SYRINX_PLAYER=f"cat > {self.heard}")
        done = subprocess.run([BIN, "say", "--model", MODEL, "Hello there."], stdout=slave,
                              stderr=subprocess.PIPE, cwd=self.dir, env=environment, timeout=60,
                              check=False)
        os.close(slave)
        said = os.read(master, 4096).decode()
        os.close(master)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(", played", said)
        self.assertEqual(os.listdir(self.dir), ["heard.wav"])

    def test_a_player_that_fails(self):
        for player in ["exit 3", "no-such-player-here", "head -c 10 >/dev/null; exit 1"]:
            done = self.say("--play", player=player)
            self.assertEqual(done.returncode, 1, player)
            self.assertIn(b"use -o FILE to write the audio to a file", done.stderr)

    def test_no_player(self):
        done = subprocess.run([BIN, "say", "--model", MODEL, "Hello.", "--play"], cwd=self.dir,
                              capture_output=True, env={"PATH": self.dir}, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"found none of aplay", done.stderr)

    def test_a_real_player(self):
        if not shutil.which("ffplay"):
            self.skipTest("no ffplay")
        os.symlink(shutil.which("ffplay"), os.path.join(self.dir, "ffplay"))  # no other player is found
        done = subprocess.run([BIN, "say", "--model", MODEL, "Hello.", "--play"], cwd=self.dir,
                              capture_output=True, timeout=60, check=False,
                              env={"PATH": self.dir, "SDL_AUDIODRIVER": "dummy"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_formats(self):
        for name, begins in [("a.wav", b"RIFF"), ("a.flac", b"fLaC"), ("a.opus", b"OggS"),
                             ("a.ogg", b"OggS"), ("a.m4a", b"\0\0\0"), ("a.aac", b"\xff\xf1"), ("a.MP3", b"\xff\xf3")]:
            done = self.say("-o", name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(self.read(name).startswith(begins), name)
        self.say("-o", "a.pcm")
        self.assertTrue(self.read("a.pcm") == self.read("a.wav")[44:])
        streamed, kept = self.say("-o", "-", "--format", "flac").stdout, self.read("a.flac")
        self.assertTrue(streamed[42:] == kept[42:])  # all but STREAMINFO, which contains the length
        for name in ["a.wma", "a.xyz", "noending"]:
            done = self.say("-o", name)
            self.assertEqual((done.returncode, os.path.exists(os.path.join(self.dir, name))),
                             (1, False))
            for part in [name, "wav, flac, mp3, opus, ogg, aac, m4a, m4b or pcm", "--format"]:
                self.assertIn(part, done.stderr.decode())
        self.assertEqual(self.say("-o", "a.xyz", "--format", "wav").returncode, 0)
        self.assertTrue(self.read("a.xyz") == self.read("a.wav"))

    def test_a_file_tells_its_length(self):
        self.say("-o", "a.wav")
        seconds = (len(self.read("a.wav")) - 44) / 2 / harness.wav_header(self.read("a.wav"))[0]
        self.say("-o", "a.flac")
        with open(os.path.join(self.dir, "b.wav"), "wb") as out:  # like the shell's "> b.wav"
            subprocess.run([BIN, "say", "--model", MODEL, "Hello there.", "-o", "-"], stdout=out,
                           stderr=subprocess.DEVNULL, check=True)
        self.assertTrue(self.read("b.wav") == self.read("a.wav"))
        if not shutil.which("ffprobe"):
            self.skipTest("no ffprobe")
        for name in ["a.wav", "a.flac"]:
            told = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format=duration",
                                   "-of", "csv=p=0", name], cwd=self.dir, capture_output=True,
                                  check=True).stdout
            self.assertAlmostEqual(float(told), seconds, places=5, msg=name)

    def test_documented_pipes(self):
        """Commands of the guide that use ffmpeg work, and ffmpeg reports no warning."""
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, "docs", "guide", "cli.md"), encoding="utf-8") as file:
            lines = [line.split("#")[0].strip() for line in file if "| ffmpeg" in line]
        self.assertTrue(lines)
        if not shutil.which("ffmpeg"):
            self.skipTest("no ffmpeg")
        for line in lines:
            command = line.replace("syrinx say", f"{BIN} say --model {MODEL}", 1).replace(
                "ffmpeg", "ffmpeg -loglevel warning 2>remarks")
            subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.dir, check=True,
                           stderr=subprocess.DEVNULL, timeout=60)
            self.assertEqual(self.read("remarks"), b"", line)

    def test_interrupted(self):
        """After Ctrl-C, an existing file is unchanged and no temporary file is left."""
        for what in [signal.SIGINT, signal.SIGTERM]:
            with open(os.path.join(self.dir, "kept.wav"), "wb") as file:
                file.write(b"older")
            process = subprocess.Popen(
                [BIN, "say", "--model", MODEL, "-o", "kept.wav", "A long text. " * 5000],
                cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            deadline = time.monotonic() + 60
            while len(os.listdir(self.dir)) < 2 and time.monotonic() < deadline:
                time.sleep(0.005)  # waits until the program has begun to write
            self.assertEqual(len(os.listdir(self.dir)), 2)
            process.send_signal(what)
            self.assertEqual(process.communicate(timeout=20)[1], b"")
            self.assertEqual(process.returncode, -what)
            self.assertEqual(os.listdir(self.dir), ["kept.wav"])
            self.assertEqual(self.read("kept.wav"), b"older")

    def test_no_sound_card(self):
        self.say("-o", "want.wav")
        for player in ["exit 1", "head -c 10 >/dev/null; exit 1", "cat >/dev/null; exit 1"]:
            done = self.say("--play", "-o", "kept.wav", player=player)
            self.assertEqual(done.returncode, 1, player)
            self.assertIn(b"the file was written", done.stderr)
            self.assertTrue(self.read("kept.wav") == self.read("want.wav"), player)

    def test_incomplete_is_told(self):
        done = self.say("-o", "cut.wav", "--max-frames", "5")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"length limit", done.stderr)
        self.assertGreater(len(self.read("cut.wav")), 44)


if __name__ == "__main__":
    harness.main()
