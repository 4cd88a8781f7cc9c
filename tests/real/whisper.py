"""Tests Whisper with its trained weights: Syrinx beside faster-whisper, and each kind of weights beside f32.

Both read the same files of recordings.py, use one beam at temperature 0 and report the times of words. Answers of
faster-whisper are cached by the recording's SHA-256, so a second run is quicker.
"""
import hashlib
import json
import subprocess
import tempfile
import time

import fetch
import models
from words import errors, words

KINDS = ("bf16", "q8", "q8a8")  # for Whisper, q4 and mixed are the same as q8
NEAR_S = 0.021                  # 20 ms, one step of a timestamp, plus tolerance


def reference(name, directory, recordings, threads):
    """Returns faster-whisper's answers in float32, by recording."""
    place = fetch.cache() / "references" / f"whisper-{name}.json"
    known = json.loads(place.read_text()) if place.is_file() else {}
    model = None
    for each in recordings:
        key = hashlib.sha256(each.path.read_bytes()).hexdigest()
        if known.get(each.name, {}).get("sha256") != key:
            if model is None:
                from faster_whisper import WhisperModel
                model = WhisperModel(str(directory), device="cpu", compute_type="float32", cpu_threads=threads)
            segments, info = model.transcribe(str(each.path), beam_size=1, best_of=1, temperature=[0.0], word_timestamps=True)
            segments = [dict(start=s.start, end=s.end, text=s.text, words=[(w.word, w.start, w.end) for w in s.words])
                        for s in segments]
            known[each.name] = dict(sha256=key, language=info.language, segments=segments)
            place.parent.mkdir(exist_ok=True)
            place.write_text(json.dumps(known, ensure_ascii=False))
    return known


def transcribe(syrinx, directory, recordings, weights, threads):
    """Returns Syrinx's answers by recording, and the total seconds."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        subprocess.run([syrinx, "transcribe", "-m", directory, "--weights", weights, "--words", "--no-fallback", "-q",
                        "--threads", str(threads), "--format", "json", "-o", folder, *(each.path for each in recordings)],
                       check=True)
        seconds = time.monotonic() - began
        answers = {}
        for each in recordings:
            with open(f"{folder}/{each.name}.json", encoding="utf-8") as file:
                answers[each.name] = json.load(file)
    return answers, seconds


def text_of(answer):
    return "".join(segment["text"] for segment in answer["segments"]).strip()


def near(a, b):
    return abs(a - b) < NEAR_S


def parity(ours, theirs):
    """Returns which parts of a result equal faster-whisper's."""
    same = dict(text=text_of(ours) == text_of(theirs), segments=False, words=0, timed=0)
    if not same["text"]:
        return same
    pairs = list(zip(ours["segments"], theirs["segments"]))
    same["segments"] = len(ours["segments"]) == len(theirs["segments"]) and all(
        near(a["start"], b["start"]) and near(a["end"], b["end"]) for a, b in pairs)
    heard = [word for segment in theirs["segments"] for word in segment["words"]]
    same["words"] = len(heard)
    same["timed"] = sum(near(a["start"], start) and near(a["end"], end)
                        for a, (_, start, end) in zip(ours.get("words", []), heard))
    return same


def run(syrinx, name, recordings, threads, say):
    directory = models.whisper(name)
    if name.endswith(".en"):
        recordings = [each for each in recordings if each.language in ("en", "")]
    say(f"whisper {name}: {len(recordings)} recordings, {sum(each.seconds() for each in recordings) / 60:.0f} minutes; "
        "faster-whisper first")
    theirs = reference(name, directory, recordings, threads)
    shorter = [each for each in recordings if each.seconds() < 300]  # enough to distinguish kinds of weights
    kinds = {}
    for weights in ("f32",) + KINDS:
        say(f"whisper {name}: syrinx --weights {weights}")
        kinds[weights] = transcribe(syrinx, directory, recordings if weights == "f32" else shorter, weights, threads)
    result = dict(recordings=[], kinds={}, seconds=sum(each.seconds() for each in recordings))
    for each in recordings:
        same = parity(kinds["f32"][0][each.name], theirs[each.name])
        result["recordings"].append(dict(
            name=each.name, kind=each.kind, language=each.language, seconds=each.seconds(), **same,
            ours=text_of(kinds["f32"][0][each.name]), theirs=text_of(theirs[each.name])))
    for weights, (answers, seconds) in kinds.items():
        row = dict(seconds=seconds, wrong=0, words=0, wrong_said=0, words_said=0, equal=0, invented=0)
        for each in shorter:
            text, exact = text_of(answers[each.name]), text_of(kinds["f32"][0][each.name])
            row["equal"] += text == exact
            if not each.language:
                row["invented"] += len(words(text))
                continue
            wrong, count = errors(text, exact)
            row["wrong"], row["words"] = row["wrong"] + wrong, row["words"] + count
            if each.text:
                wrong, count = errors(text, each.text)
                row["wrong_said"], row["words_said"] = row["wrong_said"] + wrong, row["words_said"] + count
        result["kinds"][weights] = row
    return result


def faults(result):
    """Returns the faults that make a run of the suite fail."""
    spoken = [each for each in result["recordings"] if each["language"]]
    differ = [each["name"] for each in spoken if not each["text"]]
    found = []
    if len(differ) > len(spoken) // 10:
        found.append(f"other texts than faster-whisper's in f32: {', '.join(differ)}")
    q8 = result["kinds"]["q8"]
    if q8["wrong"] > 0.05 * q8["words"]:
        found.append(f"q8 changes {q8['wrong']} of {q8['words']} words")
    return found
