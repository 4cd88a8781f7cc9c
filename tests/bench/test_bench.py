"""Tests the programs `syrinx bench` and `syrinx simulate`: against `syrinx serve`, in process, and with errors."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import MODEL, run_cli  # noqa: E402


class Bench(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.dir.cleanup()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def runs(self, *arguments, command="bench", env=None):
        done = run_cli(command, *arguments, "--json", "-", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["runs"]

    def fails(self, code, message, *arguments):
        done = run_cli("bench", *arguments)
        self.assertEqual(done.returncode, code, done)
        self.assertIn(message, done.stderr.decode())

    def test_open_loop_against_a_server(self):
        html = self.path("report.html")
        # With this limit no request is refused on a busy machine.
        with harness.Server("--quiet", "--max-wait", "600") as server:
            runs = self.runs("--url", f"http://127.0.0.1:{server.port}/v1", "--model", MODEL,
                             "--rates", "4,12", "-d", "2", "--warmup", "0.5", "--html", html,
                             "--json-requests")
            self.assertEqual(server.running(), 0)
        self.assertEqual([run["load"]["level"] for run in runs], [4, 12])
        for run in runs:
            self.assertGreater(run["requests"], 0)
            self.assertEqual(run["failed"], 0, run["failures"])
            counted = [r for r in run["each_request"] if not r["warmup"]]
            self.assertEqual(len(counted), run["requests"])
            for request in counted:
                self.assertGreaterEqual(request["due_s"], 0.5)
                self.assertLessEqual(request["first_byte_s"], request["first_audio_s"])
                self.assertLessEqual(request["first_audio_s"], request["audible_s"])
                self.assertLessEqual(request["first_audio_s"], request["total_s"])
                self.assertGreater(request["audio_s"], 0.1)
        with open(html, encoding="utf-8") as file:
            self.assertIn("<svg", file.read())

    def test_equals_what_the_server_made(self):
        text = "One moment, please."
        with harness.Server("--quiet") as server:
            rate, data = None, server.speak({"input": text, "seed": 0, "response_format": "pcm"})
            rate = int(data[1]["X-Sample-Rate"])
            run = self.runs("--url", f"http://127.0.0.1:{server.port}", "--model", MODEL,
                            "-n", "1", "--repeats", "1", "--text", text)[0]
        self.assertAlmostEqual(run["audio_s"], len(data[2]) / 2 / rate, places=6)

    def test_key(self):
        with harness.Server("--quiet", env={"SYRINX_API_KEY": "sesame"}) as server:
            url = ["--url", f"http://127.0.0.1:{server.port}", "--model", MODEL, "-n", "1",
                   "--repeats", "1"]
            done = run_cli("bench", *url, env={"SYRINX_API_KEY": "wrong"})
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"401", done.stderr)
            key = self.path("key")
            with open(key, "w", encoding="utf-8") as file:
                file.write("sesame\n")
            self.assertEqual(self.runs(*url, "--api-key-file", key)[0]["ok"], 1)

    def test_in_process(self):
        run = self.runs("--model", MODEL, "-n", "3", "--repeats", "2")[0]
        self.assertEqual((run["requests"], run["failed"]), (6, 0))
        run = self.runs("--model", MODEL, "--realtime", "3", "-d", "1.5", "--warmup", "0")[0]
        self.assertGreaterEqual(run["requests"], 2)

    def test_trace(self):
        trace = self.path("trace.jsonl")
        with open(trace, "w", encoding="utf-8") as file:
            file.write('{"time": 0.2, "text": "Two."}\n{"time": 0, "text": "One."}\n')
        self.assertEqual(self.runs("--model", MODEL, "--trace", trace)[0]["ok"], 2)
        with open(trace, "a", encoding="utf-8") as file:
            file.write("{\n")
        self.fails(1, "line 3", "--model", MODEL, "--trace", trace)

    def test_table(self):
        done = run_cli("bench", "--model", MODEL, "-n", "1", "--repeats", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"\n1 stream +1 +[\d.]+ ms ")

    def test_profile_and_simulation(self):
        profile = self.path("profile.json")
        done = run_cli("bench", "--model", MODEL, "--profile-steps", profile, "-d", "0.1",
                       "--max-batch", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        for policy in ("streaming", "throughput", "fcfs"):
            run = self.runs("--profile", profile, "--policy", policy, "--rates", "3", "-d", "60",
                            command="simulate")[0]
            self.assertGreater(run["ok"], 100)
        done = run_cli("simulate", "--profile", profile, "--search", "--replicas", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"met: first audio p90", done.stdout)
        done = run_cli("simulate", "--profile", profile, "--listeners", "60", "--asks-every", "10",
                       "--day", "60", "--rows", "2", "--exact", "--replicas", "2",
                       "--failure", "30+10", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        day = json.loads(done.stdout)
        self.assertEqual(len(day["rows"]), 2)
        self.assertGreater(day["whole"]["ok"], 100)
        self.assertLess(day["rows"][1]["workers_up"], 2)

    def test_mistakes(self):
        self.fails(1, "models that speak", "--model", "wren", "--profile-steps", self.path("no.json"))
        self.fails(2, "give only one of", "--rates", "1", "--streams", "2")
        self.fails(2, "--repeats needs", "--rates", "1", "--repeats", "2")
        self.fails(2, "--extra needs --url", "--extra", "{}")
        self.fails(2, "must be a JSON object", "--url", "http://127.0.0.1:1", "--extra", "[]")
        self.fails(2, "is not an http URL", "--url", "ftp://127.0.0.1:80")
        self.fails(1, "the first request failed (connect)", "--url", "http://127.0.0.1:1")
        self.fails(1, "no-such-file", "--text-file", "no-such-file")
        done = run_cli("simulate", "--profile", "no-such-file")
        self.assertEqual(done.returncode, 1)
        done = run_cli("simulate", "--profile", "no-such-file", "--failure", "5")
        self.assertEqual(done.returncode, 1)
        done = run_cli("simulate", "--profile", "no-such-file", "--exact")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    harness.main()
