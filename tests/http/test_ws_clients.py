"""Tests other vendors' own clients. Skipped (exit code 77) if they are not installed."""
import array
import asyncio
import base64
import importlib.util
import sys
import unittest

import harness

NAMES = ("elevenlabs", "cartesia", "deepgram", "wyoming")
HAVE = {name for name in NAMES if importlib.util.find_spec(name)}
if not HAVE:
    print("skipped: none of these is installed: " + ", ".join(NAMES))
    sys.exit(77)

PIECES = ["Good morning. ", "How are you ", "today?"]


def needs(name):
    return unittest.skipUnless(name in HAVE, f"the package {name} is not installed")


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with harness.Server("--quiet") as server:
            cls.own = server.get("/v1/audio/voices")[2]["voices"][-1]["id"]
        cls.server = harness.Server("--wyoming-port", "0", "--voice-alias", f"our-voice={cls.own}")
        for line in iter(cls.server.process.stdout.readline, ""):
            if "Wyoming" in line:
                cls.wyoming = int(line.rsplit("port ", 1)[1].rstrip(".\n"))
                break
        cls.host = f"127.0.0.1:{cls.server.port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @needs("elevenlabs")
    def test_elevenlabs(self):
        from elevenlabs.client import ElevenLabs
        client = ElevenLabs(api_key="any", base_url=f"http://{self.host}")
        # Its realtime client requires wss.
        client.text_to_speech._ws_base_url = f"ws://{self.host}"
        audio = b"".join(client.text_to_speech.convert_realtime(
            "alloy", text=iter(PIECES), model_id="eleven_turbo_v2_5", output_format="pcm_24000"))
        self.assertGreater(len(audio), 24000)
        mp3 = b"".join(client.text_to_speech.convert_realtime(
            "alloy", text=iter(PIECES), model_id="eleven_turbo_v2_5"))
        self.assertIn(b"\xff", mp3[:2])
        for speak in (client.text_to_speech.convert, client.text_to_speech.stream):
            audio = b"".join(speak("alloy", text="".join(PIECES), model_id="eleven_turbo_v2_5",
                                   language_code="en", output_format="pcm_24000"))
            self.assertGreater(len(audio), 24000)
        ulaw = b"".join(client.text_to_speech.convert("alloy", text="".join(PIECES),
                                                      output_format="ulaw_8000"))
        self.assertAlmostEqual(len(ulaw) / 8000, len(audio) / 48000, delta=0.2)

    @needs("elevenlabs")
    def test_elevenlabs_voices_and_times(self):
        from elevenlabs.client import ElevenLabs
        client = ElevenLabs(api_key="any", base_url=f"http://{self.host}")
        ids = [voice.voice_id for voice in client.voices.get_all().voices]
        self.assertIn("our-voice", ids)
        self.assertEqual(client.voices.get("our-voice").name, self.own)
        found, token = [], None
        while True:
            page = client.voices.search(page_size=2, next_page_token=token)
            found += [voice.voice_id for voice in page.voices]
            token = page.next_page_token
            if not page.has_more:
                break
        self.assertEqual((found, page.total_count), (ids, len(ids)))
        text = "".join(PIECES)
        whole = client.text_to_speech.convert_with_timestamps("our-voice", text=text,
                                                              output_format="pcm_24000")
        audio = base64.b64decode(whole.audio_base_64)
        self.assertGreater(len(audio), 24000)
        pieces = list(client.text_to_speech.stream_with_timestamps("our-voice", text=text,
                                                                   output_format="pcm_24000"))
        self.assertGreater(sum(len(base64.b64decode(piece.audio_base_64)) for piece in pieces),
                           24000)
        if harness.MODEL == "finch":
            self.assertEqual("".join(whole.alignment.characters), text)
            times = whole.alignment.character_start_times_seconds
            self.assertEqual(times, sorted(times))
            self.assertLessEqual(whole.alignment.character_end_times_seconds[-1],
                                 len(audio) / 48000 + 0.01)
            told = [piece.alignment.characters for piece in pieces if piece.alignment]
            self.assertEqual("".join(sum(told, [])), text)
            self.assertGreater(len(told), 1)

    @needs("cartesia")
    def test_cartesia_voices_and_events(self):
        from cartesia import Cartesia
        client = Cartesia(api_key="any", base_url=f"http://{self.host}")
        ids = [voice.id for voice in client.voices.list(limit=2)]  # the client fetches page after page
        self.assertEqual(len(ids), len(set(ids)))
        self.assertIn("our-voice", ids)
        self.assertEqual(client.voices.get("our-voice").name, self.own)
        raw = {"container": "raw", "encoding": "pcm_f32le", "sample_rate": 24000}
        audio, words, done = b"", [], 0
        for event in client.tts.generate_sse(
                model_id="sonic-3", transcript="".join(PIECES), voice={"mode": "id", "id": ids[0]},
                language="en", output_format=raw, add_timestamps=True, context_id="one"):
            self.assertEqual(event.context_id, "one")
            if event.type == "chunk":
                audio += event.audio or b""
            elif event.type == "timestamps":
                words += event.word_timestamps.words
            done += event.type == "done"
        self.assertEqual(done, 1)
        self.assertGreater(len(audio), 48000)
        if harness.MODEL == "finch":
            self.assertEqual(words, ["Good", "morning", "How", "are", "you", "today"])
        floats = array.array("f", audio)
        self.assertTrue(0.05 < max(map(abs, floats)) <= 1)

    @needs("cartesia")
    def test_cartesia(self):
        from cartesia import Cartesia
        client = Cartesia(api_key="any", base_url=f"http://{self.host}",
                          websocket_base_url=f"ws://{self.host}")
        with client.tts.websocket_connect() as connection:
            context = connection.context(
                model_id="sonic-3", voice={"mode": "id", "id": "alloy"}, add_timestamps=True,
                output_format={"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000})
            for piece in PIECES:
                context.push(piece)
            context.no_more_inputs()
            audio, words = b"", []
            for event in context.receive():
                if event.type == "chunk":
                    audio += event.audio or b""
                elif event.type == "timestamps":
                    words += event.word_timestamps.words
            self.assertGreater(len(audio), 24000)
            if harness.MODEL == "finch":
                self.assertEqual(words, ["Good", "morning", "How", "are", "you", "today"])

        wav = client.tts.generate(
            model_id="sonic-3", transcript="".join(PIECES), voice={"mode": "id", "id": "alloy"},
            language="en", output_format={"container": "wav", "encoding": "pcm_f32le",
                                          "sample_rate": 44100})
        data = wav.read()
        self.assertEqual((data[:4], data[20:22]), (b"RIFF", b"\x03\x00"))  # the samples are floats

    @needs("deepgram")
    def test_deepgram(self):
        from deepgram import DeepgramClient
        from deepgram.environment import DeepgramClientEnvironment
        from deepgram.speak.v1.types import SpeakV1Text
        here = DeepgramClientEnvironment(
            base=f"http://{self.host}", production=f"ws://{self.host}", agent=f"ws://{self.host}",
            agent_rest=f"http://{self.host}")
        client = DeepgramClient(api_key="any", environment=here)
        with client.speak.v1.connect(model="aura-2-thalia-en", encoding="linear16",
                                     sample_rate=24000) as connection:
            for piece in PIECES:
                connection.send_text(SpeakV1Text(text=piece))
            connection.send_flush()
            audio = 0
            for message in connection:
                if isinstance(message, bytes):
                    audio += len(message)
                elif message.type == "Flushed":
                    break
            connection.send_close()
        self.assertGreater(audio, 24000)
        mp3 = b"".join(client.speak.v1.audio.generate(text="".join(PIECES)))
        self.assertIn(b"\xff", mp3[:2])

    @needs("wyoming")
    def test_wyoming(self):
        from wyoming.audio import AudioChunk
        from wyoming.client import AsyncTcpClient
        from wyoming.info import Describe, Info
        from wyoming.tts import (Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop,
                                 SynthesizeVoice)

        async def talk():
            async with AsyncTcpClient("127.0.0.1", self.wyoming) as client:
                await client.write_event(Describe().event())
                info = Info.from_event(await client.read_event())
                voice = info.tts[0].voices[0].name
                await client.write_event(
                    SynthesizeStart(voice=SynthesizeVoice(name=voice)).event())
                for piece in PIECES:
                    await client.write_event(SynthesizeChunk(text=piece).event())
                await client.write_event(Synthesize(text="".join(PIECES)).event())
                await client.write_event(SynthesizeStop().event())
                audio = 0
                while (event := await client.read_event()).type != "synthesize-stopped":
                    if AudioChunk.is_type(event.type):
                        audio += len(AudioChunk.from_event(event).audio)
                return audio

        self.assertGreater(asyncio.run(talk()), 10000)

    @needs("wyoming")
    def test_wyoming_transcribes(self):
        from wyoming.asr import Transcribe, Transcript
        from wyoming.audio import AudioChunk, AudioStart, AudioStop
        from wyoming.client import AsyncTcpClient
        from wyoming.info import Describe, Info
        audio = self.server.speak({"input": "Turn on the light in the kitchen.", "response_format": "pcm", "seed": 3})[2]
        form = {"rate": 24000, "width": 2, "channels": 1}

        async def talk():
            async with AsyncTcpClient("127.0.0.1", self.wyoming) as client:
                await client.write_event(Describe().event())
                info = Info.from_event(await client.read_event())
                if not info.asr:
                    self.skipTest("no recogniser")
                self.assertIn("en", info.asr[0].models[0].languages)
                await client.write_event(Transcribe(language="en").event())
                await client.write_event(AudioStart(**form).event())
                for at in range(0, len(audio), 4096):
                    await client.write_event(AudioChunk(audio=audio[at:at + 4096], **form).event())
                await client.write_event(AudioStop().event())
                pieces = []
                while not Transcript.is_type((event := await client.read_event()).type):
                    pieces.append(event.data.get("text", ""))
                text = Transcript.from_event(event).text
                self.assertEqual("".join(pieces), text)
                self.assertEqual((await client.read_event()).type, "transcript-stop")
                return text

        self.assertIn("kitchen", asyncio.run(talk()))


if __name__ == "__main__":
    harness.main()
