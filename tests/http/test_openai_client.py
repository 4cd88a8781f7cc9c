"""Tests the official client. Skipped (exit code 77) if it is not installed."""
import base64
import json
import sys
import unittest

import harness
from test_stages import OMNI, recording

try:
    import openai
except ImportError:
    print("skipped: the package openai is not installed")
    sys.exit(77)


class OpenAiClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet").__enter__()
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1",
                                   api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def test_stream(self):
        with self.client.audio.speech.with_streaming_response.create(
                model="gpt-4o-mini-tts", voice="coral", input="Hello there.",
                response_format="pcm", extra_body={"seed": 4}) as answer:
            data = b"".join(answer.iter_bytes())
        alone = self.server.speak({"input": "Hello there.", "response_format": "pcm", "seed": 4})[2]
        self.assertTrue(data == alone)

    def test_default_format(self):
        data = self.client.audio.speech.create(model="tts-1", voice="alloy", input="Hi.").content
        self.assertEqual(data[0], 0xFF)  # the first byte of an MP3 frame

    def test_formats(self):
        magic = {"mp3": b"\xff", "opus": b"OggS", "aac": b"\xff", "flac": b"fLaC", "wav": b"RIFF"}
        for name, begin in magic.items():
            data = self.client.audio.speech.create(
                model="tts-1", voice="alloy", input="Hi.", response_format=name, speed=1.2).content
            self.assertTrue(data.startswith(begin), name)

    def test_instructions_for_a_model_that_follows_none(self):
        facts = self.server.get("/v1/models")[2]["data"][0]
        with self.client.audio.speech.with_streaming_response.create(
                model="gpt-4o-mini-tts", voice="alloy", input="Hi.",
                instructions="Speak softly.") as answer:
            self.assertGreater(len(answer.read()), 1000)
            self.assertEqual("instructions" in answer.headers.get("X-Warning", ""),
                             not facts["instructions"])
        if facts["instructions"]:
            return
        with harness.Server("--strict", "--quiet") as strict:
            client = openai.OpenAI(base_url=f"http://127.0.0.1:{strict.port}/v1", api_key="none",
                                   max_retries=0)
            with self.assertRaises(openai.BadRequestError) as refused:
                client.audio.speech.create(model="tts-1", voice="alloy", input="Hi.",
                                           instructions="Speak softly.")
            self.assertEqual(refused.exception.param, "instructions")

    def test_models(self):
        names = [model.id for model in self.client.models.list()]
        for alias in ("tts-1", "gpt-4o-mini-tts", names[0]):
            self.assertEqual(self.client.models.retrieve(alias).id, names[0])
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-99")

    def test_events(self):
        with self.client.audio.speech.with_streaming_response.create(
                model="gpt-4o-mini-tts", voice="coral", input="Hello there.",
                response_format="pcm", stream_format="sse", extra_body={"seed": 4}) as answer:
            events = [json.loads(line[6:]) for line in answer.iter_lines() if line]
        data = b"".join(base64.b64decode(e["audio"]) for e in events[:-1])
        alone = self.server.speak({"input": "Hello there.", "response_format": "pcm", "seed": 4})[2]
        self.assertTrue(data == alone)
        self.assertEqual(events[-1]["type"], "speech.audio.done")

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.audio.speech.create(model="none", voice="alloy", input="Hi.")
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.audio.speech.create(model="tts-1", voice="alloy", input="")
        self.assertEqual(caught.exception.param, "input")

    def test_models(self):
        spoken = [m for m in self.client.models.list().data if m.speaks]
        self.assertEqual(len(spoken), 1)


class OpenAiChat(unittest.TestCase):
    """Chats with audio in and out, with a small random Qwen3-Omni, whose answers have no meaning."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--ears", "none", "--weights", "f32", model=OMNI).__enter__()
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1", api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def ask(self, audio, **options):
        return self.client.chat.completions.create(
            model="checkpoint", modalities=["text", "audio"], audio=audio, seed=3, max_completion_tokens=12,
            messages=[{"role": "user", "content": [
                {"type": "input_audio", "input_audio": {"data": recording(1), "format": "wav"}},
                {"type": "text", "text": "hello there"}]}], **options)

    def test_whole_and_streamed(self):
        whole = self.ask({"voice": "aiden", "format": "wav"})
        said = whole.choices[0].message.audio
        self.assertTrue(said.id and said.transcript)
        self.assertGreater(whole.usage.prompt_tokens_details.audio_tokens, 10)
        rate, size = harness.wav_header(base64.b64decode(said.data))
        self.assertEqual(rate, 24000)
        self.assertGreater(size, 2000)
        text, sound = "", b""
        for event in self.ask({"voice": "aiden", "format": "pcm16"}, stream=True):
            audio = event.choices[0].delta.audio
            text += audio and audio.transcript or ""
            sound += base64.b64decode(audio and audio.data or "")
        self.assertEqual((text, len(sound)), (said.transcript, size))

    def test_the_shape_of_vllm_omni(self):
        """Reads an answer in the way of vLLM-Omni's clients."""
        shape = {"audio_shape": "vllm-omni"}
        whole = self.ask({"voice": "aiden", "format": "wav"}, extra_body=shape)
        text, sound = "", b""
        for event in self.ask({"voice": "aiden", "format": "wav"}, stream=True, extra_body=shape):
            content = event.choices[0].delta.content or ""
            if event.modality == "audio" and content:
                sound += base64.b64decode(content)[44:]
            elif event.modality == "text":
                text += content
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(sound, base64.b64decode(whole.choices[1].message.audio.data)[44:])


if __name__ == "__main__":
    harness.main()
