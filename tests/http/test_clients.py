"""Clients that go away, do not read, or trickle; and a server that is told to stop."""
import contextlib
import http.client
import json
import socket
import threading
import time
import unittest

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
            early = server.raw()  # leaves before the first audio
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
                while answer.read(1 << 16):  # slower than it is made
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


class Access(unittest.TestCase):
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
