"""Tests spoken turns with a small random Whisper and the real program: more speakers than it can transcribe in time, and noise in
which a voice detector finds no voice."""
import json
import os
import statistics
import struct
import tempfile
import threading
import time
import unittest

import harness
from test_realtime import QUESTION, WRITER, Conversation, silence
from test_transcription import form
from test_whisper_words import MODEL, noise

SPEAKERS = 20
COMPLETED, FAILED = ("conversation.item.input_audio_transcription." + end for end in ("completed", "failed"))


def detector(path, says):
    """Makes weights in the layout of Silero's detector that find a voice everywhere, or nowhere."""
    shapes = {"stft_conv.weight": [258, 1, 256], "final_conv.weight": [1, 128, 1], "final_conv.bias": [1]}
    for name, shape in (("conv1", [128, 129, 3]), ("conv2", [64, 128, 3]), ("conv3", [64, 64, 3]), ("conv4", [128, 64, 3])):
        shapes[name + ".weight"], shapes[name + ".bias"] = shape, shape[:1]
    for name in ("ih", "hh"):
        shapes["lstm_cell.weight_" + name], shapes["lstm_cell.bias_" + name] = [512, 128], [512]
    header, data = {}, b""
    for name, shape in shapes.items():
        size = 4
        for each in shape:
            size *= each
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += struct.pack("<f", 50 if says else -50) if name == "final_conv.bias" else bytes(size)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path


class WhisperTurns(unittest.TestCase):
    def server(self, *options):
        server = harness.Server("--quiet", "--model", str(WRITER), "--ears", MODEL, *options)
        self.addCleanup(server.__exit__)
        return server

    def test_more_speakers_than_it_can_hear(self):
        """Accepted speakers get their transcripts in time; the others get an error at once."""
        server = self.server()
        question = silence(300) + server.speak({"input": QUESTION, "response_format": "pcm", "seed": 5})[2] + silence(1500)

        def turn(server, ready=lambda: None):
            """Returns (seconds from the end of the turn to the last event of its transcript, that event)."""
            with Conversation(server, audio={"input": {
                    "transcription": {"model": "small", "language": "en"},
                    "turn_detection": {"type": "server_vad", "create_response": False}}}) as ws:
                ready()
                ws.talk(question)
                ws.until_type("input_audio_buffer.committed")
                began = time.monotonic()
                event = ws.until_type(COMPLETED, FAILED)[-1]
                return time.monotonic() - began, event

        alone_s = statistics.median(turn(server)[0] for _ in range(3))
        most_s = 4 * alone_s
        server = self.server("--max-transcript-wait", f"{most_s:.4f}")
        turn(server)
        together, turns = threading.Barrier(SPEAKERS), []
        threads = [threading.Thread(target=lambda: turns.append(turn(server, together.wait))) for _ in range(SPEAKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(turns), SPEAKERS)
        heard = [seconds for seconds, event in turns if event["type"] == COMPLETED]
        refused = [(seconds, event["error"]) for seconds, event in turns if event["type"] == FAILED]
        self.assertTrue(heard and refused, f"alone {alone_s:.3f} s: {turns}")
        for _, error in refused:
            self.assertEqual(error["code"], "server_is_overloaded")
            self.assertRegex(error["message"], r"'small' is \d+\.\d s behind")
        self.assertLess(max(heard), 3 * (most_s + alone_s) + 1)
        self.assertLess(statistics.median(seconds for seconds, _ in refused), statistics.median(heard))
        self.assertEqual(turn(server)[1]["type"], COMPLETED, "the recogniser must have caught up")

    def test_sound_without_a_voice(self):
        """With a detector, the recogniser gets neither recordings nor turns without a voice."""
        for says in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                server = self.server("--vad", detector(os.path.join(folder, "vad.safetensors"), says))
            body, kind = form([("model", "small"), ("language", "en"), ("response_format", "verbose_json")], noise())
            connection = server.connect(timeout=300)
            connection.request("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})
            heard = json.loads(connection.getresponse().read())
            connection.close()
            self.assertEqual(bool(heard["segments"]), says)
            self.assertEqual(round(heard["duration"]), 12)
            question = server.speak({"input": QUESTION, "response_format": "pcm", "seed": 5})[2]
            with Conversation(server, audio={"input": {"turn_detection": {"type": "server_vad", "create_response": False}}}) as ws:
                ws.talk(silence(300) + question)
                ws.send({"type": "input_audio_buffer.commit"})
                kinds = [event["type"] for event in ws.until_type("conversation.item.done")]
                self.assertEqual("input_audio_buffer.speech_started" in kinds, says)


if __name__ == "__main__":
    harness.main()
