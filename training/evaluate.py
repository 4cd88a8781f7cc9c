"""Compares a voice, run in PyTorch, with its teachers on sentences that are not in its training data.

    python3 evaluate.py VOICE_DIR SPOKEN_DIR [--temperature T] [--report REPORT.html] [--limit N]
                        [--speakers finch,raven,...] [--by-word] [--seed N] [--encoder FILE]
                        [--before VOICE_DIR]

SPOKEN_DIR has the files that synth wrote for heldout.txt and stop.txt: 310 sentences of each teacher.
--by-word: the phrase classes are those of text that arrives word by word. --encoder (encoder.safetensors): also
counts the word errors of the teacher's own codes through the decoder, to separate the losses of codec and
speech LM. The report is one file with tables, recordings to play and spectrograms. --before adds those of
another voice folder, the previous voice. If judge.py finds its packages, Whisper and DNSMOS judge the first 60
sentences of voice and teacher. SPOKEN_DIR/heard.json keeps the recogniser's text of the teachers.
training/evaluate_server.py measures the real program.
"""
import argparse
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from scipy.fft import dct
from scipy.signal import resample_poly

import codec
import hear
import judge
import lm
import measure
import recordings
import report
import voicing
from corpus import FRAME, MELS, RATE, SPEAKERS, TEACHERS, load_sentences, log_mel, pointer_path
from infer import speak_codes, symbols_of
from voice_file import encoder_of, from_folder

SHOWN = (0, 3, -1)  # indices of the held-out sentences in the report
JUDGED = 60         # number of sentences that Whisper and DNSMOS judge


def speak(voice, records, mix, temperature=0.4, speed=1.0, seed=1, by_word=False):
    """Returns (samples per sentence, pointer paths, whether each sentence ended)."""
    speech_lm, decoder, books = voice
    phrases = [lm.near_phrases(r["phrase"], r["word"]) if by_word else r["phrase"] for r in records]
    texts = [lm.Text(r["phone"], phrase, r["place"]) for r, phrase in zip(records, phrases)]
    codes, paths, ended = speak_codes(speech_lm, texts, mix, speed, (temperature,) * codec.BOOKS,
                                      seed)
    waves = []
    for text, code, path in zip(texts, codes, paths):
        z = sum(books[b][code[:, b]] for b in range(codec.BOOKS))
        waves.append(codec.decode(decoder, z, symbols_of(text, path[: len(code)]), mix)
                     .clamp(-1, 1).numpy())
    return waves, paths, ended


@torch.no_grad()
def through_codes(voice, encoder, record, wave, index):
    """Returns a teacher's sentence after encoder, codes and decoder."""
    _, decoder, books = voice
    frames = -(-record["samples"] // FRAME)
    padded, pitch = torch.zeros(frames * FRAME), torch.zeros(frames * 4)
    padded[: len(wave)] = torch.tensor(wave, dtype=torch.float32)
    track = torch.tensor(record["pitch"][: frames * 4])
    pitch[: len(track)] = track
    phone = symbols_of(lm.Text(record["phone"], record["phrase"], record["place"]), pointer_path(record, frames))
    z = encoder(log_mel(padded)[None], pitch[None], torch.full((1, frames), index), phone[None])
    quantiser = codec.Quantiser()
    quantiser.books.copy_(books)
    return codec.decode(decoder, quantiser.decode(quantiser.encode(z))[0], phone, one_speaker(index)).clamp(-1, 1).numpy()


def one_speaker(index):
    return F.one_hot(torch.tensor(index), SPEAKERS).float()


def spoken(stem, teacher):
    """Returns (records, the samples of each record)."""
    records, pcm = load_sentences(stem, teacher)
    return records, [pcm[r["offset"] : r["offset"] + r["samples"]] / 32768.0 for r in records]


def sentences_of(folder, teacher, limit=None):
    """Returns all sentences on which a voice is measured."""
    both = [spoken(Path(folder) / f"{part}.{teacher}", teacher) for part in ("heldout", "stop")]
    records, waves = both[0][0] + both[1][0], both[0][1] + both[1][1]
    step = -(-len(records) // limit) if limit else 1
    return records[::step], waves[::step]


def word_errors(texts, waves):
    """Returns (word error rate, number of sentences without errors). Recordings are converted to 16 kHz."""
    return hear.word_error_rate(texts, at_16_khz(waves))


def at_16_khz(waves):
    return [resample_poly(w, 16000, RATE) if RATE != 16000 else w for w in waves]


def teacher_words(folder, teacher, texts, waves):
    """Returns (word error rate, number of sentences without errors) of a teacher. Reads them from a file if they
    have been measured before."""
    path = Path(folder) / "heard.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    key = f"{teacher} {len(texts)}"
    if key not in known:
        known[key] = word_errors(texts, waves)
        path.write_text(json.dumps(known))
    return known[key]


def judged(texts, made, teacher_waves):
    """Returns the figures of judge.py as voice / teacher; empty without its packages."""
    if not judge.available():
        return {}
    own, other = (judge.judged(texts[:JUDGED], at_16_khz(waves[:JUDGED])) for waves in (made, teacher_waves))
    both = lambda key: " / ".join(report.shown(figures[key]) for figures in (own, other))
    return {f"{key} (teacher)": both(key) for key in own}


def symbol_pitch(record, track, path=None):
    """Returns [symbols]: the mean ln Hz of the voiced steps of each symbol, nan without voiced steps. `path`:
    the symbol of each frame; without it, the times of the record are used."""
    step = 100 / RATE if path is None else None
    out = np.full(len(record["phone"]), np.nan)
    for symbol in range(len(out)):
        if path is None:
            first = record["end"][symbol - 1] if symbol else 0
            part = track[int(first * step) : int(record["end"][symbol] * step)]
        else:
            frames = np.flatnonzero(np.array(path) == symbol)
            part = track[frames[0] * 4 : frames[-1] * 4 + 4] if len(frames) else track[:0]
        if (part > 0).any():
            out[symbol] = np.log(part[part > 0]).mean()
    return out


def cepstral_distance(teacher, made):
    """Returns the dB between two recordings of a sentence after dynamic time warping: 10 / ln 10 * sqrt(2 sum
    (c - c')^2) of the cepstra 1 to 13 of ln mel magnitudes (R. Kubichek, 1993)."""
    where, _ = recordings.warp(recordings.cepstra(teacher), recordings.cepstra(made))
    a, b = (dct(recordings.mel_of(w), norm="ortho", axis=-1)[:, 1:14] / (2 * MELS) ** 0.5
            for w in (teacher, made))
    apart = a - b[np.clip(np.round(where).astype(int), 0, len(b) - 1)]
    return float((10 / np.log(10) * np.sqrt(2 * (apart**2).sum(-1))).mean())


def melody(records, paths, teacher_tracks, tracks):
    """Returns the correlation between the symbols' pitch and the teacher's pitch, over all sentences."""
    pairs = [(symbol_pitch(r, a), symbol_pitch(r, b, p))
             for r, p, a, b in zip(records, paths, teacher_tracks, tracks)]
    a, b = (np.concatenate(part) for part in zip(*pairs))
    both = np.isfinite(a) & np.isfinite(b)
    return float(np.corrcoef(a[both], b[both])[0, 1])


def sound(records, paths, teacher_waves, made, count=60):
    """Returns pitch, noise and spectrum of the first `count` sentences, beside the teacher's."""
    waves = {"teacher": teacher_waves[:count], "made": made[:count]}
    tracks = {who: [voicing.pitch(w) for w in waves[who]] for who in waves}
    both = lambda f, digits: " / ".join(f"{f(who):.{digits}f}" for who in ("made", "teacher"))
    hnr = lambda low, high: both(
        lambda who: voicing.harmonics_to_noise(waves[who][:15], tracks[who], low, high), 1)
    return {
        "F0 spread, half-tones (teacher)": both(lambda who: voicing.spread(tracks[who]), 2),
        "mel-cepstral distance, dB": float(np.mean(
            [cepstral_distance(*pair) for pair in zip(waves["teacher"][:20], waves["made"])])),
        "F0 correlation": melody(records[:count], paths, tracks["teacher"], tracks["made"]),
        "harmonics to noise 2-4 kHz, dB": hnr(2000, 4000),
        "harmonics to noise 4-8 kHz, dB": hnr(4000, 8000),
        "99 % of energy below, Hz": both(lambda who: voicing.energy_below(waves[who]), 0),
    }


def measure_speaker(voice, encoder, name, args):
    """Returns all figures of one speaker as a dict, and a list of (text, {title: samples}) for the report."""
    index = list(TEACHERS.values()).index(name)
    teacher = list(TEACHERS)[index]
    records, teacher_waves = sentences_of(args.spoken, teacher, args.limit)
    texts = [r["text"] for r in records]
    made, paths, ended = speak(voice, records, one_speaker(index), args.temperature, seed=args.seed, by_word=args.by_word)
    rate, exact = word_errors(texts, made)
    base, base_exact = teacher_words(args.spoken, teacher, texts, teacher_waves)
    total = hear.word_count(texts)
    lengths = np.array([len(m) / len(t) for m, t in zip(made, teacher_waves)])
    level = np.array([measure.loudness(w) for w in made])
    leads = np.array([measure.lead(w) for w in made])
    border, inside = measure.seams(made)
    figures = {
        "word errors %": 100 * rate, "teacher's %": 100 * base, "ratio": rate / base,
        "wrong words (teacher)": f"{rate * total:.0f} ({base * total:.0f}) of {total}",
        "exact": f"{exact} ({base_exact}) of {len(texts)}",
        "ended": f"{sum(ended)} of {len(ended)}",
        "longest / teacher": lengths.max(),
        "length / teacher": f"{lengths.mean():.3f} +- {lengths.std():.3f}",
        "lead ms": f"{1000 * leads.mean():.0f} (most {1000 * leads.max():.0f})",
        "LUFS": f"{level.mean():.1f} +- {level.std():.1f}",
        "flux at / inside chunks": f"{border:.3f} / {inside:.3f}",
    }
    if encoder:
        coded = [through_codes(voice, encoder, *row, index) for row in zip(records, teacher_waves)]
        figures["wrong words of its codes"] = round(word_errors(texts, coded)[0] * total)
    figures |= judged(texts, made, teacher_waves)
    figures |= sound(records, paths, teacher_waves, made)
    for speed in (0.7, 1.4):
        fast, _, _ = speak(voice, records[:20], one_speaker(index), args.temperature, speed)
        figures[f"length at {speed}"] = np.mean(
            [len(f) / len(m) * speed for f, m in zip(fast, made)])
    before = [None] * len(SHOWN)
    if args.before:
        before, _, _ = speak(from_folder(args.before), [records[i] for i in SHOWN], one_speaker(index),
                             args.temperature)
    shown = [(texts[i], {"teacher": teacher_waves[i], name: made[i], "the voice before": old})
             for i, old in zip(SHOWN, before)]
    return figures, shown


def main():
    args = argparse.ArgumentParser()
    args.add_argument("voice")
    args.add_argument("spoken")
    args.add_argument("--temperature", type=float, default=0.4)
    args.add_argument("--report")
    args.add_argument("--limit", type=int)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--encoder")
    args.add_argument("--before")
    args.add_argument("--by-word", action="store_true")
    args.add_argument("--speakers", default=",".join(TEACHERS.values()))
    args = args.parse_args()
    torch.set_num_threads(1)
    voice, encoder = from_folder(args.voice), args.encoder and encoder_of(args.encoder)
    figures, shown = {}, {}
    for name in args.speakers.split(","):
        figures[name], shown[name] = measure_speaker(voice, encoder, name, args)
        print(name, ", ".join(f"{k}: {report.shown(v)}" for k, v in figures[name].items()),
              flush=True)
    if args.report:
        report.write(args.report, figures, shown)
        print(args.report)


if __name__ == "__main__":
    main()
