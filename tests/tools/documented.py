#!/usr/bin/env python3
"""Counts public types and free functions in headers of src without a comment right before them.

Usage: documented.py ROOT [--list] [ROOM...]. Prints the documented share of each kind and of all; --list
prints each declaration that lacks a comment. Fails below FLOOR percent. It counts definitions of class,
struct and enum, and declarations of functions, at namespace scope, as clang-format lays them out: in the
first column. A declaration is documented by a comment on the line before it or after it on its line, by the
comment at the top of the file if it is the first, or by that of an overload right before it. Not counted:
headers of tests, operators, members defined outside of their class, specialisations, and namespaces detail
and internal."""
import collections
import pathlib
import re
import sys

FLOOR = 96  # in percent
OF_TESTS = re.compile(r'(?:_test|fixture|_checks?|expect_\w+|golden_\w+|test_\w+)\.h$|/testing/|/emulation/')
INSIDE = re.compile(r'_impl\.h$|/kernels/cpu/simd_\w+\.h$')  # for one instruction set and one kernel's file
TYPE = re.compile(r'(?:template <.*> )?(?:class|struct|enum class|enum|union)(?: alignas\(\w+\))?(?: \[\[\w+\]\])? (\w+)')
FUNCTION = re.compile(r'([\w:~]+)\(')


def statements(text):
    """Yields (line number, the statement in one line, whether a body follows, comment before, blank line before)."""
    lines = text.split('\n')
    hidden = 0  # depth of namespaces that are not counted
    at = 0
    while at < len(lines):
        line = lines[at]
        if re.match(r'namespace (?:\w+::)*(?:detail|internal)\b.* \{', line):
            hidden += 1
        elif hidden and re.match(r'\}  // namespace (?:\w+::)*(?:detail|internal)\b', line):
            hidden -= 1
        if hidden or not line or line[0] in ' #}/' or re.match(r'(?:namespace|using|extern|typedef|friend|static_assert)\b', line):
            at += 1
            continue
        first, parts = at, []
        while True:
            bare = re.sub(r'\s*//.*$', '', lines[at])
            parts.append(bare.strip())
            if re.search(r'[;{]\s*$|\{.*\}\s*;?$', bare) or at + 1 == len(lines) or len(parts) > 30:
                break
            at += 1
        yield first, ' '.join(parts), lines
        # Bodies are indented, so the next line in the first column ends a body.
        at += 1


def kind_of(statement):
    """Returns ('type' or 'function', name); None for statements that do not count."""
    if statement.startswith('template <>') or 'operator' in statement or re.match(r'[A-Z_0-9]+\(', statement):
        return None
    found = TYPE.match(statement)
    if found and not statement.endswith(';'):
        return ('type', found.group(1))
    if found and '{' in statement and '(' not in statement.split('{')[0]:
        return ('type', found.group(1))
    bare = re.sub(r'^template <[^()]*?> (?=\w)', '', statement)
    bare = re.sub(r'\balignas\([^)]*\) |\[\[[^\]]*\]\] |__attribute__\(\(.*?\)\) ', '', bare)
    head = bare.split('(')[0]
    if '(' not in bare or '=' in head or head.endswith(('>', 'requires ')) or '{' in head:
        return None
    name = FUNCTION.search(bare)
    if not name or '::' in name.group(1) or not re.search(r'[\w>&*] [&*]*$', bare[:name.start()]):
        return None
    return ('function', name.group(1))


def declarations(text):
    """Returns (line number, kind, name, whether it is documented) for each declaration of a header."""
    before, first_one = None, True
    for at, statement, lines in statements(text):
        what = kind_of(statement)
        if what is None:
            before = None
            continue
        above = lines[at - 1].strip() if at else ''
        documented = above.startswith('//') and not above.startswith('// namespace') or '//' in lines[at]
        documented = documented or before == (what, True) and what[0] == 'function'
        documented = documented or first_one and lines[0].startswith('//')
        first_one = False
        before = (what, documented)
        yield at + 1, *what, documented


def check_itself():
    header = ('// What it is.\n#pragma once\n\nnamespace a {\n\nclass Forward;\nstruct First {\n  int x = f(1);\n};\n\n'
              'struct Bare {};\n/// Told.\nint one(int a,\n        int b);\nint one();\nint two();\n'
              'inline constexpr int kX = one();\ntemplate <typename T>\nT three(T x) {\n  return x;\n}\n'
              'bool operator==(A a, A b);\nvoid First::member() {}\nnamespace detail {\nint hidden();\n}  // namespace detail\n')
    assert list(declarations(header)) == [
        (7, 'type', 'First', True), (11, 'type', 'Bare', False), (13, 'function', 'one', True),
        (15, 'function', 'one', True), (16, 'function', 'two', False), (18, 'function', 'three', False)], list(declarations(header))


def main():
    check_itself()
    wanted = [x for x in sys.argv[2:] if x != '--list']
    root = pathlib.Path(sys.argv[1]) / 'src'
    all_of, good = collections.Counter(), collections.Counter()
    for path in sorted(root.rglob('*.h')):
        name = str(path.relative_to(root))
        if OF_TESTS.search('/' + name) or INSIDE.search('/' + name) or wanted and not any(name.startswith(x + '/') for x in wanted):
            continue
        for line, kind, word, documented in declarations(path.read_text()):
            all_of[kind] += 1
            good[kind] += documented
            if not documented and '--list' in sys.argv:
                print(f'src/{name}:{line}: {word} has no comment')
    share = 100 * good.total() / max(1, all_of.total())
    print(', '.join(f'{good[kind]} of {count} {kind}s' for kind, count in sorted(all_of.items())) +
          f' have a comment: {share:.1f} %, at least {FLOOR} % should')
    return 1 if share < FLOOR and not wanted else 0


if __name__ == '__main__':
    sys.exit(main())
