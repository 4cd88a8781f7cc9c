"""Tests `syrinx batch` on an engine and on servers: resumption, distribution, reports."""
import http.server
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import wave

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import BIN, run_cli, wav_header  # noqa: E402


class Batch(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = place.name
        self.out = os.path.join(self.dir, "out")

    def write(self, lines):
        path = os.path.join(self.dir, "list.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return path

    def batch(self, path, *options, code=0, out=None):
        done = run_cli("batch", path, "-o", out or self.out, "--threads", "2", *options)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def manifest(self, name="manifest.jsonl", out=None):
        with open(os.path.join(out or self.out, name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def read(self, name, out=None):
        with open(os.path.join(out or self.out, name), "rb") as file:
            return file.read()

    def test_spoken_here_and_by_servers_is_the_same(self):
        path = self.write([{"id": f"t{i}", "text": f"This is number {i}.", "seed": i}
                           for i in range(6)])
        self.batch(path, "--voice", "raven")
        entries = self.manifest()
        self.assertEqual([entry["id"] for entry in entries], [f"t{i}" for i in range(6)])
        for entry in entries:
            data = self.read(entry["file"])
            rate, size = wav_header(data)
            self.assertEqual((rate, size), (entry["sample_rate"], len(data) - 44))
            self.assertAlmostEqual(entry["seconds"], size / 2 / rate)
            self.assertEqual(entry["finish_reason"], "stop")
        other = os.path.join(self.dir, "other")
        with harness.Server("--ears", "none", "--quiet") as first, \
                harness.Server("--ears", "none", "--quiet") as second:
            urls = [f"http://127.0.0.1:{server.port}" for server in (first, second)]
            self.batch(path, "--extra", '{"voice": "raven"}', "-s", urls[0], "-s", urls[1], "-j",
                       "2", out=other)
            for server in (first, second):
                self.assertGreater(server.get("/health")[2]["engine"]["accepted"], 0)
        for entry in entries:
            self.assertTrue(self.read(entry["file"]) == self.read(entry["file"], other))

    def test_goes_on_and_speaks_anew_what_changed(self):
        lines = [{"id": f"t{i}", "text": f"Line {i}."} for i in range(4)]
        self.batch(self.write(lines))
        kept = os.stat(os.path.join(self.out, "t0.wav")).st_mtime_ns
        os.unlink(os.path.join(self.out, "t1.wav"))
        before = self.read("t2.wav")
        lines[2]["text"] = "This line is another one, and longer."
        done = self.batch(self.write(lines + [{"id": "new", "text": "One more."}]))
        self.assertIn(b"continuing: 2 of 5 are done\n", done.stderr)
        self.assertIn(b"3 of 5 spoken", done.stdout)
        self.assertEqual(os.stat(os.path.join(self.out, "t0.wav")).st_mtime_ns, kept)
        self.assertGreater(len(self.read("t2.wav")), len(before))
        self.assertEqual([entry["id"] for entry in self.manifest()], ["t0", "t1", "t2", "t3", "new"])
        # Other options are refused, too.
        for options in (["--format", "flac"], ["--format", "flac", "--weights", "f32"]):
            done = self.batch(self.write(lines), *options)
            self.assertNotIn(b"continuing", done.stderr, options)
            self.assertTrue(self.read("t0.flac").startswith(b"fLaC"))
            self.assertIn(b"continuing: 4 of 4 are done", self.batch(self.write(lines), *options).stderr)

    def test_interrupted_and_killed(self):
        path = self.write([{"id": f"t{i}", "text": harness.SENTENCE * 3} for i in range(30)])
        for how in [signal.SIGINT, signal.SIGKILL]:
            process = subprocess.Popen([BIN, "batch", path, "-o", self.out, "-q", "-j", "4"],
                                       stderr=subprocess.PIPE)
            began = len(os.listdir(self.out)) if os.path.isdir(self.out) else 0
            end = time.monotonic() + 60
            while not os.path.isdir(self.out) or len(os.listdir(self.out)) < began + 3:
                self.assertLess(time.monotonic(), end)
                self.assertIsNone(process.poll(), "the batch ended before the interruption")
                time.sleep(0.01)
            process.send_signal(how)
            process.communicate()
            self.assertEqual(process.returncode, -how)
        for name in ("t29.wav.new-1-0", "other.wav.new-1-0"):
            with open(os.path.join(self.out, name), "w", encoding="utf-8"):
                pass
        done = self.batch(path)
        self.assertIn(b"continuing: ", done.stderr)
        self.assertEqual([name for name in os.listdir(self.out) if ".new-" in name],
                         ["other.wav.new-1-0"])
        self.assertEqual(len(self.manifest()), 30)
        for entry in self.manifest():
            data = self.read(entry["file"])
            self.assertEqual(wav_header(data)[1], len(data) - 44)

    def test_shards(self):
        path = self.write([{"id": f"t{i}", "text": "Yes."} for i in range(5)])
        for shard in ["1/2", "2/2"]:
            self.batch(path, "--shard", shard, "--format", "flac")
        self.assertEqual([entry["id"] for entry in self.manifest("manifest-1-of-2.jsonl")],
                         ["t0", "t2", "t4"])
        self.assertEqual([entry["file"] for entry in self.manifest("manifest-2-of-2.jsonl")],
                         ["t1.flac", "t3.flac"])
        self.assertEqual(self.read("t1.flac")[:4], b"fLaC")

    def test_faults(self):
        path = self.write([{"id": "good", "text": "Yes."}, {"id": "bad", "text": "No.",
                                                            "voice": "nobody"}])
        done = self.batch(path, code=1)
        self.assertIn(b"1 failed", done.stderr)
        entries = {entry["id"]: entry for entry in self.manifest()}
        self.assertIn("nobody", entries["bad"]["error"])
        self.assertIn("file", entries["good"])
        done = self.batch(path, code=1)  # without --retry-failed no text is tried again
        self.assertIn(b"continuing: 2 of 2 are done, 1 of them failed (--retry-failed)", done.stderr)
        self.assertIn(b"0 of 2 spoken", done.stdout)
        done = self.batch(path, "--retry-failed", code=1)
        self.assertIn(b"continuing: 1 of 2 are done\n", done.stderr)
        path = self.write([{"id": name, name: " "} for name in ["text", "input"]])
        self.batch(path, code=1)
        for entry in self.manifest()[:2]:
            self.assertIn(f"400 '{entry['id']}' must be", entry["error"])
        path = self.write([{"id": "x", "text": 5}])
        self.assertIn(b"line 1", self.batch(path, code=1).stderr)
        path = self.write([{"id": "y", "text": "Yes."}])
        began = time.monotonic()
        done = self.batch(path, "-s", "http://127.0.0.1:1", "--patience", "1", code=1,
                          out=os.path.join(self.dir, "none"))
        told, ended, _ = done.stderr.split(b"\n")
        self.assertIn(b"http://127.0.0.1:1: Couldn't connect to server; retrying", told)
        self.assertIn(b"no server accepted a request for 1 s: http://127.0.0.1:1: Couldn't", ended)
        self.assertIn(b"1 are not done", ended)
        self.assertLess(time.monotonic() - began, 15)

    def test_without_the_key_of_a_server_nothing_has_failed(self):
        path = self.write([{"id": f"t{i}", "text": "Yes."} for i in range(3)])
        with harness.Server("--ears", "none", "--quiet", env={"SYRINX_API_KEY": "good"}) as server:
            url = f"http://127.0.0.1:{server.port}"
            done = self.batch(path, "-s", url, "-j", "1", code=1)
            self.assertIn(f"syrinx: {url}: 401 ", done.stderr.decode())
            self.assertIn(b"--api-key-file, SYRINX_API_KEY); 3 are not done", done.stderr)
            done = run_cli("batch", path, "-o", self.out, "-s", url, env={"SYRINX_API_KEY": "good"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"3 of 3 spoken", done.stdout)

    def test_an_answer_that_is_no_audio_costs_one_try(self):
        sound = io.BytesIO()
        with wave.open(sound, "wb") as file:
            file.setparams((1, 2, 24000, 0, "NONE", ""))
            file.writeframes(bytes(4800))
        answers = [b"<html>Sign in to the network</html>", sound.getvalue()]

        class Proxy(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                body = answers.pop(0)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            done = self.batch(self.write([{"id": "x", "text": "Yes."}]), "-s", f"http://127.0.0.1:{proxy.server_port}")
            proxy.shutdown()
        self.assertIn(b"1 of 1 spoken", done.stdout)
        self.assertEqual(self.read("x.wav"), sound.getvalue())

    def test_a_server_that_dies_is_replaced(self):
        path = self.write([{"id": f"t{i}", "text": harness.SENTENCE * 2, "seed": 1}
                           for i in range(24)])
        with harness.Server("--ears", "none", "--quiet", "--threads", "1") as victim, \
                harness.Server("--ears", "none", "--quiet", "--threads", "1") as other:
            process = subprocess.Popen(
                [BIN, "batch", path, "-o", self.out, "-j", "4", "-s",
                 f"http://127.0.0.1:{victim.port}", "-s", f"http://127.0.0.1:{other.port}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while victim.running() == 0:
                time.sleep(0.005)
            victim.process.kill()
            errors = process.communicate()[1]
        self.assertEqual(process.returncode, 0, errors)
        audio = {self.read(entry["file"]) for entry in self.manifest()}
        self.assertEqual(len(audio), 1, "the same seed must give the same audio everywhere")


class Top(unittest.TestCase):
    def test_once_and_json(self):
        with harness.Server("--ears", "none", "--quiet") as server:
            server.speak({"input": "Hello."})
            url = f"http://127.0.0.1:{server.port}"
            done = run_cli("top", "--once", "--json", url)
            self.assertEqual(done.returncode, 0, done.stderr)
            (worker,) = json.loads(done.stdout)
            self.assertEqual((worker["state"], worker["models"]), ("ready", [harness.MODEL]))
            self.assertGreater(worker["first_audio_p50_ms"], 0)
            done = run_cli("top", "--once", url, "127.0.0.1:1")
            self.assertEqual(done.returncode, 1)
            text = done.stdout.decode()
            self.assertIn("unreachable", text)
            self.assertIn("1 of 2", text)
            self.assertNotIn("\033", text)
            process = subprocess.Popen([BIN, "top", "--json", "--every", "0.1", url],
                                       stdout=subprocess.PIPE, text=True)
            looks = [json.loads(process.stdout.readline()) for _ in range(3)]
            process.send_signal(signal.SIGINT)
            process.communicate()
            self.assertEqual(process.returncode, -signal.SIGINT)
            self.assertEqual({look[0]["state"] for look in looks}, {"ready"})
        self.assertEqual(run_cli("top", "--once", "ftp://a").returncode, 2)


if __name__ == "__main__":
    harness.main()
