"""Words and short definitions from WordNet 3.0 (Debian's wordnet-base)."""
import collections
import os
import re
import zlib

FOLDER = os.environ.get("WORDNET", "/usr/share/wordnet")


def _lines(name):
    with open(os.path.join(FOLDER, name), encoding="ascii", errors="replace") as file:
        return [line for line in file if not line.startswith(" ")]


def definitions(wanted):
    """Returns {word: gloss} for the first senses of these nouns, if the gloss is short and works after "a"."""
    glosses = {}
    for line in _lines("data.noun"):
        fields, gloss = line.split("|", 1)
        glosses[fields[:8]] = gloss.split(";")[0].strip()
    out = {}
    for line in _lines("index.noun"):
        fields = line.split()
        if fields[0] in wanted:
            out[fields[0]] = glosses[fields[-int(fields[2])]]
    fit = re.compile(r"(an? |the |someone |one |any )[a-z' -]+")
    missing = [w for w in wanted if not fit.fullmatch(out.get(w, "")) or len(out[w].split()) > 10]
    assert not missing, f"these have no short definition: {missing}"
    return {word: out[word] for word in wanted}


def words(kind, least, pattern="[a-z]{2,10}"):
    """Returns words of a kind (1 noun, 2 verb, 3 adjective) that occur at least `least` times in WordNet's
    texts, most frequent first."""
    counts = collections.Counter()
    for line in _lines("cntlist.rev"):
        key, _, count = line.split()
        word, sense = key.split("%")
        if (sense[0] == str(kind) or (kind == 3 and sense[0] == "5")) and re.fullmatch(pattern, word):
            counts[word] += int(count)
    return [word for word, count in sorted(counts.items(), key=lambda e: (-e[1], e[0])) if count >= least]


def held_out(*value):
    """Returns whether a value (a word, a pair of numbers, a duration) is held out for the evaluation: one of
    12."""
    return zlib.crc32(repr(value).encode()) % 12 == 0
