#!/usr/bin/env python3
"""Writes misaki's phonemes of Japanese or Chinese sentences, for KokoroEastAsia.MeasuredAgainstMisakisSentences.

    python3.11 -m venv VENV && VENV/bin/pip install --no-deps misaki==0.9.4 fugashi==1.5.2 jaconv mojimoji \\
        jieba==0.42.1 pypinyin==0.55.0 pypinyin-dict==0.9.0 cn2an==0.5.24 proces ordered-set addict
    VENV/bin/python east_asia.py ja DICTIONARY < SENTENCES.txt > OUT.tsv && KOKORO_JAPANESE=OUT.tsv kokoro_test --gtest_filter=*Measured*
    VENV/bin/python east_asia.py zh < SENTENCES.txt > OUT.tsv && KOKORO_CHINESE=OUT.tsv kokoro_test --gtest_filter=*Measured*
    VENV/bin/python east_asia.py zh-1.1 < SENTENCES.txt > OUT.tsv && KOKORO_CHINESE_11=OUT.tsv kokoro_test --gtest_filter=*Measured*

SENTENCES.txt has one sentence per line, without Latin letters. DICTIONARY is mecab's folder of UniDic, such as
Debian's /var/lib/mecab/dic/unidic. UniDic 3 has '*' as the sound of a mark; misaki would omit the mark, so '*' is removed.
"""
import sys
import types


def japanese_reader(dictionary):
    import fugashi
    from misaki import cutlet
    tagger = fugashi.Tagger(f"-r /dev/null -d {dictionary}")

    def words(text):
        for word in tagger(text):
            known = {name: getattr(word.feature, name) for name in ("pron", "kana")}
            feature = types.SimpleNamespace(**{name: None if value == "*" else value for name, value in known.items()})
            yield types.SimpleNamespace(surface=word.surface, char_type=word.char_type, is_unk=word.is_unk, feature=feature)

    cutlet.Tagger = lambda: lambda text: list(words(text))
    return cutlet.Cutlet()


def chinese_reader(version):
    from misaki.zh import ZHG2P
    reader = ZHG2P(version, unk="")
    return lambda text: reader(text, en_callable=lambda _: "")


def main():
    read = japanese_reader(sys.argv[2]) if sys.argv[1] == "ja" else chinese_reader("1.1" if sys.argv[1] == "zh-1.1" else None)
    for text in filter(None, map(str.strip, sys.stdin)):
        print(f"{text}\t{read(text)[0]}")


if __name__ == "__main__":
    main()
