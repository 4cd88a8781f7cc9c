"""Tests clients that disconnect, do not read, or send slowly, and a server that gets a signal to stop."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import tempfile
import threading
import time
import unittest
import warnings

import harness
from harness import SENTENCE

LONG = SENTENCE * 1500  # about 100,000 characters


class Clients(unittest.TestCase):
    def test_going_away_cancels(self):
        with harness.Server() as server:
            client = server.raw()
            client.sendall(harness.raw_request({"input": LONG}))
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 200"))
            self.assertEqual(server.running(), 1)
            client.close()
            self.assertLess(server.wait_running(0), 5)
            early = server.raw()  # this client leaves before the first audio
            early.sendall(harness.raw_request({"input": LONG}))
            early.close()
            server.wait_running(0)
            self.assertEqual(server.speak({"input": "Hello."})[0], 200)
            self.assertNotIn("quick brown", server.read_log())

    def test_not_reading_is_cut_off_and_disturbs_nobody(self):
        with harness.Server("--stall-timeout", "2") as server:
            alone = server.speak({"input": SENTENCE, "seed": 5})[2]
            client = server.raw(receive_buffer=4096)
            client.sendall(harness.raw_request({"input": LONG}))
            server.wait_running(1)
            self.assertTrue(server.speak({"input": SENTENCE, "seed": 5})[2] == alone)
            server.wait_running(0, timeout_s=60)
            client.close()

    def test_slow_senders_are_closed(self):
        with harness.Server() as server:
            clients = [server.raw() for _ in range(50)]
            began = time.monotonic()
            for client in clients:
                client.sendall(b"POST /v1/audio/speech HTTP/1.1\r\nX: ")
            while time.monotonic() - began < 9:
                for client in clients:
                    with contextlib.suppress(ConnectionError):
                        client.sendall(b"x")
                self.assertEqual(server.speak({"input": "Hello."})[0], 200)
                time.sleep(0.5)
            for client in clients:
                client.settimeout(20)
                with contextlib.suppress(ConnectionError):
                    self.assertEqual(client.recv(10), b"")
                client.close()
            deadline = time.monotonic() + 10
            while server.get("/health")[2]["connections"] > 1 and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(server.get("/health")[2]["connections"], 1)


class Stopping(unittest.TestCase):
    def test_running_streams_are_finished(self):
        with harness.Server("--drain-timeout", "200") as server:
            body = {"input": SENTENCE * 3, "seed": 5}
            alone = server.speak(body)[2]
            answers = [server.open_speech(body) for _ in range(3)]
            idle = server.connect()
            idle.request("GET", "/live")
            idle.getresponse().read()
            server.terminate()
            got = []
            readers = [threading.Thread(target=lambda a=a: got.append(a.read())) for a in answers]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            self.assertEqual(server.process.wait(timeout=60), 0)
            self.assertTrue(got == [alone] * 3)
            for answer in answers:
                answer.connection.close()
            idle.close()
            with self.assertRaises(OSError):
                server.raw().close()

    def test_deadline(self):
        with harness.Server("--drain-timeout", "0.5") as server:
            answer = server.open_speech({"input": LONG})
            server.terminate()
            with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                while answer.read(1 << 16):  # reads more slowly than the audio is generated
                    time.sleep(0.05)
            self.assertEqual(server.process.wait(timeout=30), 0)
            answer.connection.close()

    def test_second_signal(self):
        with harness.Server() as server:
            client = server.raw(receive_buffer=4096)
            client.sendall(harness.raw_request({"input": LONG}))
            client.recv(10)
            server.terminate()
            time.sleep(0.3)
            self.assertIsNone(server.process.poll())
            server.terminate()
            self.assertEqual(server.process.wait(timeout=20), 1)
            client.close()


class Models(unittest.TestCase):
    def test_loaded_when_asked_for_and_let_go(self):
        source = pathlib.Path(harness.BIN).resolve().parents[2] / "voices" / "finch"
        if harness.MODEL != "finch" or not source.is_dir():
            self.skipTest("the built-in voice is elsewhere")
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(source, os.path.join(folder, "second"))
            with harness.Server("--model", os.path.join(folder, "second"),
                                "--model-keep", "1", "--ears", "none") as server:
                def loaded():
                    return {m["id"]: m["loaded"] for m in server.get("/v1/models")[2]["data"]}
                self.assertEqual(loaded(), {"finch": True, "second": False})
                body = {"input": SENTENCE, "seed": 1}
                first = server.speak(body)
                second = server.speak({**body, "model": "second"})
                self.assertEqual((first[0], second[0]), (200, 200))
                self.assertTrue(first[2] == second[2])
                self.assertEqual(loaded(), {"finch": True, "second": True})
                deadline = time.monotonic() + 10
                while loaded()["second"] and time.monotonic() < deadline:
                    time.sleep(0.1)
                self.assertEqual(loaded(), {"finch": True, "second": False})
                self.assertEqual(server.speak({**body, "model": "third"})[0], 404)

    def test_reload_keeps_streams(self):
        with tempfile.NamedTemporaryFile("w") as keys, \
                harness.Server("--api-key-file", self.write(keys, "old")) as server:
            old, new = {"Authorization": "Bearer old"}, {"Authorization": "Bearer new"}
            body = {"input": SENTENCE * 12, "seed": 1, "response_format": "pcm"}
            whole = server.speak(body, old)[2]
            running = server.open_speech(body, old)
            got = running.read(1000)
            self.write(keys, "new")
            server.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 10
            while server.get("/v1/models", new)[0] != 200 and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual(server.get("/v1/models", old)[0], 401)
            while "loaded again" not in server.read_log() and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertIn("loaded again", server.read_log())
            got += running.read()
            running.connection.close()
            self.assertTrue(got == whole)
            self.assertTrue(server.speak(body, new)[2] == whole)

    def test_a_new_key_does_not_take_over_an_old_ones_account(self):
        with tempfile.NamedTemporaryFile("w") as keys, \
                harness.Server("--api-key-file", self.write(keys, "old"), "--client-rpm", "1") as server:
            old, new = {"Authorization": "Bearer old"}, {"Authorization": "Bearer new"}
            self.assertEqual([server.speak({"input": "Hello."}, old)[0] for _ in range(2)], [200, 429])
            self.write(keys, "new\nold")
            server.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 10
            while server.get("/v1/models", new)[0] != 200 and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual(server.speak({"input": "Hello."}, new)[0], 200)
            self.assertEqual(server.speak({"input": "Hello."}, old)[0], 429)

    @staticmethod
    def write(file, text):
        file.seek(0)
        file.write(text + "\n")
        file.truncate()
        file.flush()
        return file.name


class Tls(unittest.TestCase):
    def setUp(self):
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.certificate, self.key = harness.make_certificate(self.folder.name)
        self.context = ssl.create_default_context(cafile=self.certificate)

    def test_streams(self):
        with harness.Server("--tls-cert", self.certificate, "--tls-key", self.key) as server:
            server.context = self.context
            body = {"input": SENTENCE, "seed": 5}
            first = server.speak(body)
            self.assertEqual(first[0], 200)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                for answer in pool.map(lambda _: server.speak(body), range(8)):
                    self.assertTrue(answer[2] == first[2])
            connection = server.connect()
            for _ in range(3):  # the connection is reused
                connection.request("GET", "/live")
                self.assertEqual(connection.getresponse().read(), b'{"status":"ok"}\n')
            connection.close()

    def test_going_away_cancels(self):
        with harness.Server("--tls-cert", self.certificate, "--tls-key", self.key) as server:
            server.context = self.context
            for _ in range(3):
                answer = server.open_speech({"input": LONG})
                answer.read(1000)
                self.assertEqual(server.running(), 1)
                answer.close()
                answer.connection.close()
                self.assertLess(server.wait_running(0), 5)

    def test_bad_handshakes(self):
        with harness.Server("--tls-cert", self.certificate, "--tls-key", self.key,
                            "--header-timeout", "1") as server:
            server.context = self.context
            silent = server.raw()
            for data in [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 70000]:
                with server.raw() as client:
                    with contextlib.suppress(ConnectionError):
                        client.sendall(data)
                        client.recv(100)
            old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                old.maximum_version = ssl.TLSVersion.TLSv1_1
            with self.assertRaises(OSError), server.raw() as client:
                old.wrap_socket(client).close()
            self.assertEqual(silent.recv(10), b"")
            silent.close()
            self.assertEqual(server.get("/live")[0], 200)

    def test_bad_files(self):
        for options in (["--tls-cert", self.certificate],
                        ["--tls-cert", self.certificate, "--tls-key", self.certificate],
                        ["--tls-cert", "/nowhere", "--tls-key", self.key]):
            refused = harness.run_cli("serve", "--port", "0", *options)
            self.assertIn(refused.returncode, (1, 2))
            self.assertEqual(refused.stderr.count(b"\n"), 1)


class Access(unittest.TestCase):
    def test_other_names(self):
        with harness.Server("--allowed-host", "speech.example") as server:
            for host, status in [("127.0.0.1", 200), ("localhost:1", 200), ("speech.example", 200),
                                 ("evil.example", 403)]:
                self.assertEqual(server.get("/live", {"Host": host})[0], status)

    def test_limits(self):
        with harness.Server("--client-rpm", "3") as server:
            answers = [server.speak({"input": "Hi."}) for _ in range(4)]
            self.assertEqual([a[0] for a in answers], [200, 200, 200, 429])
            self.assertEqual(answers[3][1]["Retry-After"], "20")
            self.assertEqual(server.get("/live")[0], 200)

    def test_keys(self):
        with harness.Server(env={"SYRINX_API_KEY": "open sesame"}) as server:
            key = {"Authorization": "Bearer open sesame"}
            self.assertEqual(server.get("/health")[0], 200)
            self.assertEqual(server.get("/v1/models")[0], 401)
            self.assertEqual(server.speak({"input": "a"})[0], 401)
            status, _, data = server.speak({"input": "a"}, {"Authorization": "Bearer sesame"})
            self.assertEqual(status, 401)
            self.assertEqual(json.loads(data)["error"]["code"], "invalid_api_key")
            self.assertEqual(server.speak({"input": "Hello."}, key)[0], 200)

    def test_public_addresses_need_a_key(self):
        refused = harness.run_cli("serve", "--host", "0.0.0.0", "--port", "0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"--allow-public", refused.stderr)

    def test_taken_port(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            refused = harness.run_cli("serve", "--port", str(port))
        self.assertEqual(refused.returncode, 1)
        self.assertIn(str(port).encode(), refused.stderr)
        self.assertEqual(refused.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    harness.main()
