"""Tests Wyoming with the real program and several models: the built-in voice and two Piper voices of a directory."""
import json
import os
import shutil
import string
import tempfile
import time
import unittest

import harness
from ws import Wyoming

GOLDEN = os.path.join(harness.PARITY, "piper/golden")


def voice_config(speakers):
    """Returns the .onnx.json of a golden's network. Its ids are characters, so espeak-ng is not needed."""
    ids = {"_": [0], "^": [1], "$": [2]}
    for number, letter in enumerate(" ,.?!" + string.ascii_lowercase[:16], 3):
        ids[letter] = [number]
    config = {"audio": {"sample_rate": 16000, "quality": "low"}, "espeak": {"voice": "de"},
              "language": {"code": "de_DE", "family": "de"}, "phoneme_type": "text",
              "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
              "num_speakers": speakers, "phoneme_id_map": ids}
    if speakers > 1:
        config["speaker_id_map"] = {"anna": 0, "ben": 1, "carl": 2}
    return config


def add_voice(place, name, golden, speakers):
    shutil.copy(os.path.join(GOLDEN, golden + ".onnx"), os.path.join(place, name + ".onnx"))
    with open(os.path.join(place, name + ".onnx.json"), "w", encoding="utf-8") as file:
        json.dump(voice_config(speakers), file)


class WyomingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        add_voice(cls.place.name, "de_DE-many-low", "many_speakers", 3)
        add_voice(cls.place.name, "de_DE-one-low", "one_speaker", 1)
        add_voice(cls.place.name, "de_DE-gone-low", "one_speaker", 1)
        cls.server = harness.Server("--voices-dir", cls.place.name, "--wyoming-port", "0")
        for text in iter(cls.server.process.stdout.readline, ""):
            if "Wyoming" in text:
                cls.wyoming = int(text.rsplit("port ", 1)[1].rstrip(".\n"))
                break

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.place.cleanup()

    def listed(self):
        with Wyoming(self.wyoming) as client:
            client.send("describe")
            return client.recv()[1]["tts"][0]["voices"]

    def speak(self, **voice):
        """Returns (rate, bytes) of a sentence, or the text of the error."""
        with Wyoming(self.wyoming) as client:
            client.send("synthesize", text="Abcd efg, hij.", voice=voice)
            rate, audio = 0, b""
            while True:
                kind, data, payload = client.recv()
                if kind == "error":
                    return data["text"]
                rate = data.get("rate", rate)
                audio += payload
                if kind == "audio-stop":
                    return rate, audio

    def test_voices_of_all_models_are_listed(self):
        voices = {voice["name"]: voice for voice in self.listed()}
        finch = [name for name in voices if not name.startswith("de_DE")]
        self.assertGreater(len(finch), 1)
        self.assertEqual(voices[finch[0]]["languages"], ["en"])
        many = voices["de_DE-many-low"]
        self.assertEqual([speaker["name"] for speaker in many["speakers"]], ["anna", "ben", "carl"])
        self.assertEqual(many["languages"], ["de"])
        self.assertTrue(many["installed"])
        self.assertIn("version", many)
        self.assertEqual(many["attribution"]["name"], "piper")
        self.assertNotIn("speakers", voices["de_DE-one-low"])

    def test_the_model_that_has_the_voice_speaks(self):
        finch = next(v["name"] for v in self.listed() if not v["name"].startswith("de_DE"))
        self.assertEqual(self.speak(name=finch)[0], 24000)
        rate, one = self.speak(name="de_DE-one-low")
        self.assertEqual(rate, 16000)
        anna, carl = (self.speak(name="de_DE-many-low", speaker=name) for name in ("anna", "carl"))
        self.assertEqual({anna[0], carl[0]}, {16000})
        self.assertEqual(len({one, anna[1], carl[1]}), 3)
        self.assertEqual(self.speak(language="de")[0], 16000)
        self.assertIn("nemo", self.speak(name="de_DE-many-low", speaker="nemo"))
        self.assertIn("nobody", self.speak(name="nobody"))

    def test_text_in_pieces_waits_for_its_model(self):
        with Wyoming(self.wyoming) as client:
            client.send("synthesize-start", voice={"name": "de_DE-one-low"})
            for piece in ("Abcd ", "efg, ", "hij. ", "Klm."):
                client.send("synthesize-chunk", text=piece)
            client.send("synthesize-stop")
            kinds = []
            while not kinds or kinds[-1] != "synthesize-stopped":
                kind, data, _ = client.recv()
                if kind == "audio-start":
                    self.assertEqual(data["rate"], 16000)
                if not kinds or kinds[-1] != kind:
                    kinds.append(kind)
        self.assertEqual(kinds, ["audio-start", "audio-chunk", "audio-stop", "synthesize-stopped"])

    def test_a_voice_that_is_gone_or_replaced(self):
        path = os.path.join(self.place.name, "de_DE-gone-low.onnx")
        with open(path, "rb") as file:
            whole = file.read()
        with open(path, "wb") as file:
            file.write(whole[:len(whole) // 2])
        self.assertIn("de_DE-gone-low.onnx", self.speak(name="de_DE-gone-low"))
        os.remove(path)
        self.assertIsInstance(self.speak(name="de_DE-gone-low"), str)
        self.assertEqual(self.speak(name="de_DE-one-low")[0], 16000)  # the server still works
        with open(path, "wb") as file:
            file.write(whole)
        deadline = time.monotonic() + 30  # after some seconds a failed load is tried again
        while isinstance(self.speak(name="de_DE-gone-low"), str):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.5)

    def test_options_of_piper_and_their_refusals(self):
        def ask(**fields):
            body = {"model": "de_DE-one-low", "input": "Abcd efg, hij.", "seed": 3, **fields}
            return self.server.speak({"response_format": "pcm", **body})
        plain = ask()[2]
        self.assertEqual(ask(noise_scale=0.667, noise_w=0.8, length_scale=1)[2], plain)
        self.assertNotEqual(ask(noise_scale=0)[2], plain)
        self.assertGreater(len(ask(length_scale=2)[2]), 1.5 * len(plain))
        self.assertEqual(ask(noise_w=3)[0], 400)
        refused = ask(model="finch", noise_w=0.5)
        self.assertEqual(refused[0], 400)
        self.assertIn("noise_w", str(refused[2]))
        self.assertIn("U+007A", ask(input="Abc z.")[1]["X-Warning"])


if __name__ == "__main__":
    harness.main()
