"""Tests the command line: its output, its errors and exit codes."""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import MODEL, SENTENCE, run_cli  # noqa: E402


class Doctor(unittest.TestCase):
    def test_this_machine(self):
        done = run_cli("doctor", "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        findings = {each["topic"]: each for each in json.loads(done.stdout)["findings"]}
        self.assertEqual(findings["voice"]["health"], "ok")
        self.assertRegex(findings["memory"]["detail"], r"free of")
        self.assertRegex(findings["processor"]["detail"], r"cores?, instruction set \w+")

    def test_what_is_missing(self):
        done = run_cli("doctor", env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout.decode(), r"(?m)^espeak-ng +missing ")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = run_cli("doctor", "--port", str(taken.getsockname()[1]))
            self.assertRegex(done.stdout.decode(), r"(?m)^port +limited .*in use")

    def test_without_a_voice(self):
        with tempfile.TemporaryDirectory() as place:
            alone = os.path.join(place, "syrinx")
            shutil.copy(harness.BIN, alone)
            done = subprocess.run([alone, "doctor"], capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.decode(), r"(?m)^voice +broken ")


class Say(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.wav = os.path.join(self.dir.name, "out.wav")

    def tearDown(self):
        self.dir.cleanup()

    def say(self, *arguments, stdin=b""):
        return run_cli("say", "--model", MODEL, *arguments, stdin=stdin)

    def read(self, path=None):
        with open(path or self.wav, "rb") as file:
            return file.read()

    def test_file(self):
        done = self.say("Hello there.", "-o", self.wav)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(),
                         r"^[\d.]+ s of audio, first audio \d+ ms, real-time factor [\d.]+, "
                         r"voice \S+, \S+out\.wav\n$")
        self.assertEqual(done.stderr, b"")
        data = self.read()
        self.assertEqual(harness.wav_header(data)[1], len(data) - 44)
        self.assertEqual(struct.unpack("<I", data[4:8])[0], len(data) - 8)

    def test_quiet(self):
        self.say("Hello there.", "-o", self.wav)
        want = self.read()
        done = self.say("-q", "Hello there.", "-o", self.wav)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertTrue(self.read() == want)

    def test_ways_to_give_the_text(self):
        text = os.path.join(self.dir.name, "text.txt")
        with open(text, "w", encoding="utf-8") as file:
            file.write("Hello there.")
        self.say("Hello there.", "-o", self.wav)
        want = self.read()
        for arguments, stdin in [(["Hello", "there."], b""), (["-"], b"Hello there."),
                                 (["-f", text], b"")]:
            self.assertEqual(self.say(*arguments, "-o", self.wav, stdin=stdin).returncode, 0)
            self.assertTrue(self.read() == want)
        self.assertIn(b"'book' speaks longer", self.say("-", "-o", self.wav, stdin=b"a" * 300000).stderr)

    def test_a_text_in_brackets_is_not_a_list(self):
        for text in ("[One, two.]", "[pause 1s]"):
            self.say("-", "-o", self.wav, stdin=text.encode())
            want = self.read()
            self.assertEqual(self.say(text, "-o", self.wav).returncode, 0)
            self.assertTrue(self.read() == want, text)
        self.assertIn(b"has no voice \"[a, b]\"", self.say("Hi.", "--voice", "[a, b]", "-o", self.wav).stderr)
        self.assertIn(b"'[a]' is an unexpected argument", run_cli("doctor", "[a]").stderr)

    def test_standard_output(self):
        done = self.say("Hello there.", "-o", "-")
        self.assertEqual(done.returncode, 0)
        self.say("Hello there.", "-o", self.wav)
        self.assertEqual(harness.wav_header(done.stdout)[1], 0xFFFFFFFF)
        self.assertTrue(done.stdout[44:] == self.read()[44:])
        self.assertIn(b"s of audio", done.stderr)

    def test_equals_the_server(self):
        with harness.Server("--quiet") as server:
            for speed in (1, 3):
                self.say(SENTENCE, "--seed", "9", "--speed", str(speed), "-o", self.wav)
                pcm = server.speak({"input": SENTENCE, "seed": 9, "response_format": "pcm", "speed": speed,
                                    "sample_rate": harness.wav_header(self.read())[0]})[2]
                self.assertTrue(pcm == self.read()[44:], speed)

    def test_threads_do_not_matter(self):
        self.say("Hello there.", "--threads", "1", "-o", self.wav)
        one = self.read()
        self.say("Hello there.", "--threads", "2", "-o", self.wav)
        self.assertTrue(self.read() == one)

    def test_invalid_utf8_is_not_fatal(self):
        done = self.say("-", "-o", self.wav, stdin=b"Hello \xff\xfe there.")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_words(self):
        srt = os.path.join(self.dir.name, "out.srt")
        done = self.say("Hello there.", "-o", self.wav, "--words", "--srt", srt)
        if done.returncode == 1:
            self.assertIn(b"does not report the times of words", done.stderr)
            return
        self.assertRegex(done.stdout.decode(), r"(?m)^ +\d+\.\d\d  Hello$")
        self.assertIn(b"00:00:0", self.read(srt))

    def test_binary_input_is_refused(self):
        for arguments, stdin in [(["-f", harness.BIN], b""), (["-"], b"\x00\x01PK"),
                                 (["-"], "Hello.".encode("utf-16"))]:
            done = self.say(*arguments, "-o", self.wav, stdin=stdin)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"is not a text", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        self.refused(1, "directory", "say", "-f", self.dir.name, "-o", self.wav)
        self.refused(1, "is not a text", "book", harness.BIN, "-o", self.wav)
        self.assertFalse(os.path.exists(self.wav))

    def refused(self, code, says, *arguments, stdin=b""):
        done = run_cli(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, code, (arguments, done))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith(b"syrinx: "), done.stderr)
        self.assertIn(says, done.stderr.decode())

    def test_errors(self):
        text = ["say", "--model", MODEL, "-o", self.wav]
        self.refused(2, "--nonsense", "say", "--nonsense", "x")
        self.refused(2, "did you mean 'say'?", "sya", "Hello")
        self.refused(2, "did you mean 'inspect'?", "insp")
        self.refused(2, "did you mean '--voice'?", *text, "Hello", "--voise", "x")
        self.refused(2, "did you mean '--output'?", "say", "Hello", "--outptu=x")
        self.refused(2, "did you mean 'list'?", "voice", "lsit")
        self.refused(2, "syrinx voice list --help", "voice", "list", "--nonsense")
        self.refused(2, "nothing to say", *text)
        self.refused(2, "a text or -f FILE, not both", *text, "Hello", "-f", "file")
        self.refused(2, "--temperature: 5 is not between 0 and 2", *text, "Hello",
                     "--temperature", "5")
        self.refused(2, "--max-frames: -1 is not between 0 and 1000000", *text, "Hello", "--max-frames", "-1")
        self.refused(2, "--top-p: 'x' is not a number", *text, "Hello", "--top-p", "x")
        self.refused(2, "--top-p: the value is missing", *text, "Hello", "--top-p")
        self.refused(2, "--top-p: given more than once", *text, "Hello", "--top-p", "1", "--top-p", "1")
        self.refused(2, "--port: 99999 is not between 0 and 65535", "serve", "--port", "99999")
        self.refused(2, "--stall-timeout: 0 is not more than 0", "serve", "--stall-timeout", "0")
        self.refused(2, "NAME=MEANING", "serve", "--voice-alias", "anna")
        self.refused(1, "not served", "serve", "--model-alias", "a=b", "--port", "0")
        self.refused(1, "no-such-file", *text, "-f", "no-such-file")
        self.refused(1, "nobody", *text, "Hello", "--voice", "nobody")
        self.refused(2, "nothing to say", *text, "")
        self.refused(2, "nothing to say", *text, "<speak></speak>")
        self.refused(2, "nothing to say", *text, "<speak> <mark name='a'/> </speak>")
        self.refused(2, "nothing to say", *text, "-", stdin=b"  \n ")
        self.refused(2, "nothing to say", *text, "-f", os.devnull)
        self.refused(2, "no text to speak", "book", os.devnull, "-o", self.wav)
        self.refused(2, "the question is empty", "chat", "--once", " ")
        self.refused(1, "no/such", "say", "--model", MODEL, "Hello", "-o", "/no/such/dir.wav")
        self.refused(1, "no-such-model", "say", "--model", "/no-such-model", "Hello")
        self.refused(1, "no-such-model", "inspect", "/no-such-model")
        self.refused(2, "both be written to texts/x.txt", "transcribe", "a/x.wav", "b/x.mp3", "-o",
                     "texts/")
        self.refused(2, "the standard output is used for the text", "chat", "--once", "Hi", "-o", "-")
        self.refused(2, "--seed: '1e3' is not a whole number", *text, "Hello", "--seed", "1e3")
        self.refused(2, "--seed: -1 is not 0 or more", *text, "Hello", "--seed", "-1")
        self.refused(1, "'wren' only writes; it cannot speak a text", "say", "--model", "wren", "Hi", "-o", self.wav)
        self.refused(1, "'wren' only writes; it cannot speak a text", "book", "--model", "wren", __file__, "-o", self.wav)
        self.refused(1, "this voice reads Latin letters", *text, "Привет")
        self.refused(1, "cannot read /nowhere: No such file", "serve", "--port", "0", "--tls-cert", "/nowhere",
                     "--tls-key", "/nowhere")
        self.refused(2, "--model-memory-mib: -5 is not 0 or more", "serve", "--model-memory-mib", "-5")
        self.refused(1, "its name must end with a format, e.g. hello.wav", *text[:3], "Hi", "-o", "hello")
        self.refused(1, "unknown format 'xyz'", *text[:3], "Hi", "-o", "hello.xyz")
        self.refused(1, "is a directory", "say", "--model", MODEL, "Hi", "-o", self.dir.name)
        self.refused(1, "before its </speak>", *text, "<speak>Hello")
        self.refused(1, "XML has &amp;", *text, "<speak>a &nbsp; b</speak>")
        self.refused(1, "written &amp;", *text, "<speak>a & b</speak>")
        self.assertFalse(os.path.exists(self.wav))

    def test_no_instructions_beyond(self):
        done = run_cli("say", "Hi", "-o", self.wav, env={"SYRINX_CPU": "i386"})
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"syrinx: SYRINX_CPU is 'i386'; expected portable, avx2, avxvnni, avx512, "
                         b"avx512vnni, avx512bf16 or amx\n")

    def test_a_closed_pipe_behind_the_standard_output(self):
        for arguments in (["manual"], ["say", "--model", MODEL, SENTENCE * 5, "-o", "-"],
                          ["top", "http://127.0.0.1:1"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([harness.BIN, *arguments], stdout=writer, stderr=subprocess.PIPE,
                                  check=False, timeout=60)
            os.close(writer)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(b"cannot write to the standard output: Broken pipe", done.stderr)

    def test_a_bound_on_the_size_of_files(self):
        with open(self.wav, "wb") as old:
            old.write(b"old")
        for name in ("out.wav", "out.mp3", "out.flac"):
            done = subprocess.run(
                ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", harness.BIN, "say", "--model", MODEL,
                 SENTENCE * 3, "-o", os.path.join(self.dir.name, name)],
                capture_output=True, check=False, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(b"File too large", done.stderr)
        self.assertEqual(os.listdir(self.dir.name), ["out.wav"])
        self.assertEqual(self.read(), b"old")

    def test_a_full_disk_behind_the_standard_output(self):
        for arguments in (["inspect", MODEL], ["--help"], ["manual"], ["say", "--help"],
                          ["say", "--model", MODEL, "Hi", "-o", "-"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([harness.BIN, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1]),
                             (1, b"syrinx: cannot write to the standard output: No space left on device"))

    def test_a_model_for_later_that_is_not_there(self):
        with harness.Server("--model", "/no-such-model", "--ears", "none") as server:
            missing = "syrinx: model /no-such-model: there is no such directory"
            self.assertIn(missing, server.wait_for_log(missing))

    def test_words_that_are_commands(self):
        self.assertEqual(run_cli("say", "--model", MODEL, "I", "serve", "top", "-o", self.wav).returncode, 0)

    def test_what_cannot_be_written_is_told_before_the_work(self):
        nowhere = "/no/such/place"
        self.refused(1, nowhere, "say", "--model", MODEL, "Hello", "-o", self.wav, "--srt", nowhere)
        self.refused(1, nowhere, "bench", "--model", MODEL, "--streams", "1", "--json", nowhere)
        self.refused(1, nowhere, "bench", "--model", MODEL, "--streams", "1", "--html", nowhere)
        self.refused(1, nowhere, "bench", "--model", MODEL, "--profile-steps", nowhere, "-d", "60")
        self.refused(1, nowhere, "trace", "--model", "/no-such", "-t", "Hello", "--dump", nowhere)
        self.assertFalse(os.path.exists(self.wav))

    def test_nothing_asked_for_is_answered_with_help(self):
        for arguments, holds in [([], b"Subcommands:"), (["hub"], b"pull"), (["voice"], b"export")]:
            done = run_cli(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(holds, done.stderr)

    def test_what_is_missing_is_described(self):
        done = run_cli("transcribe")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"syrinx transcribe needs 'files': audio files; '-' is the standard input", done.stderr)

    def test_help(self):
        for arguments in [["--help"], ["say", "--help"], ["--version"]]:
            done = run_cli(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))


class Look(unittest.TestCase):
    def test_a_folder_without_a_model(self):
        with tempfile.TemporaryDirectory() as empty:
            fault = run_cli("inspect", empty).stderr.decode()
        names = fault.strip().split(" that contains ")[1].split(" or ")
        self.assertEqual(len(names), len(set(names)), fault)

    def test_inspect(self):
        done = run_cli("inspect", MODEL)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = done.stdout.decode()
        for word in ["sample rate", "voices", "parts", "edges", "languages", "answers with  audio"]:
            self.assertIn(word, text)
        plain = run_cli("inspect", MODEL, env={"SYRINX_CPU": "portable"})
        self.assertRegex(plain.stdout, rb"CPU kernels +portable\n")

    def test_inspect_a_model_of_text(self):
        text = run_cli("inspect", "wren").stdout.decode()
        self.assertIn("answers with  text", text)
        for word in ["Hz", "frame rate", "voices"]:
            self.assertNotIn(word, text)

    def test_trace(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "trace.safetensors")
            done = run_cli("trace", "--model", MODEL, "--text", "Hello.", "--dump", path,
                           "--logit-steps", "4")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, "rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                header = json.loads(file.read(size))
        frames, samples = header["frames"], header["samples"]
        self.assertEqual(frames["dtype"], "I32")
        self.assertEqual(samples["dtype"], "F32")
        self.assertEqual(header["logits_0"]["shape"][0], 4)
        # 40 ms for each frame, but 10 for the last.
        self.assertEqual(samples["shape"][0], frames["shape"][0] * 960 - 720)

    def test_trace_of_a_cloned_voice(self):
        def codes(*arguments):
            with tempfile.TemporaryDirectory() as place:
                path = os.path.join(place, "trace.safetensors")
                done = run_cli("trace", "--model", os.path.join(harness.PARITY, "qwen3_tts/golden/base/checkpoint"),
                               "--text", "Hello there.", "--max-frames", "4", "--dump", path,
                               "--ref-audio", os.path.join(harness.PARITY, "mimi/speech.wav"), *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(path, "rb") as file:
                    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
                    body = file.read()
            begin, end = header["codes"]["data_offsets"]
            return header["prompt_ids"]["shape"][0], body[begin:end]

        rows, greedy = codes("--ref-mode", "x-vector")
        self.assertEqual((rows, greedy), codes("--ref-mode", "x-vector", "--seed", "7"))
        self.assertGreater(codes("--ref-text", "hello there")[0], rows)  # the voice has words and frames
        self.assertNotEqual(greedy, codes("--ref-mode", "x-vector", "--top-k", "0", "--seed", "7")[1])
        drawn = ["--ref-mode", "x-vector", "--temperature", "1.5", "--top-k", "0"]
        self.assertEqual(codes(*drawn, "--seed", "7"), codes(*drawn, "--seed", "7"))
        self.assertNotEqual(codes(*drawn, "--seed", "7"), codes(*drawn, "--seed", "8"))

    def test_bench(self):
        done = run_cli("bench", "--model", MODEL, "--streams", "3", "--repeats", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rb"(?m)^3 streams +6 ")


class ConfigFile(unittest.TestCase):
    def config(self, text, *arguments):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            return run_cli("serve", "--config", file.name, "--print-config", *arguments)

    def test_what_is_printed_can_be_read(self):
        printed = run_cli("serve", "--print-config", "--port", "1234", "--client-rpm", "5",
                          "--model", "one", "--model", "two")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        for line in (b"[serve]", b"port=1234", b"client-rpm=5", b'model=["one", "two"]',
                     b'# tls-cert=""'):
            self.assertIn(line, printed.stdout.splitlines())
        again = self.config(printed.stdout.decode())
        self.assertEqual(again.stdout, printed.stdout, again.stderr)

    def test_the_command_line_wins(self):
        done = self.config("[serve]\nport = 1\nmax-batch = 2\n", "--port", "3")
        self.assertIn(b"port=3", done.stdout.splitlines())
        self.assertIn(b"max-batch=2", done.stdout.splitlines())

    def test_faults(self):
        for text in ("[serve]\nprot = 1\n", "[serve]\nport = many\n", "port = 1\n",
                     "[serve]\nport = 70000\n"):
            done = self.config(text)
            self.assertEqual(done.returncode, 2, text)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertEqual(run_cli("serve", "--config", "/nowhere").returncode, 2)

    def test_faults_have_a_place(self):
        for text, says in [
                ("# ours\n[serve]\nhost = \"127.0.0.1\"\nprot = 1\n",
                 ".toml:4: [serve] has no option 'prot'; did you mean 'port'?"),
                ("[serve]\n\nport = 70000\n", ".toml:3: --port: 70000 is not between 0 and 65535"),
                ("[serve\nport = 1\n", ".toml:1: expected [SECTION], got '[serve'"),
                ("port = 1\n", ".toml:1: the part before the first section, such as [serve], has no option 'port'"),
                ("[srve]\nport = 1\n", ".toml:2: unknown command [srve]; did you mean 'serve'?")]:
            done = self.config(text)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(says, done.stderr.decode())
            self.assertNotIn(b"INI", done.stderr)
        own = self.config("[serve]\nhelp = true\n")
        self.assertIn(b"has no option 'help' (see", own.stderr)
        typed = self.config("[serve]\nhost = \"127.0.0.1\"\n", "--port", "70000")
        self.assertIn(b"syrinx: --port: 70000", typed.stderr)

    def test_what_people_write(self):
        for text, prints in [
                ("\ufeff[serve]\r\nport = 12\r\n", b"port=12"),
                ('[serve]\nhost = "a#b"  # not a comment, and one\n', b'host="a#b"'),
                ('[serve]\nmodel = [  # two\n  "a",\n  "b",\n]\nport = 12\n', b"port=12")]:
            done = self.config(text)
            self.assertIn(prints, done.stdout.splitlines(), done.stderr)
        self.assertIn(b"'a', 'b'", done.stdout.replace(b'"', b"'"))
        for text, says in [
                ("[serve]\nhost\n", ":2: expected NAME = VALUE, got 'host'"),
                ("[serve]\nhost =\n", ":2: expected NAME = VALUE, got 'host ='"),
                ('[serve]\nhost = "a\n', ":2: a quoted string does not end"),
                ("[serve]\n\nmodel = [\n 'a'\n", ":3: this list has no closing bracket"),
                ('[serve]\nmodel = [\n"a",\n]\nprot = 1\n', ":5: [serve] has no option 'prot'"),
                ('[serve]\nquiet = "so so"\n', ":2: --quiet: 'so so' is neither true nor false"),
                ("[serve]\nport = 8.5\n", ":2: --port: '8.5' is not a whole number")]:
            done = self.config(text)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(says, done.stderr.decode())

    def test_of_any_command(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file, tempfile.TemporaryDirectory() as place:
            file.write("[say]\nvoice = 'raven'\n[voice.list]\nvoice-store = '/nowhere'\n")
            file.flush()
            done = run_cli("say", "Hi", "--model", MODEL, "-o", place + "/a.wav", "--config", file.name)
            self.assertIn(b"voice raven", done.stdout, done.stderr)
            self.assertIn(b"/nowhere", run_cli("voice", "list", "--config", file.name).stderr)

    def test_lists(self):
        done = self.config('[serve]\nvoice-alias = ["a=finch", "b=raven(1)+finch(2)"]\nstrict = true\n')
        self.assertIn(b'voice-alias=["a=finch", "b=raven(1)+finch(2)"]', done.stdout.splitlines())
        self.assertIn(b"strict=true", done.stdout.splitlines())


if __name__ == "__main__":
    harness.main()
