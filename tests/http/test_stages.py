"""Tests a server whose stages run in other processes: the bytes are the same, a process is killed under load, unknown
and unsuitable peers connect to its socket. Also over gRPC with keys."""
import base64
import concurrent.futures
import contextlib
import http.client
import io
import json
import math
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
import wave

import harness
from harness import SENTENCE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 60


class Holder:
    """Runs `syrinx serve --stage`, the process that runs stages."""

    def __init__(self, path, stages, *options, model=harness.MODEL, env=None):
        self.path = path
        command = [harness.BIN, "serve", "--model", model, "--stage", stages, "--listen-stage", path,
                   *options]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True,
                                        env=dict(os.environ, **(env or {})))
        first = self.process.stdout.readline()
        if not first.startswith("Syrinx serves "):
            self.process.wait()
            raise RuntimeError("the process did not start: " + first + self.process.stdout.read())
        self.address = first.split("; servers connect to ")[1].split(" (ready")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()


def wait_for(what):
    until = time.monotonic() + PATIENCE_S
    while not what():
        if time.monotonic() > until:
            raise AssertionError("the expected state did not occur")
        time.sleep(0.01)


def stage_of(server, number=0):
    return server.get("/health")[2]["models"][0]["remote_stages"][number]


def metric(server, name):
    for line in server.get("/metrics")[2].splitlines():
        if line.startswith(name + "{"):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError("no metric " + name)


OMNI = harness.PARITY + "/qwen3_omni/golden/published/checkpoint"


def recording(seconds):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(16000)
        file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i * i / 9e4)))
                                  for i in range(int(16000 * seconds))))
    return base64.b64encode(out.getvalue()).decode()


def omni_question(seed, tokens=12, stream=False):
    """Returns the request of a client that sends a recording and a text, and wants a spoken answer."""
    heard = {"type": "input_audio", "input_audio": {"data": recording(1 + seed / 2), "format": "wav"}}
    return json.dumps({
        "modalities": ["text", "audio"], "audio": {"voice": "aiden", "format": "pcm16"}, "seed": seed,
        "max_completion_tokens": tokens, "stream": stream, "messages": [
            {"role": "user", "content": [heard, {"type": "text", "text": "hello there"}]}]}).encode()


def ask_omni(test, server, seed, tokens=12):
    connection = server.connect()
    connection.request("POST", "/v1/chat/completions", omni_question(seed, tokens),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    test.assertEqual(answer.status, 200, body)
    audio = body["choices"][0]["message"]["audio"]
    return audio["transcript"], base64.b64decode(audio["data"])


def read_omni(test, server):
    connection = server.connect()
    connection.request("POST", "/v1/chat/completions", json.dumps({
        "max_completion_tokens": 12, "messages": [{"role": "user", "content": "hello there"}]}).encode(),
        {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    test.assertEqual(answer.status, 200, body)
    return body["choices"][0]["message"]["content"]


class Stages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "stages.sock")

    def check_the_same_bytes(self, address):
        for model, stages in ((harness.MODEL, ["ar", "vocoder"]),
                              (harness.PARITY + "/qwen3_tts/golden/projected/checkpoint", ["codec"]),
                              (harness.PARITY + "/cosyvoice2/golden/checkpoint", ["flow", "vocoder"])):
            bodies = [{"input": text, "seed": seed, "response_format": "pcm"}
                      for seed, text in enumerate(["the quick brown fox", "hello there", "yes"])]
            with harness.Server("--quiet", model=model) as server:
                alone = [server.speak(body) for body in bodies]
            for status, _, data in alone:
                self.assertEqual(status, 200, data[:300])
            with Holder(address, ",".join(stages), model=model) as holder:
                remote = [word for stage in stages for word in ("--remote", f"{stage}={holder.address}")]
                with harness.Server("--quiet", *remote, model=model) as server, \
                        concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
                    apart = list(pool.map(server.speak, bodies))
                    for (_, _, here), (status, _, there) in zip(alone, apart):
                        self.assertEqual(status, 200)
                        self.assertEqual(here, there)
                    for number in range(len(stages)):
                        self.assertGreater(stage_of(server, number)["batches"], 0)
                    self.assertEqual(server.get("/ready")[0], 200)

    def test_the_same_bytes_in_two_processes(self):
        self.check_the_same_bytes(self.path)

    @harness.NEEDS_GRPC
    def test_the_same_bytes_between_hosts(self):
        self.check_the_same_bytes("grpc://127.0.0.1:0")

    def test_a_placement_in_a_file(self):
        other, short = self.path + "2", {"input": "Good evening.", "seed": 2, "response_format": "pcm"}
        placement = os.path.join(self.folder.name, "fleet.yaml")
        with open(placement, "w", encoding="utf-8") as file:
            file.write(f"# of finch\nar: here\nvocoder: [{self.path}, {other}]\n")
        with harness.Server("--quiet") as server:
            want = server.speak(short)[2]
        with Holder(self.path, "vocoder"), Holder(other, "vocoder"), \
                harness.Server("--quiet", "--placement", placement) as server:
            self.assertEqual(server.speak(short)[2], want)
            self.assertEqual([stage_of(server, number)["at"] for number in (0, 1)], [self.path, other])
            self.assertTrue(stage_of(server, 0)["up"] and stage_of(server, 1)["up"])

    def test_qwen3_omni_in_three_processes(self):
        """The encoder of recordings runs in one process, thinker and talker in the server, the vocoder in another
        process. Then one of two encoder processes is killed."""
        seeds = range(4)
        with harness.Server("--quiet", model=OMNI) as server:
            alone = [ask_omni(self, server, seed) for seed in seeds]
        for transcript, audio in alone:
            self.assertTrue(transcript)
            self.assertGreater(len(set(audio)), 20)  # the audio is not silent
        self.assertGreater(len({audio for _, audio in alone}), 2)
        ears, spare, voice = self.path, self.path + "2", self.path + "3"
        with Holder(ears, "tower", model=OMNI) as holder, Holder(spare, "tower", model=OMNI), \
                Holder(voice, "code2wav", model=OMNI), \
                harness.Server("--quiet", "--remote", f"tower={ears}", "--remote", f"tower={spare}",
                               "--remote", f"code2wav={voice}", model=OMNI) as server, \
                concurrent.futures.ThreadPoolExecutor(len(seeds)) as pool:
            self.assertEqual(list(pool.map(lambda seed: ask_omni(self, server, seed), seeds)), alone)
            for number in range(3):
                self.assertGreater(stage_of(server, number)["batches"], 0, number)
            holder.kill()
            self.assertEqual(list(pool.map(lambda seed: ask_omni(self, server, seed), seeds)), alone)

    def omni_alone(self, seeds):
        with harness.Server("--quiet", model=OMNI) as server:
            return [ask_omni(self, server, seed) for seed in seeds]

    def check_omni_apart(self, address):
        """Checks AR nodes in other processes: the talker with its voice, the thinker, both together, and both apart."""
        seeds = range(4)
        alone = self.omni_alone(seeds)
        for places in (["talker,code2wav"], ["thinker"], ["tower,thinker", "talker", "code2wav"]):
            with contextlib.ExitStack() as stack:
                remote = ["--quiet"]
                for number, stages in enumerate(places):
                    holder = stack.enter_context(Holder(address(number), stages, model=OMNI))
                    for stage in stages.split(","):
                        remote += ["--remote", f"{stage}={holder.address}"]
                server = stack.enter_context(harness.Server(*remote, model=OMNI))
                pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(len(seeds)))
                self.assertEqual(list(pool.map(lambda seed: ask_omni(self, server, seed), seeds)), alone, places)
                self.assertEqual(server.get("/ready")[0], 200)
                for stage in server.get("/health")[2]["models"][0]["remote_stages"]:
                    self.assertGreater(stage["batches"], 0, stage)
                if places == ["talker,code2wav"]:  # an answer in text does not use the talker
                    holder.kill()
                    wait_for(lambda: not stage_of(server)["up"])
                    self.assertTrue(read_omni(self, server))

    def test_thinker_and_talker_apart(self):
        self.check_omni_apart(lambda number: self.path + str(number))

    @harness.NEEDS_GRPC
    def test_thinker_and_talker_between_hosts(self):
        self.check_omni_apart(lambda _: "grpc://127.0.0.1:0")

    def test_kill_of_a_talker_under_load(self):
        """One of two processes with the talker is killed while it runs, and no client notices. Then the other one is
        killed."""
        bodies = [{"input": "hello there and so on " * 40, "seed": seed, "voice": "aiden", "response_format": "pcm"}
                  for seed in (14, 15, 18, 32)]  # with these seeds the speech exceeds the buffers
        with harness.Server("--quiet", model=OMNI) as server, \
                concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            want = list(pool.map(lambda body: server.speak(body)[2], bodies))
        self.assertGreater(min(map(len, want)), 900_000)
        other = self.path + "2"
        with Holder(self.path, "talker,code2wav", model=OMNI) as first, \
                Holder(other, "talker,code2wav", model=OMNI) as second, \
                harness.Server("--quiet", *[word for stage in ("talker", "code2wav") for at in (self.path, other)
                                            for word in ("--remote", f"{stage}={at}")], model=OMNI) as server, \
                concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            def steps(holder):
                return sum(stage["batches"] for stage in server.get("/health")[2]["models"][0]["remote_stages"]
                           if stage["at"] == holder.address)

            def stages_up():
                return {stage["stage"] for stage in server.get("/health")[2]["models"][0]["remote_stages"]
                        if stage["up"]}

            playing = [server.open_speech(body) for body in bodies]
            heard = [answer.read(3200) for answer in playing]
            busy, spare = (first, second) if steps(first) > steps(second) else (second, first)
            busy.process.send_signal(signal.SIGKILL)
            busy.process.wait()
            rest = list(pool.map(lambda answer: answer.read(), playing))  # no stream is incomplete
            for answer, head, tail, whole in zip(playing, heard, rest, want):
                self.assertEqual(head + tail, whole)
                answer.connection.close()
            self.assertIn("lost streams of talker", server.wait_for_log("lost streams of talker"))
            playing = [server.open_speech(body) for body in bodies]
            for answer in playing:
                self.assertTrue(answer.read(3200))
            spare.process.send_signal(signal.SIGKILL)
            spare.process.wait()
            for answer in playing:  # the audio ends early, and its end is an error
                with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                    answer.read()
                answer.connection.close()
            wait_for(lambda: stages_up() == set())
            self.assertEqual(server.speak(bodies[0])[0], 503)
            server.wait_running(0)
            with Holder(self.path, "talker,code2wav", model=OMNI):
                wait_for(lambda: stages_up() == {"talker", "code2wav"})
                self.assertEqual(server.speak(bodies[0])[2], want[0])

    def test_who_leaves_a_talker_is_forgotten_there(self):
        with Holder(self.path, "talker", model=OMNI), \
                harness.Server("--quiet", "--remote", f"talker={self.path}", model=OMNI) as server:
            connection = server.connect()
            connection.request("POST", "/v1/chat/completions", omni_question(3, 400, stream=True),
                               {"Content-Type": "application/json"})  # the speech has 400 steps
            answer = connection.getresponse()
            wait_for(lambda: stage_of(server)["batches"] > 20)
            answer.close()
            connection.close()
            server.wait_running(0)
            before = stage_of(server)["batches"]
            time.sleep(0.3)
            self.assertEqual(stage_of(server)["batches"], before)

    def test_kill_under_load(self):
        body = {"input": SENTENCE * 40, "seed": 1, "response_format": "pcm"}
        short = {"input": "Good evening.", "seed": 2, "response_format": "pcm"}
        with Holder(self.path, "vocoder") as holder, \
                harness.Server("--quiet", "--remote", f"vocoder={self.path}") as server:
            want = server.speak(short)[2]
            playing = [server.open_speech(dict(body, seed=i)) for i in range(6)]
            for answer in playing:
                self.assertEqual(answer.status, 200)
                self.assertTrue(answer.read(3200))
            holder.process.send_signal(signal.SIGKILL)
            holder.process.wait()
            for answer in playing:  # the audio ends early, and its end is an error
                with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                    answer.read()
                answer.connection.close()
            wait_for(lambda: not stage_of(server)["up"])
            self.assertEqual(metric(server, "syrinx_remote_stage_up"), 0)
            self.assertEqual(server.get("/ready")[0], 503)
            self.assertEqual(server.get("/health")[0], 200)
            status, headers, data = server.speak(short)
            self.assertEqual(status, 503, data)
            self.assertTrue(headers["Retry-After"])
            self.assertIn(b"not connected", data)
            server.wait_running(0)
            with Holder(self.path, "vocoder"):
                wait_for(lambda: stage_of(server)["up"])
                self.assertEqual(stage_of(server)["connections"], 2)
                self.assertEqual(server.speak(short)[2], want)
                self.assertEqual(server.get("/ready")[0], 200)

    def test_drain(self):
        """After a signal, a process ends when its streams have ended. New requests go to another process, or are
        refused."""
        long = {"input": SENTENCE * 40, "seed": 1, "response_format": "pcm"}
        short = {"input": "Good evening.", "seed": 2, "response_format": "pcm"}
        other = self.path + "2"
        with Holder(self.path, "vocoder") as first, Holder(other, "vocoder") as second, \
                harness.Server("--quiet", "--remote", f"vocoder={self.path}",
                               "--remote", f"vocoder={other}") as server, \
                concurrent.futures.ThreadPoolExecutor(4) as pool:
            whole = server.speak(long)[2]
            want = server.speak(short)[2]
            for holder, number in ((first, 0), (second, 1)):
                playing = [server.open_speech(long) for _ in range(4)]
                heard = [answer.read(3200) for answer in playing]
                holder.process.terminate()
                wait_for(lambda at=number: not stage_of(server, at)["up"])
                status, headers, data = server.speak(short)
                if holder is first:
                    self.assertEqual((status, data), (200, want))
                    self.assertEqual(server.get("/ready")[0], 200)
                else:
                    self.assertEqual((status, headers["Retry-After"]), (503, "1"), data)
                    self.assertIn(b"not connected", data)
                    self.assertEqual(server.get("/ready")[0], 503)
                rest = list(pool.map(lambda answer: answer.read(), playing))
                for answer, head, tail in zip(playing, heard, rest):
                    self.assertTrue(head + tail == whole)
                    answer.connection.close()
                self.assertEqual(holder.process.wait(PATIENCE_S), 0)
                self.assertEqual(stage_of(server, number)["lost_batches"], 0)
            self.assertNotIn("computed", server.read_log())

    def test_kill_of_one_of_two_under_load(self):
        other = self.path + "2"
        bodies = [{"input": SENTENCE * 12, "seed": i, "response_format": "pcm"} for i in range(6)]
        with harness.Server("--quiet") as server, \
                concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            want = list(pool.map(lambda body: server.speak(body)[2], bodies))
        with Holder(self.path, "vocoder") as holder, Holder(other, "vocoder"), \
                harness.Server("--quiet", "--remote", f"vocoder={self.path}",
                               "--remote", f"vocoder={other}") as server, \
                concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            playing = [server.open_speech(body) for body in bodies]
            heard = [answer.read(3200) for answer in playing]
            self.assertEqual(server.running(), len(bodies))
            for number in (0, 1):
                self.assertGreater(stage_of(server, number)["batches"], 0)
            holder.process.send_signal(signal.SIGKILL)
            holder.process.wait()
            rest = list(pool.map(lambda answer: answer.read(), playing))  # no stream is incomplete
            for answer, head, tail, whole in zip(playing, heard, rest, want):
                self.assertEqual(head + tail, whole)
                answer.connection.close()
            self.assertIn(f"{other}: computed", server.wait_for_log(f"{other}: computed"))
            self.assertEqual(server.get("/ready")[0], 200)
            self.assertEqual(server.speak(bodies[0])[2], want[0])
            self.assertFalse(stage_of(server, 0)["up"])
            with Holder(self.path, "vocoder"):
                wait_for(lambda: stage_of(server, 0)["up"])
                self.assertEqual(server.speak(bodies[1])[2], want[1])

    @harness.NEEDS_GRPC
    def test_health_of_grpc(self):
        with Holder("grpc://127.0.0.1:0", "vocoder") as holder:
            at = holder.address.replace("grpc:", "http:") + "/grpc.health.v1.Health/Check"
            done = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "-H", "te: trailers", "-H",
                                   "content-type: application/grpc", "--data-binary", "@-", at],
                                  input=b"\0" * 5, capture_output=True, timeout=PATIENCE_S, check=True)
            self.assertEqual(done.stdout, b"\0\0\0\0\2\x08\1")  # the answer SERVING

    @harness.NEEDS_GRPC
    def test_between_hosts(self):
        ours, theirs = (harness.stage_keys(self.folder.name, name) for name in ("ours", "theirs"))
        body = {"input": SENTENCE, "seed": 3, "response_format": "pcm"}
        with harness.Server("--quiet") as server:
            want = server.speak(body)[2]
        with Holder("grpc://127.0.0.1:0", "vocoder", *ours) as holder:
            remote = ["--quiet", "--remote", f"vocoder={holder.address}"]
            with harness.Server(*remote, *ours) as server:
                self.assertEqual(server.speak(body)[2], want)
                self.assertEqual(stage_of(server)["at"], holder.address)
                answer = server.open_speech(dict(body, input=SENTENCE * 40))
                self.assertTrue(answer.read(3200))
                holder.kill()
                with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                    answer.read()
                answer.connection.close()
                self.assertEqual(server.speak(body)[0], 503)
                with Holder(holder.address, "vocoder", *ours):
                    wait_for(lambda: stage_of(server)["up"])
                    self.assertEqual(server.speak(body)[2], want)
                    with harness.Server(*remote, *theirs) as stranger:
                        self.assertIn("handshake", stage_of(stranger)["trouble"])
                        self.assertEqual(stranger.speak(body)[0], 503)

    def test_a_listener_that_leaves_ends_there_too(self):
        with Holder(self.path, "vocoder"), \
                harness.Server("--quiet", "--remote", f"vocoder={self.path}") as server:
            answer = server.open_speech({"input": SENTENCE * 40, "response_format": "pcm"})
            self.assertTrue(answer.read(3200))
            answer.close()
            answer.connection.close()
            server.wait_running(0)
            before = stage_of(server)["batches"]
            time.sleep(0.3)
            self.assertEqual(stage_of(server)["batches"], before)

    def test_misfits_are_told_why(self):
        def trouble(*options, env=None, model=harness.MODEL):
            with harness.Server("--quiet", *options, env=env, model=model) as server:
                return stage_of(server)["trouble"]

        remote = ["--remote", f"vocoder={self.path}"]
        with Holder(self.path, "vocoder") as holder:
            self.assertIn("weights differ", trouble(*remote, "--weights", "bf16"))
            self.assertIn("instruction sets differ", trouble(*remote, env={"SYRINX_CPU": "portable"}))
            other = os.path.join(self.folder.name, "finch")
            shutil.copytree(os.path.join(ROOT, "voices/finch"), other)
            with open(os.path.join(other, "NOTES"), "w", encoding="utf-8") as notes:
                notes.write("another model")
            self.assertIn("weights differ", trouble(*remote, model=other))
            self.assertIsNone(holder.process.poll())

    def test_wrong_words(self):
        def fault(*options):
            done = subprocess.run([harness.BIN, "serve", "--port", "0", *options],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertNotEqual(done.returncode, 0)
            return done.stderr

        self.assertIn("vocoder", fault("--remote", f"flow={self.path}"))
        self.assertIn("vocoder", fault("--stage", "flow", "--listen-stage", self.path))
        self.assertIn("--listen-stage", fault("--stage", "vocoder"))
        self.assertIn("NAME=MEANING", fault("--remote", "vocoder"))
        placement = os.path.join(self.folder.name, "fleet.yaml")
        for text, words in ((f"vocoder: {self.path}\n", "lacks the node 'ar'"),
                            (f"ar: here\nvocoder: {self.path}\nflow: here\n", "no node 'flow'"),
                            ("ar\n", "line 1")):
            with open(placement, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn(words, fault("--placement", placement))
        self.assertIn("--remote", fault("--placement", placement, "--remote", f"vocoder={self.path}"))
        self.assertIn("excludes", fault("--placement", placement, "--stage", "vocoder", "--listen-stage",
                                        self.path))
        self.assertIn("grpc://HOST:PORT", fault("--remote", "vocoder=grpc://here"))
        self.assertIn("need keys", fault("--stage", "vocoder", "--listen-stage", "grpc://0.0.0.0:1"))
        self.assertIn("--stage-key", fault("--stage-cert", "x.pem"))
        with Holder(self.path, "vocoder"):
            self.assertIn("another process listens",
                          fault("--stage", "vocoder", "--listen-stage", self.path))

    def test_strangers_are_dropped(self):
        with Holder(self.path, "vocoder"), \
                harness.Server("--quiet", "--remote", f"vocoder={self.path}") as server:
            for words in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, b"\x05\0\0\0\x01hello"):
                with socket.socket(socket.AF_UNIX) as stranger:
                    stranger.settimeout(PATIENCE_S)
                    stranger.connect(self.path)
                    stranger.sendall(words)
                    with contextlib.suppress(ConnectionError):
                        while stranger.recv(4096):  # the peer may receive the reason
                            pass
            self.assertEqual(server.speak({"input": "Good evening."})[0], 200)
            self.assertEqual(stage_of(server)["connections"], 1)


if __name__ == "__main__":
    unittest.main()
