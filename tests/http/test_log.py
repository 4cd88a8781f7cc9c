"""Tests that the server continues if its log is not read, or if the log's reader ends."""
import fcntl
import http.client
import os
import re
import signal
import subprocess
import time
import unittest

import harness

METRIC = "syrinx_http_log_lines_dropped_total"


class Piped:
    """Runs `syrinx serve` with its standard error in a small pipe of this test."""

    def __init__(self, *options):
        self.reader, writer = os.pipe()
        fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, 4096)
        self.process = subprocess.Popen(
            [harness.BIN, "serve", "--model", harness.MODEL, "--port", "0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writer, text=True)
        os.close(writer)
        match = re.search(r"https?://[^ ]*?:(\d+)", self.process.stdout.readline())
        self.port = int(match.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.close_reader()

    def close_reader(self):
        if self.reader is not None:
            os.close(self.reader)
        self.reader = None

    def ask(self, path, body=None):
        """Returns (status, bytes), or raises an error if no answer comes within 20 s."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("POST" if body else "GET", path, body,
                           {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def fill_log(self, lines):
        """Adds lines to the log. Each request for an unknown path adds one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        for _ in range(lines):
            connection.request("GET", "/nowhere")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 404
        connection.close()

    def dropped(self):
        metrics = self.ask("/metrics")[1].decode()
        return int(float(re.search(rf"^{METRIC} (\S+)$", metrics, re.M).group(1)))

    def drain_reader(self, until, timeout_s=20):
        """Reads the log until a text has arrived."""
        os.set_blocking(self.reader, False)
        text, end = "", time.monotonic() + timeout_s
        while until not in text and time.monotonic() < end:
            try:
                text += os.read(self.reader, 1 << 16).decode()
            except BlockingIOError:
                time.sleep(0.01)
        return text

    def assert_serves(self, test):
        test.assertEqual(self.ask("/health")[0], 200)
        test.assertEqual(self.ask("/ready")[0], 200)
        status, audio = self.ask(harness.SPEECH,
                                 b'{"input": "Still here.", "response_format": "wav"}')
        test.assertEqual(status, 200)
        test.assertGreater(len(audio), 10000)


class Log(unittest.TestCase):
    def test_a_pipe_that_is_not_read_stops_nothing(self):
        # A line takes about 25 bytes. Together they exceed the pipe and the 1 MiB that may wait.
        with Piped() as server:
            server.fill_log(1000)  # these lines fill the pipe
            server.assert_serves(self)
            self.assertEqual(server.dropped(), 0)
            while server.dropped() == 0:
                server.fill_log(5000)
            server.assert_serves(self)
            dropped = server.dropped()
            text = server.drain_reader("were dropped here")
            report = re.search(r"log: (\d+) lines were dropped here", text)
            self.assertIsNotNone(report, text[-300:])
            self.assertGreaterEqual(int(report.group(1)), dropped)
            server.fill_log(1)
            self.assertIn(" 404\n", server.drain_reader(" 404\n"))
            self.assertEqual(server.dropped(), int(report.group(1)))

    def test_it_ends_in_time_while_the_log_is_not_read(self):
        with Piped() as server:
            server.fill_log(1000)
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(timeout=20), 0)
            self.assertLess(time.monotonic() - began, 5)

    def test_it_outlives_the_reader_of_its_log(self):
        with Piped() as server:
            server.close_reader()
            server.process.stdout.close()
            server.fill_log(10)
            server.assert_serves(self)
            self.assertGreaterEqual(server.dropped(), 10)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(timeout=20), 0)

    def test_what_is_logged_last_is_written(self):
        with harness.Server() as server:
            server.terminate()
            self.assertEqual(server.process.wait(timeout=20), 0)
            stopping = "stopping: running requests may take 30 s"
            self.assertIn(stopping, server.wait_for_log(stopping))


if __name__ == "__main__":
    unittest.main()
