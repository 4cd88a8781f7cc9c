#!/usr/bin/env python3
"""Writes two small random Qwen3-ASR checkpoints, one per published layout, and their authors' results with them.

    python3 -m venv VENV
    VENV/bin/pip install torch transformers==4.57.6 numpy safetensors && VENV/bin/pip install --no-deps qwen-asr==0.0.6
    VENV/bin/python make_golden.py original     # the package qwen-asr: names thinker.*
    VENV/bin/pip install transformers==5.24.0
    VENV/bin/python make_golden.py hf           # transformers: names model.*, as in repositories that end in -hf
    python3 ../seeded.py pack golden

Everything is computed in float32 on the CPU with the eager attention, one thread. `original` also writes the tables
`answers.json` (raw answers and their parts) and `cuts.json` (where long recordings are cut). Recordings are not stored:
`signal` generates them from integers, and the tests do the same.
"""
import argparse
import importlib.machinery
import json
import pathlib
import sys
import types

import numpy as np
import torch
from safetensors.torch import load_file, save_file

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")
MERGES = ["l a", "n g", "la ng", "u a", "g e", "\u0120 G", "e r", "m a", "er ma", "s y", "s t", "e m"]
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>"]
TEXT_TAG = "<asr_text>"

SIZES = {
    "original": dict(
        seed=1, dtype=torch.bfloat16, tied=True, theta=1000000.0,
        text=dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
                  num_key_value_heads=2, head_dim=16),
        audio=dict(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48,
                   downsample_hidden_size=8, n_window=50, n_window_infer=200, output_dim=64)),
    "hf": dict(
        seed=2, dtype=torch.float32, tied=False, theta=50000.0,
        text=dict(hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=6,
                  num_key_value_heads=1, head_dim=24),
        audio=dict(d_model=16, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=24,
                   downsample_hidden_size=4, n_window=50, n_window_infer=400, output_dim=48)),
}
# Samples at 16 kHz, seed, language, context, steps. `short` is shorter than a chunk of the tower.
CASES = {
    "found": (24000, 7, None, "", 200),
    "forced": (70401, 8, "German", "Names: Zo\u00eb, O'Neil & Co.\nTopic: 3 gems", 12),
    "short": (9600, 9, None, "a", 6),
}
RAW = ["", "  \n", "language English<asr_text>Hello there.", "language Chinese\n<asr_text> \u4f60\u597d\u3002 ",
       "language None<asr_text>", "language None<asr_text> hm", "no tag at all ", "<asr_text>only text",
       "language english<asr_text>x<asr_text>y", "LANGUAGE gErMaN<asr_text>ja", "language Filipino<asr_text>oo",
       "language English<asr_text>" + "a" * 20 + "!", "language English<asr_text>" + "a" * 21 + "!",
       "language English<asr_text>so " + "ha " * 30 + "end", "language English<asr_text>" + "\u4f60\u597d" * 25,
       "language English<asr_text>" + "one two three four " * 20 + "five", "x" * 50, "language English",
       "language English<asr_text>" + "ab" * 19 + "c " * 22 + "tail"]
# Samples, seed, quiet places [begin, end), longest stretch in seconds.
CUTS = [(400000, 3, [[150000, 153000], [170000, 172000], [330000, 340000]], 10), (170000, 4, [[120000, 121000]], 10),
        (160000, 5, [], 10), (164000, 6, [[160100, 162000]], 10)]


def signal(count, seed):
    """Returns noise from integers that swells and falls: the same bits in any language."""
    out = np.empty(count, np.float32)
    state = seed
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = (((state >> 16) - 32768) * ((i * 5) & 16383) >> 14) / 32768
    return out


def byte_letters():
    """Returns the letters that byte-level BPE uses for bytes, by byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(other)) for b in range(256)]


def make_tokenizer(folder, in_one_file):
    vocab = {letter: id for id, letter in enumerate(byte_letters())}
    for merge in MERGES:
        vocab[merge.replace(" ", "")] = len(vocab)
    added = {}
    for content in [*SPECIALS, TEXT_TAG]:
        added[len(vocab) + len(added)] = dict(content=content, lstrip=False, normalized=False, rstrip=False,
                                              single_word=False, special=content != TEXT_TAG)
    audio = dict(audio_token="<|audio_pad|>", audio_bos_token="<|audio_start|>", audio_eos_token="<|audio_end|>")
    config = dict(tokenizer_class="Qwen2Tokenizer", eos_token="<|im_end|>", pad_token="<|endoftext|>",
                  add_prefix_space=False, errors="replace", model_max_length=131072,
                  added_tokens_decoder={str(id): token for id, token in added.items()}, extra_special_tokens=audio)
    (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n")
    if in_one_file:
        level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=False, use_regex=False)
        split = dict(type="Split", pattern=dict(Regex=PATTERN), behavior="Isolated", invert=False)
        model = dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix="", end_of_word_suffix="",
                     fuse_unk=False, byte_fallback=False, ignore_merges=False, vocab=vocab,
                     merges=[merge.split() for merge in MERGES])
        (folder / "tokenizer.json").write_text(json.dumps(dict(
            version="1.0", truncation=None, padding=None, added_tokens=[dict(id=id, **t) for id, t in added.items()],
            normalizer=dict(type="NFC"), pre_tokenizer=dict(type="Sequence", pretokenizers=[split, level]),
            post_processor=None, decoder=level, model=model)) + "\n")
    else:
        (folder / "vocab.json").write_text(json.dumps(vocab) + "\n")
        (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(merge + "\n" for merge in MERGES))
    return len(vocab) + len(added), {t["content"]: id for id, t in added.items()}


# The result of the authors' template for a context and one recording.
TEMPLATE = """{%- set ns = namespace(text='') -%}{%- for m in messages if m.role == 'system' -%}
{%- if m.content is string -%}{%- set ns.text = ns.text + m.content -%}{%- else -%}
{%- for c in m.content -%}{%- set ns.text = ns.text + c.text -%}{%- endfor -%}{%- endif -%}
{%- endfor -%}
{{- '<|im_start|>system\\n' + ns.text + '<|im_end|>\\n<|im_start|>user\\n' -}}
{{- '<|audio_start|><|audio_pad|><|audio_end|><|im_end|>\\n' -}}
{{- '<|im_start|>assistant\\n' -}}
{%- for m in messages if m.role == 'assistant' -%}{{- m.content[0].text -}}{%- endfor -%}"""


def randomise(model, seed):
    """Sets random weights at scales where every part of the network affects its output."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=gen)
            if name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "norm" in name or "ln_" in name:
                p.copy_(1 + 0.2 * noise)
            elif "embed" in name:
                p.copy_(noise)
            else:
                p.copy_(noise * 1.5 / np.sqrt(np.prod(p.shape[1:])))


def import_original():
    """Imports the package without its file readers and word splitters, which need other packages."""
    for name in ("librosa", "soundfile", "nagisa", "soynlp", "soynlp.tokenizer"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules["soynlp.tokenizer"].LTokenizer = None
    import qwen_asr
    return qwen_asr


def attend_by_windows(tower):
    """Gives the tower the attention that FlashAttention 2 computes. Other attentions ignore the package's windows, so
    each row attends to the whole recording, which differs from vLLM and transformers."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def by_windows(_module, query, key, value, attention_mask, scaling, cu_seq_lens_q, **_):
        sizes = (cu_seq_lens_q[1:] - cu_seq_lens_q[:-1]).tolist()
        windows = zip(*(tensor.split(sizes, dim=2) for tensor in (query, key, value)))
        rows = [torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scaling) for q, k, v in windows]
        return torch.cat(rows, dim=2).transpose(1, 2), None

    ALL_ATTENTION_FUNCTIONS.register("by_windows", by_windows)
    tower.config._attn_implementation = "by_windows"


def original(size, folder, vocab, ids):
    import_original()
    from qwen_asr.core.transformers_backend import (Qwen3ASRConfig, Qwen3ASRForConditionalGeneration,
                                                    Qwen3ASRProcessor)
    from qwen_asr.inference.qwen3_asr import Qwen3ASRModel
    from transformers import AutoTokenizer, WhisperFeatureExtractor
    scaling = dict(rope_type="default", type="default", mrope_section=[4, 2, 2], mrope_interleaved=True,
                   interleaved=True)
    thinker = dict(
        text_config=dict(vocab_size=vocab, hidden_act="silu", rms_norm_eps=1e-6, rope_theta=size["theta"],
                         rope_scaling=scaling, max_position_embeddings=65536, tie_word_embeddings=size["tied"],
                         **size["text"]),
        audio_config=dict(num_mel_bins=128, max_source_positions=1500, activation_function="gelu", **size["audio"]),
        audio_token_id=ids["<|audio_pad|>"], audio_start_token_id=ids["<|audio_start|>"],
        audio_end_token_id=ids["<|audio_end|>"])
    config = Qwen3ASRConfig(thinker_config=thinker, support_languages=["Chinese", "English"])
    model = Qwen3ASRForConditionalGeneration(config)
    processor = Qwen3ASRProcessor(WhisperFeatureExtractor(feature_size=128), AutoTokenizer.from_pretrained(folder),
                                  chat_template=TEMPLATE)
    wrapper = Qwen3ASRModel("transformers", model, processor)

    def inputs(samples, language, context):
        text = wrapper._build_text_prompt(context=context, force_language=language)
        return processor(text=[text], audio=[samples], return_tensors="pt", padding=True)

    ends = [ids["<|im_end|>"], ids["<|endoftext|>"]]
    return model, inputs, lambda model, **kwargs: model.generate(eos_token_id=ends, **kwargs)


def hf(size, folder, vocab, ids):
    from transformers import (AutoTokenizer, GenerationConfig, Qwen3ASRConfig, Qwen3ASRFeatureExtractor,
                              Qwen3ASRForConditionalGeneration, Qwen3ASRProcessor)
    ends = [ids["<|endoftext|>"], ids["<|im_end|>"]]
    config = Qwen3ASRConfig(
        text_config=dict(model_type="qwen3", vocab_size=vocab, hidden_act="silu", rms_norm_eps=1e-6,
                         rope_parameters=dict(rope_type="default", rope_theta=size["theta"]),
                         max_position_embeddings=65536, tie_word_embeddings=size["tied"], **size["text"]),
        audio_config=dict(model_type="qwen3_asr_encoder", num_mel_bins=128, **size["audio"]),
        audio_token_id=ids["<|audio_pad|>"], eos_token_id=ends, pad_token_id=ids["<|im_end|>"],
        tie_word_embeddings=size["tied"])
    model = Qwen3ASRForConditionalGeneration(config)
    model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=ends[1], do_sample=False,
                                               max_new_tokens=512)
    processor = Qwen3ASRProcessor(Qwen3ASRFeatureExtractor(), AutoTokenizer.from_pretrained(folder),
                                  chat_template=TEMPLATE)

    def inputs(samples, language, context):
        text = processor.apply_transcription_request(samples, language=language, prompt=context or None,
                                                     tokenize=False)
        return processor(text=text, audio=[samples])

    return model, inputs, lambda model, **kwargs: model.generate(return_dict_in_generate=True, **kwargs)


def tables(out):
    import_original()
    from qwen_asr.inference.utils import parse_asr_output, split_audio_into_chunks
    answers = [dict(raw=raw, language=parse_asr_output(raw)[0], text=parse_asr_output(raw)[1],
                    forced=parse_asr_output(raw, user_language="German")[1]) for raw in RAW]
    (out / "answers.json").write_text(json.dumps(answers, indent=0) + "\n")
    cuts = []
    for count, seed, quiet, longest in CUTS:
        wav = signal(count, seed)
        for begin, end in quiet:
            wav[begin:end] *= np.float32(0.015625)
        parts = [len(part) for part, _ in split_audio_into_chunks(wav, 16000, longest)]
        cuts.append(dict(samples=count, seed=seed, quiet=quiet, longest_s=longest, parts=parts))
    (out / "cuts.json").write_text(json.dumps(cuts) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("layout", choices=SIZES)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    size, folder = SIZES[args.layout], args.out / args.layout
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir(parents=True, exist_ok=True)
    vocab, ids = make_tokenizer(checkpoint, args.layout == "hf")
    model, inputs, generate = (original if args.layout == "original" else hf)(size, checkpoint, vocab, ids)
    randomise(model.float(), size["seed"])
    model.to(size["dtype"]).save_pretrained(checkpoint, safe_serialization=True)
    file, random = checkpoint / "model.safetensors", seeded.Weights(size["seed"])
    state = load_file(file)
    if args.layout == "original":  # published files contain a head, too, which the tied table replaces
        state["thinker.lm_head.weight"] = state["thinker.model.embed_tokens.weight"].clone()
    random.over(state)
    save_file(state, file, metadata={"format": "pt"})
    model = type(model).from_pretrained(checkpoint, dtype=torch.float32, attn_implementation="eager").eval()
    if args.layout == "original":
        attend_by_windows(model.thinker.audio_tower)
        (checkpoint / "generation_config.json").unlink(missing_ok=True)
        tables(args.out)
    cases = {}
    for name, (count, seed, language, context, steps) in CASES.items():
        made = inputs(signal(count, seed), language, context)
        result = generate(model, **made, max_new_tokens=steps, output_logits=True)
        logits = torch.cat(result.logits)
        best = logits.topk(2).values
        print(name, "steps", len(logits), "margin", float((best[:, 0] - best[:, 1]).min()))
        prompt = made["input_ids"].shape[1]
        kept = [0, 1, len(logits) // 2, len(logits) - 1]
        save_file(dict(ids=result.sequences[0].int(), logits=logits[kept].contiguous()), folder / f"{name}.safetensors")
        cases[name] = dict(samples=count, seed=seed, language=language or "", context=context, prompt=prompt,
                           steps=len(logits))
    (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
    random.hollow(file)


if __name__ == "__main__":
    main()
