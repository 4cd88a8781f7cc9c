#!/usr/bin/env python3
"""Writes a GGUF of Orpheus-3B's published size for TTS.cpp, with random weights.

    orpheus_gguf.py OUT [--type q8_0 | q4_0]

Linears, embedding and head in the type; norms and the codec (SNAC) in f32, as its converter writes them. Names, shapes
and keys are what TTS.cpp reads; its tokenizer has two tokens, since ttscpp.cc gives it ids. What is spoken is noise.
Needs numpy.
"""
import argparse
import pathlib
import struct

import numpy as np

HIDDEN, LAYERS, FFN, KV, VOCABULARY = 3072, 28, 8192, 1024, 156940
TYPES = {"f32": 0, "q4_0": 2, "q8_0": 8}
BLOCKS = {"q4_0": 16, "q8_0": 32}  # bytes that hold 32 numbers, after their f16 scale
RNG = np.random.default_rng(0)
STRIDES, CHANNELS = (8, 8, 4, 2), (1024, 512, 256, 128, 64)


def linears():
    """Yields the name, outputs and inputs of each linear layer."""
    yield "orpheus.embed_tokens", VOCABULARY, HIDDEN
    yield "orpheus.lm_head", VOCABULARY, HIDDEN
    for n in range(LAYERS):
        for name, out, into in (("self_attn.q_proj", HIDDEN, HIDDEN), ("self_attn.k_proj", KV, HIDDEN),
                                ("self_attn.v_proj", KV, HIDDEN), ("self_attn.o_proj", HIDDEN, HIDDEN),
                                ("mlp.gate_proj", FFN, HIDDEN), ("mlp.up_proj", FFN, HIDDEN),
                                ("mlp.down_proj", HIDDEN, FFN)):
            yield f"orpheus.layers.{n}.{name}", out, into


def others():
    """Yields the name, shape (as in torch) and mean of each other tensor."""
    yield "orpheus.norm", (HIDDEN,), 1
    yield "orpheus.rope_frequencies", (64,), 1
    for n in range(LAYERS):
        yield f"orpheus.layers.{n}.input_layernorm", (HIDDEN,), 1
        yield f"orpheus.layers.{n}.post_attention_layernorm", (HIDDEN,), 1
    for n in range(3):
        yield f"snac.quantizers.{n}.out_proj.weight", (768, 8, 1), 0
        yield f"snac.quantizers.{n}.out_proj.bias", (768,), 0
        yield f"snac.quantizers.{n}.codebook.weight", (4096, 8), 0
    yield "snac.in.weight", (768, 1, 7), 0
    yield "snac.in.bias", (768,), 0
    yield "snac.up.weight", (1024, 768, 1), 0
    yield "snac.up.bias", (1024,), 0
    for n, stride in enumerate(STRIDES):
        into, out = CHANNELS[n], CHANNELS[n + 1]
        yield f"snac.layers.{n}.alpha", (1, into, 1), 1
        yield f"snac.layers.{n}.weight", (into, out, 2 * stride), 0
        yield f"snac.layers.{n}.bias", (out,), 0
        yield f"snac.layers.{n}.noise_weight", (out, out, 1), 0
        for unit in range(3):
            at = f"snac.layers.{n}.residual_unit.{unit}.res"
            yield f"{at}.initial.alpha", (1, out, 1), 1
            yield f"{at}.initial.weight", (out, 1, 7), 0
            yield f"{at}.initial.bias", (out,), 0
            yield f"{at}.final.alpha", (1, out, 1), 1
            yield f"{at}.final.weight", (out, out, 1), 0
            yield f"{at}.final.bias", (out,), 0
    yield "snac.alpha_out", (1, CHANNELS[-1], 1), 1
    yield "snac.final.weight", (1, CHANNELS[-1], 7), 0
    yield "snac.final.bias", (1,), 0


def numbers(shape, mean):
    spread = 0.1 if mean or len(shape) == 1 else np.prod(shape[1:]) ** -0.5
    return (mean + spread * RNG.standard_normal(shape)).astype(np.float32).tobytes()


def blocks(kind, out, into):
    """Yields rows of random numbers: a thousand blocks repeated, where each row starts at another block."""
    size = BLOCKS[kind]
    scale = np.float16(into ** -0.5 / (74 if kind == "q8_0" else 4.6)).tobytes()
    pool = b"".join(scale + RNG.bytes(size) for _ in range(1009)) * 2
    width = into // 32 * (size + 2)
    for row in range(out):
        at = row * 31 % 1009 * (size + 2)
        yield pool[at:at + width]


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def metadata():
    yield text("general.architecture") + struct.pack("<I", 8) + text("orpheus")
    keys = {"orpheus.stopping_token_id": 128258, "orpheus.hidden_size": HIDDEN, "orpheus.vocab_size": VOCABULARY,
            "orpheus.attn_heads": 24, "orpheus.kv_attn_heads": 8, "orpheus.head_dim": 128, "orpheus.layers": LAYERS,
            "orpheus.kv_hidden_size": KV, "snac.audio_token_channels": 3, "tokenizer.ggml.eos_token_id": 128001,
            "tokenizer.ggml.bos_token_id": 128000}
    for n, stride in enumerate(STRIDES):
        keys |= {f"snac.snac_layer_stride_{n}": stride, f"snac.snac_layer_padding_{n}": (stride + 1) // 2,
                 f"snac.snac_layer_grouping_{n}": CHANNELS[n + 1]}
    for key, value in keys.items():
        yield text(key) + struct.pack("<II", 4, value)
    for key, values in {"tokenizer.ggml.tokens": ["a", "b"], "tokenizer.ggml.merges": ["a b"]}.items():
        yield text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--type", choices=BLOCKS, default="q8_0")
    a = p.parse_args()
    tensors = [(name, a.type, (out, into), out * into // 32 * (BLOCKS[a.type] + 2)) for name, out, into in linears()]
    means = {}
    for name, shape, mean in others():
        means[name] = mean
        tensors.append((name, "f32", shape, 4 * int(np.prod(shape))))
    keys = list(metadata())
    header, at = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys), 0
    for name, kind, shape, size in tensors:
        header += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), TYPES[kind], at)
        at += -(-size // 32) * 32
    with a.out.open("wb") as file:
        file.write(header + bytes(-len(header) % 32))
        for name, kind, shape, size in tensors:
            if kind == "f32":
                file.write(numbers(shape, means[name]))
            else:
                for row in blocks(kind, *shape):
                    file.write(row)
            file.write(bytes(-size % 32))


if __name__ == "__main__":
    main()
