"""Tests speech: streaming, formats, determinism, many clients, the lists."""
import base64
import concurrent.futures
import json
import shutil
import struct
import unittest

import harness
from harness import SENTENCE


class Speech(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # On a busy machine the server might refuse some of twenty requests.
        cls.server = harness.Server("--quiet", "--max-wait", "300").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_wav(self):
        status, headers, data = self.server.speak(
            {"model": "tts-1", "input": "Hello there.", "voice": "alloy",
             "response_format": "wav"})
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "audio/wav")
        self.assertEqual(headers["Transfer-Encoding"], "chunked")
        rate, size = harness.wav_header(data)
        self.assertEqual(rate, int(headers["X-Sample-Rate"]))
        self.assertEqual(size, 0xFFFFFFFF)
        self.assertGreater(len(data), 44 + rate // 10)
        self.assertTrue(any(data[44:]), "silence")

    def test_pcm_equals_wav(self):
        body = {"input": "Hello there.", "seed": 3, "sample_rate": 24000}
        wav = self.server.speak({**body, "response_format": "wav"})[2]
        _, headers, pcm = self.server.speak({**body, "response_format": "pcm"})
        self.assertTrue(headers["Content-Type"].startswith("audio/pcm"))
        self.assertTrue(wav[44:] == pcm)

    def test_every_format_is_the_same_sound(self):
        if shutil.which("ffmpeg") is None:
            self.skipTest("ffmpeg is not installed")
        for rate in (16000, 24000):
            body = {"input": SENTENCE, "seed": 3, "sample_rate": rate}
            pcm = self.server.speak({**body, "response_format": "pcm"})[2]
            samples = len(pcm) // 2
            # A decoder may return extra samples, because aac cannot declare its priming.
            for name, least, most in [("wav", 0, 0), ("flac", 0, 0), ("opus", 0, 0),
                                      ("mp3", 0, 2 * 576), ("aac", 1024, 2 * 1024),
                                      ("m4a", 1024, 2 * 1024)]:
                with self.subTest(format=name, rate=rate):
                    status, headers, data = self.server.speak({**body, "response_format": name})
                    self.assertEqual(status, 200)
                    decoded = harness.ffmpeg_decode(data, rate)
                    more = len(decoded) // 2 - samples
                    self.assertTrue(least <= more <= most, more)
                    if name in ("wav", "flac"):
                        self.assertTrue(decoded == pcm)

    def test_speed(self):
        body = {"input": SENTENCE, "seed": 3, "response_format": "pcm"}
        whole = len(self.server.speak(body)[2])
        for speed in (0.25, 0.5, 2.0, 4.0):
            size = len(self.server.speak({**body, "speed": speed})[2])
            self.assertAlmostEqual(size * speed / whole, 1, delta=0.1)  # the speed of a model is not exact

    def test_volume(self):
        body = {"input": SENTENCE, "seed": 3, "response_format": "pcm", "encoding": "pcm_f32le"}

        def floats(**more):
            data = self.server.speak({**body, **more})[2]
            return struct.unpack(f"<{len(data) // 4}f", data)
        plain, soft, loud = floats(), floats(volume=0.5), floats(volume=4)
        self.assertEqual(soft, tuple(sample / 2 for sample in plain))
        self.assertLessEqual(max(map(abs, loud)), 1)
        self.assertGreater(max(map(abs, loud)), 0.9)
        self.assertEqual(self.server.speak({**body, "volume": 5})[0], 400)

    def test_pauses(self):
        body = {"seed": 3, "response_format": "pcm", "sample_rate": 24000}
        pcm = lambda text: self.server.speak({**body, "input": text})[2]
        first, second = pcm("Hello there."), pcm(" Good morning.")
        whole = first + bytes(2 * 12000) + second
        self.assertTrue(pcm('Hello there.<break time="0.5s"/> Good morning.') == whole)
        self.assertTrue(pcm("Hello there.[pause 500ms] Good morning.") == whole)
        self.assertTrue(pcm("[pause 1s]") == bytes(2 * 24000))
        status, _, data = self.server.speak({**body, "input": "Hello.[pause 11s]"})
        self.assertEqual((status, json.loads(data)["error"]["param"]), (400, "input"))

    def test_pauses_shift_the_times_of_words(self):
        def words(text):
            status, _, data = self.server.speak({"input": text, "seed": 3, "stream_format": "sse",
                                                 "word_timestamps": True})
            self.assertEqual(status, 200)
            return [(text[word["begin"]:word["end"]], word["start_s"])
                    for line in data.decode().splitlines() if line.startswith("data: {")
                    for word in json.loads(line[6:]).get("words", [])]
        plain = words("Hello there.")
        paused = words('[pause 2s]Hello there.<break time="1s"/>Hello there.')
        self.assertEqual([word for word, _ in paused], [word for word, _ in plain] * 2)
        for (_, before), (_, after) in zip(plain, paused):
            self.assertAlmostEqual(after, before + 2, delta=0.02)
        self.assertGreater(paused[len(plain)][1], paused[len(plain) - 1][1] + 1)

    def test_seeds(self):
        body = {"input": "Hello there.", "response_format": "pcm"}
        _, headers, first = self.server.speak(body)
        again = self.server.speak({**body, "seed": int(headers["X-Seed"])})[2]
        self.assertTrue(first == again)

    def test_streaming_streams(self):
        answer = self.server.open_speech({"input": SENTENCE * 200, "response_format": "pcm"})
        self.assertEqual(answer.status, 200)
        self.assertGreater(len(answer.read(1000)), 0)
        self.assertEqual(self.server.running(), 1)  # the first bytes arrived before the end of the request
        answer.connection.close()
        self.server.wait_running(0)

    def test_whole_answers(self):
        body = {"input": "Hello there.", "seed": 3, "response_format": "wav"}
        streamed = self.server.speak(body)
        whole = self.server.speak({**body, "stream": False})
        self.assertEqual(harness.wav_header(streamed[2])[1], 0xFFFFFFFF)
        self.assertEqual(harness.wav_header(whole[2])[1], len(whole[2]) - 44)
        self.assertTrue(whole[2][44:] == streamed[2][44:])
        self.assertEqual(int(whole[1]["Content-Length"]), len(whole[2]))
        self.assertEqual(whole[1]["X-Finish-Reason"], "stop")

    def test_events(self):
        body = {"input": "Hello there.", "seed": 3, "response_format": "pcm"}
        pcm = self.server.speak(body)[2]
        _, headers, data = self.server.speak({**body, "stream_format": "sse"})
        self.assertEqual(headers["Content-Type"], "text/event-stream")
        events = [json.loads(line[6:]) for line in data.decode().split("\n\n") if line]
        audio = b"".join(base64.b64decode(e["audio"]) for e in events[:-1])
        self.assertTrue(audio == pcm)
        self.assertEqual({e["type"] for e in events[:-1]}, {"speech.audio.delta"})
        self.assertEqual(events[-1]["type"], "speech.audio.done")
        usage = events[-1]["usage"]
        self.assertEqual(usage["input_tokens"] + usage["output_tokens"], usage["total_tokens"])
        self.assertGreater(usage["output_tokens"], 0)

    def test_same_seed_same_bytes_alone_and_among_twenty(self):
        body = {"input": SENTENCE, "seed": 11, "response_format": "pcm"}
        alone = self.server.speak(body)[2]

        def one(i):
            if i % 2:
                return self.server.speak({"input": SENTENCE * (1 + i % 3), "seed": i})[0] == 200
            return self.server.speak(body)[2] == alone

        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            self.assertTrue(all(pool.map(one, range(20))))
        self.server.wait_running(0)

    def test_very_long_text_begins_at_once(self):
        text = (SENTENCE * 1500)[:100_000]
        answer = self.server.open_speech({"input": text, "response_format": "pcm"})
        self.assertEqual(answer.status, 200)
        self.assertGreater(len(answer.read(1000)), 0)
        answer.connection.close()
        self.server.wait_running(0)

    def test_odd_texts(self):
        for text in ["\u0000Hello\u0000", "Grüße, 世界 🙂!", "a", "1", "£3.50 & 7% @ 9:30",
                     "...!?", "\u200b\ufeffHi", "A" * 500]:
            with self.subTest(text=text[:20]):
                status, _, data = self.server.speak({"input": text})
                self.assertIn(status, (200, 400), data[:200])
                if status == 400:
                    self.assertEqual(json.loads(data)["error"]["param"], "input")

    def test_keep_alive(self):
        connection = self.server.connect()
        for _ in range(3):
            connection.request("POST", harness.SPEECH, json.dumps({"input": "Hi."}),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            answer.read()
            connection.request("GET", "/health")
            self.assertEqual(json.loads(connection.getresponse().read())["status"], "ok")
        connection.close()

    def test_lists(self):
        models = self.server.get("/v1/models")[2]
        self.assertEqual(models["object"], "list")
        name = models["data"][0]["id"]
        self.assertEqual(self.server.get("/v1/audio/models")[2], {"models": [{"id": name}]})
        voices = self.server.get("/v1/audio/voices")[2]["voices"]
        self.assertTrue(voices and all({"id", "name"} <= set(v) for v in voices))
        for voice in voices:
            for spelling in (voice["id"], {"id": voice["id"]}):
                status = self.server.speak({"model": name, "input": "Hi.", "voice": spelling})[0]
                self.assertEqual(status, 200)
        self.assertIn(harness.SPEECH, self.server.get("/")[2])
        self.assertEqual(self.server.get("/live")[0], 200)
        self.assertEqual(self.server.get("/ready")[0], 200)


if __name__ == "__main__":
    harness.main()
