#!/usr/bin/env python3
"""What Jinja2 makes of small templates: expressions.json, for src/text/jinja to be compared with.

Needs jinja2 (3.1 was used). The environment is that of transformers' apply_chat_template()."""
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

VALUES = {"n": 42, "f": 3.14159, "neg": -7, "s": "Größe & <b>", "words": ["pear", "Apple", "fig"],
          "numbers": [3, 1.5, -2], "items": [{"name": "a", "size": 2}, {"name": "b", "size": 10}],
          "d": {"x": 1, "y": "two"}, "long": "The quick brown fox jumps over the lazy dog and runs on."}
TEMPLATES = [
    # formatting by percent
    "{{ '%s is %d' % ('a', 3) }}", "{{ '%d%%' % n }}", "{{ '%5d|%-5d|%05d|%+d' % (n, n, n, n) }}",
    "{{ '%.2f %8.3f %-8.1f| %08.2f' % (f, f, f, neg) }}", "{{ '%x %X %o %#x' % (n, n, n, n) }}",
    "{{ '%s %s' % (words, d) }}", "{{ '%r' % s }}", "{{ '%10s|%-10s|%.3s' % (s, s, s) }}",
    "{{ '%(x)s and %(y)s' % d }}", "{{ '%e %g %g %g' % (f, f, 1e20, 0.00001) }}", "{{ '%d' % 3.9 }}", "{{ '%c' % 'ß' }}",
    "{{ '%s' % none }}{{ '%s' % true }}{{ '% d' % n }}{{ '%i' % neg }}", "{{ '%s-%s' | format(n, s) }}",
    "{{ '%(a)s' | format(a=1) }}", "{{ 'plain' | format }}", "{{ 'no places' % {} }}",
    # str.format
    "{{ '{} and {}'.format(n, s) }}", "{{ '{1} {0} {1}'.format('a', 'b') }}", "{{ '{name}={v}'.format(name='k', v=f) }}",
    "{{ '{:5}|{:<5}|{:>5}|{:^5}|'.format(n, n, n, n) }}", "{{ '{:*^9}'.format('mid') }}", "{{ '{:.2f}'.format(f) }}",
    "{{ '{:,} {:_} {:,.1f}'.format(1234567, 1234567, 1234567.89) }}", "{{ '{:x} {:#X} {:b} {:#o}'.format(n, n, n, n) }}",
    "{{ '{:+d} {:+.1f} {: d}'.format(n, f, n) }}", "{{ '{:08.3f} {:05d}'.format(neg, neg) }}", "{{ '{{}} {}'.format(1) }}",
    "{{ '{!r} {!s}'.format(s, s) }}", "{{ '{:.1%}'.format(0.256) }}", "{{ '{:.3} {:6.2}|'.format(s, s) }}", "{{ '{:é>5}'.format(1) }}",
    "{{ '{}'.format(words) }}", "{{ '{} {}'.format(1.0, 1e22) }}", "{{ '{:e}'.format(f) }}", "{{ '{:8}|'.format(1.5) }}",
    # filters
    "{{ numbers | max }} {{ numbers | min }} {{ words | max }} {{ words | min }}", "{{ words | min(case_sensitive=true) }}",
    "{{ (items | max(attribute='size')).name }}", "{{ [] | max }}|", "{{ numbers | sum }}", "{{ items | sum(attribute='size') }}",
    "{{ numbers | sum(start=10) }}", "{{ items | sum('size', 5) }}", "{{ f | round }} {{ f | round(2) }} {{ n | round }}",
    "{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }}", "{{ f | round(1, 'ceil') }} {{ f | round(1, 'floor') }} {{ n | round(0, 'ceil') }}",
    "{{ f | round | int }}", "{{ long | truncate(20) }}", "{{ long | truncate(20, true) }}", "{{ long | truncate(20, false, '…') }}",
    "{{ long | truncate(54) }}", "{{ long | truncate(54, leeway=0) }}", "{{ s | truncate(6, true, '', 0) }}", "{{ long | wordcount }}",
    "{{ 'a-b c_d 3.5, ß é' | wordcount }}", "{{ s | escape }}", "{{ s | e }}", "{{ \"it's \\\"x\\\"\" | e }}", "{{ 'ab' | center(7) }}|",
    "{{ 'abc' | center(8) }}|", "{{ 'abc' | center(2) }}|",
    # methods
    "{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ 'x'.removeprefix('y') }}",
    "{{ 'ßaßa'.rfind('a') }} {{ 'x'.rfind('y') }}",
    # statements and loops
    "{% with %}x{% endwith %}", "{% with a = 1, b = n %}{{ a + b }}{% endwith %}{{ a }}", "{% with n = n + 1 %}{{ n }}{% endwith %} {{ n }}",
    "{% set a = 1 %}{% with b = a %}{% set a = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% for w in [1, 1, 2, 2, 1] %}{{ loop.changed(w) }} {% endfor %}",
    "{% for i in items %}{% if loop.changed(i.size, 1) %}{{ i.name }}{% endif %}{% endfor %}",
    "{% for i in range(2) %}{% for j in [1, 1] %}{{ loop.changed(j) }}{% endfor %};{% endfor %}",
    "{% for i in range(5) %}{{ loop.cycle('odd', 'even') }} {% endfor %}",
    "{% for i in range(3) %}{% with a = i %}{% if a == 1 %}{% continue %}{% endif %}{{ a }}{% endwith %}{% endfor %}",
]


def main():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    cases = [{"template": text, "result": environment.from_string(text).render(**VALUES)} for text in TEMPLATES]
    out = pathlib.Path(__file__).parent / "expressions.json"
    out.write_text(json.dumps({"values": VALUES, "cases": cases}, ensure_ascii=False, indent=1) + "\n")
    print(len(cases), "templates")


if __name__ == "__main__":
    main()
