#!/usr/bin/env python3
"""Packs misaki's US English lexicon for the program: src/families/kokoro/lexicon/us_gold.gz.

    pip download --no-deps misaki==0.9.4 && unzip misaki-0.9.4-py3-none-any.whl
    python3 tools/kokoro_lexicon.py misaki/data/us_gold.json src/families/kokoro/lexicon/us_gold.gz

One line per word, sorted by bytes: the number of bytes shared with the word before (a character from "0" on), the
word's other bytes, and its phonemes between tabs: usually, and if different, before a pause and before "to". misaki
is Apache-2.0.
"""
import gzip
import json
import os
import sys

MOST_SHARED = 40


def main():
    lexicon = json.load(open(sys.argv[1], encoding="utf-8"))
    lines, before = [], b""
    for word, said in sorted((w.encode(), s) for w, s in lexicon.items()):
        forms = said if isinstance(said, dict) else {"DEFAULT": said}
        if not forms.get("DEFAULT"):
            continue
        columns = [forms["DEFAULT"], forms.get("None") or ""]
        columns.append(forms["VBD"] if word == b"used" else "")
        shared = min(len(os.path.commonprefix([word, before])), MOST_SHARED)
        while shared and word[shared:].decode(errors="ignore").encode() != word[shared:]:
            shared -= 1
        tail = "\t".join(columns).rstrip("\t").encode()
        lines.append(bytes([ord("0") + shared]) + word[shared:] + b"\t" + tail + b"\n")
        before = word
    with open(sys.argv[2], "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(b"".join(lines))
    print(len(lines), "words")


if __name__ == "__main__":
    main()
