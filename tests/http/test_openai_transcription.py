"""Tests transcription with the official client. Skipped if it is not installed."""
import sys
import unittest

import harness
from test_transcription import SENTENCES, wav

try:
    import openai
except ImportError:
    print("skipped: the package openai is not installed")
    sys.exit(77)


class OpenAiClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet").__enter__()
        if "pocketsphinx" not in [m["id"] for m in cls.server.get("/v1/models")[2]["data"]]:
            cls.server.__exit__()
            print("skipped: PocketSphinx is not installed")
            sys.exit(77)
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1",
                                   api_key="none", max_retries=0)
        pcm = cls.server.speak({"input": SENTENCES[1], "voice": "crake", "response_format": "pcm",
                                "sample_rate": 16000, "seed": 5})[2]
        cls.file = ("speech.wav", wav(pcm))

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def create(self, **options):
        return self.client.audio.transcriptions.create(model="whisper-1", file=self.file, **options)

    def test_formats(self):
        small = self.create()
        self.assertIn("good", small.text)
        self.assertEqual(small.usage.type, "duration")
        verbose = self.create(response_format="verbose_json",
                              timestamp_granularities=["word", "segment"])
        self.assertEqual(verbose.text, small.text)
        self.assertEqual(verbose.segments[0].id, 0)
        self.assertEqual(" ".join(word.word for word in verbose.words), small.text)
        self.assertEqual(self.create(response_format="text").strip(), small.text)
        self.assertTrue(self.create(response_format="srt").startswith("1\n"))
        self.assertTrue(self.create(response_format="vtt").startswith("WEBVTT"))

    def test_stream(self):
        text, done = "", None
        for event in self.create(stream=True, response_format="json", language="en",
                                 chunking_strategy="auto"):
            if event.type == "transcript.text.delta":
                text += event.delta
            else:
                self.assertEqual(event.type, "transcript.text.done")
                done = event
        self.assertEqual(done.text, text)
        self.assertEqual(text, self.create().text)

    def test_log_probabilities(self):
        whole = self.create(include=["logprobs"])
        self.assertEqual("".join(piece.token for piece in whole.logprobs).strip(), whole.text)
        self.assertTrue(all(piece.logprob <= 0 for piece in whole.logprobs))
        self.assertEqual(bytes(map(int, whole.logprobs[0].bytes)).decode(), whole.logprobs[0].token)
        events = list(self.create(include=["logprobs"], stream=True))
        for of in (events[-1].logprobs, [piece for event in events[:-1] for piece in event.logprobs]):
            self.assertEqual([piece.token for piece in of], [piece.token for piece in whole.logprobs])

    def test_errors(self):
        with self.assertRaises(openai.BadRequestError) as refused:
            self.client.audio.transcriptions.create(model="whisper-1", file=("a.wav", b"nothing"))
        self.assertEqual(refused.exception.param, "file")
        with self.assertRaises(openai.NotFoundError):
            self.client.audio.transcriptions.create(model="gpt-99", file=self.file)
        with self.assertRaises(openai.BadRequestError):
            self.client.audio.translations.create(model="whisper-1", file=self.file)


if __name__ == "__main__":
    harness.main()
