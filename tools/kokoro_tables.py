#!/usr/bin/env python3
"""Packs the tables with which Kokoro reads Japanese and Chinese into src/families/kokoro/lexicon.

    python3 -m venv VENV && VENV/bin/pip install --no-deps misaki==0.9.4 pypinyin==0.55.0 fugashi==1.5.2 jieba==0.42.1 \\
        pypinyin_dict==0.9.0 addict==2.4.0 cn2an==0.5.24 proces==0.1.7
    VENV/bin/python tools/kokoro_tables.py DICTIONARY src/families/kokoro/lexicon

DICTIONARY is a folder of UniDic for mecab. ja_words.gz: the words of misaki's list that mecab splits, and short words
in kana. Each is a byte for the number of characters shared with the word before, a byte for the number of other
characters, and the other characters in UTF-16. pinyin.gz: a line of syllables; the number (two bytes) of the usual
syllable of each character from U+4E00 to U+9FFF; then the phrases in which a character has another syllable: the size
of their characters in four bytes, the characters (half a byte each: shared, others), and the numbers. pinyin_large.gz
has the same form, for the phrases that misaki's second reader of Chinese adds, if words of jieba contain them.
zh_tones.txt: four lines of words from that reader. misaki is Apache-2.0, like PaddleSpeech, the source of its second
reader. pypinyin and jieba are MIT.
"""
import functools
import gzip
import pathlib
import sys

import fugashi
import jieba
import misaki
import pypinyin
import pypinyin.constants
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
    """Returns whether a word is short and in hiragana: such words are split within sentences, too."""
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


def packed_pinyin(single, phrases):
    """Packs the usual syllable of each character, and the phrases with unusual syllables."""
    used = {single[c] for c in single if is_han(c)} | {s for said in phrases.values() for s in said}
    syllables = sorted(used)
    number = {name: i + 1 for i, name in enumerate(syllables)}
    usual = b"".join(number.get(single.get(chr(c)), 0).to_bytes(2, "big") for c in range(0x4E00, 0xA000))
    letters, readings, before = bytearray(), bytearray(), ""
    for phrase in sorted(phrases):
        same = shared(phrase, before)
        letters += bytes([same << 4 | len(phrase) - same]) + phrase[same:].encode("utf-16-be")
        before = phrase
        for c, said in zip(phrase, phrases[phrase]):
            readings += (0 if single.get(c) == said else number[said]).to_bytes(2, "big")
    print(len(syllables), "syllables,", len(phrases), "phrases")
    return " ".join(syllables).encode() + b"\n" + usual + len(letters).to_bytes(4, "big") + letters + readings


@functools.lru_cache(None)
def syllable(pinyin):
    return to_tone3(pinyin, neutral_tone_with_five=True)


def usual_syllables(table):
    return {chr(int(code)): syllable(said.split(",")[0]) for code, said in table.items()}


def readings(phrases):
    said = {phrase: [syllable(each[0]) for each in given] for phrase, given in phrases.items() if is_han(phrase)}
    return {phrase: each for phrase, each in said.items() if len(each) == len(phrase) < 16}


def chinese():
    single = usual_syllables(pypinyin.constants.PINYIN_DICT)
    phrases = {phrase: said for phrase, said in readings(pypinyin.constants.PHRASES_DICT).items()
               if any(single.get(c) != s for c, s in zip(phrase, said))}
    return packed_pinyin(single, phrases)


def phrases_in(word, phrases, longest):
    """Returns the pieces of a word that are read together: always the longest phrase."""
    out, at = [], 0
    while at < len(word):
        size = next((n for n in range(min(longest, len(word) - at), 1, -1) if word[at:at + n] in phrases), 1)
        out.append(word[at:at + size])
        at += size
    return out


def chinese_large(words):
    """Keeps only the phrases, of 412,000, without which a word of jieba would be read differently."""
    single = usual_syllables(pypinyin.constants.PINYIN_DICT)
    every = readings(pypinyin.constants.PHRASES_DICT)
    single.update({phrase: said[0] for phrase, said in every.items() if len(phrase) == 1})
    longest = max(map(len, every))

    def read(word, phrases):
        return [s for piece in phrases_in(word, phrases, longest) for s in every.get(piece, [single.get(piece)])]

    want = {word: read(word, every) for word in words}
    kept, new = {}, True
    while new:
        new = False
        for word in words:
            if read(word, kept) == want[word]:
                continue
            for piece in phrases_in(word, every, longest):
                if len(piece) > 1 and piece not in kept:
                    kept[piece] = every[piece]
                    new = True
    return packed_pinyin(single, kept)


def tones(frontend):
    """Returns words with a neutral tone and exceptions, then words that end with an r and exceptions."""
    lists = (frontend.tone_modifier.must_neural_tone_words, frontend.tone_modifier.must_not_neural_tone_words,
             frontend.must_erhua, frontend.not_erhua)
    return "".join(" ".join(sorted(words)) + "\n" for words in lists)


def main():
    out = pathlib.Path(sys.argv[2])
    write(out / "ja_words.gz", japanese(sys.argv[1]))
    write(out / "pinyin.gz", chinese())
    from misaki.zh_frontend import ZHFrontend  # adds phrases to pypinyin

    frontend = ZHFrontend()
    lines = (pathlib.Path(jieba.__file__).parent / "dict.txt").read_text(encoding="utf-8").splitlines()
    write(out / "pinyin_large.gz", chinese_large([w for w in (line.split(" ")[0] for line in lines) if is_han(w)]))
    (out / "zh_tones.txt").write_text(tones(frontend), encoding="utf-8")


if __name__ == "__main__":
    main()
