"""Tests the times of words with a small random Whisper, over HTTP and on the command line: they come only on request,
within the recording and in order."""
import io
import json
import os
import tempfile
import unittest
import wave

import harness
from test_transcription import form

MODEL = os.path.join(harness.PARITY, "whisper", "small")
SECONDS = 12


def noise():
    """Returns the samples of golden_signal() in the C++ tests; they fit into 16 bits."""
    state, out = 7, bytearray()
    for i in range(SECONDS * 16000):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        value = (((state >> 16) - 32768) * ((i * 5) & 16383)) >> 14
        out += value.to_bytes(2, "little", signed=True)
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, 16000, 0, "NONE", ""))
        writer.writeframes(bytes(out))
    return file.getvalue()


class WhisperWords(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--ears", MODEL, "--max-wait", "300").__enter__()
        cls.addClassCleanup(cls.server.__exit__)
        cls.recording = noise()

    def transcribe(self, *fields):
        body, kind = form([("language", "zh"), ("response_format", "verbose_json"), *fields], self.recording)
        connection = self.server.connect(timeout=300)
        connection.request("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.assertEqual(answer.status, 200, data)
        return json.loads(data)

    def test_words_by_http_and_by_hand(self):
        heard = self.transcribe(("timestamp_granularities[]", "word"), ("timestamp_granularities[]", "segment"))
        words = heard["words"]
        self.assertGreater(len(words), 1)
        for word, after in zip(words, words[1:] + [None]):
            self.assertLessEqual(0, word["start"])
            self.assertLessEqual(word["start"], word["end"])
            self.assertLessEqual(word["end"], SECONDS)
            self.assertTrue(0 <= word["probability"] <= 1 and word["word"].strip() == word["word"] != "")
            if after:
                self.assertLessEqual(word["start"], after["start"])
        # In a language without blanks each character is a word, and all words together are the text.
        self.assertEqual("".join(word["word"] for word in words), "".join(heard["text"].split()))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "noise.wav")
            with open(path, "wb") as file:
                file.write(self.recording)
            own = harness.run_cli("transcribe", "-m", MODEL, "--language", "zh", "--words", "--format", "json", path)
        self.assertEqual(own.returncode, 0, own.stderr)
        own = json.loads(own.stdout)
        self.assertEqual([own["words"], own["segments"]], [words, heard["segments"]])

    def test_only_where_they_are_asked_for(self):
        self.assertNotIn("words", self.transcribe())
        models = {model["id"]: model for model in self.server.get("/v1/models")[2]["data"]}
        self.assertTrue(models["small"]["word_times"])


if __name__ == "__main__":
    harness.main()
