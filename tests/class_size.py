#!/usr/bin/env python3
"""Counts the methods of every class in src/, at most 30, and the lines of every source file of src/ and tests/, at most
600, so that each has one task. Constructors, destructors, functions with `= delete` or `= default`, and methods of nested
classes do not count. Run: class_size.py SOURCE_DIR. Prints every violation as file: class: count; exit code 1 if there is
one.
"""
import pathlib
import re
import sys

MOST = 30
MOST_LINES = 600
SOURCES = {'.h', '.cc', '.cuh', '.cu'}

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.S)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'')
CLASS = re.compile(r'\b(?:class|struct)\s+(?:alignas\s*\([^)]*\)\s*)?([A-Za-z_]\w*)(?:\s+final)?\s*(?::[^:;{}()][^;{}]*)?\{')
NAME = re.compile(r'(operator\s*[^\s\w(]+|operator\s*\(\)|[~A-Za-z_]\w*)\s*\(')


def body_end(text, begin):
    """Returns the index after the brace that matches the brace at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {'{': 1, '}': -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def without(text, opening, closing):
    """Returns the text with the contents of the brackets removed; the brackets remain."""
    out, depth = [], 0
    for at, c in enumerate(text):
        if c == closing and depth > 0 and not (c == '>' and text[at - 1] == '-'):
            depth -= 1
        if depth == 0 or (c == opening and depth == 0):
            out.append(c)
        if c == opening:
            depth += 1
    return ''.join(out)


def methods(name, body):
    """Returns the names of the methods that a class body declares; overloads count separately."""
    flat = without(without(body, '{', '}'), '(', ')').replace('operator<', 'operator').replace('operator>', 'operator')
    flat = without(flat, '<', '>')
    flat = re.sub(r'\b(?:public|private|protected)\s*:', ';', flat)
    found = []
    for part in re.split(r'[;}]', flat):
        match = NAME.search(part)
        if not match or re.search(r'=\s*(?:delete|default)\s*$', part):
            continue
        before = part[:match.start()]
        if '=' in before or re.search(r'\b(?:using|friend|static_assert|class|struct|enum|typedef)\b', before):
            continue
        called = match.group(1)
        # Skips a constructor, or the rest of its initialiser list.
        if called in (name, 'static_assert', 'alignas', 'decltype') or called.startswith('~') or not before.strip():
            continue
        found.append(called)
    return found


def classes(text):
    """Returns (name, methods) of every class with a body in a file."""
    text = TEXT.sub('""', COMMENT.sub('', text))
    for match in CLASS.finditer(text):
        begin = match.end() - 1
        yield match.group(1), methods(match.group(1), text[begin + 1:body_end(text, begin) - 1])


def check(root):
    counts, breaches = {}, []
    for path in sorted((root / 'src').rglob('*')):
        if path.suffix not in SOURCES:
            continue
        for name, found in classes(path.read_text(encoding='utf-8')):
            key = f'{path.relative_to(root / "src")}: {name}'
            counts[key] = max(len(found), counts.get(key, 0))
    for key, count in counts.items():
        if count > MOST:
            breaches.append(f'{key}: {count} methods, at most {MOST}')
    for path in sorted([*(root / 'src').rglob('*'), *(root / 'tests').rglob('*')]):
        if path.suffix not in SOURCES | {'.py'} or not path.is_file():
            continue
        lines = path.read_text(encoding='utf-8').count('\n')
        if lines > MOST_LINES:
            breaches.append(f'{path.relative_to(root)}: {lines} lines, at most {MOST_LINES}')
    return counts, breaches


def self_test():
    text = '''
    class A final : public B<int> {  // a(); b();
     public:
      explicit A(int x) : x_(x), f_({1, 2}) { go(); }
      ~A() override;
      A(const A&) = delete;
      A& operator=(const A&) = delete;
      int one() const { return two(3); }
      template <typename F> auto two(F&& f) { return f(); }
      static std::vector<std::pair<int, int>> three(int a = f(), int b = 2);
      bool operator==(const A&) const = default;
      virtual void four() = 0;
      std::function<double(int)> field_ = [](int) { return 1.0; };
      struct Inner { void five(); void six(); };
      int x_ = std::max(1, 2);
      std::string text_ = ");}";
      using T = void (*)(int);
    };
    struct Plain { int a = 0; };
    '''
    assert dict(classes(text)) == {'A': ['one', 'two', 'three', 'four'], 'Inner': ['five', 'six'], 'Plain': []}


def main():
    self_test()
    counts, breaches = check(pathlib.Path(sys.argv[1]))
    for line in breaches:
        print(line)
    most = max(counts, key=counts.get)
    print(f'{len(counts)} classes, the largest is {most} with {counts[most]} methods, {len(breaches)} violations')
    return 1 if breaches else 0


if __name__ == '__main__':
    sys.exit(main())
