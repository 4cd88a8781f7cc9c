#!/usr/bin/env python3
"""Stores goldens in less space: random weights are generated again, other numbers are compressed. Standard library only.

    python3 tests/parity/seeded.py FROM TO

makes folder TO look like FROM: links to the files there, but each FILE.packed becomes the FILE that it holds, and each
FILE.seeded.json, packed or not, the FILE that it describes. The build does this for tests/parity, and tests read
build/.../parity (`SYRINX_BINARY_DIR "/parity/"`, `harness.PARITY`).

    python3 tests/parity/seeded.py pack FOLDER...
    python3 tests/parity/seeded.py unpack FOLDER...

replaces each large FILE and each recipe that gets a tenth smaller by FILE.packed, and back, for scripts that read goldens in
place.

    python3 tests/parity/seeded.py copied FILE SOURCE

replaces FILE by a recipe that copies from SOURCE the parts that both contain.

FILE.packed is one byte w (1, 2 or 4) and xz of the file's bytes 0, w, 2w, ..., then 1, w + 1, ..., then the remaining bytes.
So the exponents of numbers are next to each other.

A recipe is a JSON object. `runs` lists [name, place, dtype, count, scale, middle]: at byte `place` of the file begin `count`
numbers of dtype F32, BF16 or F16, each middle + scale * u in float64, rounded to float32 and then to the dtype (F16: to BF16 before; nearest, ties to
even). u = i / 2^31, where i are the little-endian int32 that SHAKE-128 makes of the UTF-8 bytes of "`seed` name". `rest` is
base64 of the packed form of the file XOR those numbers (zero bytes where there are none), so all data that is not random, in
any format, is kept unchanged; `sha256` is that of the file. `copies` lists [file, from, place, bytes]: bytes of another file
(a path from the recipe's folder) at byte `from`, which FILE has at byte `place`.

A script that makes goldens sets random weights as usual, calls Weights.over() before it changes single rows, and
Weights.hollow() on the complete files. `restored()` gives other scripts a checkpoint as if downloaded.
"""
import array
import base64
import contextlib
import hashlib
import json
import lzma
import os
import pathlib
import struct
import sys
import tempfile

ENDING = ".seeded.json"
PACKED = ".packed"
LARGE = (".safetensors", ".pt", ".pth", ".bin", ".onnx", ".gguf", ".wav", ".model", ".json")  # suffixes that pack() looks at
LEAST, LEAST_TEXT = 1000, 11000  # smallest sizes of packed files, in bytes; small texts stay readable
BLOCK = 64  # size in bytes; copied() finds equal parts by their blocks
SMALLEST = 64  # the smallest tensor that a recipe lists


def numbers(seed, name, count, scale, middle):
    """Returns float32 numbers as array("f")."""
    bits = array.array("i", hashlib.shake_128(f"{seed} {name}".encode()).digest(4 * count))
    step = scale / 2**31
    return array.array("f", [middle + step * i for i in bits])


def encoded(values, dtype):
    if dtype == "F32":
        return values.tobytes()
    assert dtype in ("BF16", "F16"), dtype
    bits = array.array("I", values.tobytes())
    narrow = [(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits]
    if dtype == "BF16":
        return array.array("H", narrow).tobytes()
    wide = array.array("f", array.array("I", [b << 16 for b in narrow]).tobytes())
    return struct.pack(f"<{len(wide)}e", *wide)


def xored(data, recipe):
    """Returns `data` with the recipe's numbers XORed in, which turns a file into its rest and back."""
    out = bytearray(data)
    for name, place, dtype, count, scale, middle in recipe["runs"]:
        made = encoded(numbers(recipe["seed"], name, count, scale, middle), dtype)
        end = place + len(made)
        mixed = int.from_bytes(out[place:end], "little") ^ int.from_bytes(made, "little")
        out[place:end] = mixed.to_bytes(len(made), "little")
    return bytes(out)


def with_copies(data, recipe, folder):
    """Returns `data` with the bytes of other files XORed in."""
    out = bytearray(data)
    for file, begin, place, count in recipe.get("copies", []):
        part = stored(folder / file)[begin:begin + count]
        mixed = int.from_bytes(out[place:place + count], "little") ^ int.from_bytes(part, "little")
        out[place:place + count] = mixed.to_bytes(count, "little")
    return bytes(out)


def equal_parts(data, original):
    """Returns [from, place, bytes] for the parts of `data`, at `place`, that `original` has at `from`."""
    where, parts, at = {}, [], 0
    for begin in range(0, len(original) - BLOCK + 1, BLOCK):
        block = original[begin:begin + BLOCK]
        if len(set(block)) > BLOCK // 8:
            where.setdefault(block, begin)
    while at + BLOCK <= len(data):
        begin = where.get(data[at:at + BLOCK])
        if begin is None:
            at += 1
            continue
        back = 0  # the part may begin before the block by which it was found
        first = parts[-1][1] + parts[-1][2] if parts else 0
        while back < min(begin, at - first) and original[begin - back - 1] == data[at - back - 1]:
            back += 1
        end = BLOCK
        while at + end < len(data) and begin + end < len(original) and original[begin + end] == data[at + end]:
            end += 1
        parts.append([begin - back, at - back, back + end])
        at += end
    return parts


def copied(path, source):
    """Replaces the file `path` by a recipe that copies the parts that it shares with the file `source`."""
    path, source = pathlib.Path(path), pathlib.Path(source)
    data = path.read_bytes()
    copies = [[os.path.relpath(source, path.parent), *part] for part in equal_parts(data, stored(source))]
    recipe = {"seed": 0, "sha256": hashlib.sha256(data).hexdigest(), "runs": [], "copies": copies}
    recipe["rest"] = base64.b64encode(packed(with_copies(data, recipe, path.parent))).decode()
    assert written(recipe, path.parent) == data
    path.with_name(path.name + ENDING).write_text(json.dumps(recipe, indent=0) + "\n")
    path.unlink()


def written(recipe, folder):
    """Returns the bytes of the file that `recipe`, in `folder`, describes."""
    data = with_copies(xored(unpacked(base64.b64decode(recipe["rest"])), recipe), recipe, folder)
    if hashlib.sha256(data).hexdigest() != recipe["sha256"]:
        raise SystemExit("a recipe did not give its original file")
    return data


def packed(data):
    """Returns the smallest of the packed forms of `data`."""
    def planes(width):
        whole = len(data) // width * width
        return b"".join(data[i:whole:width] for i in range(width)) + data[whole:]
    return min((bytes([width]) + lzma.compress(planes(width), preset=9) for width in (1, 2, 4)), key=len)


def unpacked(data):
    """Returns the original bytes of packed() data. Older recipes may contain only xz: width 1 without its byte."""
    width, planes = (1, lzma.decompress(data)) if data[:1] == b"\xfd" else (data[0], lzma.decompress(data[1:]))
    each = len(planes) // width
    out = bytearray(planes)
    for i in range(width):
        out[i:each * width:width] = planes[i * each:(i + 1) * each]
    return bytes(out)


def stored(path):
    """Returns the bytes of a file, which may be packed."""
    return path.read_bytes() if path.exists() else unpacked(path.with_name(path.name + PACKED).read_bytes())


def pack(folder):
    """Packs the large files and recipes of a folder that become at least a tenth smaller."""
    paths = sorted(pathlib.Path(folder).rglob("*"))
    for path in paths:
        recipe = path.name.endswith(ENDING)
        if path.is_symlink() or not path.is_file() or path.suffix not in LARGE:
            continue
        data = path.read_bytes()
        if len(data) < (LEAST_TEXT if path.suffix == ".json" else LEAST) and not recipe:
            continue
        small = packed(data)
        if len(small) <= 0.9 * len(data):
            assert unpacked(small) == data
            path.with_name(path.name + PACKED).write_bytes(small)
            path.unlink()
    rename_links(paths, lambda name: name + PACKED)


def unpack(folder):
    """Unpacks the packed files of a folder."""
    paths = sorted(pathlib.Path(folder).rglob("*" + PACKED))
    for path in paths:
        if not path.is_symlink():
            path.with_name(path.name[:-len(PACKED)]).write_bytes(unpacked(path.read_bytes()))
            path.unlink()
    rename_links(paths, lambda name: name[:-len(PACKED)])


def rename_links(paths, renamed):
    """Renames each link of `paths` whose target was renamed, in the same way."""
    for path in paths:
        if path.is_symlink() and not path.exists():
            to = renamed(os.readlink(path))
            path.unlink()
            path.with_name(renamed(path.name)).symlink_to(to)


def content(path, folder):
    """Returns the bytes of the file that `path`, a packed file or a recipe of `folder`, represents."""
    data = path.read_bytes()
    if path.name.endswith(PACKED):
        data = unpacked(data)
    return written(json.loads(data), folder) if ENDING in path.name else data


def plain_name(path):
    """Returns the name of the file that `path`, a packed file or a recipe, represents."""
    return path.name.removesuffix(PACKED).removesuffix(ENDING)


def mirror(source, target):
    """Makes links and files in `target` (absolute) for those of `source`. Files newer than their recipe stay unchanged."""
    seeded = set(source.rglob("*" + ENDING)) | set(source.rglob("*" + PACKED))
    links = {p for p in source.rglob("*") if p.is_symlink()}  # links to files that may be packed
    holds = {folder for p in seeded | links for folder in p.parents}
    script = pathlib.Path(__file__).stat().st_mtime

    def link(place, to):
        told = os.readlink(to) if to.is_symlink() else os.path.relpath(to, place.parent)
        if not (place.is_symlink() and os.readlink(place) == told):
            remove(place)
            place.symlink_to(told)

    def remove(place):
        if place.is_dir() and not place.is_symlink():
            for inner in place.iterdir():
                remove(inner)
            place.rmdir()
        else:
            place.unlink(missing_ok=True)

    def walk(folder, place):
        if place.is_symlink() or place.is_file():
            remove(place)
        place.mkdir(parents=True, exist_ok=True)
        expected = set()
        for item in sorted(folder.iterdir()):
            if item in seeded:
                file = place / plain_name(item)
                made = file.is_file() and not file.is_symlink()
                if not made or file.stat().st_mtime < max(item.stat().st_mtime, script):
                    data = content(item, folder)
                    remove(file)
                    part = file.with_name(file.name + ".part")
                    part.write_bytes(data)
                    part.rename(file)
            else:
                file = place / item.name
                walk(item, file) if item in holds else link(file, item)
            expected.add(file.name)
        for old in place.iterdir():
            if old.name not in expected:
                remove(old)

    walk(source, target)


@contextlib.contextmanager
def restored(folder):
    """Yields a temporary copy of a folder of goldens with complete files instead of recipes."""
    with tempfile.TemporaryDirectory() as place:
        mirror(pathlib.Path(folder).resolve(), pathlib.Path(place) / "whole")
        yield pathlib.Path(place) / "whole"


class Weights:
    """Random weights that a recipe can describe, for the scripts that make goldens (needs torch)."""

    def __init__(self, seed):
        self.seed, self.made = seed, {}

    @staticmethod
    def of(path):
        """Returns the weights in the recipe of the file `path`."""
        recipe = json.loads(stored(pathlib.Path(f"{path}{ENDING}")))
        weights = Weights(recipe["seed"])
        weights.made = {run[0]: tuple(run[3:]) for run in recipe["runs"]}
        return weights

    def over(self, tensors, prefix="", keep=()):
        """Replaces the numbers of each larger float tensor of a module or {name: tensor}; mean and deviation stay,
        rounded. Tensors that are constant or whose names contain one of `keep` are left alone."""
        import torch
        if isinstance(tensors, torch.nn.Module):
            tensors = tensors.state_dict(keep_vars=True)
        seen = set()
        with torch.no_grad():
            for name, tensor in tensors.items():
                if (tensor.dtype not in (torch.float32, torch.bfloat16) or tensor.numel() < SMALLEST
                        or any(part in name for part in keep) or tensor.data_ptr() in seen):
                    continue
                seen.add(tensor.data_ptr())
                middle, scale = float(tensor.double().mean()), float(tensor.double().std()) * 3**0.5
                if scale == 0:
                    continue
                middle = float(f"{middle:.3g}") if abs(middle) > 0.2 * scale else 0.0
                run = (tensor.numel(), float(f"{scale:.4g}"), middle)
                self.made[prefix + name] = run
                values = torch.frombuffer(numbers(self.seed, prefix + name, *run), dtype=torch.float32)
                tensor.copy_(values.reshape(tensor.shape))

    def hollow(self, path):
        """Replaces the file `path` by a recipe. Numbers are found by their beginning, in either dtype."""
        path = pathlib.Path(path)
        data, runs = path.read_bytes(), []
        for name, run in self.made.items():
            begin = numbers(self.seed, name, min(run[0], 16), *run[1:])
            for dtype in ("F32", "BF16", "F16"):
                place = data.find(encoded(begin, dtype))
                if place >= 0:
                    runs.append([name, place, dtype, *run])
        runs.sort(key=lambda run: run[1])
        recipe = {"seed": self.seed, "sha256": hashlib.sha256(data).hexdigest(), "runs": runs}
        recipe["rest"] = base64.b64encode(packed(xored(data, recipe))).decode()
        assert written(recipe, path.parent) == data
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in recipe.items() if key != "runs"]
        listed = ",\n".join("  " + json.dumps(run) for run in runs)
        text = "{\n" + ",\n".join([f' "runs": [\n{listed}]', *lines]) + "\n}\n"
        path.with_name(path.name + ENDING).write_text(text)
        path.unlink()
        print(f"{path}: {len(data)} -> {len(text)}")


if __name__ == "__main__":
    if sys.argv[1] == "copied":
        copied(*sys.argv[2:])
        sys.exit()
    if sys.argv[1] in ("pack", "unpack"):
        for name in sys.argv[2:]:
            (pack if sys.argv[1] == "pack" else unpack)(name)
        sys.exit()
    mirror(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).absolute())
