#!/usr/bin/env python3
"""Checks that the first command (`./run say`) compiles only what the built-in voice needs.

Usage: first_build.py BUILD. Exit code 77: the build folder is not one of Ninja."""
import pathlib
import re
import subprocess
import sys

# Rooms that the built-in voice needs. A room that appears here makes every newcomer wait for it.
NEEDED = set('audio base cli/line cli/speak engine families families/finch families/loading families/spoken io '
             'kernels link model nn runtime tensor text voices'.split())


def main():
    build = pathlib.Path(sys.argv[1])
    if not (build / 'build.ninja').is_file():
        print(f'{build} has no build.ninja')
        return 77
    inputs = subprocess.run(['ninja', '-C', build, '-t', 'inputs', 'syrinx-say'], capture_output=True, text=True, check=True)
    # Embedded data is compiled for every program (syrinx_embed), which takes seconds.
    rooms = set(re.findall(r'^src/(.+)/CMakeFiles/(?!.*_embedded).*\.o$', inputs.stdout, re.MULTILINE))
    print(f'syrinx-say is compiled from {len(rooms)} rooms')
    for room in sorted(rooms - NEEDED):
        print(f'src/{room}: compiled for syrinx-say, which does not need it')
    for room in sorted(NEEDED - rooms):
        print(f'src/{room}: no longer compiled for syrinx-say: remove it from this test')
    return 0 if rooms == NEEDED else 1


if __name__ == '__main__':
    sys.exit(main())
