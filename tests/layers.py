#!/usr/bin/env python3
"""Checks that files in src/ include only files of their folder or of lower layers.

A layer may include itself and the layers before it in LAYERS. families/, link/ and engine/ may include model/
and the layers before it, but not each other. Tests may include layers after their own (a test of a low layer
may need a toy model), but not across the families/engine boundary. Files only for tests are in a folder
testing/ of their layer, and only tests include them. The rooms of ROOMS (folders in a layer) have such an
order, too: lowest first. Run: layers.py SOURCE_DIR. Prints every violation as file:line; exit code 1 if there
is one.
"""
import pathlib
import re
import sys

LAYERS = ["base", "tensor", "kernels", "io", "text", "audio", "nn", "codec", "model", "families",
          "link", "engine", "voices", "runtime", "library", "predict", "ears", "server", "bench",
          "cli"]
ROOMS = {"server": ["models", "request", "access", "net", "voices", "chat", "transcribe", "dialects",
                    "realtime", "http"],
         "cli": ["line", "speak", "talk", "files", "serve", "measure", "doctor"]}
WALLS = {("families", "engine"), ("engine", "families"), ("families", "link"), ("link", "families"),
         ("engine", "link"), ("link", "engine")}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def breach(layer, target, is_test):
    """Returns why a file of `layer` must not include from `target`, or None."""
    if target not in LAYERS:
        return f"'{target}/' is not a layer; includes are written from src/"
    if (layer, target) in WALLS:
        return f"{layer}/ and {target}/ never meet; both know only model/"
    if LAYERS.index(target) > LAYERS.index(layer) and not is_test:
        return f"{layer}/ lies above {target}/"
    return None


def room_breach(parts, target):
    """Returns why a file in the folders `parts` must not include `target` of the same layer, or None."""
    rooms = ROOMS.get(parts[0])
    if rooms is None or target[0] != parts[0]:
        return None
    here, there = parts[1], target[1]
    if parts[0] == "cli" and len(parts) == 2:  # the list of all commands, and the program itself
        here = rooms[-1]
        if len(target) == 2:
            return None
    if here not in rooms or there not in rooms:
        return f"a file of {parts[0]}/ stands in one of its rooms: {', '.join(rooms)}"
    if rooms.index(there) > rooms.index(here):
        return f"{parts[0]}/{here}/ lies above {parts[0]}/{there}/"
    return None


def check(source_dir):
    root = pathlib.Path(source_dir) / "src"
    files = [p for p in sorted(root.rglob("*")) if p.suffix in {".h", ".cc", ".cu", ".cuh", ".inc"}]
    breaches = []
    for path in files:
        parts = path.relative_to(root).parts
        is_test = (path.stem.endswith("_test") or path.name in {"testing.h", "fixture.h"} or
                   "testing" in parts)
        if parts[0] not in LAYERS:
            breaches.append(f"{path}:1: '{parts[0]}/' is not in the list of layers")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(1)
            why = breach(parts[0], target.split("/")[0], is_test)
            if not why and not is_test:
                why = room_breach(parts, target.split("/"))
            if not why and not is_test and "/testing/" in target:
                why = "only tests include what stands in testing/"
            if not why and not (root / target).exists():
                why = f"there is no src/{target}"
            if why:
                breaches.append(f"{path}:{number}: {target}: {why}")
    return files, breaches


def self_test():
    assert breach("engine", "families", False) and breach("families", "engine", True)
    assert breach("base", "cli", False) and not breach("cli", "base", False)
    assert room_breach(("server", "net", "a.h"), ["server", "http", "b.h"])
    assert room_breach(("server", "a.h"), ["server", "http", "b.h"])
    assert not room_breach(("server", "http", "a.h"), ["server", "net", "b.h"])
    assert room_breach(("cli", "speak", "a.cc"), ["cli", "commands.h"])
    assert not room_breach(("cli", "main.cc"), ["cli", "commands.h"])
    assert not room_breach(("nn", "a.h"), ["nn", "b.h"])
    assert breach("nn", "nowhere", False) and not breach("nn", "nn", False)


def main():
    self_test()
    files, breaches = check(sys.argv[1])
    for line in breaches:
        print(line)
    print(f"{len(files)} files, {len(breaches)} violations")
    return 1 if breaches or not files else 0


if __name__ == "__main__":
    sys.exit(main())
