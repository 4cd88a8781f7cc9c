#!/usr/bin/env python3
"""Checks the documentation: relative links, anchors, and the options of `syrinx COMMAND ...` lines.

Usage: docs.py ROOT [SYRINX]. Without the program, options are not checked."""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r'\]\(([^)\s]+)\)')
FENCED = re.compile(r'^```.*?^```', re.S | re.M)
QUOTED = re.compile(r'`[^`\n]+`')
START = r'(?:^|[`|&$]) *(?:[A-Z_]+=\S+ |time |taskset -c \d+ |chrt -f \d+ )*(?:[\w./]*/)?'
COMMAND = re.compile(START + r'syrinx ([a-z][a-z-]*(?: [a-z]+)?)(?![^\s`])([^`|;&\n]*)', re.M)


def pages(root):
    yield from sorted(root.glob('*.md'))
    for room in ('docs', 'src', 'voices', 'training', 'bench', 'deploy', 'tests', 'python'):
        yield from sorted((root / room).rglob('*.md'))


def anchor(heading):
    """Returns the anchor of a heading in Markdown."""
    heading = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading.strip().lower())
    return re.sub(r'[^\w\- ]', '', heading).replace(' ', '-')


def anchors(text):
    return {anchor(h) for h in re.findall(r'^#+ (.*)$', FENCED.sub('', text), re.M)}


def broken_links(page, text):
    prose = QUOTED.sub('', FENCED.sub('', text))
    for target in LINK.findall(prose):
        if '://' in target or target.startswith('mailto:'):
            continue
        name, _, part = target.partition('#')
        file = page.parent / name if name else page
        if not file.exists():
            yield f'{page}: {target} does not exist'
        elif part and file.suffix == '.md' and part not in anchors(file.read_text()):
            yield f'{page}: {target} has no such heading'


def joined(text):
    """Returns the text, in which a backslash at the end of a command's line joins the next line to it."""
    return re.sub(r'\\\n\s*', ' ', text)


def commands(text):
    """Returns (words after `syrinx`, the rest of the line) for each command in code."""
    text = joined(text)
    for code in FENCED.findall(text) + QUOTED.findall(FENCED.sub('', text)) + re.findall(r'^    \S.*$', text, re.M):
        for words, rest in COMMAND.findall(code):
            yield words.split(), (words + rest.split(' #')[0].split(' -- ')[0]).rstrip()


def options(help_text):
    return set(re.findall(r'(?<![\w-])(--?[a-z][a-z0-9-]*)', help_text))


class Program:
    """Knows the options of the program's commands from its help."""

    def __init__(self, path):
        self.path = path
        self.known = {}

    def help(self, *words):
        if words not in self.known:
            run = subprocess.run([self.path, *words, '--help'], capture_output=True, text=True, timeout=60)
            self.known[words] = run.stdout if run.returncode == 0 else None
        return self.known[words]

    def unknown_options(self, words, line):
        """Returns the options of a command line that the program does not have."""
        if not words:
            return
        if self.help(words[0]) is None:
            yield f'command {words[0]}'
            return
        text = self.help(words[0])
        if len(words) > 1 and re.search(rf'^  {words[1]}\s', text, re.M):
            text += self.help(words[0], words[1]) or ''
        for option in re.findall(r'(?<=\s)(--?[a-z][a-z0-9-]*)', line):
            if option not in options(text) | {'--help', '--config'}:  # --config is an option of the program itself
                yield f'option {option} of {words[0]}'


def check_itself():
    assert anchor('What a [frame](x.md) costs, `q8`') == 'what-a-frame-costs-q8'
    text = '`syrinx bench -n 2`\n\n    build/syrinx hub pull A \\\n      --to DIR  # --not\n'
    assert list(commands(text)) == [(['bench'], 'bench -n 2'), (['hub', 'pull'], 'hub pull A  --to DIR')], list(commands(text))
    page = pathlib.Path(__file__)
    assert list(broken_links(page, '[a](none.md) [b](docs.py) `[c](no.md)`')) == [f'{page}: none.md does not exist']


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    program = Program(sys.argv[2]) if len(sys.argv) > 2 else None
    found = []
    for page in pages(root):
        text = page.read_text()
        found += broken_links(page, text)
        for words, line in commands(text) if program and page.name != 'CHANGELOG.md' else ():
            found += [f'{page}: unknown {what}: syrinx {line}' for what in program.unknown_options(words, line)]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
