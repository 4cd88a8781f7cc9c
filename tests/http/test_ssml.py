"""Tests SSML, pronunciations and pauses over HTTP and WebSockets: the speech, its times, and refusals."""
import array
import json
import pathlib
import re
import tempfile
import unittest

import harness
import ws


class Ssml(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--max-wait", "300").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def samples(self, text, **fields):
        status, _, data = self.server.speak(
            {"input": text, "seed": 3, "response_format": "pcm", "sample_rate": 24000, **fields})
        self.assertEqual(status, 200, data)
        return data

    def done(self, text, **fields):
        status, headers, data = self.server.speak(
            {"input": text, "seed": 3, "response_format": "pcm", "stream_format": "sse", **fields})
        self.assertEqual(status, 200, data)
        events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]
        self.assertEqual(events[-1]["type"], "speech.audio.done")
        return events[-1], headers

    def refused(self, text, **fields):
        status, _, data = self.server.speak({"input": text, **fields})
        self.assertEqual(status, 400, data)
        return json.loads(data)["error"]

    def test_says_what_plain_text_says(self):
        self.assertEqual(self.samples("<speak>Good\n  morning.</speak>"), self.samples("Good morning."))
        self.assertEqual(self.samples("<speak><sub alias='Good morning'>GM</sub>.</speak>"),
                         self.samples("Good morning."))
        self.assertEqual(self.samples("<speak>One.<break time='500ms'/>Two.</speak>"),
                         self.samples("One. [pause 0.5s] Two."))
        self.assertEqual(self.samples("<speak><say-as interpret-as='digits'>42</say-as></speak>"),
                         self.samples("four two"))

    def test_phonemes_and_pronunciations_are_one(self):
        tagged = self.samples("<speak>Say <phoneme alphabet='ipa' ph='ˈsɪɹɪŋks'>Syrinx</phoneme>.</speak>")
        listed = self.samples("Say Syrinx.", pronunciations={"Syrinx": "/ˈsɪɹɪŋks/"})
        other = self.samples("Say Syrinx.", pronunciations={"Syrinx": "{S AY1 R IH0 N K S}"})
        self.assertEqual(tagged, listed)
        self.assertNotEqual(listed, other)
        self.assertEqual(self.samples("Say nginx.", pronunciations={"nginx": "engine X"}),
                         self.samples("Say engine X."))

    def test_the_lexicon_of_the_guide(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        guide = (root / "docs" / "guide" / "ssml.md").read_text(encoding="utf-8")
        lexicon = re.search(r"^    # a word.*?\n\n", guide, re.M | re.S).group()
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
            file.write(lexicon)
            file.flush()
            said = [harness.run_cli("say", text, "--lexicon", file.name, "-o", "-").stdout
                    for text in ("nginx", "engine X")]
        self.assertTrue(said[0])
        self.assertEqual(*said)

    def test_rate_and_pitch(self):
        plain = self.samples("It was a long day.")
        slow = self.samples("<speak><prosody rate='70%'>It was a long day.</prosody></speak>")
        high = self.samples("<speak><prosody pitch='+3st'>It was a long day.</prosody></speak>")
        self.assertGreater(len(slow), 1.2 * len(plain))
        self.assertEqual(len(high), len(plain))
        self.assertNotEqual(high, plain)
        self.assertEqual(slow, self.samples("It was a long day.", speed=0.7))

    def test_marks_have_times(self):
        done, _ = self.done("<speak>One two <mark name='here'/>three <break time='1s'/><mark name='end'/></speak>")
        self.assertEqual(done["text"].split()[:3], ["One", "two", "three"])
        here, end = done["marks"]
        self.assertEqual((here["name"], end["name"]), ("here", "end"))
        words = {done["text"][w["begin"]:w["end"]]: w["start_s"] for w in done["words"]}
        self.assertEqual(here["start_s"], words["three"])
        self.assertGreater(end["start_s"], words["three"] + 1)

    def test_what_is_left_out_is_told(self):
        _, headers = self.done("<speak><voice name='x'>Hello.</voice></speak>")
        self.assertIn("<voice>", headers["X-Warning"])

    def test_faults_have_lines(self):
        self.assertIn("line 2", self.refused("<speak>\n<break time='x'/></speak>")["message"])
        self.assertIn("document type", self.refused("<speak>a</speak>".replace(
            "<speak>", "<?xml version='1.0'?><!DOCTYPE speak><speak>"), ssml=True)["message"])
        error = self.refused("Hello.", pronunciations={"Hello": "/hə§/"})
        self.assertEqual(error["param"], "pronunciations")
        self.assertIn("§", error["message"])

    def stream(self, pieces, **config):
        """Returns audio and messages for a text on the native WebSocket."""
        audio, messages = b"", []
        with ws.WebSocket(self.server.port, "/v1/audio/speech/stream") as client:
            client.send({"type": "session.config", "seed": 3, "sample_rate": 24000, **config})
            for piece in pieces:
                client.send({"type": "input.text", "text": piece})
            client.send({"type": "input.done"})
            while not messages or messages[-1]["type"] != "session.done":
                message = client.recv()
                if isinstance(message, bytes):
                    audio += message
                else:
                    messages.append(json.loads(message))
        return audio, messages

    def test_a_websocket_says_what_http_says(self):
        document = ("<speak>I say <phoneme alphabet='ipa' ph='təˈmɑːtoʊ'>tomato</phoneme>. <mark name='m'/>"
                    "<prosody rate='slow'>And <emphasis>then</emphasis> so.</prosody></speak>")
        whole = self.samples(document)
        for size in (5, 1000):
            audio, messages = self.stream(document[i:i + size] for i in range(0, len(document), size))
            self.assertEqual(audio, whole)
        self.assertEqual([m["name"] for m in messages[-2]["marks"]], ["m"])
        _, messages = self.stream([document.replace("</prosody>", "")])
        self.assertEqual(messages[-2]["message"], self.refused(document.replace("</prosody>", ""))["message"])
        # Plain text around a document sounds the same as without the document.
        audio, _ = self.stream([document, "Good morning."])
        alone, _ = self.stream(["Good morning."])
        self.assertEqual(audio, whole + alone)

    def test_an_accent_is_no_text(self):
        plain = self.samples("I want the blue car.")
        accent = self.samples("I want the *blue* car.")
        self.assertEqual(self.samples("<speak>I want the <emphasis>blue</emphasis> car.</speak>"), accent)
        self.assertNotEqual(accent, plain)

    def silence_s(self, text, **fields):
        """Returns the longest pause within the speech: the part that is 40 dB below the loudest sample."""
        samples = array.array("h", self.samples(text, **fields))
        least = max(abs(s) for s in samples) / 100
        loud = [i for i, s in enumerate(samples) if abs(s) > least]
        return max(b - a for a, b in zip(loud, loud[1:])) / 24000

    def test_the_layout_is_heard(self):
        for between, least, most in ((" ", 0.1, 0.35), ("\n\n", 0.5, 0.8)):
            text = f"The sun went down.{between}Nobody came."
            silence = self.silence_s(text)
            self.assertTrue(least < silence < most, (between, silence))
        for text in ("A New Day\n\nNobody came.", "- bread\n- milk", "# A Day\nNobody came.",
                     '"No," he said.\n\n"Why?"'):
            silence = self.silence_s(text)
            self.assertTrue(0.35 < silence < 0.9, (text, silence))
            fast = self.silence_s(text, speed=1.5)
            self.assertTrue(0.5 < fast / silence < 0.85, (text, silence, fast))

    def test_plain_text_stays_plain(self):
        self.assertEqual(self.samples("a < b & c"), self.samples("a < b & c", ssml=False))


if __name__ == "__main__":
    harness.main()
