#!/usr/bin/env python3
"""Renders small templates with Jinja2: expressions.json, for tests of src/text/jinja.

Needs jinja2 (3.1 was used). The environment is the same as in transformers' apply_chat_template()."""
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

VALUES = {"n": 42, "f": 3.14159, "neg": -7, "s": "Größe & <b>", "words": ["pear", "Apple", "fig"],
          "numbers": [3, 1.5, -2], "items": [{"name": "a", "size": 2}, {"name": "b", "size": 10}],
          "people": [{"name": "Eve", "city": "Oslo", "age": 3, "home": {"zip": 2}}, {"name": "Bo", "city": "bern", "age": 3},
                     {"name": "Al", "city": "Bern", "home": {"zip": 1}}, {"name": "Cy", "city": "Oslo", "age": 1}],
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
    # lists in groups
    "{% for g in people | groupby('city') %}{{ g.grouper }}: {{ g.list | map(attribute='name') | join(', ') }}; {% endfor %}",
    "{% for city, who in people | groupby('city') %}{{ city }}={{ who | length }} {% endfor %}", "{{ people | groupby('city') | first }}",
    "{% for g in people | groupby('city', case_sensitive=true) %}{{ g[0] }} {% endfor %}",
    "{% for g in people | groupby('age', default=0) %}{{ g.grouper }}{{ g.list[0].name }} {% endfor %}",
    "{% for g in people | groupby('home.zip', 0) %}{{ g }}{% endfor %}", "{{ [] | groupby('x') }}",
    "{% for g in [['b', 1], ['a', 2], ['b', 3]] | groupby(0) %}{{ g.grouper }}{{ g.list }} {% endfor %}",
    "{% for b in range(7) | batch(3) %}{{ b }}{% endfor %}", "{% for b in range(7) | batch(3, 'x') %}{{ b }}{% endfor %}",
    "{% for b in range(6) | batch(3, 'x') %}{{ b }}{% endfor %}", "{{ [] | batch(2, 'x') | list }}", "{{ 'abcde' | batch(2) | list }}",
    "{{ range(10) | slice(3) | list }}", "{{ range(10) | slice(3, 'x') | list }}", "{{ range(2) | slice(4) | list }}",
    "{{ range(2) | slice(4, 0) | list }}", "{{ range(9) | slice(3, 'x') | list }}",
    "{{ people | map(attribute='home.zip', default=7) | list }}",
    # call blocks
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}in{% endcall %}",
    "{% macro m(x) %}{{ caller(x, 2) }};{{ caller(b=x, a=0) }}{% endmacro %}{% call(a, b=7) m(n) %}{{ a }}-{{ b }}-{{ s }}{% endcall %}",
    "{% macro m() %}{{ caller(1) }}{{ caller() }}{% endmacro %}{% call(a, b='d') m() %}[{{ a }}{{ b }}]{% endcall %}",
    "{% macro list(items) %}{% for i in items %}* {{ caller(i) }} {% endfor %}{% endmacro %}{% call(i) list(items) %}{{ i.name | upper }}{% endcall %}",
    "{% macro out() %}({{ caller() }}){% endmacro %}{% macro mid() %}{% set c = caller %}{% call out() %}{{ c() }}!{% endcall %}{% endmacro %}"
    "{% call mid() %}deep{% endcall %}",
    "{% macro m() %}{% if caller is defined and caller %}{{ caller() }}{% else %}none{% endif %}{% endmacro %}{{ m() }} {% call m() %}some{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% for w in words %}{% call m() %}{{ loop.index }}{{ w }}{% endcall %} {% endfor %}",
    "{% macro m() %}{% set n = 1 %}{{ caller() }}{% endmacro %}{% set k = 3 %}{% call m() %}{{ n }}{{ k }}{% set k = 4 %}{{ k }}{% endcall %}{{ k }}",
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
