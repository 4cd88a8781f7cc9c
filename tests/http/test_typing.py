"""Tests a client that types, over the Realtime API with the real program. It sends pieces of a question and changes.
The server drafts the answer and speaks its first sentence early. The client gets the same answer as without drafts."""
import time
import unittest

import harness
from test_realtime import Conversation, audio_of, kinds, text_of

QUESTIONS = ("What is 7 plus 5?", "How many feet are in a mile?", "What is the capital of France?")


class Typing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--model", "wren", "--predict", "on").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def open(self, **session):
        return Conversation(self.server, "?model=wren", temperature=0, **session)

    def predictions(self):
        return self.server.get("/health")[2]["predictions"]

    def wait_for(self, what, timeout_s=20):
        until = time.monotonic() + timeout_s
        while not what():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def wait_idle(self):
        def idle():
            engines = [m["engine"] for m in self.server.get("/health")[2]["models"] if "engine" in m]
            return all(e["requests"] == 0 and e["pages_free"] == e["pages"] for e in engines)
        self.wait_for(idle)

    @staticmethod
    def type(ws, text, how="append"):
        ws.send({"type": "input_text_buffer." + how, "text": text})

    def ask(self, ws):
        ws.send({"type": "input_text_buffer.commit"})
        ws.respond()
        return ws.until_type("response.done")

    def plain(self, question):
        """Returns the answer and its audio without drafts."""
        with self.open(predict=False) as ws:
            ws.say(question)
            ws.respond()
            events = ws.until_type("response.done")
        return text_of(events), audio_of(events)

    def test_the_answer_is_there_and_the_same(self):
        for question in QUESTIONS:
            before = self.predictions()
            with self.open() as ws:
                self.type(ws, "Wha")
                self.type(ws, question[:-6] + "xyz", "replace")  # a word that the user deletes again
                self.type(ws, question[:-1], "replace")
                self.wait_for(lambda: self.predictions()["spoken_ahead"] > before["spoken_ahead"])
                self.type(ws, question[-1])
                events = self.ask(ws)
            self.assertEqual(kinds(events)[:4], ["input_text_buffer.committed", "conversation.item.added",
                                                 "conversation.item.done", "response.created"])
            self.assertEqual(events[0]["item_id"], events[1]["item"]["id"])
            self.assertEqual(events[1]["item"]["content"], [{"type": "input_text", "text": question}])
            text, audio = self.plain(question)
            self.assertTrue(text)
            self.assertEqual(text_of(events), text)
            # Each session has its own random seed for the voice.
            self.assertAlmostEqual(len(audio_of(events)) / len(audio), 1, delta=0.3)
        self.wait_idle()
        after = self.predictions()
        self.assertGreater(after["ready"], 0)
        self.assertEqual(after["drafted_tokens"], after["accepted_tokens"] + after["wasted_tokens"])

    def test_rules(self):
        for how in ({"rule": "greedy"}, {"rule": "top_k", "k": 5}, {"rule": "reflection"},
                    {"rule": "greedy", "draft_tokens": 8, "hint": "(This may be cut off.)"}):
            with self.open(predict=how) as ws:
                told = ws.update()["predict"]
                self.assertEqual({key: told[key] for key in how}, how)
                for at in range(1, len(QUESTIONS[0])):
                    self.type(ws, QUESTIONS[0][:at], "replace")
                    time.sleep(0.005)
                self.type(ws, QUESTIONS[0], "replace")
                events = self.ask(ws)
            self.assertEqual(events[-1]["response"]["status"], "completed", how)
            self.assertTrue(text_of(events))
            self.assertGreater(len(audio_of(events)), 1000)
            if how["rule"] == "greedy":
                self.assertEqual(text_of(events), self.plain(QUESTIONS[0])[0])
        self.wait_idle()

    def test_bad_input(self):
        with self.open() as ws:
            def fault(event):
                ws.send(event)
                got = ws.event()
                self.assertEqual(got["type"], "error", got)
                return got["error"]["code"] or got["error"]["param"]
            self.assertEqual(fault({"type": "input_text_buffer.commit"}), "input_text_buffer_commit_empty")
            self.assertEqual(fault({"type": "input_text_buffer.append"}), "missing_required_parameter")
            self.assertEqual(fault({"type": "input_text_buffer.append", "text": ["a"]}), "invalid_type")
            self.assertEqual(fault({"type": "session.update", "session": {"predict": {"rule": "best"}}}),
                             "invalid_value")
            # A question that never ends is stopped at 64 KiB, and the session continues.
            for _ in range(16):
                self.type(ws, "All work and no play. " * 180)
            self.assertEqual(fault({"type": "input_text_buffer.append", "text": "a" * 4000}),
                             "input_text_buffer_too_long")
            ws.send({"type": "input_text_buffer.clear"})
            ws.until_type("input_text_buffer.cleared")
            # Sends a thousand updates per second, which get no answers, then the end, then one more update.
            began = time.monotonic()
            for i in range(1000):
                self.type(ws, f"What is {i % 50} plus 5?", "replace")
                time.sleep(max(0, began + i / 1000 - time.monotonic()))
            self.type(ws, QUESTIONS[0], "replace")
            events = self.ask(ws)
            self.type(ws, "What is ")  # text after the end of the question belongs to the next one
            self.assertEqual(text_of(events), self.plain(QUESTIONS[0])[0])
            self.assertLessEqual(self.predictions()["drafted_tokens"], 20_000)
        self.wait_idle()

    def test_whoever_leaves_takes_the_draft_along(self):
        for _ in range(5):
            before = self.predictions()["spoken_ahead"]
            with self.open() as ws:
                self.type(ws, "What is the capital of France")
                self.wait_for(lambda: self.predictions()["spoken_ahead"] > before)
            self.wait_idle()
        self.wait_for(lambda: self.predictions()["spoken_in_vain"] >= 5)

    def test_without_prediction_it_is_a_message_like_any_other(self):
        with harness.Server("--quiet", "--model", "wren", "--predict", "off") as server:
            with Conversation(server, "?model=wren", temperature=0) as ws:
                self.assertNotIn("predict", ws.created["session"])
                self.type(ws, QUESTIONS[2])
                events = self.ask(ws)
        self.assertEqual(text_of(events), self.plain(QUESTIONS[2])[0])


if __name__ == "__main__":
    harness.main()
