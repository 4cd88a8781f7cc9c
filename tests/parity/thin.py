#!/usr/bin/env python3
"""Keeps fewer samples of long audio in golden files, together with the original count.

    python3 tests/parity/thin.py FILE.safetensors...

Keeps, in each tensor `samples*` [n] with more than 8192 numbers, the first and the last 2048 and, between them,
every 7th. `count.samples*` i32 [1] is n. No hop of a codec is a multiple of 7, so within seven frames every place of
a frame is kept. Thinned files do not change again. io/golden_samples.h reads them. Run this after making goldens
anew.
"""
import json
import pathlib
import struct
import sys

LONG, EDGE, STRIDE = 8192, 2048, 7


def kept(data):
    """Returns the bytes of the f32 samples that are kept."""
    inner = data[4 * EDGE : -4 * EDGE]
    some = b"".join(inner[i : i + 4] for i in range(0, len(inner), 4 * STRIDE))
    return data[: 4 * EDGE] + some + data[-4 * EDGE :]


def thin(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header, body = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    metadata = header.pop("__metadata__", None)
    tensors = []  # (name, dtype, shape, bytes), widest alignment first
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype, shape, data = entry["dtype"], entry["shape"], body[begin:end]
        long = dtype == "F32" and len(shape) == 1 and shape[0] > LONG
        if name.rsplit(".", 1)[-1].startswith("samples") and long and "count." + name not in header:
            tensors.append(("count." + name, "I32", [1], struct.pack("<i", shape[0])))
            data = kept(data)
            shape = [len(data) // 4]
        tensors.append((name, dtype, shape, data))
    tensors.sort(key=lambda t: {"F64": 0, "I64": 0, "F32": 1, "I32": 1}.get(t[1], 2))
    out, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, dtype, shape, data in tensors:
        out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(out, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    new = struct.pack("<Q", len(text)) + text + b"".join(t[3] for t in tensors)
    if len(tensors) == len(header):
        return
    path.write_bytes(new)
    print(f"{path}: {len(raw)} -> {len(new)}")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        thin(pathlib.Path(argument))
