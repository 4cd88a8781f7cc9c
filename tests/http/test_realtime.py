"""Tests conversations by the Realtime API with the real program: PocketSphinx transcribes, a small random text model
answers, the built-in voice speaks. The answers have no meaning; the tests check events, their times and their
order."""
import base64
import json
import pathlib
import struct
import threading
import time
import unittest

import conversations
import harness
from ws import WebSocket

WRITER = pathlib.Path(harness.PARITY) / "llm" / "qwen3"
QUESTION = "The quick brown fox jumps over the lazy dog."
RATE = 24000
CHUNK_MS = 40


def events_of(*names):
    return ["response." + name for name in names]


SPOKEN = ["response.created", "response.output_item.added", "conversation.item.added",
          "response.content_part.added"]
ENDED = events_of("output_audio.done", "output_audio_transcript.done", "content_part.done",
                  "output_item.done") + ["conversation.item.done", "response.done"]


class Conversation(WebSocket):
    """A session of a client that may send audio at any speed."""

    def __init__(self, server, query="?model=qwen3", headers=(), **session):
        # PocketSphinx runs at low priority: beside four busy processes a question of 2 s took 40 s.
        super().__init__(server.port, "/v1/realtime" + query, headers, timeout=300)
        if self.status != 101:
            raise AssertionError(f"status {self.status}")
        self.created = self.event()
        if "intent=transcription" not in query:
            self.conversation = self.until_type("conversation.created")[-1]["conversation"]["id"]
        if session:
            self.update(**session)

    def event(self):
        got = self.recv()
        if got is None:
            raise AssertionError(f"closed: {self.close_code}")
        return json.loads(got)

    def update(self, **session):
        self.send({"type": "session.update", "session": {"type": "realtime", **session}})
        return self.until_type("session.updated")[-1]["session"]

    def until_type(self, *kinds):
        """Returns events up to the first event of one of these kinds."""
        out = []
        while True:
            out.append(self.event())
            if out[-1]["type"] in kinds:
                return out
            if out[-1]["type"] == "error":
                raise AssertionError(out[-1])

    def append(self, pcm):
        self.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()})

    def talk(self, pcm, pace=False):
        """Sends samples in pieces, like a microphone."""
        step = RATE * 2 * CHUNK_MS // 1000
        began = time.monotonic()
        for i, at in enumerate(range(0, len(pcm), step)):
            if pace:
                time.sleep(max(0, began + i * CHUNK_MS / 1000 - time.monotonic()))
            self.append(pcm[at:at + step])

    def say(self, text):
        self.send({"type": "conversation.item.create",
                   "item": {"type": "message", "role": "user",
                            "content": [{"type": "input_text", "text": text}]}})
        return self.until_type("conversation.item.done")[-1]["item"]["id"]

    def respond(self, **response):
        self.send({"type": "response.create", "response": response})


def unmasked(ws, data):
    """Sends a text message with a mask of zeros, because Python masks megabytes slowly."""
    ws.socket.sendall(struct.pack("!BBQ", 0x81, 0x80 | 127, len(data)) + bytes(4) + data)


def silence(ms):
    return bytes(RATE * 2 * ms // 1000)


def audio_of(events):
    return b"".join(base64.b64decode(e["delta"]) for e in events if e["type"] == "response.output_audio.delta")


def text_of(events):
    return "".join(e["delta"] for e in events if e["type"] in ("response.output_audio_transcript.delta",
                                                               "response.output_text.delta"))


def kinds(events):
    """Returns the types of events. Equal types in a row appear once."""
    out = []
    for event in events:
        if not out or out[-1] != event["type"]:
            out.append(event["type"])
    return out


class Realtime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--model", str(WRITER)).__enter__()
        if "pocketsphinx" not in [m["id"] for m in cls.server.get("/v1/models")[2]["data"]]:
            cls.server.__exit__()
            print("skipped: PocketSphinx is not installed")
            sys.exit(77)
        cls.question = cls.server.speak({"input": QUESTION, "response_format": "pcm", "seed": 5})[2]
        # Greedy sampling makes the tests reproducible.
        cls.greedy = {"temperature": 0, "max_output_tokens": 60}

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def open(self, **session):
        return Conversation(self.server, **{**self.greedy, **session})

    def test_question_and_answer_by_voice(self):
        with self.open(audio={"input": {"transcription": {"model": "whisper-1"}}}) as ws:
            self.assertEqual(ws.created["type"], "session.created")
            self.assertEqual(ws.created["session"]["model"], "qwen3")
            ws.talk(silence(300) + self.question + silence(1000))
            events = ws.until_type("response.done")
        order = kinds(events)
        self.assertEqual(order[:5], ["input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
                                     "input_audio_buffer.committed", "conversation.item.added",
                                     "conversation.item.done"])
        heard = [e for e in events if e["type"].endswith("transcription.completed")][0]
        self.assertIn("fox", heard["transcript"])
        self.assertEqual(heard["usage"]["type"], "duration")
        answer = [e for e in events if e["type"].startswith("response.")]
        self.assertEqual([k for k in kinds(events[order.index("response.created"):]) if ".delta" not in k][:4], SPOKEN)
        self.assertEqual(kinds(events)[-6:], ENDED)
        response = answer[-1]["response"]
        self.assertEqual(response["output"][0]["content"][0]["transcript"], text_of(events))
        self.assertGreater(len(audio_of(events)), RATE)  # more than half a second
        self.assertEqual(len({e["event_id"] for e in events}), len(events))
        self.assertEqual(response["usage"]["total_tokens"],
                         response["usage"]["input_tokens"] + response["usage"]["output_tokens"])

    def test_text(self):
        with self.open(output_modalities=["text"]) as ws:
            ws.say("What is the weather?")
            ws.respond(metadata={"client_event_id": "e7"})
            events = ws.until_type("response.done")
            self.assertEqual([e["response"]["metadata"] for e in (events[0], events[-1])],
                             [{"client_event_id": "e7"}] * 2)
            self.assertEqual(kinds(events)[-5:], events_of("output_text.done", "content_part.done",
                                                           "output_item.done") +
                             ["conversation.item.done", "response.done"])
            first = text_of(events)
            self.assertTrue(first)
            self.assertEqual(audio_of(events), b"")
            # The conversation continues, so the same question gets another answer.
            ws.say("What is the weather?")
            ws.respond()
            self.assertNotEqual(text_of(ws.until_type("response.done")), first)
            # Outside the conversation, the question gets the first answer again.
            ws.respond(conversation="none", input=[{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "What is the weather?"}]}])
            beside = ws.until_type("response.done")
            self.assertEqual(text_of(beside), first)
            self.assertNotIn("conversation.item.added", kinds(beside))
            self.assertIsNone(beside[-1]["response"]["conversation_id"])

    def test_names_of_the_beta(self):
        """The names of the beta are used only on request: by a header or, from browsers, by a subprotocol. In that case no other
        names are used."""
        for header in ("OpenAI-Beta: realtime=v1",
                       "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.x, openai-beta.realtime-v1"):
            with Conversation(self.server, headers=[header]) as ws:
                self.assertEqual(ws.created["session"]["modalities"], ["text", "audio"])
                self.assertEqual(ws.created["session"]["input_audio_format"], "pcm16")
                ws.send({"type": "session.update", "session": {
                    "modalities": ["text", "audio"], "voice": "raven", "input_audio_transcription": {"model": "whisper-1"},
                    "turn_detection": None, "temperature": 0, "max_response_output_tokens": 40}})
                session = ws.until_type("session.updated")[-1]["session"]
                self.assertEqual((session["voice"], session["turn_detection"], session["max_response_output_tokens"]),
                                 ("raven", None, 40))
                self.assertNotIn("audio", session)
                ws.send({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "Hello"}]}})
                ws.until_type("conversation.item.created")
                ws.respond()
                events = ws.until_type("response.done")
                self.assertEqual([k for k in kinds(events) if ".delta" not in k], [
                    "response.created", "response.output_item.added", "conversation.item.created",
                    "response.content_part.added", "response.audio.done", "response.audio_transcript.done",
                    "response.content_part.done", "response.output_item.done", "response.done"])
                self.assertEqual({k for k in kinds(events) if ".delta" in k},
                                 {"response.audio.delta", "response.audio_transcript.delta"})
                self.assertEqual(events[-1]["response"]["output"][0]["content"][0]["type"], "audio")
                ws.respond(modalities=["text"])
                events = ws.until_type("response.done")
                self.assertIn("response.text.delta", kinds(events))
                self.assertEqual(events[-1]["response"]["modalities"], ["text"])

    def test_interruption(self):
        with self.open(max_output_tokens="inf") as ws:
            ws.say("Tell me a long story.")
            ws.respond()
            events = ws.until_type("response.output_audio.delta")
            item = events[-1]["item_id"]
            ws.talk(self.question)
            events += ws.until_type("response.done")
            self.assertIn("input_audio_buffer.speech_started", kinds(events))
            response = events[-1]["response"]
            self.assertEqual((response["status"], response["status_details"]["reason"]),
                             ("cancelled", "turn_detected"))
            self.assertEqual(kinds(events)[-6:], ENDED)
            ws.send({"type": "conversation.item.truncate", "item_id": item, "content_index": 0,
                     "audio_end_ms": 40})
            self.assertEqual(ws.until_type("conversation.item.truncated")[-1]["audio_end_ms"], 40)
            ws.send({"type": "conversation.item.retrieve", "item_id": item})
            kept = ws.until_type("conversation.item.retrieved")[-1]["item"]["content"][0]
            self.assertLess(len(kept["transcript"]), len(text_of(events)))
            self.assertLessEqual(len(base64.b64decode(kept["audio"])), RATE * 2 * 40 // 1000)

    def test_truncation_by_word_times(self):
        """The played part of an answer consists of whole words, and grows with time."""
        with self.open() as ws:
            ws.say("Count, please.")
            ws.respond()
            events = ws.until_type("response.done")
            item = events[-1]["response"]["output"][0]
            transcript = item["content"][0]["transcript"]
            total_ms = len(audio_of(events)) // 48
            before = transcript
            for share in (0.7, 0.4, 0.1, 0):
                ws.send({"type": "conversation.item.truncate", "item_id": item["id"], "content_index": 0,
                         "audio_end_ms": int(total_ms * share)})
                ws.until_type("conversation.item.truncated")
                ws.send({"type": "conversation.item.retrieve", "item_id": item["id"]})
                kept = ws.until_type("conversation.item.retrieved")[-1]["item"]["content"][0]["transcript"]
                self.assertTrue(before.startswith(kept))
                before = kept
            self.assertEqual(before, "")

    def test_transcription_session(self):
        with Conversation(self.server, "?intent=transcription") as ws:
            self.assertEqual(ws.created["session"]["type"], "transcription")
            ws.send({"type": "session.update", "session": {"type": "transcription", "audio": {"input": {
                "format": {"type": "audio/pcm", "rate": 24000}, "turn_detection": None,
                "transcription": {"model": "gpt-4o-mini-transcribe", "language": "en"}}}}})
            ws.until_type("session.updated")
            ws.talk(self.question)
            ws.send({"type": "input_audio_buffer.commit"})
            events = ws.until_type("conversation.item.input_audio_transcription.completed")
            self.assertIn("fox", events[-1]["transcript"])
            deltas = "".join(e["delta"] for e in events if e["type"].endswith("transcription.delta"))
            self.assertEqual(deltas, events[-1]["transcript"])

    def test_telephone(self):
        """Uses G.711 for input and output."""
        call = self.server.speak({"input": QUESTION, "response_format": "pcm", "sample_rate": 8000,
                                  "encoding": "pcm_mulaw", "seed": 5})[2]
        law = {"format": {"type": "audio/pcmu"}}
        with self.open(audio={"input": {**law, "transcription": {"model": "any"}, "turn_detection": None},
                              "output": law}) as ws:
            for at in range(0, len(call), 160):
                ws.append(call[at:at + 160])
            ws.send({"type": "input_audio_buffer.commit"})
            heard = ws.until_type("conversation.item.input_audio_transcription.completed")[-1]
            self.assertTrue(heard["transcript"])  # PocketSphinx is not made for telephone audio
            ws.respond()
            events = ws.until_type("response.done")
            law_s = len(audio_of(events)) / 8000
            ws.update(audio={"output": {"format": None}})
            ws.respond(input=[{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": heard["transcript"]}]}], conversation="none")
            # Another seed: the same words, a little longer or shorter.
            self.assertAlmostEqual(len(audio_of(ws.until_type("response.done"))) / 48000, law_s, delta=1.5)

    def test_errors(self):
        with self.open() as ws:
            for event, code in (
                    ({"type": "response.cancel"}, "response_cancel_not_active"),
                    ({"type": "input_audio_buffer.commit"}, "input_audio_buffer_commit_empty"),
                    ({"type": "conversation.item.retrieve", "item_id": "x"}, "item_retrieve_invalid_item_id"),
                    ({"type": "conversation.item.delete", "item_id": "x"}, "item_delete_invalid_item_id"),
                    ({"type": "input_audio_buffer.append", "audio": "AAA="}, None),
                    ({"type": "input_audio_buffer.append", "audio": "AAAA"}, "invalid_value"),
                    ({"type": "session.update", "session": {"audio": {"output": {"voice": "nobody"}}}}, "*"),
                    ({"type": "nonsense"}, "invalid_value")):
                ws.send({**event, "event_id": "mine"})
                if code is None:
                    continue
                got = ws.event()
                self.assertEqual((got["type"], got["error"]["event_id"]), ("error", "mine"))
                if code != "*":
                    self.assertEqual(got["error"]["code"], code)
            ws.say("Hi")  # the session still works

    def test_long_appends(self):
        """An append of 15 MiB is processed like many small appends. A larger append ends the connection."""
        with self.open(audio={"input": {"turn_detection": None}}) as ws:
            for _ in range(3):  # each session releases its place
                append = {"type": "input_audio_buffer.append",
                          "audio": base64.b64encode(bytes(15 << 20)).decode()}
                unmasked(ws, json.dumps(append).encode())
            ws.send({"type": "input_audio_buffer.clear"})
            self.assertEqual(ws.event()["type"], "input_audio_buffer.cleared")
            try:
                unmasked(ws, b" " * (22 << 20))
            except OSError:
                pass  # the connection was closed before the whole append had arrived
            try:
                while ws.recv() is not None:
                    pass
                self.assertEqual(ws.close_code, 1009)
            except ConnectionResetError:
                pass  # unread data may cause the loss of the last frame

    def test_which_model_answers(self):
        with harness.Server("--quiet", "--ears", "none") as alone:
            with Conversation(alone, "") as ws:
                ws.say("Hi")
                ws.respond()
                self.assertEqual(ws.event()["error"]["code"], "no_text_model")
            with WebSocket(alone.port, "/v1/realtime?model=nobody") as ws:
                self.assertEqual(ws.status, 404)

    def test_twenty_at_once(self):
        """Every session gets the same whole answer as a session alone."""
        with self.open() as ws:
            ws.say(QUESTION)
            ws.respond()
            alone = ws.until_type("response.done")
        results = []

        def converse():
            with self.open() as ws:
                ws.say(QUESTION)
                ws.respond()
                results.append(ws.until_type("response.done"))

        threads = [threading.Thread(target=converse) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 20)
        self.assertEqual({text_of(events) for events in results}, {text_of(alone)})
        for events in [alone, *results]:  # the voice is sampled at random, so the samples differ
            self.assertAlmostEqual(len(audio_of(events)) / len(audio_of(alone)), 1, delta=0.3)
            for what in ["status", "status_details"]:
                self.assertEqual(events[-1]["response"][what], alone[-1]["response"][what])


class BuiltIn(unittest.TestCase):
    """Uses only built-in models: PocketSphinx transcribes, wren answers, finch speaks."""

    def test_what_time_is_it(self):
        with harness.Server("--quiet", "--model", "wren") as server:
            if "pocketsphinx" not in [m["id"] for m in server.get("/v1/models")[2]["data"]]:
                self.skipTest("PocketSphinx is not installed")
            question = server.speak({"input": "What time is it?", "response_format": "pcm", "seed": 1})[2]
            with Conversation(server, "?model=wren") as ws:
                ws.talk(silence(300) + question + silence(1200))
                events = ws.until_type("response.done")
                self.assertRegex(text_of(events), r"^It is \d\d:\d\d\.$")
                self.assertGreater(len(audio_of(events)), RATE)
                ws.say("What can you do?")  # the question was typed, so it has no waits of a spoken turn
                ws.respond()
                ws.until_type("response.done")
            waits = {since: [conversations.waits_of(server, part, since) for part in ("transcript", "first_text", "first_audio")]
                     for since in ("voice", "decision")}
        for since, parts in waits.items():
            self.assertEqual([count for count, _ in parts], [1, 1, 1], since)
            self.assertEqual(parts, sorted(parts, key=lambda part: part[1]), since)
        self.assertGreater(waits["voice"][0][1], waits["decision"][0][1] + 0.49)  # differs by the detector's pause

    def test_a_tool_that_must_be_called(self):
        """If a tool call is required, wren sets a timer even for a question about a sum, in conversations and in chats. Other
        models refuse such a request."""
        timer = {"name": "set_timer", "description": "Sets a timer.", "parameters": {
            "type": "object", "properties": {unit: {"type": "integer"} for unit in ("hours", "minutes", "seconds")}}}
        tools, question = [{"type": "function", **timer}], "How much is two plus three?"
        with harness.Server("--quiet", "--model", "wren", "--model", str(WRITER)) as server:
            with Conversation(server, "?model=wren", output_modalities=["text"], tools=tools) as ws:
                ws.say(question)
                ws.respond()
                self.assertIn("5", text_of(ws.until_type("response.done")))
                for choice in ("required", {"type": "function", "name": "set_timer"}):
                    ws.respond(conversation="none", tool_choice=choice, input=[
                        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}])
                    call, = ws.until_type("response.done")[-1]["response"]["output"]
                    self.assertEqual((call["type"], call["name"]), ("function_call", "set_timer"))
                    self.assertIsInstance(json.loads(call["arguments"]), dict)
            with Conversation(server) as ws:
                ws.send({"type": "session.update", "session": {"type": "realtime", "tools": tools, "tool_choice": "required"}})
                error = ws.event()["error"]
                self.assertEqual((error["code"], error["param"]), ("unsupported_value", "session.tool_choice"))
                self.assertIn("qwen3", error["message"])
            body = {"model": "wren", "messages": [{"role": "user", "content": question}], "tool_choice": "required",
                    "tools": [{"type": "function", "function": timer}]}
            connection = server.connect()
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
            choice = json.loads(connection.getresponse().read())["choices"][0]
            connection.close()
            self.assertEqual(choice["finish_reason"], "tool_calls")
            self.assertEqual(choice["message"]["tool_calls"][0]["function"]["name"], "set_timer")

    def test_conversations_beside_each_other(self):
        """Several microphones never stop, in real time. Every question is answered. No answer has a gap, except gaps that a
        client itself caused. conversations.py measures twenty of them."""
        with harness.Server("--quiet", "--model", "wren") as server:
            if "pocketsphinx" not in [m["id"] for m in server.get("/v1/models")[2]["data"]]:
                self.skipTest("PocketSphinx is not installed")
            turns, troubles, late = conversations.hold(server, 6, 150, enough=1)
        self.assertEqual(troubles, [])
        self.assertGreaterEqual(len(turns), 6)
        for turn in turns:
            self.assertGreater(turn["audio_s"], 0.3, turn)
            self.assertEqual([gap for gap in turn["gaps"] if gap > late + 0.02], [], turn)


if __name__ == "__main__":
    harness.main()
