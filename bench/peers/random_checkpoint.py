#!/usr/bin/env python3
"""Writes a checkpoint of published size with random weights, as one would download it.

    random_checkpoint.py FAMILY OUT [--layers N]

FAMILY: qwen3_tts, chatterbox, voxcpm2, higgs_audio or fish_speech. Names, types and sizes of tensors and the configs are those of the layout
(tests/parity/published), so whatever reads the published files reads these: programs that are compared can be given the
same files. Where another program wants more files, OUT/peer has links of these names. Tokenizers: Qwen3-TTS' has the
published number of entries (151,643 and as many merges, and the special ones), made of random pieces; Chatterbox' is that of
the small checkpoint (tests/parity), and so are the others'. Weights are scaled so that nothing overflows, and rows of heads for marks
are zero, so that they are never among the likeliest; what is spoken is noise. For Higgs Audio and Fish Speech, --layers takes fewer than the
published 36 of the large decoder, where 8.4 GB are too much. audio.cpp reads Fish Speech converted only: OUT/peer has the same numbers by
its names (and its codec's folded weights, as random as the parts that are published). Ours takes that codec as codec.pth, a pickle, which is
not written here: give it --load-format dummy.
Needs numpy, and torch for Chatterbox' stored voice.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import re
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HERE / "tests/parity"))
import seeded  # noqa: E402

SIZES = {"BF16": 2, "F32": 4, "I64": 8}
ROLES = {"im_start_token_id": "<|im_start|>", "im_end_token_id": "<|im_end|>", "tts_pad_token_id": "<tts_pad>",
         "tts_bos_token_id": "<tts_text_bos>", "tts_eos_token_id": "<tts_text_eod>"}
SPECIAL = {151643: "<|endoftext|>", 151644: "<|im_start|>", 151645: "<|im_end|>", 151671: "<tts_pad>",
           151672: "<tts_text_bos>", 151673: "<tts_text_eod>"}
SILENT = {"speech_head.weight": np.s_[6561:],  # rows of the heads whose codes must not be drawn
          "tied.embedding.modality_embeddings.0.embedding.weight": [1026 * k + n for k in range(8) for n in (1024, 1025)],
          "text_model.model.embeddings.weight": [293]}
LARGE = "{0..35}"  # layers of the large decoders
POOL = np.random.default_rng(0).standard_normal((1 << 22) + 4099, dtype=np.float32)


def names(pattern):
    """a.{0..2}.b -> a.0.b, a.1.b, a.2.b"""
    pieces = re.split(r"\{(\d+)\.\.(\d+)\}", pattern)
    counts = [range(int(a), int(b) + 1) for a, b in zip(pieces[1::3], pieces[2::3])]
    for ids in itertools.product(*counts):
        yield "".join(text + str(i) for text, i in itertools.zip_longest(pieces[0::3], ids, fillvalue=""))


def layout(path, layers):
    for line in path.read_text().replace(LARGE, f"{{0..{layers - 1}}}").splitlines():
        words = line.split()
        if words and words[0] in SIZES:
            shape = [] if words[1] == "-" else [int(n) for n in words[1].split("x")]
            yield from ((name, words[0], shape) for name in names(words[2]))


def spread(name, shape):
    """Returns the mean and the standard deviation of a tensor's weights."""
    last = name.rsplit(".", 1)[-1]
    if last in ("alpha", "beta", "bias"):
        return 0, 0.1
    if last in ("scale", "gamma"):
        return 0.3, 0.1
    if "norm" in name or last in ("original0", "weight_g"):
        return 1, 0.1
    if "embed" in name and len(shape) == 2 and shape[0] > shape[1]:
        return 0, 1
    return 0, max(1, np.prod(shape[1:])) ** -0.5


def values(name, shape):
    """Returns a tensor's weights, which depend on its name and not on the rest of the file."""
    mean, deviation = spread(name, shape)
    rng = random.Random(name)
    flat = np.empty(int(np.prod(shape, dtype=np.int64)), np.float32)
    for at in range(0, len(flat), 1 << 22):  # large tensors repeat the same numbers, from another start
        piece = flat[at:at + (1 << 22)]
        start = rng.randrange(4099)
        np.multiply(POOL[start:start + len(piece)], np.float32(deviation), out=piece)
        piece += np.float32(mean)
    x = flat.reshape(shape)
    if name.rsplit(".", 1)[-1] in ("cluster_usage", "running_var"):
        x = np.abs(x) + np.float32(0.5)
    if name in SILENT:
        x[SILENT[name]] = 0
    return x


def stored(x, dtype):
    if dtype == "I64":
        return np.zeros(x.shape, np.int64)
    if dtype == "BF16":
        bits = np.ascontiguousarray(x).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.ascontiguousarray(x)


def write_weights(txt, out, layers):
    write_tensors(sorted(layout(txt, layers)), out, "metadata format pt" in txt.read_text())


def write_tensors(tensors, out, of_torch=False, numbers=values):
    """Writes tensors of these names, types and shapes; numbers(name, shape) makes their weights."""
    header, at = {"__metadata__": {"format": "pt"}} if of_torch else {}, 0
    for name, dtype, shape in tensors:
        size = SIZES[dtype] * int(np.prod(shape, dtype=np.int64))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, dtype, shape in tensors:
            stored(numbers(name, shape), dtype).tofile(file)


def write_tokenizer(out):
    """Writes a byte-level tokenizer like GPT-2's: 256 bytes, and merges of earlier tokens."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    tokens = [chr(b) for b in printable] + [chr(256 + n) for n in range(256 - len(printable))]
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)] + ["\u0120"]
    seen, merges, rng = set(tokens), [], random.Random(1)
    parts = list(letters)  # up to three letters
    for word in ("assistant", "user", "system"):  # roles have one id each
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


def small_tokenizer(family, out):
    """Writes tokenizer.json of the small checkpoint, with its merges as text."""
    folder = HERE / "tests/parity" / family / "golden/checkpoint"
    value = json.loads(seeded.stored(folder / "tokenizer.json"))
    model = value["model"]
    model["merges"] = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (out / "tokenizer.json").write_text(json.dumps(value, ensure_ascii=False))


def added(tokens):
    """Returns {id: text}, as tokenizer_config.json lists added tokens."""
    return {str(i): {"content": t, "special": True} for i, t in tokens.items()}


def link(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, target in files.items():
        path = folder / name.replace("__", ".")
        path.unlink(missing_ok=True)
        path.symlink_to(os.path.join("..", target))


def qwen3_tts(out):
    for config in (HERE / "tests/parity/published/qwen3_tts").rglob("*.json"):
        value = json.loads(config.read_text())
        ids = {token: i for i, token in SPECIAL.items()}
        value.update({key: ids[token] for key, token in ROLES.items() if key in value})
        if "decoder_config" in value:  # other programs ask for this key
            value["decoder_config"] |= {"num_semantic_quantizers": 1, "semantic_codebook_size": 4096}
        (out / config.relative_to(HERE / "tests/parity/published/qwen3_tts")).write_text(json.dumps(value, indent=1))
    (out / "generation_config.json").write_text(json.dumps(
        {"do_sample": True, "repetition_penalty": 1.05, "temperature": 0.9, "top_p": 1.0, "top_k": 50,
         "subtalker_dosample": True, "subtalker_temperature": 0.9, "subtalker_top_p": 1.0, "subtalker_top_k": 50,
         "max_new_tokens": 8192}, indent=1))
    write_tokenizer(out)


def chatterbox(out):
    import torch
    small_tokenizer("chatterbox", out)
    rng = torch.Generator().manual_seed(1)
    codes = lambda n: torch.randint(0, 6561, (1, n), generator=rng)
    torch.save({  # the shapes that a recording of three seconds gives
        "t3": {"speaker_emb": 0.06 * torch.randn(1, 256, generator=rng), "clap_emb": None, "cond_prompt_speech_emb": None,
               "cond_prompt_speech_tokens": codes(75), "emotion_adv": 0.5 * torch.ones(1, 1, 1)},
        "gen": {"prompt_token": codes(75), "prompt_token_len": torch.tensor([75]), "prompt_feat_len": None,
                "prompt_feat": torch.randn(1, 150, 80, generator=rng) - 5,
                "embedding": torch.randn(1, 192, generator=rng)}}, out / "conds.pt")
    link(out / "peer", ve__safetensors="ve.safetensors", s3gen__safetensors="s3gen.safetensors", conds__pt="conds.pt",
         t3_cfg__safetensors="t3_cfg.safetensors", tokenizer__json="tokenizer.json",
         t3_mtl23ls_v2__safetensors="t3_cfg.safetensors", t3_mtl23ls_v3__safetensors="t3_cfg.safetensors",
         grapheme_mtl_merged_expanded_v1__json="tokenizer.json", Cangjie5_TC__json="tokenizer.json")


def voxcpm2(out):
    small_tokenizer("voxcpm2", out)
    (out / "audiovae.pth").rename(out / "audiovae.safetensors")  # all programs prefer the .safetensors file
    marks = {101: "<|audio_start|>", 102: "<|audio_end|>", 103: "<|audio_prompt_start|>", 104: "<|audio_prompt_end|>"}
    (out / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": True, "added_tokens_decoder": added(marks)}))
    (out / "special_tokens_map.json").write_text("{}")


def higgs_audio(out):
    small_tokenizer("higgs", out)
    (out / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|endoftext|>"}))
    (out / "chat_template.jinja").write_text("")
    (out / "model.safetensors.index.json").write_text(json.dumps(
        {"weight_map": {name: "model.safetensors" for name in header_of(out / "model.safetensors")}}))
    value = json.loads((out / "config.json").read_text())
    text = value["text_config"]
    text |= {"bos_token_id": 290, "eos_token_id": 290, "rope_theta": 1000000}
    value |= {"_hidden_size": text["hidden_size"], "_vocab_size": text["vocab_size"]}
    value["audio_encoder_config"] |= {"model_type": "higgs_audio_encoder", "mel_per_sample": 8, "max_chunk_size": 16}
    (out / "peer").mkdir(exist_ok=True)
    (out / "peer/config.json").write_text(json.dumps(value, indent=1))
    link(out / "peer", model__safetensors="model.safetensors", tokenizer__json="tokenizer.json",
         tokenizer_config__json="tokenizer_config.json", chat_template__jinja="chat_template.jinja")
    link(out / "peer", **{"model__safetensors__index__json": "model.safetensors.index.json"})


def header_of(path):
    with path.open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    header.pop("__metadata__", None)
    return header


def split(name, shape, heads, groups, dim, renamed):
    """Yields the names by which audio.cpp knows a published tensor, with the rows of each: a wqkv gives three."""
    for old, new in renamed:
        name = name.replace(old, new)
    if not name.endswith("attention.wqkv.weight"):
        yield name, shape, np.s_[:]
        return
    at = 0
    for part, rows in (("q", heads * dim), ("k", groups * dim), ("v", groups * dim)):
        yield name.replace("wqkv", part + "_proj"), [rows, shape[1]], np.s_[at:at + rows]
        at += rows


def write_converted(file, out, dtype, renamed, heads, groups, dim, skipped=()):
    sources = {}
    for name, told in header_of(file).items():
        if not name.endswith(skipped or "\0"):
            for new, shape, rows in split(name, told["shape"], heads, groups, dim, renamed):
                sources[new] = (name, told["shape"], rows)
    numbers = lambda new, _: values(*sources[new][:2])[sources[new][2]]
    shapes = {new: [len(range(*rows.indices(shape[0])))] + shape[1:] for new, (_, shape, rows) in sources.items()}
    write_tensors([(new, dtype, shapes[new]) for new in sorted(sources)], out, numbers=numbers)


def fish_speech(out):
    small_tokenizer("fish_speech", out)
    value = json.loads((out / "tokenizer.json").read_text())
    value["added_tokens"] = [t for t in value["added_tokens"] if not t["content"].startswith("<|semantic")]
    like = value["added_tokens"][0]
    value["added_tokens"] += [like | {"id": 304 + n, "content": f"<|semantic:{n}|>"} for n in range(4096)]
    (out / "tokenizer.json").write_text(json.dumps(value, ensure_ascii=False))
    (out / "tokenizer_config.json").write_text(json.dumps({"pad_token": "<|pad|>", "eos_token": "<|im_end|>"}))
    write_weights(HERE / "tests/parity/published/fish_codec/codec.pth.txt", out / "codec.pth", 36)
    (out / "codec.pth").rename(out / "codec.safetensors")
    peer = out / "peer"
    peer.mkdir(exist_ok=True)
    write_converted(out / "model.safetensors", peer / "model.safetensors", "BF16",
                    (("text_model.model.", ""), ("audio_decoder.layers", "fast_layers"), ("audio_decoder.embeddings", "fast_embeddings"),
                     ("audio_decoder.norm", "fast_norm"), ("audio_decoder.output", "fast_output"), ("audio_decoder.", "")), 32, 8, 128)
    write_converted(out / "codec.safetensors", peer / "codec.safetensors", "F32",
                    (("parametrizations.weight.original1", "weight"), ("weight_v", "weight")), 16, 16, 64,
                    ("original0", "weight_g"))
    (peer / "model_audio_cpp.safetensors.index.json").write_text(json.dumps(
        {"weight_map": {name: "model.safetensors" for name in header_of(peer / "model.safetensors")}}))
    link(peer, config__json="config.json", tokenizer__json="tokenizer.json", tokenizer_config__json="tokenizer_config.json")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("family", choices=["qwen3_tts", "chatterbox", "voxcpm2", "higgs_audio", "fish_speech"])
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--layers", type=int, default=36)
    a = p.parse_args()
    source = HERE / "tests/parity/published" / a.family
    a.out.mkdir(parents=True, exist_ok=True)
    for config in source.rglob("*.json"):
        to = a.out / config.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        value = json.loads(config.read_text())
        for key in ("num_hidden_layers", "n_layer"):
            if value.get("text_config", {}).get(key) == 36:
                value["text_config"][key] = a.layers
        to.write_text(json.dumps(value, indent=1))
    for txt in sorted(source.rglob("*.txt")):
        write_weights(txt, a.out / txt.relative_to(source).with_suffix(""), a.layers)
    globals()[a.family](a.out)


if __name__ == "__main__":
    main()
