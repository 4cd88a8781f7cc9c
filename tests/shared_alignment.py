#!/usr/bin/env python3
"""Checks the alignment of shared memory that kernels read 16 bytes at a time. nvcc aligns an array of numbers only to
one number. The emulation of a GPU cannot detect this, because a C++ compiler aligns every array to 16 bytes. So this
script reads the source. If the address of a __shared__ array becomes a pointer to float4, uint4, ..., its declaration
needs alignas with the size of that type. Run: shared_alignment.py SOURCE_DIR. Prints every violation as file: line:
name; exit code 1 if there is one.
"""
import pathlib
import re
import sys

SIZES = {"float4": 16, "uint4": 16, "int4": 16, "float2": 8, "uint2": 8, "int2": 8}
DECLARED = re.compile(r"^(?P<before>[^/\n]*)__shared__\s+(?P<after>(?:__align__\(\d+\)\s*|alignas\(\d+\)\s*)?)"
                      r"(?:unsigned\s+)?(?:float|char|int|unsigned|u?int\d+_t|double)\s+(?P<name>\w+)\s*\[", re.M)
ALIGNED = re.compile(r"(?:alignas|__align__)\((\d+)\)")


def breaches(text):
    for found in DECLARED.finditer(text):
        given = [int(n) for n in ALIGNED.findall(found["before"] + found["after"])]
        for kind, size in SIZES.items():
            read = re.search(rf"reinterpret_cast<(?:const\s+)?{kind}\s*\*>\(\s*&?\s*{found['name']}\b", text)
            if read and max(given, default=0) < size:
                yield text.count("\n", 0, found.start()) + 1, found["name"], kind


def main():
    for declaration, faults in [("__shared__ float xs[4];", 1), ("alignas(16) __shared__ float xs[4];", 0),
                                ("alignas(8) __shared__ float xs[4];", 1), ("__shared__ __align__(16) float xs[4];", 0)]:
        sample = declaration + " f(*reinterpret_cast<const float4*>(&xs[0]));"
        assert len(list(breaches(sample))) == faults, declaration
    source = pathlib.Path(sys.argv[1]) / "src/kernels/cuda"
    files = sorted([*source.rglob("*.cu"), *source.rglob("*.cuh")])
    assert files, source
    count = 0
    for file in files:
        for line, name, kind in breaches(file.read_text()):
            print(f"{file.relative_to(source)}: {line}: '{name}' is read as {kind} but is not aligned to it")
            count += 1
    return count > 0


if __name__ == "__main__":
    sys.exit(main())
