#!/usr/bin/env python3
"""Checks that the tracked files have less than 41 MB and the pages in docs/ at most 45,000 words.

Usage: tree_size.py ROOT. Exit code 77: the tree is not a git checkout."""
import pathlib
import subprocess
import sys

MOST_BYTES, MOST_WORDS, MOST_LINES = 41_000_000, 45_000, 120


def main():
    root = pathlib.Path(sys.argv[1])
    listed = subprocess.run(['git', '-C', root, 'ls-files', '-z'], capture_output=True, text=True)
    if listed.returncode != 0:
        print('not a git checkout')
        return 77
    files = [root / name for name in listed.stdout.split('\0') if name and (root / name).is_file()]
    total = sum(file.stat().st_size for file in files if not file.is_symlink())
    words = sum(len(file.read_text().split()) for file in (root / 'docs').rglob('*.md'))
    lines = len((root / 'README.md').read_text().splitlines())
    print(f'{total:,} bytes in {len(files)} files, {words:,} words in docs, {lines} lines in README.md')
    faults = []
    if total >= MOST_BYTES:
        faults.append('too many bytes: pack new goldens (tests/parity/seeded.py pack FOLDER), keep large files elsewhere')
    if words > MOST_WORDS:
        faults.append(f'too many words in docs: at most {MOST_WORDS:,}')
    if lines > MOST_LINES:
        faults.append(f'too many lines in README.md: at most {MOST_LINES}')
    print('\n'.join(faults))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
