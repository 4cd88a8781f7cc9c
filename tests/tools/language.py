#!/usr/bin/env python3
"""Checks comments and messages of the source for words that CONTRIBUTING.md rules out.

Usage: language.py ROOT [ROOM...]. Without rooms it checks those in ROOMS, whose text is done."""
import pathlib
import re
import sys

ROOMS = ('audio', 'base', 'bench', 'cli', 'codec', 'ears', 'io', 'kernels', 'library', 'link', 'nn', 'predict', 'runtime',
         'server/access', 'server/chat', 'server/dialects', 'server/http', 'server/models', 'server/net',
         'server/request', 'server/transcribe', 'server/voices', 'tensor', 'voices')
RULED_OUT = re.compile(
    r"\b(?:[Ww]ho|[Ww]hoever|[Nn]obody|[Ss]omebody|[Ee]verybody|[Tt]ells?|told)\b|(?<![Tt]here )\bis none\b"
    r"|(?<![Tt]here )\bis no (?!longer)[a-z]+|\bso (?:many|much|long)\b(?! (?:as|that|more))|(?:^|[.:;] )Of ")
COMMENT = re.compile(r'//[/!<]*\s?(.*)$')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


SPOKEN = pathlib.Path('src/text/english')  # its strings are words of the language
SPEAKS = ('questions.cc', 'workload.cc', 'main.cc', 'sentence_rules.cc')  # and so are theirs


def texts(line, strings=True):
    """The comment of a line of C++ and, where wanted, its string literals of several words."""
    found = [] if line.lstrip().startswith('#include') or not strings else STRING.findall(line)
    comment = COMMENT.search(STRING.sub('""', line))
    return [text for text in found if ' ' in text] + ([comment.group(1)] if comment else [])


def faults(path):
    speaks = path.stem.endswith('_test') or str(SPOKEN) in str(path) or path.name in SPEAKS
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for text in texts(line, strings=not speaks):
            found = RULED_OUT.search(text)
            if found:
                yield f'{path}:{number}: "{found.group().strip()}" in: {text.strip()}'


def check_itself():
    assert texts('f("a \\" b");  // c') == ['a \\" b', 'c']
    assert texts('#include "x.h"') == []
    for bad in ('Whoever calls', 'Of a row', 'x is no file', 'rows. Of them', 'so many rows'):
        assert RULED_OUT.search(bad), bad
    assert not RULED_OUT.search('whole, untold, Officer, there is no row, so long as')


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    found = []
    for room in sys.argv[2:] or ROOMS:
        for path in sorted((root / 'src' / room).rglob('*')):
            if path.suffix in ('.h', '.cc', '.cu', '.cuh'):
                found += faults(path)
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
