"""Tests the installed wheel. test_python.py runs this with the interpreter that has the wheel."""
import asyncio
import gc
import threading
import time
import unittest

import numpy as np
import syrinx

TEXT = "One two three four."


class Checks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.finch = syrinx.load("finch")
        cls.samples = cls.finch.speak(TEXT).read()

    def test_chunks(self):
        self.assertGreater(len(list(self.finch.speak(20 * TEXT))), 1)
        chunks = list(self.finch.speak(TEXT))
        self.assertEqual(chunks[0].samples.dtype, np.float32)
        self.assertEqual(chunks[0].sample_rate, 24000)
        self.assertTrue(np.array_equal(np.concatenate(chunks), self.samples))
        at = 0
        for chunk in chunks:
            self.assertAlmostEqual(chunk.begin_s, at / 24000)
            at += len(chunk)
        words = [word for chunk in chunks for word in chunk.words]
        self.assertEqual([word.text.strip(" .") for word in words], "One two three four".split())
        self.assertEqual(sorted(word.at_s for word in words), [word.at_s for word in words])

    def test_what_the_model_is(self):
        self.assertEqual((self.finch.name, self.finch.sample_rate), ("finch", 24000))
        self.assertEqual(list(self.finch.voices), ["finch", "raven", "curlew", "crake", "linnet", "heron", "plover"])
        self.assertTrue(self.finch.tells_words and self.finch.hears_late_text)
        self.assertFalse(self.finch.clones)
        self.assertRegex(syrinx.__version__, r"^\d+\.\d+\.\d+$")

    def test_voices_seeds_outcome(self):
        speech = self.finch.speak(TEXT, voice="finch(2)+raven(1)", speed=2.5)
        self.assertLess(len(speech.read()), 0.8 * len(self.samples))
        self.assertEqual(speech.outcome.end, "text")
        self.assertGreater(speech.outcome.first_audio_s, 0)
        cut = self.finch.speak(TEXT, max_s=0.4)
        self.assertLess(len(cut.read()), 16000)
        self.assertEqual(cut.outcome.end, "length")

    def test_text_in_pieces(self):
        speech = self.finch.speak("One ", open_text=True)
        writer = threading.Thread(target=lambda: (time.sleep(0.05), speech.feed("two three "),
                                                  speech.feed("four."), speech.end()))
        writer.start()
        words = [word.text.strip(" .") for chunk in speech for word in chunk.words]
        writer.join()
        self.assertEqual(words, "One two three four".split())
        with self.assertRaises(syrinx.InvalidError):
            speech.feed("too late")
        accents = "Größe: früh \0 spät."
        words = [word.text for chunk in self.finch.speak(accents) for word in chunk.words]
        self.assertIn("früh", " ".join(words))

    def test_leaving_the_loop_cancels(self):
        speech = self.finch.speak("There is no end of this ", open_text=True)
        for _ in speech:
            break
        with self.assertRaises(syrinx.CancelledError):
            speech.read()
        self.assertIsNone(speech.outcome)

    def test_asyncio(self):
        async def hear(text):
            return np.concatenate([chunk async for chunk in self.finch.speak(text)])

        async def leave():
            speech = self.finch.speak("There is no end of this ", open_text=True)
            async for _ in speech:
                break
            with self.assertRaises(syrinx.CancelledError):
                async for _ in speech:
                    pass

        async def all_at_once():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.001)
                    ticks += 1

            ticking = asyncio.ensure_future(tick())
            heard = await asyncio.gather(*(hear(TEXT) for _ in range(4)))
            ticking.cancel()
            await asyncio.wait_for(leave(), 20)
            return heard, ticks

        heard, ticks = asyncio.run(all_at_once())
        for samples in heard:
            self.assertTrue(np.array_equal(samples, self.samples))
        self.assertGreater(ticks, 3)  # the event loop continued meanwhile

    def test_waiting_leaves_the_interpreter_to_others(self):
        speech = self.finch.speak("", open_text=True)
        heard = []
        reader = threading.Thread(target=lambda: heard.append(speech.read()))
        reader.start()
        time.sleep(0.05)
        with self.assertRaises(ValueError):  # the stream already has a reader
            speech.read()
        speech.feed(TEXT)
        speech.end()
        reader.join(30)
        self.assertGreater(len(heard[0]), 8000)

    def test_faults(self):
        for call, kind, says in [
                (lambda: self.finch.speak(TEXT, voice="nightingale"), syrinx.NotFoundError, "curlew"),
                (lambda: self.finch.speak(TEXT, speed=9), syrinx.InvalidError, "speed"),
                (lambda: self.finch.speak(TEXT, seed=-1), syrinx.InvalidError, "seed"),
                (lambda: self.finch.speak(TEXT, seed=2**64), syrinx.InvalidError, "seed"),
                (lambda: self.finch.learn_voice([0.0], 16000), syrinx.UnsupportedError, "clone"),
                (lambda: self.finch.learn_voice([0.0]), syrinx.InvalidError, "sample_rate"),
                (lambda: syrinx.load("/nowhere"), syrinx.LoadError, "/nowhere"),
                (lambda: syrinx.load_voice("/nowhere"), syrinx.LoadError, "/nowhere")]:
            with self.assertRaises(kind) as caught:
                call()
            self.assertIn(says, str(caught.exception))
            self.assertIsInstance(caught.exception, syrinx.Error)

    def test_models_come_and_go(self):
        other = syrinx.load(beside=self.finch)
        speech = other.speak(TEXT)
        del other
        gc.collect()
        self.assertTrue(np.array_equal(speech.read(), self.samples))


if __name__ == "__main__":
    unittest.main()
