#!/usr/bin/env python3
"""Checks that code in the documentation is the same as in the source.

A block of code whose first line is "// PATH" or "# PATH", a path of this repository, must consist of consecutive lines
of that file; a line "..." means any number of lines. Paths in `code` marks that begin with src/, tests/, docs/,
tools/ or cmake/ must exist (they may contain * and {a,b})."""
import itertools
import pathlib
import re
import sys

ROOMS = r'(?:src|tests|docs|tools|cmake)'
BLOCK = re.compile(r'^```\w*\n(?://|#) (' + ROOMS + r'/\S+)\n(.*?)^```$', re.S | re.M)
PATH = re.compile(r'`(' + ROOMS + r'/[^`\s]+)`')


def parts(block):
    """Returns the runs of lines between "..." lines."""
    runs = [[]]
    for line in block.splitlines():
        if line.strip() == '...':
            runs.append([])
        else:
            runs[-1].append(line)
    return ['\n'.join(run).strip('\n') for run in runs if any(line.strip() for line in run)]


def missing_parts(block, source):
    """Returns the runs that are not in the source in this order."""
    at = 0
    for part in parts(block):
        found = source.find(part + '\n', at)
        if found < 0:
            yield part
        else:
            at = found + len(part)


def expanded(path):
    match = re.search(r'\{([^}]*)\}', path)
    if not match:
        return [path]
    return [path.replace(match.group(), each, 1) for each in match.group(1).split(',')]


def faults(root, page):
    text = page.read_text()
    for match in BLOCK.finditer(text):
        name, block = match.groups()
        source = root / name
        if not source.is_file():
            yield f'{page}: there is no {name}'
            continue
        for part in missing_parts(block, source.read_text()):
            yield f'{page}: {name} does not have\n{part}'
    paths = itertools.chain.from_iterable(expanded(p) for p in PATH.findall(text))
    for path in paths:
        if not any(root.glob(path.rstrip('/'))):
            yield f'{page}: there is no {path}'


def check_itself():
    source = 'a\n  b\nc\nd\n'
    assert list(missing_parts('  b\n...\nd\n', source)) == []
    assert list(missing_parts('d\n...\na\n', source)) == ['a']
    assert list(missing_parts('a\nc\n', source)) == ['a\nc']
    assert expanded('x/{a,b}.h') == ['x/a.h', 'x/b.h']


def main():
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    check_itself()
    found = [f for page in (root / 'docs/guide').glob('*.md') for f in faults(root, page)]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
