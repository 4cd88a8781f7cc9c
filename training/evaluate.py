"""Measures a voice in PyTorch against its teachers on sentences that it never heard.

    python3 evaluate.py VOICE_DIR SPOKEN_DIR [--temperature T] [--report REPORT.html] [--limit N]
                        [--speakers finch,raven,...] [--by-word]

SPOKEN_DIR holds what synth wrote of heldout.txt and stop.txt: 310 sentences of each teacher.
--by-word: the phrases are heard as if the text arrived word by word. The report is one file with tables, recordings to play and
spectrograms. What the recogniser hears of the teachers is kept in SPOKEN_DIR/heard.json.
training/evaluate_server.py measures the real program.
"""
import argparse
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import codec
import hear
import lm
import measure
import report
from corpus import SPEAKERS, TEACHERS, load_sentences
from infer import speak_codes, symbols_of
from voice_file import from_tensors, read_safetensors

SHOWN = (0, 3, -1)  # held-out sentences in the report


def speak(voice, records, mix, temperature=0.4, speed=1.0, seed=1, by_word=False):
    """-> (samples per sentence, pointer paths, which ended)."""
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


def one_speaker(index):
    return F.one_hot(torch.tensor(index), SPEAKERS).float()


def spoken(stem):
    """(records, samples of each)."""
    records, pcm = load_sentences(stem)
    return records, [pcm[r["offset"] : r["offset"] + r["samples"]] / 32768.0 for r in records]


def sentences_of(folder, teacher, limit=None):
    """All that a voice is measured on."""
    both = [spoken(Path(folder) / f"{part}.{teacher}") for part in ("heldout", "stop")]
    records, waves = both[0][0] + both[1][0], both[0][1] + both[1][1]
    step = -(-len(records) // limit) if limit else 1
    return records[::step], waves[::step]


def teacher_words(folder, teacher, texts, waves):
    """(word error rate, sentences heard exactly) of a teacher, from a file where it is known."""
    path = Path(folder) / "heard.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    key = f"{teacher} {len(texts)}"
    if key not in known:
        known[key] = hear.word_error_rate(texts, waves)
        path.write_text(json.dumps(known))
    return known[key]


def measure_speaker(voice, index, folder, temperature, limit, by_word):
    """All figures of one speaker as a dict, and (text, teacher's samples, own samples) to show."""
    teacher = list(TEACHERS)[index]
    records, teacher_waves = sentences_of(folder, teacher, limit)
    texts = [r["text"] for r in records]
    made, _, ended = speak(voice, records, one_speaker(index), temperature, by_word=by_word)
    rate, exact = hear.word_error_rate(texts, made)
    base, base_exact = teacher_words(folder, teacher, texts, teacher_waves)
    lengths = np.array([len(m) / len(t) for m, t in zip(made, teacher_waves)])
    level = np.array([measure.loudness(w) for w in made])
    leads = np.array([measure.lead(w) for w in made])
    border, inside = measure.seams(made)
    figures = {
        "word errors %": 100 * rate, "teacher's %": 100 * base, "ratio": rate / base,
        "exact": f"{exact} ({base_exact}) of {len(texts)}",
        "ended": f"{sum(ended)} of {len(ended)}",
        "longest / teacher": lengths.max(),
        "length / teacher": f"{lengths.mean():.3f} +- {lengths.std():.3f}",
        "lead ms": f"{1000 * leads.mean():.0f} (most {1000 * leads.max():.0f})",
        "LUFS": f"{level.mean():.1f} +- {level.std():.1f}",
        "flux at / inside chunks": f"{border:.3f} / {inside:.3f}",
    }
    for speed in (0.7, 1.4):
        fast, _, _ = speak(voice, records[:20], one_speaker(index), temperature, speed)
        figures[f"length at {speed}"] = np.mean(
            [len(f) / len(m) * speed for f, m in zip(fast, made)])
    shown = [(texts[i], teacher_waves[i], made[i]) for i in SHOWN]
    return figures, shown


def main():
    args = argparse.ArgumentParser()
    args.add_argument("voice")
    args.add_argument("spoken")
    args.add_argument("--temperature", type=float, default=0.4)
    args.add_argument("--report")
    args.add_argument("--limit", type=int)
    args.add_argument("--by-word", action="store_true")
    args.add_argument("--speakers", default=",".join(TEACHERS.values()))
    args = args.parse_args()
    torch.set_num_threads(1)
    voice = from_tensors(read_safetensors(Path(args.voice) / "model.safetensors"))
    figures, shown = {}, {}
    for name in args.speakers.split(","):
        index = list(TEACHERS.values()).index(name)
        figures[name], shown[name] = measure_speaker(voice, index, args.spoken, args.temperature,
                                                     args.limit, args.by_word)
        print(name, ", ".join(f"{k}: {report.shown(v)}" for k, v in figures[name].items()),
              flush=True)
    if args.report:
        report.write(args.report, figures, shown)
        print(args.report)


if __name__ == "__main__":
    main()
