"""Kokoro's network for the teacher `kokoro:VOICE` (process_teacher.cc): speaks through the program `syrinx`, in
finch's own phones.

    syrinx hub pull kokoro       # hexgrad/Kokoro-82M, Apache-2.0
    SYRINX=PATH_OF_syrinx python3 kokoro_voice.py af_heart:106 < requests > answers

SYRINX: without it, `syrinx` in the PATH; KOKORO: a folder of the model instead of the pulled one. `af_heart:106` is
the voice with a throat 6 % shorter, as `hibari:106:1`. Requests and answers are those of hibari_voice.py. Kokoro's yes-no
questions fall, so the mark ↗ requests a rise from the last stressed vowel on.

The phones of a whole sentence are sent as one word of a language that the server does not read itself. So they reach
the network unchanged, with the marks between words.
"""
import base64
import json
import os
import re
import subprocess
import sys
import urllib.request

import numpy as np
from hibari.g2p import G2P

from corpus import RATE
from hibari_voice import PEAK, PITCH_RATE, fit_pauses, letters_of, stretched, vowel_of_rise
from voicing import heard_pitch

UNREAD = "fr-fr"  # a language for which the server uses the given phones unchanged
SLOWEST, FASTEST = 0.5, 2.0
LEAST_PAUSE = 0.025  # seconds; assumed length of a pause, because its beginning is not reported
# Maps misaki's letters for one sound to IPA, which the server converts back to misaki's letters.
IPA = {"I": "aɪ", "W": "aʊ", "A": "eɪ", "O": "oʊ", "Y": "ɔɪ", "T": "ɾ", "ᵊ": "ə", "ː": "", ":": ",", ";": ",", "!": ".",
       "?": "."}
RISE = "↗"
SILENT = set("ˈˌ ,;:.!?" + RISE)


def sounds_of(letters):
    """Returns those of the (letter, symbol) pairs whose letter is a sound for the server."""
    return [(c, s) for c, s in letters if c and c not in SILENT and IPA.get(c, c)]


def written(letters):
    """Returns the phones for the server. Hyphens separate letters, which could otherwise be read as one sound."""
    words = "".join(c for c, _ in letters).split(" ")
    return " ".join("-".join(filter(None, (IPA.get(c, c) for c in word))) for word in words)


class Server:
    """A server that speaks with Kokoro, on a free port, with one thread."""

    def __init__(self, voice):
        self.voice = voice
        program = os.environ.get("SYRINX", "syrinx")
        self.process = subprocess.Popen(
            [program, "serve", "--quiet", "--port", "0", "--threads", "1", "--ears", "none", "--model",
             os.environ.get("KOKORO") or "kokoro"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if found := re.search(r"at (http://\S+)", line):
                self.address = found[1] + "/v1/audio/speech"
                return
        sys.exit(f"kokoro_voice.py: the server ended: {''.join(said)}")

    def close(self):
        self.process.terminate()
        self.process.wait()

    def speak(self, phones, speed):
        """Returns samples in [-1, 1], and [(letter, seconds)]: when each sound begins."""
        text = f'<speak><phoneme alphabet="ipa" ph="{phones}">a</phoneme></speak>'
        body = {"input": text, "voice": self.voice, "language": UNREAD, "speed": speed, "response_format": "pcm",
                "stream_format": "sse", "phone_timestamps": True}
        request = urllib.request.Request(self.address, json.dumps(body).encode(), {"Content-Type": "application/json"})
        samples, last = b"", {}
        with urllib.request.urlopen(request) as answer:
            for line in answer:
                if line.startswith(b"data:"):
                    last = json.loads(line[5:])
                    samples += base64.b64decode(last.get("audio", ""))
        begun = [(each["phone"], each["start_s"]) for each in last["phones"]]
        return np.frombuffer(samples, "<i2").astype(np.float32) / 32768, begun


def ends_of(sounds, begun, count, pauses):
    """Returns the seconds at which each symbol ends, [count]: when the next symbol begins. A pause inside the sentence
    begins LEAST_PAUSE before the symbol after it."""
    begins = np.full(count, np.nan)
    for (_, symbol), (_, at) in zip(sounds, begun):
        if np.isnan(begins[symbol]):
            begins[symbol] = at
    for pause in pauses:
        begins[pause] = begins[pause + 1] - LEAST_PAUSE
    begins[0], ends = 0, np.zeros(count)
    ends[:-2] = begins[1:-1]
    return ends


def with_rise(letters, vowel):
    """Returns the letters with the mark of a rise before those of the symbol `vowel`."""
    at = [symbol for _, symbol in letters].index(vowel, 1)
    return letters[:at] + [(RISE, vowel)] + letters[at:]


def answer(server, g2p, throat, line):
    """Returns samples, ends and pitch for one request; empty lists if the server reports other sounds."""
    speed, *tokens = line.split()
    nothing = np.zeros(0, np.float32), np.zeros(0, np.float32), np.zeros(0, np.int32)
    rising = tokens[-1] == "/"
    tokens = tokens[: len(tokens) - rising]
    letters, count = letters_of(g2p, tokens)
    if rising:
        letters = with_rise(letters, vowel_of_rise(tokens, count))
    sounds = sounds_of(letters)
    samples, begun = server.speak(written(letters), min(max(float(speed) / throat, SLOWEST), FASTEST))
    samples = stretched(samples, throat) if throat != 1 else samples
    samples = samples * min(1, PEAK / max(1e-3, np.abs(samples).max()))
    begun = [(letter, at / throat) for letter, at in begun]
    if len(begun) != len(sounds) or len({s for _, s in sounds}) + len(pauses := pauses_in(letters)) + 2 != count:
        print(f"kokoro_voice.py: other sounds: {line.strip()}", file=sys.stderr)
        return nothing
    ends = ends_of(sounds, begun, count, pauses)
    fit_pauses(ends, pauses, samples)
    track = np.repeat(heard_pitch(samples), PITCH_RATE // 100)
    return samples, np.maximum.accumulate(ends).astype(np.float32), track.astype(np.int32)


def pauses_in(letters):
    return sorted({s for c, s in letters if c and c in ",;:"})


def main(voice, throat=100):
    server, g2p, throat = Server(voice), G2P(british=False), float(throat) / 100
    try:
        for line in sys.stdin:
            for values in answer(server, g2p, throat, line):
                sys.stdout.buffer.write(np.int32(len(values)).tobytes() + values.tobytes())
            sys.stdout.buffer.flush()
    finally:
        server.close()


if __name__ == "__main__":
    main(*sys.argv[1].split(":"))
