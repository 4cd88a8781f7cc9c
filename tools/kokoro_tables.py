#!/usr/bin/env python3
"""Packs the tables by which Kokoro reads Japanese and Chinese into src/families/kokoro/lexicon.

    python3 -m venv VENV && VENV/bin/pip install --no-deps misaki==0.9.4 pypinyin==0.55.0 fugashi==1.5.2
    VENV/bin/python tools/kokoro_tables.py DICTIONARY src/families/kokoro/lexicon

DICTIONARY is a folder of UniDic for mecab. ja_words.gz: of misaki's list the words that mecab splits and short ones in kana; each is a byte for the
characters shared with the word before, one for the number of the others, and these in UTF-16. pinyin.gz: a line of syllables, the
number (two bytes) of each character's usual one from U+4E00 to U+9FFF, then the phrases in which a character has another: the size
of their characters in four bytes, the characters (half a byte each: shared, others), and the numbers. misaki is Apache-2.0,
pypinyin MIT.
"""
import gzip
import json
import pathlib
import sys

import fugashi
import misaki
import pypinyin
from pypinyin.contrib.tone_convert import to_tone3


def write(path, data):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(data)
    print(path, path.stat().st_size, "bytes")


def shared(word, before):
    count = 0
    while count < min(len(word), len(before)) and word[count] == before[count]:
        count += 1
    return count


def is_short(word):
    """Short words in hiragana are split in sentences even if not alone."""
    return len(word) <= 3 and all("ぁ" <= c <= "ー" for c in word)


def japanese(dictionary):
    tagger = fugashi.GenericTagger(f"-r /dev/null -d {dictionary}")
    path = pathlib.Path(misaki.__file__).parent / "data/ja_words.txt"
    listed = {line.strip() for line in path.open(encoding="utf-8")}
    words = sorted(w for w in listed if w and max(map(ord, w)) < 0x10000 and (is_short(w) or len(tagger(w)) > 1))
    out, before = bytearray(), ""
    for word in words:
        same = shared(word, before)
        out += bytes([same, len(word) - same]) + word[same:].encode("utf-16-be")
        before = word
    print(len(words), "Japanese words")
    return bytes(out)


def is_han(text):
    return all(0x4E00 <= ord(c) <= 0x9FFF for c in text)


def chinese():
    folder = pathlib.Path(pypinyin.__file__).parent
    single = {int(code): to_tone3(said.split(",")[0], neutral_tone_with_five=True)
              for code, said in json.loads((folder / "pinyin_dict.json").read_text()).items()}
    phrases = {}
    for phrase, said in json.loads((folder / "phrases_dict.json").read_text()).items():
        said = [to_tone3(each[0], neutral_tone_with_five=True) for each in said]
        if is_han(phrase) and len(said) == len(phrase) < 16 and any(single.get(ord(c)) != s for c, s in zip(phrase, said)):
            phrases[phrase] = said
    used = {single[c] for c in single if is_han(chr(c))} | {s for said in phrases.values() for s in said}
    syllables = sorted(used)
    number = {name: i + 1 for i, name in enumerate(syllables)}
    usual = b"".join(number.get(single.get(c), 0).to_bytes(2, "big") for c in range(0x4E00, 0xA000))
    letters, readings, before = bytearray(), bytearray(), ""
    for phrase in sorted(phrases):
        same = shared(phrase, before)
        letters += bytes([same << 4 | len(phrase) - same]) + phrase[same:].encode("utf-16-be")
        before = phrase
        for c, said in zip(phrase, phrases[phrase]):
            readings += (0 if single.get(ord(c)) == said else number[said]).to_bytes(2, "big")
    print(len(syllables), "syllables,", len(phrases), "phrases")
    return " ".join(syllables).encode() + b"\n" + usual + len(letters).to_bytes(4, "big") + letters + readings


def main():
    out = pathlib.Path(sys.argv[2])
    write(out / "ja_words.gz", japanese(sys.argv[1]))
    write(out / "pinyin.gz", chinese())


if __name__ == "__main__":
    main()
