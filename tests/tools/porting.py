#!/usr/bin/env python3
"""Checks that docs/porting.md names every file of src/ that calls the system, and no other file.

Such a file includes a header of Linux or POSIX, makes a locale of POSIX, or has a path in /proc or /sys. Not checked:
tests, and files that are built only with CUDA. A header needs no entry of its own if its .cc file has one. Run: porting.py
SOURCE_DIR. Prints every file that is not named and every name without such a file.
"""
import fnmatch
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from excerpts import expanded  # noqa: E402

SYSTEM = re.compile(
    r'^\s*#\s*include <(?:(?:arpa|asm|linux|net|netinet|sys)/[\w/]+|dirent|dlfcn|fcntl|grp|link|malloc|netdb|poll|pthread|'
    r'pty|pwd|sched|seccomp|semaphore|signal|spawn|syslog|termios|ucontext|unistd|utime|wait)\.h>|\bnewlocale\(|"/(?:proc|sys)/', re.M)
WITH_CUDA = ('bench/gpu/', 'kernels/cuda/', 'tensor/cuda/')


def calls_system(text):
    return SYSTEM.search(text) is not None


def files_that_call(source):
    for path in sorted(source.rglob('*')):
        name = path.relative_to(source).as_posix()
        if path.suffix not in ('.h', '.cc', '.inc') or name.startswith(WITH_CUDA):
            continue
        if path.stem.endswith(('_test', '_emulation')) or path.name == 'fixture.h' or 'testing' in path.parts:
            continue
        if calls_system(path.read_text(encoding='utf-8')):
            yield name


def names_of(page):
    """Returns the paths in the first column of the table."""
    for line in page.splitlines():
        if line.startswith('| `'):
            for name in re.findall(r'`([^`]+)`', line.split('|')[1]):
                yield from expanded(name)


def is_named(file, names):
    beside = re.sub(r'\.(h|inc)$', '.cc', file)
    return any(fnmatch.fnmatchcase(file, name) or fnmatch.fnmatchcase(beside, name) for name in names)


def self_test():
    assert calls_system('#include <vector>\n#include <sys/mman.h>\n') and calls_system('  # include <poll.h>')
    assert calls_system('open("/proc/self/exe")') and calls_system('static const locale_t kPlain = newlocale(LC_ALL_MASK')
    assert not calls_system('#include <csignal>\n#include "base/system.h"\n// reads /proc\n')
    names = list(names_of('a `b.cc`\n| `io/{x,y}.cc`, `cli/*` | `z.cc` |\n'))
    assert names == ['io/x.cc', 'io/y.cc', 'cli/*'], names
    assert is_named('io/x.h', names) and is_named('cli/line/a.cc', names) and not is_named('z.cc', names)


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    files = list(files_that_call(root / 'src'))
    names = list(names_of((root / 'docs' / 'porting.md').read_text(encoding='utf-8')))
    faults = [f'src/{file} calls the system, and docs/porting.md does not name it'
              for file in files if not is_named(file, names)]
    faults += [f'docs/porting.md names {name}, which calls nothing of the system or does not exist'
               for name in names if not any(is_named(file, [name]) for file in files)]
    print(*faults, f'{len(files)} files call the system, {len(faults)} faults', sep='\n')
    return 1 if faults or not files else 0


if __name__ == '__main__':
    sys.exit(main())
