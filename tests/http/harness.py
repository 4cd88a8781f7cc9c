"""Runs the real program for the tests in this folder. Standard library only.

The program is SYRINX_BIN, the model SYRINX_MODEL (default: the built-in voice). Without a model
the tests are skipped: exit code 77.
"""
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

# Tests must not store voices in the directory of the user that runs them.
VOICES = tempfile.TemporaryDirectory()
os.environ.setdefault("SYRINX_VOICES", VOICES.name)
BIN = os.environ.get("SYRINX_BIN", "build/release/syrinx")
# Goldens with their complete checkpoints, which the build makes.
PARITY = os.path.join(os.path.dirname(os.path.abspath(BIN)), "parity")
MODEL = os.environ.get("SYRINX_MODEL", "finch")
SENTENCE = "The quick brown fox jumps over the lazy dog, and nobody knows why. "
SPEECH = "/v1/audio/speech"
NEEDS_GRPC = unittest.skipUnless(
    os.path.exists(os.path.join(os.path.dirname(os.path.abspath(BIN)), "libsyrinx_grpc.so")),
    "the module for gRPC is not built")


def stage_keys(folder, name):
    """Returns options with keys for links between hosts, signed by a new authority."""
    at = os.path.join(folder, name)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    with open(at + ".ext", "w", encoding="utf-8") as file:
        file.write("subjectAltName=IP:127.0.0.1")
    for command in (["req", "-x509", *curve, "-subj", "/CN=ca", "-keyout", at + ".ca.key",
                     "-out", at + ".ca"],
                    ["req", *curve, "-subj", "/CN=stages", "-keyout", at + ".key",
                     "-out", at + ".csr"],
                    ["x509", "-req", "-in", at + ".csr", "-CA", at + ".ca", "-CAkey",
                     at + ".ca.key", "-CAcreateserial", "-extfile", at + ".ext",
                     "-out", at + ".pem"]):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return ["--stage-cert", at + ".pem", "--stage-key", at + ".key", "--stage-ca", at + ".ca"]


class Server:
    """Runs `syrinx serve` on a free port; use it in a with statement."""

    def __init__(self, *options, env=None, model=MODEL, before=(), program=BIN):
        """`before`: a command that is put in front of the server's command line."""
        command = [*before, program, "serve", "--model", model, "--port", "0", *options]
        environment = dict(os.environ, **(env or {}))
        name = f"syrinx_test_{os.getpid()}_{id(self)}.log"
        self.log = open(os.path.join(os.environ.get("TMPDIR", "/tmp"), name), "w+",
                        encoding="utf-8")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log,
                                        env=environment, text=True)
        first = self.process.stdout.readline()
        match = re.search(r"https?://[^ ]+?:(\d+)[ /\n]", first)
        if not match:
            self.process.wait()
            raise RuntimeError("the server did not start: " + self.read_log())
        self.port = int(match.group(1))
        self.context = None  # the TLS context

    def read_log(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()

    def wait_for_log(self, text, seconds=10):
        """Returns the log when it contains `text`, or after `seconds`, because another thread writes it."""
        deadline = time.monotonic() + seconds
        while text not in self.read_log() and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.read_log()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()
        os.unlink(self.log.name)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def connect(self, timeout=60):
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout,
                                               context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def get(self, path, headers=None):
        """Returns (status, headers, JSON or text)."""
        connection = self.connect()
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        kind = answer.headers.get("Content-Type", "")
        return answer.status, answer.headers, json.loads(body) if "json" in kind else body.decode()

    def open_speech(self, body, headers=None):
        """Posts a body (a dict or bytes). Returns after the head of the answer, before its body."""
        connection = self.connect()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", SPEECH, data,
                           {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def speak(self, body, headers=None):
        """Returns (status, headers, bytes)."""
        answer = self.open_speech(body, headers)
        data = answer.read()
        answer.connection.close()
        return answer.status, answer.headers, data

    def running(self):
        return self.get("/health")[2]["engine"]["requests"]

    def wait_running(self, count, timeout_s=10):
        """Waits until `count` requests run; returns the seconds. Fails after timeout_s."""
        began = time.monotonic()
        while self.running() != count:
            if time.monotonic() - began > timeout_s:
                raise AssertionError(f"{self.running()} requests run, not {count}")
            time.sleep(0.01)
        return time.monotonic() - began

    def raw(self, receive_buffer=None):
        """Returns a plain socket, for clients that break the protocol."""
        connection = socket.socket()
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(60)
        try:
            connection.connect(("127.0.0.1", self.port))
        except OSError:
            connection.close()
            raise
        return connection


def raw_request(body, extra=""):
    data = json.dumps(body).encode()
    return (f"POST {SPEECH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{extra}"
            f"Content-Length: {len(data)}\r\n\r\n").encode() + data


def wav_header(data):
    """Returns (sample rate, bytes of samples that the header states)."""
    if data[:4] != b"RIFF" or data[8:16] != b"WAVEfmt " or data[36:40] != b"data":
        raise AssertionError(f"not a WAV header: {data[:44]!r}")
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", data[20:36])
    if (kind, channels, bits) != (1, 1, 16):
        raise AssertionError(f"not 16-bit mono PCM: {kind}, {channels}, {bits}")
    return rate, struct.unpack("<I", data[40:44])[0]


def make_certificate(folder):
    """Returns (certificate, key) for 127.0.0.1: PEM files in `folder`."""
    certificate, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key


def ffmpeg_decode(data, rate):
    """Returns 16-bit mono samples at `rate`, as bytes."""
    return subprocess.run(["ffmpeg", "-v", "error", "-i", "pipe:0", "-f", "s16le", "-ac", "1",
                           "-ar", str(rate), "pipe:1"], input=data, capture_output=True,
                          check=True).stdout


def run_cli(*arguments, stdin=b"", env=None):
    return subprocess.run([BIN, *arguments], input=stdin, capture_output=True, timeout=300,
                          check=False, env=dict(os.environ, **(env or {})))


def main():
    # A shell's background jobs ignore Ctrl-C, and the tested programs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not os.path.exists(BIN):
        print(f"skipped: there is no {BIN}")
        sys.exit(77)
    if run_cli("inspect", MODEL).returncode != 0:
        print(f"skipped: the model '{MODEL}' cannot be loaded")
        sys.exit(77)
    unittest.main(verbosity=2)
