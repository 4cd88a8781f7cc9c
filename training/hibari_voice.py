"""hibari's network, for the teacher of that name (process_teacher.cc). Needs onnx, onnxruntime and the package
hibari-tts (Apache-2.0), which contains its weights.

    python3 hibari_voice.py THROAT:HALF_TONES < requests > answers

`100:0` is the original voice. `88:-7` makes another speaker of it: with a throat 100/88 as long, seven
half-tones lower.

A request is a line: the speed, then tokens. `^` is the pause before the speech, `|WORD` begins a word, followed
by its phones in finch's names, and `,` `;` `:` are pauses. `.`, `!` or `?` ends the sentence, and a final `/`
requests a rising pitch, because hibari's yes-no questions fall. An answer is three lists, each a count (int32)
and its values: samples (float32, 24 kHz), the time at which each phone and pause ends (float32, s), and pitch
(int32, Hz, 0 where unvoiced, 200 a second).
"""
import functools
import sys

import hibari
import numpy as np
import onnx
import onnxruntime
from scipy.signal import resample_poly
from hibari import dsp
from hibari.g2p import G2P
from hibari.voices import voice_path

RATE, HOP, PITCH_RATE = dsp.SR, dsp.HOP, 200
FRAMES = 2           # frames of the network per unit of its durations: 25 ms
VOICED_HZ = 40       # a lower pitch means unvoiced
PEAK = 0.97
SHORTEST_RISE, LONGEST_RISE = 0.22 * RATE / HOP, 0.45 * RATE / HOP  # frames at the end of a yes-no question
# Maps finch's phones, without their stress, to misaki's alphabet for American English.
PHONES = dict(zip(
    "b ch d dh f g hh jh k l m n ng p r s sh t th v w y z zh aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw".split(),
    "b ʧ d ð f ɡ h ʤ k l m n ŋ p ɹ s ʃ t θ v w j z ʒ ɑ æ ʌ ɔ W ə I ɛ ɜɹ A ɪ i O Y ʊ u".split()))
VOWELS = set("aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw".split())
# Sounds that count as equal when hibari's lexicon is searched for stress and reductions.
ALIKE = str.maketrans({"ʌ": "ə", "ᵻ": "ɪ", "ᵊ": "ə", "ɐ": "ə", "T": "t", "ɾ": "t", "ɜ": "ə", "ɒ": "ɑ", "ː": None,
                       "ˈ": None, "ˌ": None})


def open_network():
    """Opens the network, with its durations as a further output."""
    model = onnx.load(voice_path(hibari.voices.DEFAULT))
    speed = next(n for n in model.graph.node if "speed" in n.input)
    rounded = next(n for n in model.graph.node if n.op_type == "Round" and n.input[0] == speed.output[0])
    clipped = next(n for n in model.graph.node if n.op_type == "Clip" and n.input[0] == rounded.output[0])
    model.graph.output.append(onnx.helper.make_tensor_value_info(clipped.output[0], onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def sound_of(phone):
    """Returns misaki's letters for one of finch's phones."""
    if phone == "er":
        return "əɹ"
    return PHONES[phone.rstrip("1")]


def by_rule(phones):
    """Returns a word's letters as (letter, index of its phone): stress marks before stressed vowels; a t
    between a vowel and an unstressed vowel is flapped."""
    out, main = [], True
    stressed = [i for i, p in enumerate(phones) if p.endswith("1")]
    for i, phone in enumerate(phones):
        if phone.endswith("1"):
            out.append(("ˈ" if i == stressed[0] else "ˌ", i))
        letters = sound_of(phone)
        flapped = (phone == "t" and 0 < i < len(phones) - 1 and phones[i - 1].rstrip("1") in VOWELS | {"r"}
                   and phones[i + 1] in VOWELS)
        if phones == ["ax"]:
            letters = "ɐ"
        out += [(c, i) for c in ("T" if flapped else letters)]
    return out


@functools.lru_cache(maxsize=None)
def known_word(g2p, word):
    return g2p(word) or ""


def word_letters(g2p, word, phones):
    """Returns the word as in hibari's lexicon if this has the same sounds as `phones`, otherwise by_rule()."""
    ruled = by_rule(phones)
    plain = [(c, i) for c, i in ruled if c not in "ˈˌ"]
    said = [c for c in known_word(g2p, word) if c not in " .,"]
    sounds = [c for c in said if c not in "ˈˌː"]
    fold = lambda letters: "".join(letters).translate(ALIKE).replace("ɪ", "ə")
    stress = any(p.endswith("1") for p in phones)
    if not said or fold(sounds) != fold(c for c, _ in plain) or stress != ("ˈ" in said):
        return ruled
    out, at = [], 0
    for c in said:
        out.append((c, plain[min(at, len(plain) - 1)][1]))
        at += c not in "ˈˌː"
    return out


def letters_of(g2p, tokens):
    """Converts a request's tokens to [(letter, symbol)], and returns the number of symbols. The letters before
    the first and after the last are the network's silence."""
    out, symbol, word, phones = [("", 0)], 0, None, []

    def say():
        nonlocal symbol, phones
        if phones:
            out.extend((c, symbol + i) for c, i in word_letters(g2p, word, tuple(phones)))
        symbol += len(phones)
        phones = []

    for token in tokens:
        if token[0] == "|" and len(token) > 1:
            say()
            if out[-1][0]:
                out.append((" ", symbol - 1 if out[-1][0] not in ",;:" else out[-1][1]))
            word = token[1:]
        elif token in ",;:.!?^":
            say()
            if token != "^":
                out.append((token, symbol))
            symbol += 1
        else:
            phones.append(token)
    out.append(("", symbol - 1))
    return out, symbol


def spectra_of_warped(lh, ln, lr, pulses, voiced):
    """Adapts the spectra to a pitch that differs from the network's, because the free-phase part still has the
    old pitch. In voiced frames its power is moved to the pulses and, increasingly with frequency, to noise."""
    hz = np.arange(lh.shape[0])[:, None] * RATE / dsp.N_FFT
    noisy = np.interp(hz, (0, 1500, 4000, 8000), (0, 0.1, 0.5, 0.8)).astype(np.float32)
    free = np.exp(2 * np.minimum(lr, 7)) * voiced
    drive = np.maximum(np.abs(pulses) ** 2, 1e-3)
    harmonic = np.exp(2 * np.minimum(lh, 7)) + free * (1 - noisy) / np.maximum(drive, 0.25)
    noise = np.exp(2 * np.minimum(ln, 7)) + free * noisy / 2
    unvoiced = np.where(voiced, -20.0, lr)
    return 0.5 * np.log(harmonic), 0.5 * np.log(noise), unvoiced


class Voice:
    def __init__(self, throat, half_tones):
        self.throat = throat / 100
        self.pitch = 2 ** (half_tones / 12) / self.throat  # relative to the network's, before stretching
        self.network, self.g2p = open_network(), G2P(british=False)
        self.vocabulary = hibari.Hibari(g2p=self.g2p).vocab

    def speak(self, speed, letters, count, pauses, rise):
        """Returns samples, ends [count] in s, and pitch (200 a second). `pauses`: the symbols of the pauses
        inside the sentence. `rise`: the symbol of the vowel from which the pitch rises, or None."""
        letters = [(c, s) for c, s in letters if not c or c in self.vocabulary]
        ids = [self.vocabulary[c] if c else 0 for c, _ in letters]
        # A longer throat plays the samples more slowly, so the network must speak faster.
        lh, th, ln, lr, phi, f0, units = self.network.run(
            None, {"ids": np.array([ids], np.int64), "speed": np.array([speed / self.throat], np.float32)})
        lh, th, ln, lr, phi, f0 = (x[0] for x in (lh, th, ln, lr, phi, f0))
        f0 = np.where(f0 > VOICED_HZ, f0 * self.pitch, 0).astype(np.float32)
        ends = np.zeros(count)
        for (_, symbol), end in zip(letters, np.cumsum(units)):
            ends[symbol] = end * FRAMES
        ends, bent = np.maximum.accumulate(ends), np.full(len(f0), abs(np.log(self.pitch)) > 0.02)
        if rise is not None and (f0 > 0).any():
            last = last_voiced(f0, lh, lr)
            f0, bent = raised(f0, np.clip(ends[rise - 1], last - LONGEST_RISE, last - SHORTEST_RISE), last)
        if bent.any():
            pulses = dsp.stft(dsp.pulses(f0), lh.shape[1])
            lh, ln, lr = spectra_of_warped(lh, ln, lr, pulses, (bent & (f0 > 0))[None])
        samples = dsp.synth(lh, th, ln, lr, phi, f0, np.random.default_rng(len(ids)))
        if self.throat != 1:
            samples = stretched(samples, self.throat)
        samples = samples * min(1, PEAK / max(1e-3, np.abs(samples).max()))
        ends *= HOP / RATE / self.throat
        fit_pauses(ends, pauses, samples)
        at = np.arange(int(len(samples) / RATE * PITCH_RATE)) / PITCH_RATE * self.throat * RATE / HOP
        track = f0[np.minimum(at.astype(int), len(f0) - 1)] * self.throat
        return samples.astype(np.float32), np.maximum.accumulate(ends).astype(np.float32), track.round().astype(np.int32)


def quiet_blocks(samples):
    """Returns which 5 ms blocks of the samples are silent: 40 dB softer than the loudest block."""
    size = RATE // PITCH_RATE
    blocks = samples[: len(samples) // size * size].reshape(-1, size)
    level = np.sqrt((blocks ** 2).mean(1))
    return level < 0.01 * level.max(initial=1e-6)


def fit_pauses(ends, pauses, samples):
    """Moves the ends of pauses, and of the phones before them, to where the silence is, because the network
    assigns part of a pause to its neighbours. Does not move a pause inside the sentence with less than 30 ms of
    silence."""
    quiet = quiet_blocks(samples)
    sounding = np.flatnonzero(~quiet)
    if not len(sounding):
        return
    ends[0] = sounding[0] / PITCH_RATE
    ends[-1] = len(samples) / RATE
    ends[-2] = max((sounding[-1] + 1) / PITCH_RATE, ends[0])
    for at in pauses:
        first = int((ends[at - 2] if at > 1 else 0) * PITCH_RATE)
        last = min(int(ends[at + 1] * PITCH_RATE), len(quiet))
        edges = np.flatnonzero(np.diff(np.r_[0, quiet[first:last], 0]))
        runs = edges.reshape(-1, 2)
        if len(runs):
            begin, end = runs[(runs[:, 1] - runs[:, 0]).argmax()] + first
            if end - begin >= 6:
                ends[at - 1], ends[at] = begin / PITCH_RATE, end / PITCH_RATE


def last_voiced(f0, lh, lr):
    """Returns the last frame that is voiced and at most 40 dB softer than the loudest frame."""
    power = np.exp(2 * np.minimum(lh, 7)).sum(0) + np.exp(2 * np.minimum(lr, 7)).sum(0)
    heard = (f0 > 0) & (power > power.max() * 1e-4)
    return np.flatnonzero(heard)[-1] if heard.any() else len(f0) - 1


def raised(f0, start, end):
    """Returns the pitch of a yes-no question: between the frames `start` and `end` it rises to 1.45 times the
    usual pitch."""
    usual = np.median(f0[f0 > 0])
    x = np.clip((np.arange(len(f0)) - start) / max(end - start, 1), 0, 1)
    target = usual * (0.95 + 0.5 * x * x)
    blend = np.clip((np.arange(len(f0)) - start + 4) / 4, 0, 1)  # a transition of 50 ms
    return np.where(f0 > 0, f0 ** (1 - blend) * np.maximum(target, 1) ** blend, 0).astype(np.float32), blend > 0


def stretched(samples, throat):
    """Returns the samples played at `throat` times their rate."""
    return resample_poly(samples, 100, round(throat * 100))


def vowel_of_rise(tokens, count):
    """Returns the symbol of the last stressed vowel, from which a yes-no question rises."""
    symbols = [t for t in tokens if len(t) == 1 or t[0] != "|"]
    stressed = [i for i, t in enumerate(symbols) if t.endswith("1")]
    return stressed[-1] if stressed else count - 2


def main(warp):
    voice = Voice(*map(float, warp.split(":")))
    for line in sys.stdin:
        speed, *tokens = line.split()
        rising = tokens[-1] == "/"
        tokens = tokens[: len(tokens) - rising]
        letters, count = letters_of(voice.g2p, tokens)
        pauses = sorted({s for c, s in letters if c and c in ",;:"})
        rise = vowel_of_rise(tokens, count) if rising else None
        for values in voice.speak(float(speed), letters, count, pauses, rise):
            sys.stdout.buffer.write(np.int32(len(values)).tobytes() + values.tobytes())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
