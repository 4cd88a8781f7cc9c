#!/usr/bin/env python3
"""Checks comments and messages of the source for words that CONTRIBUTING.md forbids.

Usage: language.py ROOT [ROOM...]. Without rooms it checks the whole tree. In C++ it
reads comments, strings of several words and names of tests; in Python comments and docstrings; in shell
and CMake comments."""
import io
import pathlib
import re
import sys
import tokenize

TREE = ('src', 'tests', 'bench', 'tools', 'cmake', 'python', 'packaging', 'check', 'run', 'CMakeLists.txt')
RULED_OUT = re.compile(
    r"\b(?:[Ww]ho|[Ww]hoever|[Nn]obody|[Ss]omebody|[Ee]verybody|[Tt]ells?|told)\b|(?<![Tt]here )\bis none\b"
    r"|(?<![Tt]here )\bis no (?!longer)[a-z]+|\bso (?:many|much|long)\b(?! (?:as|that|more))|(?:^|[.:;] )Of ")
COMMENT = re.compile(r'//[/!<]*\s?(.*)$')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


QUOTED = re.compile(r'`[^`]*`|\b\w+\(\)')  # names of the code
TEST_NAME = re.compile(r'\bTEST(?:_F|_P)?\(\w+, (?:I\d+_)?(\w+)\)')
NAME_RULED_OUT = re.compile(r'(?:^|(?<=[a-z0-9]))(?:Who|Whoever|Nobody|Somebody|Everybody|Tells?|Told)(?![a-z])')

SPOKEN = pathlib.Path('src/text/english')  # strings in this folder are data of the language
SPEAKS = ('questions.cc', 'workload.cc', 'main.cc', 'sentence_rules.cc')  # strings in these files are data, too


def texts(line, strings=True):
    """Returns the comment of a line of C++ and, with `strings`, its string literals of several words."""
    found = [] if line.lstrip().startswith('#include') or not strings else STRING.findall(line)
    comment = COMMENT.search(STRING.sub('""', line))
    return [text for text in found if ' ' in text] + ([comment.group(1)] if comment else [])


def faults(path):
    speaks = path.stem.endswith('_test') or str(SPOKEN) in str(path) or path.name in SPEAKS
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for text in texts(line, strings=not speaks):
            found = RULED_OUT.search(QUOTED.sub('it', text))
            if found:
                yield f'{path}:{number}: "{found.group().strip()}" in: {text.strip()}'
        for name in TEST_NAME.findall(line):
            found = NAME_RULED_OUT.search(name)
            if found:
                yield f'{path}:{number}: "{found.group()}" in the name {name}'


def script_texts(text, python):
    """Returns (line number, text) of the comments of a script, and of the docstrings of Python."""
    if not python:
        for number, line in enumerate(text.splitlines(), 1):
            found = re.search(r'(?:^|\s)#(?!!)\s?(.*)$', line)
            if found:
                yield number, found.group(1)
        return
    begins = True  # at the beginning of a statement
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith('#!'):
            yield token.start[0], token.string.lstrip('# ')
        elif token.type == tokenize.STRING and begins:
            for at, line in enumerate(token.string.strip('"').splitlines()):
                yield token.start[0] + at, line
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            begins = True
        elif token.type not in (tokenize.NL, tokenize.COMMENT):
            begins = False


def script_faults(path):
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    shebang = text.partition('\n')[0] if text.startswith('#!') else ''
    python = path.suffix == '.py' or 'python' in shebang
    if not python and 'sh' not in shebang and path.suffix not in ('.sh', '.cmake') and path.name != 'CMakeLists.txt':
        return
    for number, text in script_texts(text, python):
        found = RULED_OUT.search(QUOTED.sub('it', re.sub(r'"[^"]*"', 'it', text)))
        if found:
            yield f'{path}:{number}: "{found.group().strip()}" in: {text.strip()}'


def check_itself():
    assert texts('f("a \\" b");  // c') == ['a \\" b', 'c']
    assert texts('#include "x.h"') == []
    for bad in ('Whoever calls', 'Of a row', 'x is no file', 'rows. Of them', 'so many rows'):
        assert RULED_OUT.search(bad), bad
    assert not RULED_OUT.search('whole, untold, Officer, there is no row, so long as')
    assert QUOTED.sub('it', '`told` of tell()') == 'it of it'
    assert TEST_NAME.findall('TEST_F(A, I8_WhoRuns) {') == ['WhoRuns']
    assert NAME_RULED_OUT.search('TheEndIsTold') and NAME_RULED_OUT.search('WhoRuns')
    assert not NAME_RULED_OUT.search('WholeTextsAreUntoldThere')


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    found = []
    for start in [f'src/{room}' for room in sys.argv[2:]] or TREE:
        start = root / start
        for path in sorted(start.rglob('*')) if start.is_dir() else [start]:
            if not path.is_file():
                continue
            found += faults(path) if path.suffix in ('.h', '.cc', '.cu', '.cuh') else script_faults(path)
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
