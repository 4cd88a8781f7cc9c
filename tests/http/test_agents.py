"""Tests frameworks for voice agents, whose OpenAI services connect to this server. Skipped (exit code 77) if they are
not installed."""
import asyncio
import importlib.util
import os
import sys
import unittest

import harness

NAMES = ("pipecat", "livekit")
HAVE = {name for name in NAMES if importlib.util.find_spec(name)}
if not HAVE:
    print("skipped: none of these is installed: " + ", ".join(NAMES))
    sys.exit(77)

TEXT = "Good morning. How are you today?"
RATE = 24000  # the rate that both libraries assume


def needs(name):
    return unittest.skipUnless(name in HAVE, f"the package {name} is not installed")


class Agents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet")
        cls.base = f"http://127.0.0.1:{cls.server.port}/v1"
        body = {"model": "tts-1", "voice": "alloy", "input": TEXT, "response_format": "pcm"}
        cls.seconds = len(cls.server.speak(body)[2]) / 2 / RATE

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @needs("livekit")
    def test_livekit(self):
        from livekit.agents.utils import http_context
        from livekit.plugins import openai

        async def speak():
            async with http_context.open():
                tts = openai.TTS(base_url=self.base, api_key="none", model="tts-1", voice="alloy",
                                 instructions="calmly", response_format="pcm")
                frames = [audio.frame async for audio in tts.synthesize(TEXT)]
                await tts.aclose()
                return frames

        frames = asyncio.run(speak())
        self.assertEqual({frame.sample_rate for frame in frames}, {RATE})
        self.assertGreater(len(frames), 3)  # audio comes in pieces, not all at the end
        self.assertAlmostEqual(sum(frame.duration for frame in frames), self.seconds, delta=1)

    @needs("pipecat")
    def test_pipecat(self):
        os.environ.setdefault("LOGURU_LEVEL", "ERROR")
        from pipecat.frames.frames import ErrorFrame, TTSAudioRawFrame, TTSSpeakFrame
        from pipecat.services.openai.tts import OpenAITTSService
        from pipecat.tests.utils import run_test

        async def speak():
            tts = OpenAITTSService(base_url=self.base, api_key="none", sample_rate=RATE,
                                   settings=OpenAITTSService.Settings(model="tts-1", voice="alloy"))
            return await run_test(tts, frames_to_send=[TTSSpeakFrame(TEXT)],
                                  start_timeout=60)

        down, up = asyncio.run(speak())
        self.assertEqual([frame for frame in (*down, *up) if isinstance(frame, ErrorFrame)], [])
        audio = [frame for frame in down if isinstance(frame, TTSAudioRawFrame)]
        self.assertEqual({frame.sample_rate for frame in audio}, {RATE})
        self.assertAlmostEqual(sum(len(frame.audio) for frame in audio) / 2 / RATE, self.seconds,
                               delta=1)


if __name__ == "__main__":
    harness.main()
