"""Tests that recordings are decoded in restricted child processes: hostile uploads, killed children and helpers, and
the server's messages."""
import os
import random
import signal
import struct
import time
import unittest

import harness
from test_transcription import form, wav

# The server knows only after it loads a model whether that model clones. Until then it accepts consents.
MAY_CLONE = ("--model", "/nowhere/cloner")
CONSENTS = "/v1/audio/voice_consents"
TRANSCRIPTIONS = "/v1/audio/transcriptions"


def children(pid):
    """Returns the children of a process from the lists of its threads, or from the parents of all processes if the
    kernel has no such lists."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(entry))
        except (OSError, IndexError):
            pass  # the process has ended
    return found


def until(condition, seconds=60):
    """Waits until the condition is true; returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("the condition did not become true")


def hostile_files():
    """Yields (name, bytes) of files that look like recordings, but are invalid."""
    rng = random.Random(3)
    magic = {"flac": b"fLaC", "ogg": b"OggS", "mp3": b"ID3\4\0\0\x7f\x7f\x7f\x7f", "caf": b"caff",
             "webm": b"\x1a\x45\xdf\xa3", "aiff": b"FORM\xff\xff\xff\xffAIFF", "amr": b"#!AMR\n",
             "au": b".snd", "aac": b"\xff\xf1\x50\x80", "m4a": b"\0\0\0\x18ftypM4A ",
             "w64": b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0", "wav": b"RIFF"}
    for name, head in magic.items():
        yield name + " and zeros", head + bytes(5000)
        yield name + " and ones", head + b"\xff" * 5000
        yield name + " and noise", head + rng.randbytes(5000)
    # These files state larger sizes than they have.
    yield "a wav of 4 GB", b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack(
        "<IHHIIHH", 16, 1, 64, 16000, 16000, 2, 16) + b"data\xff\xff\xff\xff" + bytes(100)
    yield "boxes of 2^63 bytes", b"\0\0\0\x1cftypM4A \0\0\0\0M4A mp42\0\0\0\1moov" + b"\x7f" * 400
    entries = struct.pack(">II", 0, 0xFFFFFFFF)
    table = struct.pack(">I", 16 + len(entries)) + b"stsz" + bytes(4) + entries
    yield "a table of 2^32 entries", (b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42" +
                                      struct.pack(">I", 8 + len(table)) + b"moov" + table)
    yield "a playlist", b"#EXTM3U\n#EXTINF:10,\nfile:///etc/hostname\n"


class Decoding(unittest.TestCase):
    def setUp(self):
        self.server = harness.Server(*MAY_CLONE).__enter__()
        self.addCleanup(self.server.__exit__)

    def decoding(self):
        return self.server.get("/health")[2]["decoding"]

    def helper(self, server=None):
        """Returns the process that forks decoders."""
        server = server or self.server
        for pid in children(server.process.pid):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() == "syrinx-decode":
                    return pid
        return None

    def post(self, path, fields, file, part):
        body, kind = form(fields, file)
        body = body.replace(b'name="file"', f'name="{part}"'.encode())
        connection = self.server.connect(timeout=120)
        connection.request("POST", path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data.decode()

    def consent(self, file):
        return self.post(CONSENTS, [("name", "anna"), ("language", "en")], file, "recording")

    def can_hear(self):
        return any(model["id"] == "pocketsphinx"
                   for model in self.server.get("/v1/models")[2]["data"])

    def speaks(self):
        status, _, audio = self.server.speak({"input": "Still here.", "response_format": "wav"})
        self.assertEqual(status, 200)
        self.assertGreater(len(audio), 1000)

    def tone(self, seconds):
        return wav(b"".join(struct.pack("<h", 9000 if i // 40 % 2 else -9000)
                            for i in range(int(16000 * seconds))))

    def test_says_how_and_decodes_once(self):
        facts = self.decoding()
        self.assertEqual((facts["where"], facts["recordings"]), ("children", 0))
        self.assertIn("resource limits", facts["confinement"])
        self.assertEqual("seccomp" in facts["confinement"],
                         "seccomp is missing" not in self.server.read_log())
        status, text = self.consent(self.tone(1))
        self.assertEqual(status, 200, text)
        self.assertEqual(self.decoding()["recordings"], 1)
        until(lambda: not children(self.helper()))

    def test_hostile_files_are_refused_one_by_one(self):
        for name, data in hostile_files():
            status, text = self.consent(data)
            if name.startswith("amr") and status == 200:
                continue  # the decoder of such files may accept any noise as speech
            self.assertEqual(status, 400, (name, text))
            self.assertIn("record", text, name)
        self.assertEqual(self.consent(self.tone(1))[0], 200)
        until(lambda: not children(self.helper()))
        self.speaks()

    def test_a_killed_child_fails_its_request_alone(self):
        if not self.can_hear():
            self.skipTest("PocketSphinx is not installed")
        body, kind = form([("model", "pocketsphinx")], self.tone(600))
        connection = self.server.connect(timeout=120)
        connection.request("POST", TRANSCRIPTIONS, body, {"Content-Type": kind})
        # The child waits because it is far ahead of the recogniser.
        child = until(lambda: children(self.helper()))[0]
        self.speaks()
        until(lambda: os.path.exists(f"/proc/{child}"))
        os.kill(child, signal.SIGKILL)
        answer = connection.getresponse()
        text = answer.read().decode()
        self.assertEqual(answer.status, 500, text)
        connection.close()
        killed = "decoder of the recording was killed"
        self.assertIn(killed, self.server.wait_for_log(killed))
        self.assertEqual(self.consent(self.tone(1))[0], 200)

    def test_a_client_that_goes_takes_its_child_along(self):
        if not self.can_hear():
            self.skipTest("PocketSphinx is not installed")
        body, kind = form([("model", "pocketsphinx")], self.tone(600))
        connection = self.server.connect()
        connection.request("POST", TRANSCRIPTIONS, body, {"Content-Type": kind})
        until(lambda: children(self.helper()))
        connection.close()
        until(lambda: not children(self.helper()))

    def test_a_killed_helper_is_started_again(self):
        for _ in range(2):
            helper = self.helper()
            os.kill(helper, signal.SIGKILL)
            status, text = self.consent(self.tone(1))
            self.assertEqual(status, 200, text)
            self.assertNotIn(self.helper(), (helper, None))
            until(lambda: not children(self.helper()))
            self.assertEqual(self.consent(b"noise" * 100)[0], 400)
        with open(f"/proc/{self.helper()}/environ", "rb") as file:
            self.assertNotIn(b"HOME=", file.read())
        self.speaks()

    def test_the_helper_ends_with_the_server(self):
        helper = self.helper()
        os.kill(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait()
        until(lambda: not os.path.exists(f"/proc/{helper}/exe"))

    def test_in_the_server_if_that_is_wished_for(self):
        with harness.Server(*MAY_CLONE, "--decode-in-server") as server:
            self.assertEqual(server.get("/health")[2]["decoding"], {"where": "server"})
            self.assertIsNone(self.helper(server))
            self.server, apart = server, self.server
            self.assertEqual(self.consent(self.tone(1))[0], 200)
            self.assertEqual(self.consent(b"noise" * 100)[0], 400)
            self.server = apart


if __name__ == "__main__":
    harness.main()
