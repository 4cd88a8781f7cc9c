#!/usr/bin/env python3
"""Makes the small Qwen3 of make_golden.py with linear layers in 4 bits, as GPTQ and AWQ publish them.

  make_quantized.py     writes quantized/{gptq,awq,golden}.safetensors beside this file

Needs numpy. Both files hold the same numbers, zeros and scales (groups of 32, round to nearest) in the layout of AutoGPTQ
(checkpoint_format gptq, zeros stored less one, g_idx) and of AutoAWQ (version gemm): see src/io/quantized_weights.h. golden:
prompt_ids, greedy tokens and the logits of each step, computed here in float64 from the dequantized weights. The table and the
norms are those of qwen3/model.safetensors.
"""
import json
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).parent
GROUP, STEPS = 32, 5
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # the output at each place of a word
TYPES = {"F32": np.float32, "F16": np.float16, "I32": np.int32}


def load(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            wide = np.frombuffer(data[begin:end], np.uint16).astype(np.uint32) << 16
            tensors[name] = wide.view(np.float32).reshape(entry["shape"]).astype(np.float64)
        else:
            tensors[name] = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def save(path, tensors):
    header, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, value in sorted(tensors.items()):
        kind = next(k for k, t in TYPES.items() if value.dtype == t)
        parts.append(np.ascontiguousarray(value).tobytes())
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def quantize(weight):
    """Quantizes a weight [out, in] to numbers [out, in], zeros and f16 scales [groups, out]; zeros are 1 to 15."""
    out, width = weight.shape
    w = weight.reshape(out, width // GROUP, GROUP)
    low, high = np.minimum(w.min(2), 0), np.maximum(w.max(2), 0)
    scales = ((high - low) / 15).astype(np.float16)
    s = scales.astype(np.float64)
    zeros = np.clip(np.rint(-low / s), 1, 15).astype(np.int64)
    numbers = np.clip(np.rint(w / s[..., None]) + zeros[..., None], 0, 15).astype(np.int64)
    meant = (numbers - zeros[..., None]) * s[..., None]
    return numbers.reshape(out, width), zeros.T, scales.T, meant.reshape(out, width)


def words(values, axis, order=range(8)):
    """Packs eight numbers along `axis` into each int32; place i of a word contains number order[i] of the eight."""
    values = np.moveaxis(values, axis, -1)
    eight = values.reshape(*values.shape[:-1], -1, 8)
    packed = np.zeros(eight.shape[:-1], np.uint32)
    for place, which in enumerate(order):
        packed |= eight[..., which].astype(np.uint32) << np.uint32(4 * place)
    return np.moveaxis(packed, -1, axis).view(np.int32)


def norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def forward(config, weights, ids):
    """Returns the logits after the last of `ids`, by Qwen3's formulas."""
    hidden = weights["model.embed_tokens.weight"][ids]
    heads, kv, dim, eps = (config[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim", "rms_norm_eps"))
    angle = np.arange(len(ids))[:, None] / config["rope_parameters"]["rope_theta"] ** (np.arange(0, dim, 2) / dim)
    cos, sin = (np.concatenate([f(angle)] * 2, -1)[:, None] for f in (np.cos, np.sin))

    def turned(x):
        return x * cos + np.concatenate([-x[..., dim // 2:], x[..., :dim // 2]], -1) * sin

    for layer in range(config["num_hidden_layers"]):
        w = {n.split(".", 3)[3]: v for n, v in weights.items() if n.startswith(f"model.layers.{layer}.")}
        x = norm(hidden, w["input_layernorm.weight"], eps)
        q, k, v = (np.reshape(x @ w[f"self_attn.{p}_proj.weight"].T, (len(ids), -1, dim)) for p in "qkv")
        q = turned(norm(q, w["self_attn.q_norm.weight"], eps))
        k = turned(norm(k, w["self_attn.k_norm.weight"], eps))
        k, v = (np.repeat(each, heads // kv, 1) for each in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(dim)
        scores += np.triu(np.full((len(ids), len(ids)), -np.inf), 1)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hij,jhd->ihd", share / share.sum(-1, keepdims=True), v).reshape(len(ids), -1)
        hidden = hidden + mixed @ w["self_attn.o_proj.weight"].T
        x = norm(hidden, w["post_attention_layernorm.weight"], eps)
        gate, up = (x @ w[f"mlp.{p}_proj.weight"].T for p in ("gate", "up"))
        hidden = hidden + (gate / (1 + np.exp(-gate)) * up) @ w["mlp.down_proj.weight"].T
    return norm(hidden[-1], weights["model.norm.weight"], eps) @ weights["model.embed_tokens.weight"].T


def main():
    base = HERE / "qwen3"
    config = json.loads((base / "config.json").read_text())
    weights = load(base / "model.safetensors")
    golden = load(base / "golden" / "text.safetensors")
    ids = [int(i) for i in golden["prompt_ids"]]
    # The forward pass above is the published one: its logits equal transformers' before anything is quantized.
    off = np.abs(forward(config, weights, ids) - golden["logits"][0]).max()
    assert off < 1e-3, off

    gptq, awq = {}, {}
    for name in [n for n in weights if n.endswith("_proj.weight")]:
        stem = name.removesuffix(".weight")
        numbers, zeros, scales, weights[name] = quantize(weights[name])
        width = numbers.shape[1]
        gptq |= {stem + ".qweight": words(numbers.T, 0), stem + ".qzeros": words(zeros - 1, 1), stem + ".scales": scales,
                 stem + ".g_idx": (np.arange(width) // GROUP).astype(np.int32)}
        awq |= {stem + ".qweight": words(numbers.T, 1, AWQ_ORDER), stem + ".qzeros": words(zeros, 1, AWQ_ORDER), stem + ".scales": scales}
    tokens, logits = [], []
    for _ in range(STEPS):
        logits.append(forward(config, weights, ids + tokens))
        tokens.append(int(logits[-1].argmax()))
    out = HERE / "quantized"
    out.mkdir(exist_ok=True)
    save(out / "gptq.safetensors", gptq)
    save(out / "awq.safetensors", awq)
    save(out / "golden.safetensors", {"prompt_ids": np.array(ids, np.int32), "tokens": np.array(tokens, np.int32),
                                      "logits": np.array(logits, np.float32)})
    print(tokens, [float(np.sort(row)[-1] - np.sort(row)[-2]) for row in logits], sum(p.stat().st_size for p in out.iterdir()), "bytes")


if __name__ == "__main__":
    main()
