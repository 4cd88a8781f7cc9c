#!/usr/bin/env python3
"""Converts the small checkpoints of ../llm/kinds with llama.cpp's converter and stores them as recipes (../seeded.py).

  make_kinds.py CONVERTER      CONVERTER: llama.cpp's convert_hf_to_gguf.py

Weights are bf16, norms f32. The converter finds vocabularies in tokenizer.model or by hash; test tokenizers have neither. This
script writes tokens from tokenizer.json, and ranks of merges as scores. That converter of May 2025 lacks SmolLM3; like later
ones, this script treats it as Llama. Configs have the form of transformers until 4.51.
"""
import importlib.util
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(pathlib.Path(sys.argv[1]).parent / "gguf-py")]
import gguf  # noqa: E402
import seeded  # noqa: E402

KINDS = HERE.parent / "llm" / "kinds"


def set_vocab(self):
    tok = json.loads((self.dir_model / "tokenizer.json").read_text())
    vocab, added = tok["model"]["vocab"], {a["content"]: a for a in tok["added_tokens"]}
    tokens = sorted({**vocab, **{c: a["id"] for c, a in added.items()}}.items(), key=lambda item: item[1])
    special = {c for c, a in added.items() if a["special"]}
    characters = tok["model"]["byte_fallback"]
    # No token has the type "unknown", as in published files of Gemma.
    kinds = [3 if t in special else 4 if t in added else 6 if characters and t.startswith("<0x") else 1
             for t, _ in tokens]
    writer = self.gguf_writer
    writer.add_tokenizer_model("llama" if characters else "gpt2")
    writer.add_tokenizer_pre("default" if characters else "qwen2")
    writer.add_token_list([t for t, _ in tokens])
    writer.add_token_types(kinds)
    if characters:
        ranks = {"".join(m): -float(i) for i, m in enumerate(tok["model"]["merges"])}
        writer.add_token_scores([ranks.get(t, -1000.0) for t, _ in tokens])
        writer.add_bos_token_id(dict(tokens)["<bos>"])
        writer.add_add_bos_token(True)
        writer.add_add_space_prefix(False)
    else:
        writer.add_token_merges([" ".join(m) for m in tok["model"]["merges"]])
    writer.add_eos_token_id(1)


def older(config):
    rope = config.pop("rope_parameters")
    both = rope.get("full_attention", rope)
    config["rope_theta"] = both.pop("rope_theta")
    if "partial_rotary_factor" in both:
        config["partial_rotary_factor"] = both.pop("partial_rotary_factor")
    config["rope_scaling"] = None if both["rope_type"] == "default" else dict(both, type=both["rope_type"])
    return config


def main(converter):
    spec = importlib.util.spec_from_file_location("converter", converter)
    code = importlib.util.module_from_spec(spec)
    sys.modules["converter"] = code
    spec.loader.exec_module(code)
    for model in ("TextModel", "LlamaModel", "Gemma2Model", "Gemma3Model", "Phi3MiniModel", "Olmo2Model"):
        getattr(code, model).set_vocab = set_vocab
    code.TextModel._create_vocab_sentencepiece = lambda self: (range(self.hparams["vocab_size"]),)
    code.ModelBase.load_hparams = staticmethod(lambda folder: json.loads((folder / "config.json").read_text()))
    for kind in ("olmo2", "smollm3", "gemma2", "gemma3_text", "phi3"):
        with tempfile.TemporaryDirectory() as made:
            seeded.mirror(KINDS.parent, pathlib.Path(made))
            folder = pathlib.Path(made) / "kinds" / kind
            config = older(json.loads((folder / "config.json").read_text()))
            if kind == "smollm3":
                config["architectures"] = ["LlamaForCausalLM"]
                gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.LLAMA] = "smollm3"
            (folder / "config.json").unlink()
            (folder / "config.json").write_text(json.dumps(config))
            out = HERE / f"{kind}.gguf"
            sys.argv = ["convert", str(folder), "--outtype", "bf16", "--outfile", str(out)]
            code.main()
            gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.LLAMA] = "llama"
            seeded.Weights.of(KINDS / kind / "model.safetensors").hollow(out)


main(sys.argv[1])
