"""A small WebSocket client and a Wyoming client for the tests here, in the standard library."""
import base64
import json
import os
import socket
import struct


class WebSocket:
    """One connection. recv() returns text frames as str, binary frames as bytes, and None at the end."""

    def __init__(self, port, target, headers=(), timeout=60, context=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {target} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket",
                 "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
                 *headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.status = int(self.file.readline().split()[1])
        while self.file.readline().strip():
            pass
        self.close_code = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, message):
        opcode, data = (1, message) if isinstance(message, str) else (1, json.dumps(message))
        self.frame(opcode, data.encode())

    def frame(self, opcode, data):
        mask = os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def recv(self):
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                return None
            opcode, size = head[0] & 15, head[1] & 127
            if size == 126:
                size, = struct.unpack("!H", self.file.read(2))
            elif size == 127:
                size, = struct.unpack("!Q", self.file.read(8))
            data = self.file.read(size)
            if opcode == 1:
                return data.decode()
            if opcode == 2:
                return data
            if opcode == 8:
                self.close_code = struct.unpack("!H", data[:2])[0] if size >= 2 else 1005
                return None
            if opcode == 9:
                self.frame(10, data)

    def until(self, part):
        """Returns audio (bytes) and messages up to the first text that contains `part`."""
        audio, messages = b"", []
        while True:
            got = self.recv()
            if got is None:
                raise AssertionError(f"the connection ended before {part}: {messages[-3:]}")
            if isinstance(got, bytes):
                audio += got
                continue
            messages.append(json.loads(got))
            if part in got:
                return audio, messages


class Wyoming:
    """One connection to the Wyoming port."""

    def __init__(self, port, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, kind, **data):
        body = json.dumps(data).encode() if data else b""
        head = {"type": kind}
        if body:
            head["data_length"] = len(body)
        self.socket.sendall(json.dumps(head).encode() + b"\n" + body)

    def recv(self):
        """Returns (type, data, payload), or None at the end."""
        line = self.file.readline()
        if not line:
            return None
        head = json.loads(line)
        data = json.loads(self.file.read(head["data_length"])) if head.get("data_length") else {}
        payload = self.file.read(head["payload_length"]) if head.get("payload_length") else b""
        return head["type"], data, payload
