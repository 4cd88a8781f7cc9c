"""Tests the Realtime API with the official client. Skipped if the client or its realtime part is not installed. Every
event must match the client's own types."""
import base64
import json
import sys
import unittest

import harness
from test_realtime import QUESTION, RATE, WRITER, silence

try:
    import openai
    import pydantic
    import websockets  # noqa: F401  (openai[realtime])
    from openai.types.realtime import RealtimeServerEvent
except ImportError:
    print("skipped: the package openai[realtime] is not installed")
    sys.exit(77)

EVENT = pydantic.TypeAdapter(RealtimeServerEvent)
WEATHER = {"type": "function", "name": "get_weather", "description": "The weather of a place.",
           "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}


class OpenAiRealtime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--model", str(WRITER)).__enter__()
        cls.ears = "pocketsphinx" in [m["id"] for m in cls.server.get("/v1/models")[2]["data"]]
        cls.question = cls.server.speak({"input": QUESTION, "response_format": "pcm", "seed": 5})[2]
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1", api_key="none")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def until(self, connection, kind):
        """Returns events up to the first one of a kind. Validates each event, which the client itself does not do."""
        out = []
        while not out or out[-1].type != kind:
            event = EVENT.validate_json(connection.recv_bytes())
            self.assertEqual(event.type, connection.parse_event(event.to_json()).type)
            self.assertNotEqual(event.type, "error", event)
            out.append(event)
        return out

    def test_names_of_the_beta(self):
        """Uses the client's own beta; every event must match the types of that beta."""
        from openai.types.beta.realtime import RealtimeServerEvent as BetaEvent
        allowed = pydantic.TypeAdapter(BetaEvent)

        def until(connection, kind):
            out = []
            while not out or out[-1].type != kind:
                event = json.loads(connection.recv_bytes())
                if "session" in event:  # the beta's types allow only OpenAI's models
                    event["session"]["model"] = "gpt-realtime"
                out.append(allowed.validate_python(event))
                self.assertNotEqual(out[-1].type, "error", out[-1])
            return out

        plain = self.client.with_options(websocket_base_url=f"ws://127.0.0.1:{self.server.port}/v1")
        with plain.beta.realtime.connect(model="qwen3") as connection:
            until(connection, "session.created")
            connection.session.update(session={"modalities": ["text", "audio"], "turn_detection": None,
                                               "max_response_output_tokens": 30})
            self.assertEqual(until(connection, "session.updated")[-1].session.max_response_output_tokens, 30)
            connection.conversation.item.create(item={"type": "message", "role": "user",
                                                      "content": [{"type": "input_text", "text": "Hello!"}]})
            until(connection, "conversation.item.created")
            connection.response.create()
            events = until(connection, "response.done")
            said = "".join(e.delta for e in events if e.type == "response.audio_transcript.delta")
            self.assertEqual(events[-1].response.output[0].content[0].transcript, said)
            self.assertTrue([e for e in events if e.type == "response.audio.delta"])

    def connect(self, **options):
        return self.client.realtime.connect(model="qwen3", **options)

    def test_text(self):
        with self.connect() as connection:
            created = self.until(connection, "session.created")[0].session
            self.assertEqual((created.type, created.model), ("realtime", "qwen3"))
            connection.session.update(session={"type": "realtime", "output_modalities": ["text"],
                                               "max_output_tokens": 30, "tools": [WEATHER]})
            updated = self.until(connection, "session.updated")[-1].session
            self.assertEqual((updated.output_modalities, updated.max_output_tokens), (["text"], 30))
            connection.conversation.item.create(item={
                "type": "message", "role": "user", "id": "mine",
                "content": [{"type": "input_text", "text": "Hello!"}]})
            self.assertEqual(self.until(connection, "conversation.item.done")[-1].item.id, "mine")
            connection.response.create(response={"metadata": {"topic": "greeting"}})
            events = self.until(connection, "response.done")
            response = events[-1].response
            self.assertEqual(response.metadata, {"topic": "greeting"})
            text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
            self.assertEqual(response.output[0].content[0].text, text)
            self.assertEqual(response.usage.total_tokens,
                             response.usage.input_tokens + response.usage.output_tokens)
            connection.conversation.item.retrieve(item_id="mine")
            self.assertEqual(self.until(connection, "conversation.item.retrieved")[-1].item.content[0].text, "Hello!")
            connection.conversation.item.delete(item_id="mine")
            self.until(connection, "conversation.item.deleted")
            connection.conversation.item.create(item={"type": "function_call", "call_id": "c1",
                                                      "name": "get_weather", "arguments": "{\"place\": \"Ulm\"}"})
            connection.conversation.item.create(item={"type": "function_call_output", "call_id": "c1",
                                                      "output": "rain"})
            connection.response.create(response={"conversation": "none"})
            self.assertIsNone(self.until(connection, "response.done")[-1].response.conversation_id)

    def test_voice(self):
        if not self.ears:
            self.skipTest("PocketSphinx is not installed")
        with self.connect() as connection:
            connection.session.update(session={
                "type": "realtime", "max_output_tokens": 60,
                "audio": {"input": {"turn_detection": {"type": "server_vad", "silence_duration_ms": 400},
                                    "transcription": {"model": "gpt-4o-mini-transcribe"}},
                          "output": {"voice": "marin"}}})
            connection.input_audio_buffer.append(audio=base64.b64encode(self.question + silence(800)).decode())
            events = self.until(connection, "response.done")
            heard = [e for e in events if e.type == "conversation.item.input_audio_transcription.completed"]
            self.assertIn("fox", heard[0].transcript)
            audio = b"".join(base64.b64decode(e.delta) for e in events if e.type == "response.output_audio.delta")
            self.assertGreater(len(audio), RATE)
            item = events[-1].response.output[0]
            connection.conversation.item.truncate(item_id=item.id, content_index=0, audio_end_ms=100)
            self.until(connection, "conversation.item.truncated")
            connection.conversation.item.retrieve(item_id=item.id)
            kept = self.until(connection, "conversation.item.retrieved")[-1].item.content[0]
            self.assertTrue(item.content[0].transcript.startswith(kept.transcript))
            self.assertEqual(len(base64.b64decode(kept.audio)), 4800)

    def test_transcription(self):
        if not self.ears:
            self.skipTest("PocketSphinx is not installed")
        with self.client.realtime.connect(extra_query={"intent": "transcription"}) as connection:
            self.assertEqual(self.until(connection, "session.created")[0].session.type, "transcription")
            connection.session.update(session={
                "type": "transcription", "include": ["item.input_audio_transcription.logprobs"],
                "audio": {"input": {"transcription": {"model": "whisper-1", "language": "en"},
                                    "turn_detection": None}}})
            connection.input_audio_buffer.append(audio=base64.b64encode(self.question).decode())
            connection.input_audio_buffer.commit()
            done = self.until(connection, "conversation.item.input_audio_transcription.completed")[-1]
            self.assertIn("fox", done.transcript)
            self.assertEqual(done.usage.type, "duration")
            self.assertEqual("".join(piece.token for piece in done.logprobs).strip(), done.transcript)

    def test_errors(self):
        with self.connect() as connection:
            self.until(connection, "conversation.created")
            connection.response.cancel()
            error = EVENT.validate_json(connection.recv_bytes()).error
            self.assertEqual((error.type, error.code), ("invalid_request_error", "response_cancel_not_active"))


if __name__ == "__main__":
    harness.main()
