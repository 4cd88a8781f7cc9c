#!/usr/bin/env python3
"""Checks the titles of all commits since the rule was introduced: `room: verb object`, at most 72 characters.

Usage: titles.py ROOT. Exit code 77: the history is missing (an archive, a shallow clone)."""
import re
import subprocess
import sys

SINCE = 'b6760740'
TITLE = re.compile(r'^[\w/,. -]+: (\S+) \S')
IMPERATIVE_IN_S = {'pass', 'process', 'address', 'discuss', 'express', 'press', 'focus', 'compress', 'access', 'cross'}


def fault(title):
    """Returns the fault of a title, or an empty string."""
    if len(title) > 72:
        return f'{len(title)} characters, at most 72'
    found = TITLE.match(title)
    if not found:
        return "not of the form 'room: verb object'"
    verb = found.group(1).rstrip(',')
    if verb != verb.lower():
        return f"'{verb}' begins with a capital"
    if re.search(r'(?:ed|ing)$', verb) and verb not in ('feed', 'need', 'seed', 'speed', 'embed', 'bring', 'string') or \
            verb.endswith('s') and verb not in IMPERATIVE_IN_S:
        return f"'{verb}' is not an imperative"
    if re.search(r'\b(?:who|whoever|nobody|somebody|everybody)\b', title):
        return 'names nobody: write request, client, thread, file'
    return ''


def check_itself():
    assert not fault('engine: pair CFG rows before sampling')
    assert not fault('base, nn: pass the context by value')
    for bad in ('what replaces a file', 'io: keeps the owner', 'io: Keep it now', 'io: ' + 'a ' * 40,
                'server: tell whoever asks'):
        assert fault(bad), bad


def main():
    check_itself()
    log = subprocess.run(['git', '-C', sys.argv[1], 'log', '--no-merges', '--format=%s', f'{SINCE}..HEAD'],
                         capture_output=True, text=True)
    if log.returncode != 0:
        return 77
    found = [f'{title}: {why}' for title in log.stdout.splitlines() if (why := fault(title))]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
