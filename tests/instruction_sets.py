"""Checks that code for more than the base instruction set stays in its files. The linker keeps one copy of each inline
function of a header. If that copy comes from such a file, the program crashes on older processors. So no symbol that
other files could share (weak) may contain such instructions. instruction_sets.py OBJECT...
"""

import pathlib
import re
import subprocess
import sys

ADVANCED = re.compile(r"%[yz]mm|\tv[a-z]")  # all AVX instructions begin with v
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def leaks(path):
    """Returns the weak functions of an object file that contain AVX instructions."""
    shared = {line.split()[2] for line in run("nm", "--defined-only", path)
              if line.split()[1] in "WVu"}
    found, current = set(), None
    for line in run("objdump", "-d", "--no-show-raw-insn", path):
        if match := FUNCTION.match(line):
            current = match[1]
        elif current in shared and ADVANCED.search(line):
            found.add(current)
    return found


def main():
    objects = [p for p in sys.argv[1:] if re.search(r"_(simd|avx[a-z0-9]*|amx)\.cc\.o$", p)]
    if not objects:
        print("no such objects: another architecture")
        return 77
    failed = False
    for path in objects:
        for name in sorted(leaks(path)):
            print(f"{pathlib.Path(path).name}: {name} may be linked into other code")
            failed = True
    return 1 if failed else 0


sys.exit(main())
