"""Tests long-running and restricted servers: models that are unloaded, a short soak, few descriptors, read-only file
systems without /tmp, IPv6, a path prefix behind a proxy.
"""
import http.client
import http.server
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

import harness
from harness import BIN, Server

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BODY = {"input": "Hello there.", "response_format": "wav", "seed": 7}


def memory_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


class Idle(unittest.TestCase):
    def test_the_first_model_leaves_and_comes_back(self):
        with Server("--first-keep", "1") as server:
            status, _, first = server.speak(BODY)
            self.assertEqual(status, 200)
            full = memory_kib(server)
            self.assertIn("unloaded", server.wait_for_log("unloaded", 20))
            health = server.get("/health")[2]
            self.assertNotIn("engine", health)
            self.assertFalse(health["models"][0]["loaded"])
            self.assertEqual(server.get("/ready")[0], 200)
            self.assertEqual(server.get("/v1/models")[0], 200)
            self.assertEqual(server.get("/v1/voices")[0], 503)
            deadline = time.monotonic() + 10  # the log is written before the memory is released
            while memory_kib(server) >= full - 4096 and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertLess(memory_kib(server), full - 4096)
            again = server.speak(BODY)
            self.assertEqual((again[0], again[2] == first), (200, True))

    def test_not_beside_wyoming(self):
        done = harness.run_cli("serve", "--first-keep", "1", "--wyoming-port", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--first-keep", done.stderr)


class Soak(unittest.TestCase):
    def test_a_quarter_of_a_minute(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "soak"), "--minutes", "0.25",
                               "--clients", "6", "--bin", BIN],
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Narrow(unittest.TestCase):
    def test_few_descriptors(self):
        with Server(before=["sh", "-c", 'ulimit -n 40; exec "$0" "$@"']) as server:
            self.assertIn("the limit of open files (40) allows 16 connections", server.read_log())
            held = []
            try:
                for _ in range(60):
                    held.append(socket.create_connection(("127.0.0.1", server.port), 10))
                self.assertEqual(server.get("/ready")[0], 503)  # an answer, although others are silent
            finally:
                for each in held:
                    each.close()
            for _ in range(100):  # the server notices closed connections one after another
                status = server.speak(BODY)[0]
                if status != 503:
                    break
                time.sleep(0.1)
            self.assertEqual(status, 200)

    def test_read_only_without_tmp(self):
        narrow = ["unshare", "--mount", "--map-root-user", "sh", "-c",
                  'mount -t tmpfs -o ro none /tmp && mount -o remount,bind,ro / && exec "$0" "$@"']
        with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as voices:
            tried = subprocess.run([*narrow, "true"], capture_output=True, check=False)
            if tried.returncode != 0:
                self.skipTest("no mount namespaces here")
            if os.path.realpath(BIN).startswith("/tmp/"):
                self.skipTest("the program is in /tmp")
            with Server(before=narrow, env={"HOME": "/nowhere", "SYRINX_VOICES": voices}) as server:
                for form in ["wav", "mp3", "opus"]:
                    status, _, data = server.speak({**BODY, "response_format": form})
                    self.assertEqual(status, 200)
                    self.assertGreater(len(data), 1000)

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        with Server("--host", "::1") as server:
            connection = http.client.HTTPConnection("::1", server.port, timeout=30)
            connection.request("GET", "/ready")
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()


class Prefix(http.server.BaseHTTPRequestHandler):
    """A proxy that forwards /speech/X as /X, and refuses all other paths."""

    target = 0

    def do_GET(self):
        if not self.path.startswith("/speech/"):
            self.send_error(404)
            return
        server = http.client.HTTPConnection("127.0.0.1", self.target, timeout=30)
        server.request("GET", self.path[len("/speech"):], headers={"Accept-Encoding": "identity"})
        answer = server.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        server.close()

    def log_message(self, *_):
        pass


class SubPath(unittest.TestCase):
    def test_the_page_stays_below_it(self):
        with Server() as server:
            Prefix.target = server.port
            proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prefix)
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            try:
                self.read_all(f"http://127.0.0.1:{proxy.server_port}/speech/")
            finally:
                proxy.shutdown()
                proxy.server_close()

    def read_all(self, top):
        """Reads every file that the pages and their modules name, as a browser does."""
        waiting, seen = [top, top + "api.html"], set()
        while waiting:
            address = waiting.pop()
            if address in seen:
                continue
            seen.add(address)
            self.assertTrue(address.startswith(top), address)
            with urllib.request.urlopen(address, timeout=30) as answer:
                kind, text = answer.headers["Content-Type"], answer.read().decode()
            names = re.findall(r'(?:src|href)="([^"#]+)"', text) if "html" in kind else []
            if "javascript" in kind:
                names = re.findall(r"^(?:import|export) .*?from '([^']+)'", text, re.M | re.S)
            for name in names:
                if not re.match("[a-z]+:", name):
                    waiting.append(urllib.parse.urljoin(address, name))
        self.assertGreater(len(seen), 5)


if __name__ == "__main__":
    harness.main()
