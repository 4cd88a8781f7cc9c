#!/usr/bin/env python3
"""Writes a checkpoint of published size with random weights, as one would download it.

    random_checkpoint.py [--layout tests/parity/published/qwen3_tts] OUT

Names, types and sizes of tensors and the configs are those of the layout (tests/parity/published), so whatever reads the
published files reads these: programs that are compared can be given the same files. The tokenizer has the published
number of entries (151,643 and as many merges, and the special ones), made of random pieces. Weights are scaled so that
nothing overflows; what is spoken is noise. Needs numpy.
"""
import argparse
import itertools
import json
import pathlib
import random
import re
import struct

import numpy as np

SIZES = {"BF16": 2, "F32": 4}
ROLES = {"im_start_token_id": "<|im_start|>", "im_end_token_id": "<|im_end|>", "tts_pad_token_id": "<tts_pad>",
         "tts_bos_token_id": "<tts_text_bos>", "tts_eos_token_id": "<tts_text_eod>"}
SPECIAL = {151643: "<|endoftext|>", 151644: "<|im_start|>", 151645: "<|im_end|>", 151671: "<tts_pad>",
           151672: "<tts_text_bos>", 151673: "<tts_text_eod>"}


def names(pattern):
    """a.{0..2}.b -> a.0.b, a.1.b, a.2.b"""
    pieces = re.split(r"\{(\d+)\.\.(\d+)\}", pattern)
    counts = [range(int(a), int(b) + 1) for a, b in zip(pieces[1::3], pieces[2::3])]
    for ids in itertools.product(*counts):
        yield "".join(text + str(i) for text, i in itertools.zip_longest(pieces[0::3], ids, fillvalue=""))


def layout(path):
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] in SIZES:
            shape = [] if words[1] == "-" else [int(n) for n in words[1].split("x")]
            for name in names(words[2]):
                yield name, words[0], shape


def values(rng, name, shape):
    last = name.rsplit(".", 1)[-1]
    x = rng.standard_normal(shape, dtype=np.float32)
    if last == "cluster_usage":
        return np.abs(x) + 0.5
    if last in ("alpha", "beta", "bias"):
        return 0.1 * x
    if last in ("scale", "gamma"):
        return 0.3 + 0.1 * x
    if "norm" in name:
        return 1 + 0.1 * x
    if "embed" in name:
        return x
    return x / np.float32(np.sqrt(max(1, np.prod(shape[1:]))))


def write_weights(txt, out, seed):
    rng = np.random.default_rng(seed)
    header, at = {}, 0
    if "metadata format pt" in txt.read_text():
        header["__metadata__"] = {"format": "pt"}
    tensors = sorted(layout(txt))
    for name, dtype, shape in tensors:
        size = SIZES[dtype] * int(np.prod(shape, dtype=np.int64))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with out.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, dtype, shape in tensors:
            x = np.ascontiguousarray(values(rng, name, shape), dtype=np.float32)
            if dtype == "BF16":
                bits = x.view(np.uint32)
                x = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
            file.write(x.tobytes())


def write_tokenizer(out):
    """Byte-level, as GPT-2's: 256 bytes, and merges of earlier tokens."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    tokens = [chr(b) for b in printable] + [chr(256 + n) for n in range(256 - len(printable))]
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)] + ["\u0120"]
    seen, merges, rng = set(tokens), [], random.Random(1)
    parts = list(letters)  # up to three letters
    for word in ("assistant", "user", "system"):  # one id each, as roles are
        for end in range(1, len(word)):
            if word[:end + 1] not in seen:
                seen.add(word[:end + 1])
                tokens.append(word[:end + 1])
                merges.append(f"{word[:end]} {word[end]}")
    while len(tokens) < 151643:
        pair = (rng.choice(parts), rng.choice(parts))
        joined = "".join(pair)
        if joined in seen or "\u0120" in joined[1:]:
            continue
        seen.add(joined)
        tokens.append(joined)
        merges.append(" ".join(pair))
        if len(joined) <= 3:
            parts.append(joined)
    (out / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}, ensure_ascii=False))
    (out / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    added = {str(i): {"content": t, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
                      "special": True} for i, t in SPECIAL.items()}
    (out / "tokenizer_config.json").write_text(json.dumps(
        {"add_bos_token": False, "add_prefix_space": False, "added_tokens_decoder": added, "bos_token": None,
         "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "tokenizer_class": "Qwen2Tokenizer",
         "errors": "replace", "model_max_length": 131072, "unk_token": None}, indent=1))


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--layout", type=pathlib.Path, default=here / "tests/parity/published/qwen3_tts")
    p.add_argument("out", type=pathlib.Path)
    a = p.parse_args()
    for n, txt in enumerate(sorted(a.layout.rglob("*.safetensors.txt"))):
        to = a.out / txt.relative_to(a.layout).with_suffix("")
        to.parent.mkdir(parents=True, exist_ok=True)
        write_weights(txt, to, n)
    for config in a.layout.rglob("*.json"):
        value = json.loads(config.read_text())
        ids = {token: i for i, token in SPECIAL.items()}
        value.update({key: ids[token] for key, token in ROLES.items() if key in value})
        if "decoder_config" in value:  # which others ask for
            value["decoder_config"] |= {"num_semantic_quantizers": 1, "semantic_codebook_size": 4096}
        (a.out / config.relative_to(a.layout)).write_text(json.dumps(value, indent=1))
    (a.out / "generation_config.json").write_text(json.dumps(
        {"do_sample": True, "repetition_penalty": 1.05, "temperature": 0.9, "top_p": 1.0, "top_k": 50,
         "subtalker_dosample": True, "subtalker_temperature": 0.9, "subtalker_top_p": 1.0, "subtalker_top_k": 50,
         "max_new_tokens": 8192}, indent=1))
    write_tokenizer(a.out)


if __name__ == "__main__":
    main()
