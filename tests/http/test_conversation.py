"""Tests conversations over SGLang's WebSocket with the real program: a MOSS-TTS-Realtime golden, which keeps its turns, and finch."""
import base64
import os
import struct
import unittest

import harness
from harness import Server
from ws import WebSocket

TURNS = "/v1/audio/speech/realtime"
GOLDEN = os.path.join(harness.PARITY, "moss_tts/golden/other_shapes/checkpoint")
TEXTS = ("Hello there, how are you? The quick brown fox.", "And other things.", "Numbers 1 2 3 and the lazy dog.")


class Talk(WebSocket):
    """A session. A turn returns its audio."""

    def __init__(self, server, **config):
        super().__init__(server.port, TURNS)
        self.send({"type": "session.config", "session": {"voice": "default", "seed": 5, **config}})
        _, [self.configured] = self.until('"session_id"')
        self.number = 0

    def start(self):
        self.number += 1
        self.id, self.seq = f"turn-{self.number}", 0
        self.send({"type": "turn.start", "turn_id": self.id})
        self.until("turn.started")

    def input(self, kind, **fields):
        self.send({"type": kind, "turn_id": self.id, "seq_no": self.seq, **fields})
        self.seq += 1

    def turn(self, text, size=7):
        self.start()
        for at in range(0, len(text), size):
            self.input("input.text", text=text[at:at + size])
        self.input("input.done")
        audio, messages = self.until('"turn.done"')
        acks = [m["accepted_seq_no"] for m in messages if m["type"] == "input.ack"]
        assert acks == list(range(self.seq)), acks
        assert messages[-1]["committed"], messages[-1]
        assert messages[-2]["total_bytes"] == len(audio)
        return audio

    def error(self, message):
        """Sends a bad message and returns the answer."""
        self.send(message)
        _, messages = self.until('"error"')
        return messages[-1]


class TurnsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--weights", "f32", "--max-batch", "2", model=GOLDEN)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def talk(self, **config):
        return Talk(self.server, max_new_tokens=24, **config)

    def test_a_turn_continues_the_turns_before(self):
        with self.talk() as first, self.talk() as second, self.talk() as third:
            once = [first.turn(text) for text in TEXTS]
            again = [second.turn(text, size=100) for text in TEXTS]
            self.assertEqual(once, again)
            self.assertNotEqual(third.turn(TEXTS[2]), once[2], "the first turn of a session has no context")

    def test_more_sessions_than_streams_that_are_kept_sound_the_same(self):
        with self.talk() as alone:
            expected = [alone.turn(text) for text in TEXTS]
        talks = [self.talk() for _ in range(5)]
        for i, text in enumerate(TEXTS):
            for talk in talks:
                self.assertEqual(talk.turn(text), expected[i])
        for talk in talks:
            talk.__exit__()
        self.server.wait_running(0)

    def test_an_interrupted_turn_leaves_no_trace_in_the_context(self):
        def interrupted(talk):
            first = talk.turn(TEXTS[0])
            talk.start()
            talk.input("input.text", text="A turn that the client cuts short because a user has begun to speak. " * 4)
            talk.until("audio.start")
            talk.send({"type": "turn.cancel", "turn_id": talk.id})
            _, messages = talk.until('"turn.done"')
            self.assertFalse(messages[-1]["committed"])
            self.assertEqual(messages[-1]["reason"], "client_cancelled")
            return first, talk.turn(TEXTS[2])
        with self.talk() as one, self.talk() as two, self.talk() as whole:
            heard = interrupted(one)
            self.assertEqual(heard, interrupted(two))
            self.assertEqual(heard[0], whole.turn(TEXTS[0]))
            uncut = whole.turn(TEXTS[2])
            self.assertEqual(len(heard[1]), len(uncut), "the codes are the same")
            self.assertNotEqual(heard[1], uncut, "the codec begins anew")
        self.server.wait_running(0)

    def test_a_client_that_vanishes(self):
        talk = self.talk()
        talk.turn(TEXTS[0])
        talk.start()
        talk.input("input.text", text="A long text that nobody will hear to its end. " * 20)
        talk.until("audio.start")
        talk.socket.close()
        talk.file.close()
        self.server.wait_running(0)

    def test_a_turn_of_the_user_has_text_and_audio(self):
        rate = 8000
        samples = b"".join(struct.pack("<h", (i * 37 % 200 - 100) * 50) for i in range(rate))
        head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                           b"data", len(samples))
        user = {"text": "How are you?", "audio": base64.b64encode(head + samples).decode()}
        audio = []
        for asked in (user, user, None):
            with self.talk() as talk:
                talk.send({"type": "turn.start", "turn_id": "x", **({"user": asked} if asked else {})})
                talk.until("turn.started")
                talk.id, talk.seq = "x", 0
                talk.input("input.text", text=TEXTS[1])
                talk.input("input.done")
                audio.append(talk.until('"committed":true')[0])
                self.assertGreater(len(talk.turn(TEXTS[2])), 1000)
        self.assertEqual(audio[0], audio[1])
        self.assertNotEqual(audio[0], audio[2])

    def test_hostile_events(self):
        with self.talk() as talk:
            first = talk.turn(TEXTS[0])
            for bad in ({"type": "no.such"}, "[]", "{", {"type": "session.config"}, {"type": "turn.cancel", "turn_id": "x"},
                        {"type": "turn.start", "turn_id": "turn-1"}, {"type": "turn.start", "turn_id": 7},
                        {"type": "input.text", "turn_id": "turn-1", "seq_no": 0, "text": "x"}):
                self.assertIn("message", talk.error(bad))
            talk.frame(2, b"\x00\xff" * 1000)
            talk.until('"error"')
            talk.start()
            for bad in ({"seq_no": 1, "text": "x"}, {"seq_no": -1, "text": "x"}, {"seq_no": 0}, {"seq_no": 0, "text": 7}):
                self.assertIn("message", talk.error({"type": "input.text", "turn_id": talk.id, **bad}))
            talk.input("input.text", text="word " * 40000)
            _, messages = talk.until('"turn.done"')
            self.assertFalse(messages[-1]["committed"])
            self.assertGreater(len(talk.turn(TEXTS[1])), 1000, "the session goes on")
            talk.send({"type": "session.close"})
            talk.until("session.closed")
            self.assertIsNone(talk.recv())
            self.assertEqual(talk.close_code, 1000)
        with self.talk() as talk:
            self.assertEqual(talk.turn(TEXTS[0]), first)
            talk.send({"type": "input.text", "text": "a" * (300 << 10)})
            while talk.recv() is not None:
                pass
            self.assertIn(talk.close_code, (None, 1009))
        with WebSocket(self.server.port, TURNS) as ws:
            ws.send({"type": "turn.start", "turn_id": "x"})
            ws.until('"error"')
            self.assertIsNone(ws.recv())
            self.assertEqual(ws.close_code, 1008)

    def test_a_server_that_stops_ends_the_turn_first(self):
        with Server("--weights", "f32", model=GOLDEN) as server:
            with Talk(server, max_new_tokens=24) as talk:
                talk.turn(TEXTS[0])
                talk.start()
                talk.input("input.text", text=TEXTS[1])
                talk.input("input.done")
                server.terminate()
                _, messages = talk.until('"turn.done"')
                self.assertTrue(messages[-1]["committed"])
                self.assertIsNone(talk.recv())
                self.assertEqual(talk.close_code, 1001)
            self.assertEqual(server.process.wait(20), 0)

    def test_other_models_take_turns_too(self):
        with Server() as server:
            with Talk(server) as talk, WebSocket(server.port, "/v1/audio/speech/stream") as ws:
                self.assertEqual(talk.configured["input_modes"], ["text"])
                turns = [talk.turn(text) for text in TEXTS]
                for text, heard in zip(TEXTS, turns):
                    ws.send({"type": "session.config", "seed": 5})
                    ws.send({"type": "input.text", "text": text})
                    ws.send({"type": "input.done"})
                    self.assertEqual(ws.until("session.done")[0], heard)


if __name__ == "__main__":
    harness.main()
