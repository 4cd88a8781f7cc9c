"""Runs workers behind HAProxy with packaging/haproxy/haproxy.cfg, on free ports."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "http"))
from harness import BIN, MODEL, SPEECH  # noqa: E402

CONFIG = os.path.join(HERE, "..", "..", "packaging", "haproxy", "haproxy.cfg")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(holds, what, timeout_s=60):
    end = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("did not happen: " + what)
        time.sleep(0.05)


class Stream:
    """A speech request whose client reads slowly, so that the answer waits in the worker. Only the balancer repeats
    requests."""

    def __init__(self, port, body, headers=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port))
        self.connection.sock = self.socket
        self.connection.request("POST", SPEECH, json.dumps(body),
                                {"Content-Type": "application/json", **(headers or {})})

    def head(self):
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.worker = self.answer.headers.get("X-Served-By")
        return self

    def rest(self):
        """Returns the whole audio; raises an error if it was cut off."""
        with self:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            return self.answer.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if hasattr(self, "answer"):
            self.answer.close()
        self.connection.close()
        self.socket.close()


class Worker:
    def __init__(self, name, ports, env=None):
        self.name, self.env = name, env
        self.port, self.agent_port, self.wyoming_port = ports
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [BIN, "serve", "--model", MODEL, "--threads", "1", "--ears", "none", "--quiet",
             "--port", str(self.port), "--agent-port", str(self.agent_port),
             "--wyoming-port", str(self.wyoming_port),
             # Clients pause in these tests, and share the cores with four workers.
             "--stall-timeout", "250", "--drain-timeout", "250"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, **(self.env or {})))

    def get(self, path, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def ready(self):
        try:
            return self.get("/ready")[0] == 200
        except OSError:
            return False

    def running(self):
        return json.loads(self.get("/health")[2])["engine"]["requests"]

    def says(self):
        with socket.create_connection(("127.0.0.1", self.agent_port), timeout=10) as agent:
            return agent.makefile().read()

    def signal(self, which):
        self.process.send_signal(which)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait()


class Fleet:
    """Workers and a balancer, for a with statement. With the workers of another fleet, it is a second balancer for
    them."""

    def __init__(self, count=4, workers=None):
        ports = iter(free_ports((0 if workers else 3 * count) + 3))
        self.workers, self.owns = dict(workers or {}), not workers
        for i in range(1, count + 1) if self.owns else ():
            self.workers[f"w{i}"] = Worker(f"w{i}", [next(ports) for _ in range(3)])
        self.port, self.wyoming_port, self.stats_port = ports

    def __enter__(self):
        try:
            return self.begin()
        except BaseException:
            self.__exit__()
            raise

    def begin(self):
        with open(CONFIG, encoding="utf-8") as file:
            text = file.read()
        own = {8080: self.port, 10200: self.wyoming_port, 8404: self.stats_port}
        for i, worker in enumerate(self.workers.values(), 1):
            own |= {8080 + i: worker.port, 9080 + i: worker.agent_port,
                    10200 + i: worker.wyoming_port}
        # Port 1 replaces the ports of absent workers.
        text = re.sub(r"(?<=[: ])(80\d\d|908\d|1020\d|8404)\b",
                      lambda found: str(own.get(int(found[0]), 1)), text)
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "haproxy.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("bind :", "bind 127.0.0.1:"))
        for worker in self.workers.values():
            wait_until(worker.ready, worker.name + " is ready", 60)
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.proxy = subprocess.Popen(["haproxy", "-db", "-f", path], stdin=subprocess.DEVNULL,
                                      stdout=self.log, stderr=self.log)
        wait_until(lambda: all(self.takes(name) for name in self.workers), "all workers are up")
        return self

    def __exit__(self, *_):
        if hasattr(self, "proxy"):
            self.proxy.kill()
            self.proxy.wait()
            self.log.close()
        for worker in self.workers.values() if self.owns else ():
            worker.end()
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def table(self):
        """Returns the state of HAProxy's servers: rows by (proxy, server)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.stats_port, timeout=10)
        connection.request("GET", "/;csv")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        names = lines[0].lstrip("# ").split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
        return {(row["pxname"], row["svname"]): row for row in rows}

    def takes(self, name):
        try:
            row = self.table()["workers", name]
        except OSError:
            return False
        return row["status"].startswith("UP") and row["check_status"] == "L7OK"

    def stream(self, body, headers=None):
        return Stream(self.port, body, headers)

    def speak(self, body, headers=None):
        """Returns (status, worker, bytes)."""
        stream = self.stream(body, headers).head()
        return stream.status, stream.worker, stream.rest()

    def kill(self, name):
        self.workers[name].signal(signal.SIGKILL)
        self.workers[name].process.wait()
