"""Tests many clients at once, some of which break the protocol. Correct clients get the same answers as alone."""
import concurrent.futures
import contextlib
import json
import os
import socket
import threading
import time
import unittest

import harness
from harness import SENTENCE

FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"]


class Crowd:
    """Runs threads that repeat `act(socket)` on new connections until the end of the with block."""

    def __init__(self, server, threads, act):
        self.server, self.act, self.count = server, act, 0
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(threads)]

    def run(self):
        while not self.stop.is_set():
            with contextlib.suppress(OSError), self.server.raw() as client:
                client.settimeout(1)
                self.act(client)
            self.count += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


class Load(unittest.TestCase):
    def test_two_hundred_streams(self):
        # The wait may be long, because this tests only that all are answered.
        with harness.Server("--quiet", "--max-wait", "300") as server:
            bodies = [{"input": "Hello there, all of you.", "seed": i % 3,
                       "response_format": FORMATS[i % 6]} for i in range(18)]
            alone = [server.speak(body)[2] for body in bodies]
            begun = threading.Barrier(200)

            def one(i):
                begun.wait()
                status, _, data = server.speak(bodies[i % 18])
                return status == 200 and data == alone[i % 18]

            with concurrent.futures.ThreadPoolExecutor(200) as pool:
                self.assertEqual(sum(pool.map(one, range(200))), 200)
            server.wait_running(0)
            self.assertEqual(server.get("/health")[2]["streams"], 0)

    def undisturbed(self, server, crowd):
        """Checks correct clients beside the clients of `crowd`: all get the same bytes as alone."""
        body = {"input": SENTENCE, "seed": 5}
        alone = server.speak(body)[2]
        with crowd:
            until = time.monotonic() + 3
            answers = 0
            while time.monotonic() < until or answers < 5:
                status, _, data = server.speak(body)
                self.assertEqual(status, 200)
                self.assertTrue(data == alone)
                answers += 1
        self.assertGreater(crowd.count, 10)
        server.wait_running(0)

    def test_bad_requests(self):
        bad = [b"\x00" * 5000, b"GET / HTTP/9.9\r\n\r\n", os.urandom(3000) + b"\r\n\r\n",
               b"POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
               b"\r\nContent-Length: 3\r\n\r\n{]}",
               b"POST /v1/audio/speech HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
               b"POST /v1/audio/speech HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked"
               b"\r\n\r\n0\r\n\r\nGET /x"]

        def act(client):
            client.sendall(bad[threading.get_ident() // 8 % len(bad)])
            client.recv(1000)

        with harness.Server("--quiet") as server:
            self.undisturbed(server, Crowd(server, 8, act))

    def test_clients_that_vanish(self):
        def act(client):
            client.sendall(harness.raw_request({"input": SENTENCE * 20}))
            time.sleep(0.02)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

        with harness.Server("--quiet") as server:
            self.undisturbed(server, Crowd(server, 4, act))

    def test_silent_and_slow_connections(self):
        with harness.Server("--quiet", "--max-connections", "400", "--header-timeout", "2") as server:
            silent = [server.raw() for _ in range(150)]
            for client in silent[:75]:
                client.sendall(b"POST /v1/audio/sp")
            slow = [server.raw(receive_buffer=4096) for _ in range(20)]
            for client in slow:
                client.sendall(harness.raw_request({"input": SENTENCE * 5,
                                                    "response_format": "pcm"}))

            def act(client):
                for _ in range(3):
                    client.sendall(b"G")
                    time.sleep(0.02)

            body = {"input": SENTENCE, "seed": 5}
            alone = server.speak(body)[2]
            with Crowd(server, 4, act):
                for _ in range(5):
                    self.assertTrue(server.speak(body)[2] == alone)
            for client in silent + slow:
                client.close()
            server.wait_running(0)

    def test_overload_is_an_answer(self):
        with harness.Server("--quiet", "--max-requests", "4") as server:
            begun = threading.Barrier(40)

            def one(_):
                begun.wait()
                status, headers, _ = server.speak({"input": SENTENCE * 3})
                return status, headers.get("Retry-After")

            with concurrent.futures.ThreadPoolExecutor(40) as pool:
                answers = list(pool.map(one, range(40)))
            self.assertEqual({status for status, _ in answers}, {200, 503})
            self.assertTrue(all(after for status, after in answers if status == 503))
            self.assertEqual(server.speak({"input": "Hello."})[0], 200)

    def chats(self, *options):
        """Returns (status, text) of fifty concurrent chats. A few chats run before them, from which the server learns
        how long a chat takes."""
        body = json.dumps({"model": "wren", "messages": [{"role": "user", "content": "What can you do?"}],
                           "max_tokens": 60, "temperature": 0})

        def chat(_):
            connection = server.connect(timeout=600)
            connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            status, text = answer.status, json.loads(answer.read())
            connection.close()
            return status, text["choices"][0]["message"]["content"] if status == 200 else text["error"]["message"]

        with harness.Server("--quiet", "--max-batch", "1", *options, model="wren") as server:
            with concurrent.futures.ThreadPoolExecutor(50) as pool:
                for _ in range(6):
                    self.assertEqual(chat(0)[0], 200)
                return list(pool.map(chat, range(50)))

    def test_readers_that_fit_are_answered(self):
        answers = self.chats("--max-read-wait", "600")
        self.assertEqual({status for status, _ in answers}, {200})
        self.assertEqual(len({text for _, text in answers}), 1)


if __name__ == "__main__":
    harness.main()
