"""Tests text input during audio output, with the real program and the built-in voice."""
import http.client
import json
import ssl
import tempfile
import threading
import unittest

import harness
from harness import MODEL, Server
from ws import WebSocket, Wyoming

NATIVE = "/v1/audio/speech/stream"
TEXT = "Good morning. The quick brown fox jumps over the lazy dog, and nobody knows why. Bye!"


def words(text):
    return [w + " " for w in text.split()]


class WebSocketTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--wyoming-port", "0")
        line = cls.server.process.stdout.readline
        for text in iter(line, ""):
            if "Wyoming" in text:
                cls.wyoming = int(text.rsplit("port ", 1)[1].rstrip(".\n"))
                break

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def open(self, target, *headers):
        return WebSocket(self.server.port, target, headers)

    def speak(self, pieces, config=None):
        with self.open(NATIVE) as ws:
            ws.send({"type": "session.config", "seed": 5, **(config or {})})
            for piece in pieces:
                ws.send({"type": "input.text", "text": piece})
            ws.send({"type": "input.done"})
            return ws.until("session.done")

    def test_pieces_are_the_same_audio_as_the_whole_text(self):
        whole, _ = self.speak([TEXT])
        self.assertGreater(len(whole), 16000)
        for pieces in (words(TEXT), list(TEXT)):
            audio, _ = self.speak(pieces)
            self.assertEqual(len(audio), len(whole))
            self.assertTrue(audio == whole)

    def test_words_sound_before_their_sentence_ends(self):
        with self.open(NATIVE) as ws:
            ws.send({"type": "session.config"})
            for word in words("These words are of one long sentence that has"):
                ws.send({"type": "input.text", "text": word})
            ws.until("audio.start")
            self.assertIsInstance(ws.recv(), bytes)

    def test_first_audio_comes_before_the_last_text(self):
        with self.open(NATIVE) as ws:
            ws.send({"type": "session.config"})
            for word in words("This is the first sentence. This is the second"):
                ws.send({"type": "input.text", "text": word})
            _, messages = ws.until("audio.start")
            self.assertIsInstance(ws.recv(), bytes)

    def test_clear_silences_at_once(self):
        with self.open(NATIVE) as ws:
            ws.send({"type": "session.config"})
            ws.send({"type": "input.text", "text": "A sentence that goes on for a while. " * 200})
            ws.until("audio.start")
            ws.send({"type": "input.clear"})
            ws.until("input.cleared")
            ws.send({"type": "input.text", "text": "Yes."})
            ws.send({"type": "input.done"})
            audio, messages = ws.until("session.done")
            self.assertLess(len(audio), 24000 * 2 * 3)
        self.server.wait_running(0)

    def test_words_have_times(self):
        if MODEL != "finch":
            self.skipTest("needs a model with word times")
        with self.open(NATIVE) as ws:
            ws.send({"type": "session.config", "word_timestamps": True})
            ws.send({"type": "input.text", "text": "Good morning to you."})
            ws.send({"type": "input.done"})
            _, messages = ws.until("session.done")
        times = [m["timestamps"] for m in messages if m.get("timestamps")][-1]
        self.assertEqual([t["word"] for t in times], ["Good", "morning", "to", "you"])
        self.assertEqual([t["start_ms"] for t in times], sorted(t["start_ms"] for t in times))

    def test_phones_have_times(self):
        if MODEL != "finch":
            self.skipTest("needs a model with phone times")
        with self.open(NATIVE) as ws:
            ws.send({"type": "session.config", "phone_timestamps": True})
            ws.send({"type": "input.text", "text": "Good day."})
            ws.send({"type": "input.done"})
            _, messages = ws.until("session.done")
        [phones] = [m["phones"] for m in messages if m["type"] == "audio.done"]
        self.assertEqual([p["phone"] for p in phones if not p["phone"].startswith("pau")],
                         ["g", "uh1", "d", "d", "ey1"])
        self.assertEqual([p["start_ms"] for p in phones], sorted(p["start_ms"] for p in phones))

    def test_twenty_clients(self):
        alone, _ = self.speak(words(TEXT))
        got = [None] * 20
        def client(i):
            got[i], _ = self.speak(words(TEXT))
        threads = [threading.Thread(target=client, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for audio in got:
            self.assertTrue(audio == alone)

    def test_elevenlabs_as_pipecat_speaks_it(self):
        target = f"/v1/text-to-speech/alloy/multi-stream-input?model_id=eleven_turbo_v2_5" \
                 "&output_format=pcm_24000&auto_mode=true"
        with self.open(target, "xi-api-key: any") as ws:
            ws.send({"text": " ", "context_id": "turn", "voice_settings": {"stability": 0.5}})
            ws.send({"text": "Good morning. ", "context_id": "turn"})
            ws.send({"text": "How are you? ", "context_id": "turn"})
            ws.send({"context_id": "turn", "flush": True})
            ws.send({"context_id": "turn", "close_context": True})
            _, messages = ws.until('"isFinal":true')
            self.assertTrue(any(m.get("audio") for m in messages))
            self.assertTrue(all(m["contextId"] == "turn" for m in messages))
            aligned = [m["alignment"] for m in messages if m.get("alignment")]
            if MODEL == "finch":
                self.assertEqual("".join(c for a in aligned for c in a["chars"]),
                                 "Good morning. How are you? ")
            ws.send({"text": "Interrupted before the end. ", "context_id": "next"})
            ws.send({"context_id": "next", "close_context": True})
            ws.until('"isFinal":true')
            ws.send({"close_socket": True})
            self.assertIsNone(ws.recv())
            self.assertEqual(ws.close_code, 1000)

    def test_an_unknown_path_is_named_whatever_the_model(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        connection.request("GET", "/v1/listen?model=nova-3", headers={
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 404)
        self.assertIn("'/v1/listen'", json.load(answer)["error"]["message"])

    def test_cartesia_and_deepgram(self):
        with self.open("/tts/websocket?cartesia_version=2025-04-16") as ws:
            common = {"model_id": "sonic-3", "voice": {"mode": "id", "id": "alloy"},
                      "context_id": "c", "output_format":
                      {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000}}
            ws.send({**common, "transcript": "Good morning. ", "continue": True})
            ws.send({**common, "transcript": "", "continue": False})
            _, messages = ws.until('"done":true')
            self.assertEqual({m["type"] for m in messages}, {"chunk", "done"})
        with self.open("/v1/speak?model=aura-2-thalia-en", "Authorization: Token any") as ws:
            ws.send({"type": "Speak", "text": "Good morning."})
            ws.send({"type": "Flush"})
            audio, messages = ws.until("Flushed")
            self.assertGreater(len(audio), 10000)
            self.assertEqual(messages[0]["type"], "Metadata")

    def test_a_text_without_speech_is_reported_and_the_stream_goes_on(self):
        mute = "\u4f60\u597d"
        with self.open(NATIVE) as ws:
            ws.send({"type": "session.config"})
            for text in [mute, "...", "Hello."]:
                ws.send({"type": "input.text", "text": text})
                ws.send({"type": "input.done"})
                audio, messages = ws.until("session.done")
                refused = [m for m in messages if m["type"] == "error"]
                self.assertEqual((len(refused), audio == b""), (text == mute, text != "Hello."))
                self.assertTrue(all("Latin letters" in m["message"] for m in refused), refused)
        with self.open("/v1/speak?model=aura-2-thalia-en", "Authorization: Token any") as ws:
            for text, kind in [(mute, "Warning"), ("Hello.", "Flushed")]:
                ws.send({"type": "Speak", "text": text})
                ws.send({"type": "Flush"})
                _, messages = ws.until("Flushed")
                self.assertEqual([m["type"] for m in messages if m["type"] != "Metadata"][0], kind)

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = harness.make_certificate(folder)
            with Server("--tls-cert", certificate, "--tls-key", key) as server:
                server.context = ssl.create_default_context(cafile=certificate)
                with WebSocket(server.port, NATIVE, context=server.context) as ws:
                    ws.send({"type": "session.config", "seed": 5})
                    ws.send({"type": "input.text", "text": TEXT})
                    ws.send({"type": "input.done"})
                    audio, _ = ws.until("session.done")
                    ws.send({"type": "session.close"})
                    self.assertIsNone(ws.recv())
                    self.assertEqual(ws.close_code, 1000)
        self.assertTrue(audio == self.speak([TEXT])[0])

    def test_wyoming(self):
        with Wyoming(self.wyoming) as client:
            client.send("describe")
            _, info, _ = client.recv()
            self.assertTrue(info["tts"][0]["supports_synthesize_streaming"])
            client.send("synthesize-start")
            for word in words("Good morning. How are you?"):
                client.send("synthesize-chunk", text=word)
            client.send("synthesize", text="Good morning. How are you?")
            client.send("synthesize-stop")
            kinds, audio = [], 0
            while not kinds or kinds[-1] != "synthesize-stopped":
                kind, _, payload = client.recv()
                audio += len(payload)
                if not kinds or kinds[-1] != kind:
                    kinds.append(kind)
            self.assertEqual(kinds, ["audio-start", "audio-chunk", "audio-stop",
                                     "synthesize-stopped"])
            self.assertGreater(audio, 10000)


if __name__ == "__main__":
    harness.main()
