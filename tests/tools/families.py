#!/usr/bin/env python3
"""Checks that every family has a page and a row in the README, and that docs/families/README.md is current.

Usage: families.py ROOT [--write]. The table is made from src/families/families.cc and from the pages' tables of options."""
import pathlib
import re
import sys

HEAD = """# Families

Each model's options except sampling, made by `tests/tools/families.py --write` from the pages. [README](../../README.md): sizes, tested weights; [glossary](../architecture.md#words): *segment*, *frame*.

| model | options |
|---|---|
"""
SAMPLING = {'temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'seed'}  # nearly all families have them
ROW = re.compile(r'\bFamily\{\s*"(\w+)"')


def options(page):
    """Returns the names in the first column of a page's tables of options, in order."""
    found, within = [], False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')] if line.startswith('|') else []
        if not cells:
            within = False
        elif cells[0] == 'option':
            within = True
        elif within:
            found += [name for name in re.findall(r'`([a-z_]+)`', cells[0]) if name not in found]
    return found


def table(root, names):
    text = HEAD
    for name in names:
        page = (root / f'docs/families/{name}.md').read_text()
        listed = ', '.join(f'`{option}`' for option in options(page) if option not in SAMPLING)
        text += f'| [{page.splitlines()[0].lstrip("# ")}]({name}.md) | {listed or "see its page"} |\n'
    return text


def check_itself():
    page = '# X\n\n| option | meaning |\n|---|---|\n| `a_b`, `c` | `d` |\n| text | |\n\n| other | x |\n|---|---|\n| `e` | |\n'
    assert options(page) == ['a_b', 'c'], options(page)
    assert ROW.findall('Family{"one", f},\n Family{\n  "two",') == ['one', 'two']


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    names = list(dict.fromkeys(ROW.findall((root / 'src/families/families.cc').read_text())))  # a family may have two rows
    readme = (root / 'README.md').read_text()
    faults = [f'{name}: no page in docs/families' for name in names if not (root / f'docs/families/{name}.md').exists()]
    faults += [f'{name}: no row in README.md' for name in names if f'(docs/families/{name}.md)' not in readme]
    if not faults:
        made, file = table(root, names), root / 'docs/families/README.md'
        if '--write' in sys.argv:
            file.write_text(made)
        elif not file.exists() or file.read_text() != made:
            faults.append(f'{file}: not current; run tests/tools/families.py {root} --write')
    print('\n'.join(faults))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
