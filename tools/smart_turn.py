#!/usr/bin/env python3
"""Converts Smart Turn 3, as its authors publish it, to the file that `syrinx serve --smart-turn` reads.

    pip download --no-deps pipecat-ai==1.14.0 && unzip -j pipecat_ai-*.whl '*/smart-turn-v3.2-cpu.onnx'
    pip install onnx numpy
    python3 tools/smart_turn.py smart-turn-v3.2-cpu.onnx smart_turn.safetensors

The published graph has weights in 8 bits with a scale for each output; this writes them as float32. Names are those of the
torch modules, found by the biases that the graph adds after each product.
"""
import json
import struct
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def weights(path):
    """Returns {name: float32 array}, with matrices in torch's layout."""
    graph = onnx.load(path).graph
    stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    made = {out: node for node in graph.node for out in node.output}
    users = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)

    def value(name):
        if name in stored:
            return stored[name].astype(np.float32)
        node = made.get(name)
        if node is None or node.op_type != "DequantizeLinear" or node.input[0] not in stored:
            return None
        whole, scale = stored[node.input[0]], stored[node.input[1]]
        zero = stored[node.input[2]] if len(node.input) > 2 else np.zeros_like(scale)
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        if scale.ndim:
            sizes = [1] * whole.ndim
            sizes[axis if whole.ndim > 1 else 0] = -1
            scale, zero = scale.reshape(sizes), zero.reshape(sizes)
        return ((whole.astype(np.int64) - zero) * scale.astype(np.float64)).astype(np.float32)

    def behind(name):
        """Returns the nodes that read a value, directly or after quantisation."""
        for node in users.get(name, []):
            if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
                yield from behind(node.output[0])
            else:
                yield node

    out = {name: array.astype(np.float32) for name, array in stored.items()
           if name.startswith("inner.") and "quantized" not in name and "_scale" not in name and "_zero_point" not in name}
    unnamed, query_of = [], {}
    for node in graph.node:
        if node.op_type in ("Conv", "Gemm"):
            name = node.input[1].split("_DequantizeLinear")[0].split("_quantized")[0]
            out[name] = value(node.input[1])
            out[name.rsplit(".", 1)[0] + ".bias"] = value(node.input[2])
        elif node.op_type == "MatMul" and (matrix := value(node.input[1])) is not None:
            biases = [i for add in behind(node.output[0]) if add.op_type == "Add" for i in add.input
                      if i.startswith("inner.") and i.endswith(".bias")]
            if not biases:
                unnamed.append((node.input[0], matrix))
                continue
            name = biases[0][:-len("bias")] + "weight"
            out[name] = matrix.T
            if ".q_proj." in name:
                query_of[node.input[0]] = name
    for read, matrix in unnamed:  # the matrices of keys, which have no bias
        out[query_of[read].replace(".q_proj.", ".k_proj.")] = matrix.T
    return {name.removeprefix("inner."): np.ascontiguousarray(array) for name, array in out.items()}


def save(tensors, path):
    header, place = {}, 0
    for name, array in sorted(tensors.items()):
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in sorted(tensors.items()):
            file.write(array.tobytes())


if __name__ == "__main__":
    save(weights(sys.argv[1]), sys.argv[2])
