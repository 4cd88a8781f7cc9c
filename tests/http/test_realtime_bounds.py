"""Tests the limits of Realtime sessions with the real program: a client that never reads, and long silence. Memory is limited,
the sessions end as documented or continue, and other sessions are not affected. `./check` has minutes of silence, `./check
long` an hour (SYRINX_SILENCE_MINUTES=60)."""
import base64
import json
import os
import socket
import statistics
import time
import unittest

import harness
from test_realtime import Conversation, audio_of, silence, text_of, unmasked

WRITER = os.path.join(harness.PARITY, "llm", "qwen3")
MINUTES = float(os.environ.get("SYRINX_SILENCE_MINUTES", "5"))
STALL_S = 2  # value of --stall-timeout
MB = 1 << 20


def memory(process):
    """Returns the resident bytes of a process."""
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Bounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--model", WRITER, "--stall-timeout", str(STALL_S)).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def answer_s(self, ws):
        """Asks a question in text; returns the seconds until the first audio. Random weights may write an empty text, or one
        that no voice can speak. In that case it asks again."""
        for _ in range(20):
            ws.say("Hello!")
            began = time.monotonic()
            ws.respond()
            events = ws.until_type("response.output_audio.delta", "response.done")
            took = time.monotonic() - began
            if events[-1]["type"] == "response.done":
                continue
            events += ws.until_type("response.done")
            self.assertIn(events[-1]["response"]["status"], ("completed", "incomplete"))  # the answer ended at its length limit
            self.assertTrue(text_of(events))
            return took
        self.fail("twenty answers without audio")

    def test_a_session_that_never_reads(self):
        """The client sends requests without end. The server stops its reads from that client, and closes the connection after
        the stall timeout."""
        with Conversation(self.server) as other:
            other.update(max_output_tokens=20)
            alone = statistics.median(self.answer_s(other) for _ in range(5))
            before, cut = memory(self.server.process), self.server.read_log().count("the client does not read")
            with Conversation(self.server) as deaf:
                deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                # The reply to each update contains the whole session, which is far more than the server keeps for a client.
                update = json.dumps({"type": "session.update", "session": {
                    "type": "realtime", "instructions": "x" * 100_000}}).encode()
                deaf.socket.settimeout(0.5)
                began, sent = time.monotonic(), 0
                with self.assertRaises(OSError):
                    while sent < 400 * MB:
                        unmasked(deaf, update)
                        sent += len(update)
                self.assertLess(sent, 40 * MB, "the server must stop its reads")
                # Meanwhile other sessions are answered as before.
                beside = [self.answer_s(other) for _ in range(5)]
                self.assertLess(statistics.median(beside), 3 * alone + 0.2)
                self.assertLess(memory(self.server.process) - before, 48 * MB)
                while self.server.read_log().count("the client does not read") == cut:
                    self.assertLess(time.monotonic() - began, STALL_S + 20)
                    time.sleep(0.05)
                self.assertGreater(time.monotonic() - began, STALL_S)
                # The data in the socket can be read. After it the connection ends without a close frame: 1006.
                deaf.socket.settimeout(30)
                try:
                    while deaf.recv() is not None:
                        pass
                except (ConnectionResetError, TypeError, json.JSONDecodeError):
                    pass
                self.assertIsNone(deaf.close_code)
            self.assertLess(statistics.median(self.answer_s(other) for _ in range(5)), 3 * alone + 0.2)

    def silence_for(self, ws, minutes):
        """Appends silence in pieces of ten seconds, as fast as the server accepts them. Returns the seconds."""
        piece = json.dumps({"type": "input_audio_buffer.append",
                            "audio": base64.b64encode(silence(10_000)).decode()}).encode()
        began = time.monotonic()
        for _ in range(int(minutes * 6)):
            unmasked(ws, piece)
        ws.send({"type": "input_audio_buffer.clear"})
        self.assertEqual([event["type"] for event in ws.until_type("input_audio_buffer.cleared")],
                         ["input_audio_buffer.cleared"], "silence is no turn")
        return time.monotonic() - began

    def heard(self, ws, question, turns):
        """Checks that a question becomes an item, and is transcribed if there is a recogniser."""
        ws.append(question + silence(1500))
        if turns is None:
            ws.send({"type": "input_audio_buffer.commit"})
        item = ws.until_type("conversation.item.done")[-1]["item"]
        self.assertEqual(item["content"][0]["type"], "input_audio")
        written = "conversation.item.input_audio_transcription."
        ws.until_type(written + "completed", written + "failed")

    def test_silence_for_long(self):
        """With and without a detector, the server keeps at most the audio of one turn and does not answer. A later voice is
        answered."""
        question = self.server.speak({"input": "What time is it?", "response_format": "pcm", "seed": 5})[2]
        for turns in ({"type": "server_vad", "create_response": False}, None):
            with Conversation(self.server) as ws, Conversation(self.server) as other:
                ws.update(audio={"input": {"turn_detection": turns, "transcription": {"model": "any"}}})
                other.update(max_output_tokens=20)
                self.heard(ws, question, turns)  # so that the recogniser allocates its memory
                self.silence_for(ws, 0.5)
                before = memory(self.server.process)
                took = self.silence_for(ws, MINUTES)
                self.assertLess(memory(self.server.process) - before, 48 * MB, turns)
                self.assertLess(took, 60 * MINUTES / 5, "the server must process audio faster than real time")
                self.answer_s(other)
                self.heard(ws, question, turns)

    def test_what_was_sent_at_once_is_given_back(self):
        """After appends of 15 MiB all memory is freed, even memory that the process could reuse."""
        append = json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(bytes(15 << 20)).decode()}).encode()

        def send(count):
            with Conversation(self.server) as ws:
                ws.update(audio={"input": {"turn_detection": None}})
                for _ in range(count):
                    unmasked(ws, append)
                ws.send({"type": "input_audio_buffer.clear"})
                ws.until_type("input_audio_buffer.cleared")

        before = memory(self.server.process)
        send(3)
        deadline = time.monotonic() + 20
        while memory(self.server.process) - before > 48 * MB and time.monotonic() < deadline:
            time.sleep(0.05)  # the session ends a moment after its connection
        self.assertLess(memory(self.server.process) - before, 48 * MB)

    def test_a_long_reply_to_one_that_reads_slowly(self):
        """The stall timeout limits the time since the last read, not the time of the whole reply."""
        with Conversation(self.server) as slow:
            slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            content = {"type": "input_audio", "audio": base64.b64encode(bytes(60 * 48_000)).decode(), "transcript": "none"}
            item = {"type": "message", "role": "user", "id": "long", "content": [content]}
            unmasked(slow, json.dumps({"type": "conversation.item.create", "item": item}).encode())
            slow.until_type("conversation.item.done")
            slow.send({"type": "conversation.item.retrieve", "item_id": "long"})
            read, began = b"", time.monotonic()
            while time.monotonic() - began < 2 * STALL_S:
                time.sleep(0.02)
                read += slow.file.read1(8192)
            self.assertLess(len(read), 3 * MB, "the client must not have the whole reply yet")
            while len(read) < 3 * MB:
                more = slow.file.read1(1 << 16)
                self.assertTrue(more, "it was cut off")
                read += more

    def test_silence_beside_an_answer(self):
        """An answer of another session is complete while silence arrives at full speed."""
        with Conversation(self.server) as ws, Conversation(self.server) as other:
            other.say("Hello!")
            other.respond()
            for _ in range(6):
                ws.append(silence(10_000))
            events = other.until_type("response.done")
            self.assertIn(events[-1]["response"]["status"], ("completed", "incomplete"))
            self.assertTrue(audio_of(events))


if __name__ == "__main__":
    harness.main()
