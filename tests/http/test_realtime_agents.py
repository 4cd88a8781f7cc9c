"""LiveKit's and Pipecat's own services for the Realtime API, pointed here: a greeting, a question by voice, an
interruption. Skipped (exit code 77) where neither is installed."""
import asyncio
import importlib.util
import os
import sys
import unittest

import harness
from test_realtime import QUESTION, RATE, WRITER, silence

HAVE = {name for name in ("pipecat", "livekit") if importlib.util.find_spec(name)}
if not HAVE:
    print("skipped: none of these is installed: pipecat, livekit")
    sys.exit(77)


def needs(name):
    return unittest.skipUnless(name in HAVE, f"the package {name} is not installed")


class Agents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--model", str(WRITER)).__enter__()
        if "pocketsphinx" not in [m["id"] for m in cls.server.get("/v1/models")[2]["data"]]:
            cls.server.__exit__()
            print("skipped: PocketSphinx is not installed")
            sys.exit(77)
        cls.base = f"http://127.0.0.1:{cls.server.port}/v1"
        cls.question = cls.server.speak({"input": QUESTION, "response_format": "pcm", "seed": 5})[2]

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @needs("livekit")
    def test_livekit(self):
        from livekit import rtc
        from livekit.agents.utils import http_context
        from livekit.plugins import openai

        async def read(generation, first=None):
            """(text, samples) of an answer; tells when it begins to sound."""
            text, samples, item = "", 0, None
            async for message in generation.message_stream:
                item = message.message_id

                async def words(message=message):
                    return "".join([str(piece) async for piece in message.text_stream])

                reading = asyncio.create_task(words())
                async for frame in message.audio_stream:
                    samples += frame.samples_per_channel
                    if first and not first.done():
                        first.set_result(None)
                text += await reading
            return text, samples, item

        async def talk():
            async with http_context.open():
                model = openai.realtime.RealtimeModel(base_url=self.base, api_key="none", model="qwen3",
                                                      voice="marin", max_response_output_tokens=200)
                session = model.session()
                heard, errors, generations = [], [], asyncio.Queue()
                session.on("input_audio_transcription_completed", lambda e: heard.append(e.transcript))
                session.on("error", errors.append)
                session.on("generation_created", generations.put_nowait)
                await session.update_instructions("Be brief.")
                greeting = await read(await session.generate_reply(instructions="Say hello."))
                await generations.get()

                def say(pcm):
                    session.push_audio(rtc.AudioFrame(pcm, RATE, 1, len(pcm) // 2))

                say(self.question)
                say(silence(4500))  # semantic_vad waits
                first = asyncio.Future()
                answer = asyncio.create_task(read(await asyncio.wait_for(generations.get(), 30), first))
                await asyncio.wait_for(first, 30)
                say(self.question)  # in the middle of the answer, or after it
                text, samples, item = await asyncio.wait_for(answer, 30)
                session.truncate(message_id=item, modalities=["audio"], audio_end_ms=20)
                await asyncio.sleep(0.5)
                await session.aclose()
                await model.aclose()
                return greeting, (text, samples), heard, errors

        greeting, answer, heard, errors = asyncio.run(talk())
        self.assertEqual(errors, [])
        self.assertIn("fox", heard[0])
        for text, samples, *_ in (greeting, answer):
            self.assertTrue(text)
            self.assertGreater(samples, 0)

    @needs("pipecat")
    def test_pipecat(self):
        os.environ.setdefault("LOGURU_LEVEL", "ERROR")
        from pipecat.services.openai.realtime import events

        # Its services raise for an event that they cannot read: each of ours must be one that they can.
        async def talk():
            import json
            import websockets
            kinds = []
            url = f"ws://127.0.0.1:{self.server.port}/v1/realtime?model=qwen3"
            async with websockets.connect(url) as socket:
                async def until(kind):
                    while True:
                        event = events.parse_server_event(await asyncio.wait_for(socket.recv(), 60))
                        kinds.append(event.type)
                        self.assertNotEqual(event.type, "error", event)
                        if event.type == kind:
                            return event

                async def send(event):
                    await socket.send(json.dumps(event.model_dump(exclude_none=True)))

                await until("session.created")
                await send(events.SessionUpdateEvent(session=events.SessionProperties(
                    instructions="Be brief.", max_output_tokens=60,
                    audio=events.AudioConfiguration(input=events.AudioInput(
                        transcription=events.InputAudioTranscription(),
                        turn_detection=events.TurnDetection())))))
                await until("session.updated")
                await send(events.ConversationItemCreateEvent(item=events.ConversationItem(
                    type="message", role="user",
                    content=[events.ItemContent(type="input_text", text="Hello!")])))
                await send(events.ResponseCreateEvent(
                    response=events.ResponseProperties(output_modalities=["audio"])))
                done = await until("response.done")
                self.assertIn(done.response.status, ("completed", "incomplete"))  # by its length
                import base64
                await send(events.InputAudioBufferAppendEvent(
                    audio=base64.b64encode(self.question + silence(800)).decode()))
                await until("conversation.item.input_audio_transcription.completed")
                done = await until("response.done")
                await send(events.ConversationItemTruncateEvent(
                    item_id=done.response.output[0].id, content_index=0, audio_end_ms=20))
                await until("conversation.item.truncated")
            return kinds

        kinds = asyncio.run(talk())
        self.assertIn("response.output_audio.delta", kinds)
        self.assertIn("input_audio_buffer.speech_started", kinds)


if __name__ == "__main__":
    harness.main()
