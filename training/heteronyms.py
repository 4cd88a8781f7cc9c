#!/usr/bin/env python3
"""Learns to decide by the neighbouring words whether a word is a noun, a verb or an adjective, for words with
one spelling and several pronunciations. Writes src/text/english/tables/heteronym_weights.txt.

    apt-get install wordnet-base python3-numpy python3-scipy
    python3 training/heteronyms.py [FOLDER OF WORDNET]

The examples are those of WordNet 3.0 (voices/wren/LICENSE has its notice, as it requires): in the glosses of a
synset of verbs, its words are verbs. The weights do not depend on the word itself, so all examples serve for
all words. cntlist.rev has the frequencies of each word's meanings. A tenth of the examples is held out.
"""
import collections
import os
import re
import sys

import numpy as np
from scipy import sparse

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet"
OUT = os.path.join(os.path.dirname(__file__), "../src/text/english/tables/heteronym_weights.txt")
KINDS = ("noun", "verb", "adj")
SCALE = 16          # weights are stored as integers, in 16ths
FEATURES = 1800     # number of features kept
WORDS = """object record minute present content use close bow wound dove polish read lead live wind tear
conduct conflict contest contract contrast convert convict desert digest discount escort export extract import
insert insult invalid perfect permit produce progress project protest rebel refund refuse reject separate estimate
graduate moderate deliberate alternate duplicate delegate intimate animate advocate associate subject suspect
survey transfer transport upset excuse abuse house row sow increase decrease attribute console combine compound
compress decrease incline""".split()


def tokens(text):
    return re.findall(r"[a-z]+(?:'[a-z]+)?|[,;:]", text.lower())


def features(words, at):
    """Returns the features that heteronyms.cc uses, in its words."""
    get = lambda i: "^" if i < 0 else "$" if i >= len(words) else words[i]
    p1, p2, n1 = get(at - 1), get(at - 2), get(at + 1)
    out = ["p " + p1, "q " + p2, "n " + n1, "b " + p2 + "_" + p1, "e " + p1[-2:], "f " + n1[-2:]]
    if words[at].endswith("s"):
        out.append("s")
    return out


def examples():
    for kind, name in enumerate(KINDS):
        for line in open(os.path.join(FOLDER, "data." + name), encoding="ascii", errors="replace"):
            if line.startswith(" "):
                continue
            fields, gloss = line.split("|", 1)
            fields = fields.split()
            lemmas = {fields[4 + 2 * i].lower() for i in range(int(fields[3], 16))}
            for example in re.findall(r'"([^"]+)"', gloss):
                words = tokens(example)
                for at, word in enumerate(words):
                    if len(words) > 2 and (word in lemmas or (kind < 2 and word[:-1] in lemmas and word[-1] == "s")):
                        yield words, at, kind


def priors():
    counts = collections.defaultdict(lambda: [1.0, 1.0, 1.0])
    for line in open(os.path.join(FOLDER, "cntlist.rev")):
        key, _, count = line.split()
        word, sense = key.split("%")
        kind = {"1": 0, "2": 1, "3": 2, "5": 2}.get(sense[0])
        if word in WORDS and kind is not None:
            counts[word][kind] += int(count)
    return counts


def main():
    data = list(examples())
    order = np.random.default_rng(1).permutation(len(data))
    count = collections.Counter(f for words, at, _ in data for f in set(features(words, at)))
    names = [f for f, n in count.items() if n >= 4]
    ids = {f: i for i, f in enumerate(names)}
    rows, columns = [], []
    for row, (words, at, _) in enumerate(data):
        for f in set(features(words, at)):
            if f in ids:
                rows.append(row)
                columns.append(ids[f])
    x = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(data), len(names)))
    y = np.array([kind for _, _, kind in data])
    train, held = order[len(order) // 10:], order[:len(order) // 10]
    share = np.bincount(y[train], minlength=3) / len(train)
    balance = (1 / share)[y[train]][:, None] / 3  # a word's own shares follow from its counts

    def fit(x_train, steps=300):
        w = np.zeros((x_train.shape[1], 3))
        m, v = np.zeros_like(w), np.zeros_like(w)
        truth = np.eye(3)[y[train]]
        for step in range(1, steps + 1):
            z = x_train @ w
            p = np.exp(z - z.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            g = x_train.T @ ((p - truth) * balance) / len(train) + 3e-5 * w
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            w -= 0.05 * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.99 ** step)) + 1e-8)
        return w

    w = fit(x[train])
    worth = np.abs(w - w.mean(1, keepdims=True)).max(1) * np.sqrt([count[f] for f in names])
    kept = np.sort(np.argsort(-worth)[:FEATURES])
    w = fit(x[train][:, kept])
    w = np.round((w - w.mean(1, keepdims=True)) * SCALE).astype(int)
    right = (np.argmax(x[held][:, kept] @ w, 1) == y[held])
    print(f"{len(data)} examples, {len(kept)} features; held out: {100 * right.mean():.1f} % right, "
          + ", ".join(f"{k} {100 * right[y[held] == i].mean():.1f} %" for i, k in enumerate(KINDS)))
    with open(OUT, "w", encoding="ascii") as file:
        file.write("# Made by training/heteronyms.py from WordNet 3.0: words beside a heteronym, and their weights for a noun, a verb\n"
                   "# and an adjective, in 16ths. Sorted.\n")
        for name, row in sorted((names[k], w[i]) for i, k in enumerate(kept)):
            if np.abs(row).max() > 1:
                file.write(f"{name} {row[0]} {row[1]} {row[2]}\n")
    for word, counts in sorted(priors().items()):
        share = np.log(np.array(counts) / sum(counts))
        print(word, [int(round(SCALE * s)) for s in share - share.mean()])


if __name__ == "__main__":
    main()
