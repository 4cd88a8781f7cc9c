#!/usr/bin/env python3
"""Writes openai/ beside this file: the networks of large/ in the files of the authors' package and of whisper.cpp.

  make_openai.py CONVERTER      CONVERTER: whisper.cpp's models/convert-pt-to-ggml.py

- large.pt: `dims` and `model_state_dict` after torch.save(), like the published files. The package's load_model() reads it here.
  multilingual.tiktoken: the tokenizer of large/ as ranks.
- ggml-large.bin, and ggml-large-q8_0.bin: the converter's file, and one whose matrices have 8 bits, by the package gguf.

Files that only repeat numbers of large/ are recipes (../seeded.py). openai-whisper 20250625, torch 2.15, gguf 0.17.
"""
import base64
import dataclasses
import json
import pathlib
import runpy
import shutil
import struct
import sys
import tempfile

import numpy as np
import torch
import whisper
from gguf import GGMLQuantizationType, quants
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

PLAIN = 300
NAMES = [("embed_tokens.weight", "token_embedding.weight"), ("embed_positions.weight", "positional_embedding"), ("layers.", "blocks."),
         ("encoder_attn_layer_norm", "cross_attn_ln"), ("self_attn_layer_norm", "attn_ln"), ("encoder_attn.", "cross_attn."),
         ("self_attn.", "attn."), ("final_layer_norm", "mlp_ln"), ("fc1", "mlp.0"), ("fc2", "mlp.2"), ("q_proj", "query"),
         ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "out"), ("encoder.layer_norm", "encoder.ln_post"),
         ("decoder.layer_norm", "decoder.ln"), ("model.", "")]


def letters():
    """Returns GPT-2's letters for bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}


def in_8_bits(file):
    """Returns the same file with its matrices in Q8_0."""
    data = file.read_bytes()
    at = 4 + 10 * 4
    at += 4
    bands, bins = struct.unpack_from("ii", data, at)
    at += 8 + 4 * bands * bins
    count, = struct.unpack_from("i", data, at)
    at += 4
    for _ in range(count):
        at += 4 + struct.unpack_from("i", data, at)[0]
    out = bytearray(data[:at])
    while at < len(data):
        dims, length, kind = struct.unpack_from("iii", data, at)
        sizes = struct.unpack_from("i" * dims, data, at + 12)
        name = data[at + 12 + 4 * dims:][:length]
        at += 12 + 4 * dims + length
        numbers = np.frombuffer(data, np.float16 if kind == 1 else np.float32, int(np.prod(sizes)), at)
        at += numbers.nbytes
        body = numbers.tobytes()
        if dims == 2 and sizes[0] % 32 == 0:
            kind, body = 8, quants.quantize(numbers.astype(np.float32).reshape(-1, sizes[0]), GGMLQuantizationType.Q8_0).tobytes()
        out += struct.pack("iii", dims, length, kind) + struct.pack("i" * dims, *sizes) + name + body
    return bytes(out)


def main():
    out = HERE / "openai"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    config = json.loads((HERE / "large" / "config.json").read_text())
    state = {}
    for key, value in load_file(HERE / "large" / "model.safetensors").items():
        for ours, theirs in NAMES:
            key = key.replace(ours, theirs)
        state[key] = value
    dims = whisper.model.ModelDimensions(
        config["num_mel_bins"], 1500, config["d_model"], config["encoder_attention_heads"], config["encoder_layers"], config["vocab_size"],
        config["max_target_positions"], config["d_model"], config["decoder_attention_heads"], config["decoder_layers"])
    torch.save({"dims": dataclasses.asdict(dims), "model_state_dict": state}, out / "large.pt")
    model = whisper.load_model(str(out / "large.pt"))
    assert model.dims == dims and all(torch.equal(model.state_dict()[k].half(), v) for k, v in state.items())
    table = letters()
    vocab = json.loads((HERE / "large" / "tokenizer.json").read_text())["model"]["vocab"]
    ranks = sorted((i, bytes(table[c] for c in token)) for token, i in vocab.items() if i < PLAIN)
    (out / "multilingual.tiktoken").write_text("".join(f"{base64.b64encode(b).decode()} {i}\n" for i, b in ranks))
    with tempfile.TemporaryDirectory() as made:
        assets = pathlib.Path(made) / "whisper" / "assets"
        assets.mkdir(parents=True)
        shutil.copy(pathlib.Path(whisper.__file__).parent / "assets" / "mel_filters.npz", assets)
        for name in ("multilingual", "gpt2"):  # such a small vocabulary would be treated as English
            shutil.copy(out / "multilingual.tiktoken", assets / f"{name}.tiktoken")
        sys.argv = ["convert", str(out / "large.pt"), made, made]
        runpy.run_path(CONVERTER, run_name="__main__")
        shutil.copy(pathlib.Path(made) / "ggml-model.bin", out / "ggml-large.bin")
    (out / "ggml-large-q8_0.bin").write_bytes(in_8_bits(out / "ggml-large.bin"))
    for name in ("large.pt", "ggml-large.bin", "ggml-large-q8_0.bin"):
        seeded.copied(out / name, HERE / "large" / "model.safetensors")
    for path in sorted(out.iterdir()):
        print(path.name, path.stat().st_size)


CONVERTER = sys.argv[1]
main()
