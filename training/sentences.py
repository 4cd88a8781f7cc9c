"""Writes the training sentences: prose in the public domain, and templates of sentences that assistants say.

    python3 sentences.py OUT_DIR      -> OUT_DIR/train.TEACHER.txt for each teacher,
                                         OUT_DIR/heldout.txt, OUT_DIR/stop.txt

The prose is that of Debian packages in the public domain: the Jargon File (dict-jargon), the Devil's Dictionary
(dict-devil), the King James Bible (bible-kjv). The word list (wamerican) gives chains of words that cover rare
sequences of sounds. Training never uses held-out prose, and its list has no held-out template sentence.
"""
import gzip
import math
import random
import re
import subprocess
import sys
from pathlib import Path

from corpus import VOICES
from templates import make_sentence, SHORT

# Words that a friendly voice need not speak, and that test sentences should not contain.
UNWANTED = re.compile(
    r"\b(fuck|shit|damn|hell\b|whore|negro|nigg|jew|rape|slut|bitch|cunt|bastard|crap|"
    r"sex|breast|kill|slave|savage|luser|piss|ass\b|bugger|screw)", re.I)
# Numbers of each teacher's sentences. All teachers speak the SHARED ones; one teacher speaks each other one.
LINES = dict(zip(VOICES["teachers"], VOICES["lines"]))
SHARED = 600
PLAIN = 0.6                  # share of the sentences at the teacher's own speed
SPEEDS = (0.6, 1.75)         # range of the other speeds, even on a logarithmic scale
COUNTS = {"jargon": 3030, "devil": 1730, "bible": 4300, "words": 3500, "templates": 9300}
HELDOUT = {"jargon": 12, "devil": 6, "bible": 4, "templates": 28}
STOP = {"jargon": 60, "devil": 20, "bible": 20, "templates": 100}


def dict_sentences(name):
    """Returns the sentences of a dict database in the dictd format, one string each."""
    text = gzip.open(f"/usr/share/dictd/{name}.dict.dz", "rt", encoding="utf-8").read()
    text = text[text.find("\n\n\n"):]
    out = []
    for paragraph in re.split(r"\n\s*\n", text):
        joined = " ".join(line.strip() for line in paragraph.split("\n"))
        joined = re.sub(r"^[A-Z' -]+, [a-z. ]+\.\s+", "", joined)  # removes a headword of the dictionary
        joined = re.sub(r"[{}_*]", "", joined).replace("’", "'").replace("‘", "'")
        joined = re.sub(r"[“”\"]", "", joined).replace(" -- ", ", ")
        joined = re.sub(r"\s+", " ", joined)
        out += re.split(r"(?<=[a-z]{3}[.!?])\s+(?=[A-Z])", joined)
    return out


def bible_sentences():
    run = subprocess.run(["bible", "-f"], input="Gen1:1-Rev22:21\n", text=True,
                         capture_output=True, check=True)
    lines = re.findall(r"^\S+?\d+:\d+ (.*)$", run.stdout, re.M)
    return [re.sub(r"[()\[\]]", "", line).rstrip(":;,") for line in lines]


def word_chains(rng, count):
    words = [w for w in Path("/usr/share/dict/words").read_text().split()
             if re.fullmatch(r"[a-z]{3,11}", w) and not UNWANTED.search(w)]
    chains = []
    for _ in range(count):
        n = rng.randint(3, 8)
        picked = [rng.choice(words) for _ in range(n)]
        if n > 4 and rng.random() < 0.6:
            picked[n // 2] += ","
        chains.append(" ".join(picked).capitalize() + rng.choice([".", ".", ".", "?"]))
    return chains


def usable(sentence):
    return (12 <= len(sentence) <= 125 and re.fullmatch(r"[A-Za-z0-9 ,.;:'?!-]+", sentence)
            and re.match(r"[A-Z]", sentence) and sentence[-1] in ".?!"
            and len(sentence.split()) >= 3 and not UNWANTED.search(sentence)
            and not re.search(r"[A-Z]{4,}|\.\.|[a-z]\.[a-z]| [.,]", sentence))


def prose(rng):
    pools = {"jargon": dict_sentences("jargon"), "devil": dict_sentences("devil"),
             "bible": [s if s[-1:] in ".?!" else s + "." for s in bible_sentences()]}
    for name, pool in pools.items():
        kept = sorted({s.strip() for s in pool if usable(s.strip())})
        rng.shuffle(kept)
        pools[name] = kept
    return pools


def with_speed(rng, sentence):
    if rng.random() < PLAIN:
        return sentence
    low, high = (math.log(s) for s in SPEEDS)
    return f"{math.exp(rng.uniform(low, high)):.3f}\t{sentence}"


def deal(rng, lines, out):
    """Writes each teacher's share of the training sentences, with speeds, to train.TEACHER.txt."""
    shared, lines = lines[:SHARED], lines[SHARED:]
    for teacher, count in LINES.items():
        own = count - SHARED - len(SHORT)
        taken, lines = lines[:own], lines[own:]
        taken = [with_speed(rng, s) for s in shared + SHORT + taken]
        rng.shuffle(taken)
        (out / f"train.{teacher}.txt").write_text("\n".join(taken) + "\n")
        print(f"train.{teacher}: {len(taken)} sentences")


def main(out_dir):
    rng = random.Random(20)
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    pools = prose(rng)
    templates = []
    seen = set()
    while len(templates) < COUNTS["templates"] + HELDOUT["templates"] + STOP["templates"]:
        sentence = make_sentence(rng)
        if sentence not in seen:
            seen.add(sentence)
            templates.append(sentence)
    pools["templates"] = templates
    for name, wanted in (("heldout", HELDOUT), ("stop", STOP), ("train", COUNTS)):
        lines = []
        for source, count in wanted.items():
            if source == "words":
                lines += word_chains(rng, count)
                continue
            lines += pools[source][:count]
            pools[source] = pools[source][count:]
        rng.shuffle(lines)
        if name == "train":
            deal(rng, lines, out)
        else:
            (out / f"{name}.txt").write_text("\n".join(lines) + "\n")
            print(f"{name}: {len(lines)} sentences")


if __name__ == "__main__":
    main(sys.argv[1])
