"""The official client, where it is installed; otherwise skipped (exit code 77)."""
import sys
import unittest

import harness

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
        harness.wav_header(data)

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.audio.speech.create(model="none", voice="alloy", input="Hi.")
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.audio.speech.create(model="tts-1", voice="alloy", input="")
        self.assertEqual(caught.exception.param, "input")

    def test_models(self):
        self.assertEqual(len(self.client.models.list().data), 1)


if __name__ == "__main__":
    harness.main()
