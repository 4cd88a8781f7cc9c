"""Tests whole turns with the services of LiveKit and Pipecat for the Realtime API and for transcription: a greeting, questions
that another program speaks, answers, interruptions, and a tool whose result is spoken. Skipped (exit code 77) if both are
missing, or if there is no recogniser or speaker."""
import asyncio
import functools
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from test_realtime import RATE, WRITER, silence

HAVE = {name for name in ("pipecat", "livekit") if importlib.util.find_spec(name)}
if not HAVE:
    print("skipped: none of these is installed: pipecat, livekit")
    sys.exit(77)
if not shutil.which("flite") or not shutil.which("sox"):
    print("skipped: flite and sox, which ask the questions, are not installed")
    sys.exit(77)
os.environ.setdefault("LOGURU_LEVEL", "ERROR")

PATIENCE_S = 60
SLACK_S = 0.2  # largest difference between two speeches of the same text
TIMER = {"type": "object", "properties": {unit: {"type": "integer"} for unit in ("hours", "minutes", "seconds")}}


def needs(name):
    return unittest.skipUnless(name in HAVE, f"the package {name} is not installed")


@functools.cache
def spoken(text):
    """Returns speech by another program, flite: 16-bit samples at RATE, the same in each run (no dither)."""
    with tempfile.TemporaryDirectory() as folder:
        wav = pathlib.Path(folder) / "said.wav"
        subprocess.run(["flite", "-voice", "slt", "-t", text, "-o", wav], check=True)
        return subprocess.run(["sox", "-D", wav, "-t", "raw", "-r", str(RATE), "-e", "signed", "-b", "16", "-c", "1", "-"],
                              check=True, capture_output=True).stdout


def pieces(pcm, ms=40):
    step = RATE * 2 * ms // 1000
    return [pcm[at:at + step] for at in range(0, len(pcm), step)]


class Agents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--model", "wren", "--model", str(WRITER)).__enter__()
        if "pocketsphinx" not in [m["id"] for m in cls.server.get("/v1/models")[2]["data"]]:
            cls.server.__exit__()
            print("skipped: PocketSphinx is not installed")
            sys.exit(77)
        cls.base = f"http://127.0.0.1:{cls.server.port}/v1"
        cls.socket = f"ws://127.0.0.1:{cls.server.port}/v1/realtime"

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def times_around(self, text, end):
        """Speaks the text once more. Returns the seconds at which two words begin: the last word that ends within `end`
        characters, and the next word."""
        answer = self.server.open_speech({"input": text, "stream_format": "sse", "response_format": "pcm",
                                          "word_timestamps": True})
        words = [(word["begin"], word["start_s"]) for line in answer if line.startswith(b"data: {")
                 for word in json.loads(line[6:]).get("words", [])]
        answer.connection.close()
        size = len(text[:end].encode())
        return (max([start for begin, start in words if begin < size], default=0),
                min([start for begin, start in words if begin >= size], default=float("inf")))


@needs("livekit")
class LiveKit(Agents):
    class Talk:
        """A session of LiveKit's RealtimeModel, with its reports."""

        def __init__(self, base, model, **options):
            from livekit.plugins import openai
            self.model = openai.realtime.RealtimeModel(base_url=base, api_key="none", model=model, voice="marin",
                                                       **options)
            self.session = self.model.session()
            self.heard, self.errors, self.metrics = asyncio.Queue(), [], asyncio.Queue()
            self.generations, self.started = asyncio.Queue(), asyncio.Event()
            self.session.on("input_audio_transcription_completed", lambda e: e.is_final and self.heard.put_nowait(e.transcript))
            self.session.on("error", self.errors.append)
            self.session.on("generation_created", self.generations.put_nowait)
            self.session.on("metrics_collected", self.metrics.put_nowait)
            self.session.on("input_speech_started", lambda e: self.started.set())

        async def close(self):
            await self.session.aclose()
            await self.model.aclose()

        def say(self, pcm):
            from livekit import rtc
            self.session.push_audio(rtc.AudioFrame(pcm, RATE, 1, len(pcm) // 2))

        async def next_generation(self):
            return await asyncio.wait_for(self.generations.get(), PATIENCE_S)

        async def reply(self, *items):
            """Returns the answer to the conversation so far plus these items."""
            context = self.session.chat_ctx.copy()
            context.items.extend(items)
            await self.session.update_chat_ctx(context)
            generation = await self.session.generate_reply()
            await self.next_generation()
            return await read(generation)

    def test_whole_turns(self):
        from livekit.agents import llm
        from livekit.agents.utils import http_context
        timers = []

        @llm.function_tool(raw_schema={"name": "set_timer", "description": "Sets a timer.", "parameters": TIMER})
        async def set_timer(raw_arguments):
            pass  # the tool is called here, as an agent's session would do

        async def talk():
            async with http_context.open():
                agent = self.Talk(self.base, "wren")
                await agent.session.update_instructions("Be brief.")
                greeting = await agent.reply(llm.ChatMessage(role="user", content=["Hello!"]))
                agent.say(spoken("What time is it?") + silence(4500))  # semantic_vad waits for more
                answer = await read(await agent.next_generation())
                await agent.session.update_tools([set_timer])
                agent.say(spoken("Set a timer for five minutes.") + silence(4500))
                called = await agent.next_generation()
                calls = [call async for call in called.function_stream]
                timers.extend((call.name, json.loads(call.arguments)) for call in calls)
                told = await agent.reply(*[llm.FunctionCallOutput(
                    call_id=call.call_id, name=call.name, output='{"status": "set"}', is_error=False)
                    for call in calls])
                said = [await asyncio.wait_for(agent.heard.get(), PATIENCE_S) for _ in range(2)]
                await agent.close()
                return greeting, answer, said, told, agent.errors

        greeting, answer, said, told, errors = asyncio.run(talk())
        self.assertEqual(errors, [])
        self.assertIn("what time is it", said[0])
        self.assertRegex(answer.text, r"\d\d:\d\d")
        self.assertIn("five minutes", said[1])
        self.assertEqual(timers, [("set_timer", {"minutes": 5})])
        for each in (greeting, answer, told):
            self.assertTrue(each.text)
            self.assertGreater(each.samples, RATE // 10, each.text)

    def test_interruption_in_the_middle(self):
        """A voice interrupts a long answer during playback. The played words remain in the conversation, and the next turn
        works."""
        from livekit.agents.utils import http_context
        kept = asyncio.Queue()

        def note(event):
            if event["type"] == "conversation.item.retrieved":
                kept.put_nowait(event["item"]["content"][0]["transcript"])

        async def talk():
            async with http_context.open():
                agent = self.Talk(self.base, "qwen3", max_response_output_tokens="inf")
                agent.session.on("openai_server_event_received", note)
                generation = await agent.session.generate_reply(instructions="Tell a long story.")
                await agent.next_generation()
                first = asyncio.Future()
                reading = asyncio.create_task(read(generation, first))
                await asyncio.wait_for(first, PATIENCE_S)
                agent.say(spoken("What time is it?"))
                await asyncio.wait_for(agent.started.wait(), PATIENCE_S)
                cut = await asyncio.wait_for(reading, PATIENCE_S)
                agent.session.truncate(message_id=cut.item, modalities=["audio"], audio_end_ms=500)
                agent.session.send_event({"type": "conversation.item.retrieve", "item_id": cut.item})
                heard = await asyncio.wait_for(kept.get(), PATIENCE_S)
                agent.say(silence(4500))
                answer = await agent.next_generation()
                agent.session.interrupt()
                await asyncio.wait_for(read(answer), PATIENCE_S)
                await agent.close()
                return cut, heard, agent.errors

        cut, heard, errors = asyncio.run(talk())
        self.assertEqual(errors, [])
        self.assertTrue(cut.text.startswith(heard))
        self.assertLess(0, len(heard))
        self.assertLess(len(heard), len(cut.text))
        # Random ids make long words, so their number has no meaning. The last played word began in time.
        begin_s, later_s = self.times_around(cut.text, len(heard))
        self.assertLess(begin_s, 0.5 + SLACK_S)
        self.assertGreater(later_s, 0.5 - SLACK_S)

    def test_transcription(self):
        """Uses LiveKit's recogniser, by the Realtime API and by files, streaming and not."""
        from livekit import rtc
        from livekit.agents import stt
        from livekit.agents.utils import http_context
        from livekit.plugins import openai
        pcm = spoken("What time is it?")

        async def listen():
            async with http_context.open():
                live = openai.STT(base_url=self.base, api_key="none", use_realtime=True)
                stream = live.stream()
                for piece in pieces(pcm + silence(1000)):
                    stream.push_frame(rtc.AudioFrame(piece, RATE, 1, len(piece) // 2))
                async for event in stream:
                    if event.type == stt.SpeechEventType.FINAL_TRANSCRIPT:
                        break
                await stream.aclose()
                await live.aclose()
                whole = openai.STT(base_url=self.base, api_key="none")
                file = await whole.recognize(rtc.AudioFrame(pcm, RATE, 1, len(pcm) // 2))
                await whole.aclose()
                return event.alternatives[0].text, file.alternatives[0].text

        for heard in asyncio.run(asyncio.wait_for(listen(), PATIENCE_S)):
            self.assertIn("what time is it", heard)


class Said:
    """The parts of an answer that were read."""

    def __init__(self):
        self.text, self.samples, self.item = "", 0, None


async def read(generation, first=None):
    """Reads a whole answer of LiveKit; calls `first` at its first audio."""
    said = Said()
    async for message in generation.message_stream:
        said.item = message.message_id

        async def words(message=message):
            return "".join([str(piece) async for piece in message.text_stream])

        reading = asyncio.create_task(words())
        async for frame in message.audio_stream:
            said.samples += frame.samples_per_channel
            if first and not first.done():
                first.set_result(None)
        said.text += await reading
    return said


@needs("pipecat")
class Pipecat(Agents):
    class Line:
        """A pipeline around a service, with an output at both ends and its runner."""

        def __init__(self, *processors):
            from pipecat.pipeline.pipeline import Pipeline
            from pipecat.pipeline.worker import PipelineParams, PipelineWorker
            from pipecat.processors.frame_processor import FrameDirection
            from pipecat.tests.utils import QueuedFrameProcessor
            self.frames = asyncio.Queue()
            ends = [QueuedFrameProcessor(queue=self.frames, queue_direction=direction)
                    for direction in (FrameDirection.UPSTREAM, FrameDirection.DOWNSTREAM)]
            self.worker = PipelineWorker(
                Pipeline([ends[0], *processors, ends[1]]), cancel_on_idle_timeout=False,
                params=PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE))
            self.began = asyncio.Event()
            self.worker.event_handler("on_pipeline_started")(self.note_began)

        async def note_began(self, *_):
            self.began.set()

        async def run(self, script):
            """Runs `script` while the pipeline runs, and ends the pipeline after it."""
            from pipecat.frames.frames import EndFrame
            from pipecat.workers.runner import WorkerRunner

            async def play():
                await asyncio.wait_for(self.began.wait(), PATIENCE_S)
                try:
                    return await script(self)
                finally:
                    await self.worker.queue_frame(EndFrame())

            runner = WorkerRunner(handle_sigint=False)
            await runner.add_workers(self.worker)
            return (await asyncio.gather(play(), runner.run()))[0]

        async def send(self, *frames):
            for frame in frames:
                await self.worker.queue_frame(frame)

        async def say(self, pcm):
            from pipecat.frames.frames import InputAudioRawFrame
            await self.send(*[InputAudioRawFrame(audio=piece, sample_rate=RATE, num_channels=1)
                              for piece in pieces(pcm)])

        async def until(self, kind):
            """Returns frames up to the first frame of a kind."""
            from pipecat.frames.frames import ErrorFrame
            out = []
            while not out or not isinstance(out[-1], kind):
                out.append(await asyncio.wait_for(self.frames.get(), PATIENCE_S))
                if isinstance(out[-1], ErrorFrame):
                    raise AssertionError(out[-1])
            return out

    def service(self, model, **properties):
        from pipecat.services.openai.realtime import events
        from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
        return OpenAIRealtimeLLMService(
            api_key="none", base_url=self.socket,
            settings=OpenAIRealtimeLLMService.Settings(
                model=model, system_instruction="Be brief.",
                session_properties=events.SessionProperties(
                    audio=events.AudioConfiguration(input=events.AudioInput(
                        transcription=events.InputAudioTranscription(), turn_detection=events.TurnDetection())),
                    **properties)))

    @staticmethod
    def spoken_bytes(frames):
        from pipecat.frames.frames import TTSAudioRawFrame
        return sum(len(frame.audio) for frame in frames if isinstance(frame, TTSAudioRawFrame))

    def test_whole_turns(self):
        from pipecat.adapters.schemas.function_schema import FunctionSchema
        from pipecat.adapters.schemas.tools_schema import ToolsSchema
        from pipecat.frames.frames import LLMContextFrame, TTSStoppedFrame
        from pipecat.processors.aggregators.llm_context import LLMContext
        from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
        timers = []

        async def set_timer(params):
            timers.append(dict(params.arguments))
            await params.result_callback({"status": "set"})

        async def script(line):
            await line.send(LLMContextFrame(context))
            greeting = await line.until(TTSStoppedFrame)
            await line.say(spoken("What time is it?") + silence(800))
            answer = await line.until(TTSStoppedFrame)
            await line.say(spoken("Set a timer for five minutes.") + silence(800))
            told = await line.until(TTSStoppedFrame)  # the tool call itself has no speech
            return greeting, answer, told

        tools = ToolsSchema(standard_tools=[FunctionSchema(
            name="set_timer", description="Sets a timer.", properties=TIMER["properties"], required=[])])
        context = LLMContext([{"role": "user", "content": "Hello!"}], tools=tools)
        service = self.service("wren")
        service.register_function("set_timer", set_timer)
        pair = LLMContextAggregatorPair(context)
        turns = asyncio.run(self.Line(pair.user(), service, pair.assistant()).run(script))
        for frames in turns:
            self.assertGreater(self.spoken_bytes(frames), RATE // 5)
        self.assertEqual(timers, [{"minutes": 5}])
        said = json.dumps(context.get_messages()).lower()
        self.assertIn("what time is it", said)
        self.assertRegex(said, r"it is \d\d:\d\d")

    def test_interruption_in_the_middle(self):
        """A voice interrupts a long answer during playback. The played words remain."""
        from pipecat.frames.frames import (InterruptionFrame, LLMContextFrame, ProposedUserStartedSpeakingFrame,
                                           TTSAudioRawFrame)
        from pipecat.processors.aggregators.llm_context import LLMContext
        said = {}

        async def script(line):
            @service.event_handler("on_conversation_item_updated")
            async def note(_, item_id, item):
                if item is not None and item.role == "assistant":
                    said[item_id] = item.content[0].transcript

            await line.send(LLMContextFrame(LLMContext([{"role": "user", "content": "Tell a long story."}])))
            await line.until(TTSAudioRawFrame)
            await line.say(spoken("What time is it?"))
            await line.until(ProposedUserStartedSpeakingFrame)
            await line.send(InterruptionFrame())  # sends the frame that Pipecat's transports send on an interruption
            await line.say(silence(800))
            await line.until(TTSAudioRawFrame)  # then the question is answered
            first = next(iter(said))
            return said[first], (await service.retrieve_conversation_item(first)).content[0].transcript

        service = self.service("qwen3", max_output_tokens="inf")
        whole, heard = asyncio.run(self.Line(service).run(script))
        self.assertTrue(whole.startswith(heard))
        self.assertLess(len(heard), len(whole))

    def test_transcription(self):
        from pipecat.frames.frames import TranscriptionFrame, VADUserStoppedSpeakingFrame
        from pipecat.services.openai.stt import OpenAIRealtimeSTTService

        def listen(turn_detection, *after):
            async def script(line):
                await asyncio.sleep(0.5)  # the service sends no audio before the session is established
                await line.say(spoken("What time is it?") + silence(800))
                await line.send(*after)
                return (await line.until(TranscriptionFrame))[-1].text

            service = OpenAIRealtimeSTTService(
                api_key="none", base_url=self.socket, turn_detection=turn_detection,
                settings=OpenAIRealtimeSTTService.Settings(model="gpt-realtime-whisper"))
            return asyncio.run(self.Line(service).run(script))

        self.assertIn("what time is it", listen(False, VADUserStoppedSpeakingFrame()))
        self.assertIn("what time is it", listen({"type": "server_vad"}))


if __name__ == "__main__":
    harness.main()
