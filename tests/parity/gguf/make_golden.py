#!/usr/bin/env python3
"""Writes the goldens of the GGUF reader.

  make_golden.py CONVERTER      CONVERTER: llama.cpp's convert_hf_to_gguf.py

- types.gguf and types.safetensors, beside this file: two rows of each type of ggml that Syrinx reads, and its numbers, both by the
  converter's package gguf. Types that the package cannot write are random bytes with small scales.
- llama.gguf and qwen2.gguf: the checkpoints of ../llm after llama.cpp's converter, in bf16, with unchanged numbers. The converter
  finds the kind of tokenizer by its hash, which test tokenizers do not have, so it gets the kind as an argument.
- vocab.gguf and vocab.json: a vocabulary of characters with scores, and the tokens of texts by transformers.

llama.cpp of May 2025 (llama_cpp_python 0.3.9), transformers 4.51 (which that converter was written for), torch 2.15.
"""
import importlib.util
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parent / "gguf-py"))
import gguf  # noqa: E402
import numpy as np
from gguf import quants
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
# Offsets of the f16 scales in a block, for the types that the package cannot write.
SCALES = {"Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,), "IQ4_NL": (0,), "IQ4_XS": (0,)}
NAMES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", *SCALES]
TEXTS = ["Hello, world!", " two  blanks", "naïve café 東京", "line\nbreak\ttab", "a" * 40, "<s>is text</s>", "1,234.5", ""]


def types():
    rng = np.random.default_rng(5)
    writer, numbers = gguf.GGUFWriter(HERE / "types.gguf", "types"), {}
    for name in NAMES:
        kind = gguf.GGMLQuantizationType[name]
        if name in SCALES:
            block, size = gguf.GGML_QUANT_SIZES[kind]
            data = rng.integers(0, 256, (2, 512 // block, size), dtype=np.uint8)
            for at in SCALES[name]:
                data[:, :, at : at + 2] = rng.normal(0, 0.01, (2, 512 // block, 1)).astype(np.float16).view(np.uint8)
            data = data.reshape(2, -1)
        else:
            data = quants.quantize(rng.normal(0, 1, (2, 512)).astype(np.float32), kind)
        numbers[name] = quants.dequantize(data, kind).astype(np.float32)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(numbers, HERE / "types.safetensors")


def models(converter):
    spec = importlib.util.spec_from_file_location("converter", converter)
    code = importlib.util.module_from_spec(spec)
    sys.modules["converter"] = code
    spec.loader.exec_module(code)
    for name, kind in {"llama": "llama-bpe", "qwen2": "qwen2"}.items():
        code.TextModel.get_vocab_base_pre = lambda self, tokenizer, kind=kind: kind
        with tempfile.TemporaryDirectory() as made:
            made = pathlib.Path(made)
            shutil.copytree(HERE.parent / "llm" / name, made / name)
            # The files have the form that transformers wrote until version 4.51.
            file, jinja = made / name / "tokenizer_config.json", made / name / "chat_template.jinja"
            config = json.loads(file.read_text())
            config["tokenizer_class"] = "PreTrainedTokenizerFast"
            config["additional_special_tokens"] = config.pop("extra_special_tokens", [])
            if jinja.exists():
                config["chat_template"] = jinja.read_text()
            file.write_text(json.dumps(config))
            sys.argv = ["convert", str(made / name), "--outtype", "bf16", "--outfile", str(HERE / f"{name}.gguf")]
            code.main()


def vocabulary():
    """Returns pieces with scores like sentencepiece's, with byte tokens for missing characters."""
    from transformers.integrations.ggml import convert_gguf_tokenizer

    rng = np.random.default_rng(3)
    letters = sorted(set("".join(TEXTS)) - set("東京\n\t é") | set("▁"))
    words = ["He", "ll", "llo", "▁H", "wo", "rl", "rld", "▁w", "▁two", "▁▁", "bl", "an", "ks", "▁a", "aa", "aaaa", "te", "xt", "▁te"]
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    pieces += [(f"<0x{b:02X}>", 0.0, 6) for b in range(256)]
    pieces += [(w, -float(i), 1) for i, w in enumerate(rng.permutation(words))]
    pieces += [(l, -1000.0 - i, 1) for i, l in enumerate(letters)]
    writer = gguf.GGUFWriter(HERE / "vocab.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([p[0] for p in pieces])
    writer.add_token_scores([p[1] for p in pieces])
    writer.add_token_types([p[2] for p in pieces])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tokens, scores, kinds = ([p[i] for p in pieces] for i in range(3))
    parts = dict(tokens=tokens, scores=scores, token_type=kinds, bos_token_id=1, eos_token_id=2, unk_token_id=0, tokenizer_type="llama")
    tokenizer, _ = convert_gguf_tokenizer("llama", parts)
    cases = [{"text": t, "ids": tokenizer.encode(t, add_special_tokens=False).ids} for t in TEXTS]
    for case in cases:
        case["decoded"] = tokenizer.decode(case["ids"], skip_special_tokens=False)
    (HERE / "vocab.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


types()
models(sys.argv[1])
vocabulary()
