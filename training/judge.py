"""Judges speech by two models: the words that Whisper transcribes wrongly, and DNSMOS.

    python3 judge.py STEM...     # the first 60 sentences of synth's files STEM.pcm and STEM.jsonl

Needs the packages faster-whisper (WHISPER is the folder of a model; without it, `base` is downloaded),
speechmos and librosa. Without them, `available` is false, and evaluate.py measures the rest.

Waves have a rate of 16 kHz.
"""
import os
import sys

import numpy as np

import hear

HEARD_RATE = 16000
SECONDS = 9.01  # length of DNSMOS's input
# Samples of 40 ms and of 10 ms. DNSMOS uses the maximum of features on a grid of 40 ms, and repeats short sentences. A
# sentence of whole 40 ms frames (finch) meets the grid in one way only. Others meet it in four ways, and get up to 0.18
# more (P.808).
GRID, OFF_GRID = 640, 160


def available():
    try:
        import faster_whisper  # noqa: F401
        import speechmos.dnsmos  # noqa: F401
    except ImportError:
        return False
    return True


def spoken_words(text):
    """Returns the words of a text in the form in which both texts are compared: lower case, without marks,
    spelled as spoken."""
    return hear.words(text.replace("-", " ").replace("’", "'"))


def whisper_errors(texts, waves):
    """Returns (number of wrong words, number of words)."""
    import faster_whisper
    model = faster_whisper.WhisperModel(os.environ.get("WHISPER", "base"), device="cpu",
                                        compute_type="float32", cpu_threads=1)
    wrong = 0
    for text, wave in zip(texts, waves):
        said = model.transcribe(np.asarray(wave, np.float32), language="en", beam_size=1, temperature=0,
                                condition_on_previous_text=False, without_timestamps=True)[0]
        wrong += hear.errors(spoken_words(text), spoken_words(" ".join(s.text for s in said)))
    return wrong, sum(len(spoken_words(t)) for t in texts)


def dnsmos(waves):
    """Returns the means of (overall, signal, background, P.808): DNSMOS P.835 and P.808, 1 to 5."""
    from speechmos import dnsmos as judge
    rows = []
    for wave in waves:
        heard = np.pad(np.asarray(wave, np.float32), (0, -len(wave) % GRID + OFF_GRID))
        heard = np.tile(heard, int(np.ceil(SECONDS * HEARD_RATE / len(heard))))
        said = judge.run(np.clip(heard, -1, 1), HEARD_RATE)
        rows.append([said[k] for k in ("ovrl_mos", "sig_mos", "bak_mos", "p808_mos")])
    return np.mean(rows, 0)


def judged(texts, waves):
    """Returns the figures of one line of the report as a dict."""
    wrong, total = whisper_errors(texts, waves)
    overall, signal, _, p808 = dnsmos(waves)
    return {"Whisper: wrong words": f"{wrong} of {total}", "Whisper %": 100 * wrong / total,
            "DNSMOS overall": overall, "DNSMOS signal": signal, "DNSMOS P.808": p808}


def main(stems):
    from corpus import RATE, load_sentences
    from scipy.signal import resample_poly
    for stem in stems:
        records, pcm = load_sentences(stem)
        waves = [resample_poly(pcm[r["offset"] : r["offset"] + r["samples"]] / 32768.0, HEARD_RATE, RATE)
                 for r in records[:60]]
        figures = judged([r["text"] for r in records[:60]], waves)
        print(stem, ", ".join(f"{k} {v if isinstance(v, str) else round(float(v), 2)}" for k, v in figures.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
