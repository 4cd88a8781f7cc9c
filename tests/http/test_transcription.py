"""Tests transcription: PocketSphinx gives the same text through the API as its own program; forms, formats and events
of OpenAI's API; invalid uploads."""
import concurrent.futures
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import wave

import harness

PATH = "/v1/audio/transcriptions"
SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and nobody knows why.",
    "Good evening. Please come in and sit down.",
    "Would you like a cup of tea with milk?",
    "She sells sea shells by the sea shore.",
    "The train to London leaves in ten minutes from the other side of the station.",
]


def wav(pcm, rate=16000):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(pcm)
    return out.getvalue()


def form(fields, file=None, name="speech.wav", boundary="xyz"):
    """Returns (body, Content-Type); `fields` is a list of pairs."""
    out = b""
    for key, value in fields:
        out += (f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
                .encode())
    if file is not None:
        out += (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                "Content-Type: application/octet-stream\r\n\r\n").encode() + file + b"\r\n"
    return out + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def own_program(data):
    """Returns [(word, start, end)] of pocketsphinx_continuous for a WAV file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "speech.wav")
        with open(path, "wb") as file:
            file.write(data)
        lines = subprocess.run(["pocketsphinx_continuous", "-infile", path, "-time", "yes",
                                "-logfn", os.devnull], capture_output=True, text=True,
                               check=True).stdout.splitlines()
    words = []
    for line in lines:
        match = re.fullmatch(r"(\S+) ([\d.]+) ([\d.]+) ([\d.]+)", line)
        if match and match.group(1)[0] not in "<[" and not match.group(1).startswith("++"):
            words.append((re.sub(r"\(\d+\)$", "", match.group(1)), float(match.group(2)),
                          round(float(match.group(3)) + 0.01, 3)))
    return words


def word_errors(said, heard):
    """Returns the least number of insertions, deletions and substitutions."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1]


class Transcription(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--max-wait", "300").__enter__()
        cls.names = [model["id"] for model in cls.server.get("/v1/models")[2]["data"]]
        if "pocketsphinx" not in cls.names:
            cls.server.__exit__()
            print("skipped: PocketSphinx is not installed")
            sys.exit(77)
        cls.speech = [cls.say(text) for text in SENTENCES]
        cls.heard_alone = {}

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @classmethod
    def say(cls, text):
        pcm = cls.server.speak({"input": text, "response_format": "pcm", "sample_rate": 16000,
                                "seed": 5})[2]
        return wav(pcm)

    def post(self, fields, file=None, path=PATH, name="speech.wav", headers=None):
        """Returns (status, headers, bytes)."""
        body, kind = form(fields, file, name)
        return self.post_bytes(body, kind, path, headers)

    def post_bytes(self, body, kind, path=PATH, headers=None):
        connection = self.server.connect(timeout=120)
        connection.request("POST", path, body, {"Content-Type": kind, **(headers or {})})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def transcribe(self, file, **fields):
        status, _, data = self.post(list(fields.items()), file)
        self.assertEqual(status, 200, data)
        return json.loads(data)

    def verbose(self, file):
        return self.transcribe(file, response_format="verbose_json",
                               **{"timestamp_granularities[]": "word"})

    def heard(self, i):
        """Returns verbose() for sentence i alone. Each sentence is transcribed only once."""
        if i not in self.heard_alone:
            self.heard_alone[i] = self.verbose(self.speech[i])
        return self.heard_alone[i]

    def test_words_are_those_of_its_own_program(self):
        if shutil.which("pocketsphinx_continuous") is None:
            self.skipTest("pocketsphinx is not installed")
        errors = own_errors = count = 0
        for i, (text, file) in enumerate(zip(SENTENCES, self.speech)):
            heard = [(word["word"], word["start"], word["end"])
                     for word in self.heard(i)["words"]]
            own = own_program(file)
            self.assertEqual(heard, own)
            said = re.findall(r"[a-z']+", text.lower())
            errors += word_errors(said, [word for word, _, _ in heard])
            own_errors += word_errors(said, [word for word, _, _ in own])
            count += len(said)
        self.assertEqual(errors, own_errors)
        self.assertLess(errors, 0.5 * count)
        print(f"{errors} of {count} words wrong, as with its own program")

    def test_formats(self):
        file = self.say("Please come in.")
        small = self.transcribe(file)
        self.assertTrue(small["text"])
        self.assertEqual(set(small), {"text", "usage"})
        self.assertEqual(small["usage"]["type"], "duration")
        verbose = self.transcribe(file, response_format="verbose_json")
        self.assertEqual(verbose["text"], small["text"])
        self.assertEqual((verbose["task"], verbose["language"]), ("transcribe", "english"))
        self.assertAlmostEqual(verbose["duration"], (len(file) - 44) / 32000, places=2)
        self.assertNotIn("words", verbose)
        self.assertEqual("".join(s["text"] for s in verbose["segments"]).strip(), small["text"])
        for segment in verbose["segments"]:
            self.assertLess(segment["start"], segment["end"])
            self.assertLess(segment["avg_logprob"], 0.01)
        words = self.verbose(file)
        self.assertNotIn("segments", words)
        self.assertEqual(" ".join(word["word"] for word in words["words"]), small["text"])
        for name, kind, begin in [("text", "text/plain", small["text"]),
                                  ("srt", "application/x-subrip", "1\n00:00:0"),
                                  ("vtt", "text/vtt", "WEBVTT\n\n00:00:0")]:
            status, headers, data = self.post([("response_format", name)], file)
            self.assertEqual(status, 200)
            self.assertTrue(headers["Content-Type"].startswith(kind))
            self.assertTrue(data.decode().startswith(begin), data)

    def test_any_audio_format_and_rate(self):
        plain = self.transcribe(self.speech[0])["text"]
        flac = self.server.speak({"input": SENTENCES[0], "response_format": "flac",
                                  "sample_rate": 16000, "seed": 5})[2]
        self.assertEqual(self.transcribe(flac)["text"], plain)
        for kind, rate in [("mp3", 24000), ("opus", 48000), ("wav", 44100)]:
            data = self.server.speak({"input": SENTENCES[0], "response_format": kind,
                                      "sample_rate": rate, "seed": 5})[2]
            heard = self.transcribe(data)["text"].split()
            self.assertLess(word_errors(plain.split(), heard), 6, (kind, heard))

    def events(self, file, **fields):
        status, headers, data = self.post([("stream", "true"), *fields.items()], file)
        self.assertEqual(status, 200, data)
        self.assertEqual(headers["Content-Type"], "text/event-stream")
        parts = data.decode().split("\n\n")
        self.assertEqual(parts.pop(), "")
        self.assertTrue(all(part.startswith("data: ") for part in parts))
        return [json.loads(part[6:]) for part in parts]

    def test_stream(self):
        pause = b"\0" * 48000
        both = wav(self.speech[1][44:] + pause + self.speech[2][44:])
        text = self.transcribe(both)["text"]
        events = self.events(both)
        self.assertGreaterEqual(len(events), 3)
        self.assertEqual({event["type"] for event in events[:-1]}, {"transcript.text.delta"})
        self.assertEqual(events[-1]["type"], "transcript.text.done")
        self.assertEqual(events[-1]["text"], text)
        self.assertEqual("".join(event["delta"] for event in events[:-1]), text)
        self.assertEqual(events[-1]["usage"]["type"], "duration")
        silence = self.events(wav(b"\0" * 64000))
        self.assertEqual(silence[0], {"type": "transcript.text.delta", "delta": "", "duration": 2.0})
        self.assertEqual([event["type"] for event in silence[1:]], ["transcript.text.done"])
        self.assertEqual(silence[1]["text"], "")

    def test_models(self):
        self.assertNotEqual(self.names[0], "pocketsphinx")  # models that speak are listed first
        for name in ("pocketsphinx", "whisper-1", "gpt-4o-transcribe"):
            status, _, model = self.server.get("/v1/models/" + name)
            self.assertEqual((status, model["id"], model["hears"]), (200, "pocketsphinx", True))
            self.assertIn("text", self.transcribe(self.speech[3], model=name))

    def refusal(self, fields, file=None, path=PATH):
        status, _, data = self.post(fields, file, path)
        error = json.loads(data)["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        return status, error["param"], error["code"]

    def test_refusals(self):
        file = self.speech[3]
        want = [
            ([], None, (400, "file", "invalid_value")),
            ([], b"", (400, "file", "invalid_value")),
            ([], b"no audio at all" * 100, (400, "file", "invalid_value")),
            ([], wav(b""), (400, "file", "invalid_value")),
            ([("model", "tts-1")], file, (404, "model", "model_not_found")),
            ([("language", "de")], file, (400, "language", "unsupported_value")),
            ([("response_format", "xml")], file, (400, "response_format", "invalid_value")),
            ([("response_format", "diarized_json")], file,
             (400, "response_format", "unsupported_value")),
            ([("temperature", "hot")], file, (400, "temperature", "invalid_value")),
            ([("temperature", "1.5")], file, (400, "temperature", "invalid_value")),
            ([("temperature", "nan")], file, (400, "temperature", "invalid_value")),
            ([("timestamp_granularities[]", "word")], file,
             (400, "timestamp_granularities", "invalid_value")),
            ([("timestamp_granularities[]", "letter"), ("response_format", "verbose_json")], file,
             (400, "timestamp_granularities", "invalid_value")),
            ([("stream", "perhaps")], file, (400, "stream", "invalid_value")),
            ([("stream", "true"), ("response_format", "srt")], file,
             (400, "stream", "invalid_value")),
            ([("chunking_strategy", "[" * 5000)], file, (400, "chunking_strategy",
                                                         "invalid_value")),
            ([("include[]", "thoughts")], file, (400, "include", "unsupported_value")),
            ([("prompt", "a" * 20000)], file, (400, "prompt", "invalid_value")),
        ]
        for fields, data, answer in want:
            with self.subTest(fields=fields):
                self.assertEqual(self.refusal(fields, data), answer)
        self.assertEqual(self.refusal([], file, "/v1/audio/translations")[::2],
                         (400, "unsupported_value"))
        self.assertEqual(self.server.get(PATH)[0], 405)
        self.assertEqual(self.post_bytes(b"{}", "application/json")[0], 415)
        self.assertEqual(self.post_bytes(b"nothing", "multipart/form-data; boundary=xyz")[0], 400)
        accepted = [("language", "en-US"), ("prompt", "tea"), ("temperature", "0"),
                    ("chunking_strategy", '{"type": "server_vad"}'), ("keywords[]", "tea"),
                    ("languages[]", "en"), ("unknown", "field")]
        self.assertEqual(self.post(accepted, file)[0], 200)

    def test_too_much(self):
        body, kind = form([], self.speech[0])
        connection = self.server.connect()
        connection.putrequest("POST", PATH)
        connection.putheader("Content-Type", kind)
        connection.putheader("Content-Length", str(26 << 20))
        connection.endheaders(body)
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()
        # Sends a small file with a very long recording.
        with harness.Server("--quiet", "--max-recording", "3") as short:
            silence = subprocess.run(
                ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono", "-t",
                 "600", "-f", "flac", "-"], capture_output=True, check=False).stdout \
                if shutil.which("ffmpeg") else wav(b"\0" * 32000 * 600)
            connection = short.connect()
            body, kind = form([], silence)
            connection.request("POST", PATH, body, {"Content-Type": kind})
            answer = connection.getresponse()
            error = json.loads(answer.read())["error"]
            self.assertEqual((answer.status, error["param"]), (400, "file"))
            self.assertIn("longer than 3 s", error["message"])
            connection.close()

    def test_large_body(self):
        """A body of 2 MiB with three sentences, which is more than a request without a recording may have."""
        pause = b"\0" * 32000
        pcm = b"".join(self.speech[i][44:] + pause for i in (1, 2, 3))
        file = wav(pcm + b"\0" * max(0, (2 << 20) - len(pcm)))
        verbose = self.verbose(file)
        self.assertAlmostEqual(verbose["duration"], (len(file) - 44) / 32000, places=2)
        self.assertGreater(len(verbose["words"]), 15)

    def test_many_at_once_hear_the_same(self):
        """Sends more recordings than the server transcribes at a time."""
        short = (1, 2, 3)
        want = [self.heard(i) for i in short]
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            got = list(pool.map(self.verbose, [self.speech[i] for i in short] * 3))
        self.assertEqual(got, want * 3)

    def test_client_goes_away(self):
        body, kind = form([("stream", "true")], wav(b"\1\0" * 16000 * 400))
        connection = self.server.raw()
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        deadline = time.monotonic() + 20
        while self.server.get("/health")[2]["streams"] != 1:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        connection.close()
        while self.server.get("/health")[2]["streams"] != 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertIn("text", self.transcribe(self.speech[3]))

    def test_without_ears(self):
        with harness.Server("--quiet", "--ears", "none") as deaf:
            connection = deaf.connect()
            body, kind = form([], self.speech[3])
            connection.request("POST", PATH, body, {"Content-Type": kind})
            answer = connection.getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())["error"]["code"]),
                             (400, "unsupported_operation"))
            connection.close()
            self.assertNotIn("pocketsphinx", str(deaf.get("/v1/models")[2]))


if __name__ == "__main__":
    harness.main()
