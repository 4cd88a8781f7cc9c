#!/usr/bin/env python3
"""Writes the results of Smart Turn's published graph for signals, with weights that the test generates again.

    pip install onnx onnxruntime numpy soxr loguru; pip download --no-deps pipecat-ai==1.14.0 && unzip pipecat_ai-*.whl -d PIPECAT
    python3 make_golden.py PIPECAT

The graph of smart-turn-v3.2-cpu.onnx runs in onnxruntime behind Pipecat's own features, without its rounding of activations and
with other weights (made()). `published` has the unchanged graph and weights, for users with these files.
"""
import importlib.util
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
MASK = np.uint64(0xFFFFFFFFFFFFFFFF)


def module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    out = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(out)
    return out


def made(seed, count):
    """Returns the same numbers as made_number() of src/ears/silero_fixture.h."""
    with np.errstate(over="ignore"):
        z = (np.uint64(seed << 32) + np.arange(1, count + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(40)).astype(np.float64) / 8388608.0 - 1).astype(np.float32)


def made_weights(shapes):
    out = {}
    for seed, (name, shape) in enumerate(sorted(shapes.items())):
        values = made(seed, int(np.prod(shape))).reshape(shape)
        if name.endswith("weight") and len(shape) == 1:
            values = np.float32(1) + np.float32(0.1) * values
        else:
            fan_in = int(np.prod(shape[1:]))
            scale = 0.1 if len(shape) == 1 else 0.5 if "positions" in name else (3 / fan_in) ** 0.5
            values = np.float32(scale * (8 if name == "classifier.6.weight" else 1)) * values
        out[name] = values
    return out


def signal(number):
    """Returns the signal that the test also generates: a tone at 16 kHz that rises and fades."""
    seconds = [3.0, 8.0, 9.5, 0.7][number]
    t = np.arange(int(16000 * seconds), dtype=np.float64) / 16000
    wave = np.sin(2 * np.pi * (120 + 40 * number) * t * (1 + 0.05 * t)) * np.exp(-0.3 * number * t)
    return (0.3 * wave * (np.floor(t * (3 + number)) % 2)).astype(np.float32)


def float_graph(model, real, other):
    """Returns the graph without rounding, with the tensors of `other` in place of the equal ones of `real`."""
    graph = model.graph
    stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    by_bytes = {array.tobytes(): (name, False) for name, array in real.items()}
    by_bytes.update({np.ascontiguousarray(array.T).tobytes(): (name, True) for name, array in real.items() if array.ndim == 2})
    known, rename, nodes, added = {}, {}, [], {}
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            rename[node.output[0]] = rename.get(node.input[0], node.input[0])
        elif node.op_type == "DequantizeLinear" and node.input[0] in stored:
            added[node.output[0]] = node
        elif node.op_type == "DequantizeLinear":
            rename[node.output[0]] = rename.get(node.input[0], node.input[0])
        else:
            nodes.append(node)
    for name, node in added.items():
        whole, scale, zero = stored[node.input[0]], stored[node.input[1]], stored[node.input[2]]
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        if scale.ndim:
            sizes = [1] * whole.ndim
            sizes[axis if whole.ndim > 1 else 0] = -1
            scale, zero = scale.reshape(sizes), zero.reshape(sizes)
        known[name] = ((whole.astype(np.int64) - zero) * scale.astype(np.float64)).astype(np.float32)
    known.update({name: array for name, array in stored.items() if array.dtype == np.float32})
    changed = set()
    for name, array in known.items():
        own = name.removeprefix("inner.")
        torch_name, turned = (own, False) if own in real else by_bytes.get(array.tobytes(), (None, False))
        if torch_name is None or array.size == 1 and own not in real:
            continue
        values = other[torch_name]
        known[name] = values.T if turned and 1 not in values.shape else values.reshape(array.shape)
        changed.add(torch_name)
    for node in nodes:
        for i, name in enumerate(node.input):
            node.input[i] = rename.get(name, name)
    missing = set(real) - changed
    for name in list(missing):  # these tensors contain one number each, and are found by position
        key = f"inner.{name}"
        hits = [k for k in known if known[k].size == real[name].size and known[k].tobytes() == real[name].tobytes()]
        assert len(hits) == 1, (name, hits, key)
        known[hits[0]] = other[name].reshape(known[hits[0]].shape)
    tensors = [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in known.items()]
    tensors += [t for t in graph.initializer if numpy_helper.to_array(t).dtype == np.int64]
    outputs = list(graph.output)
    made_graph = helper.make_graph(nodes, "g", list(graph.input), outputs, tensors)
    made_graph.output[0].name = rename.get(made_graph.output[0].name, made_graph.output[0].name)
    return helper.make_model(made_graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)


def main():
    root = pathlib.Path(sys.argv[1]) / "pipecat/audio/turn/smart_turn"
    path = str(root / "data/smart-turn-v3.2-cpu.onnx")
    features = module(root / "_whisper_features.py", "features")
    real = module(HERE.parents[2] / "tools/smart_turn.py", "tool").weights(path)
    shapes = {name: list(array.shape) for name, array in real.items()}

    def probabilities(model):
        session = onnxruntime.InferenceSession(model)
        out = []
        for number in range(4):
            wave = signal(number)[-128000:]
            wave = np.pad(wave, (128000 - wave.size, 0))
            mel = features.compute_whisper_log_mel_features(wave, do_normalize=True)
            out.append(float(np.asarray(session.run(None, {"input_features": mel[None]})[0]).reshape(-1)[0]))
        return out

    mixed = float_graph(onnx.load(path), real, made_weights(shapes)).SerializeToString()
    plain = float_graph(onnx.load(path), real, real).SerializeToString()
    golden = {"shapes": shapes, "probabilities": probabilities(mixed), "published": probabilities(path),
              "published_without_rounding": probabilities(plain)}
    print({k: v for k, v in golden.items() if k != "shapes"})
    lines = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in golden.items()]
    (HERE / "golden.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
