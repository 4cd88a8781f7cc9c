#!/usr/bin/env python3
"""Makes small random text models in the published layouts, and the results of transformers with them.

  make_golden.py      writes llama/, qwen2/, qwen3/ beside this file: a checkpoint (bf16), cases.json and one
                      safetensors file a case: prompt_ids, tokens, logits of the first steps (f32)

transformers 5.23, torch 2.15, tokenizers 0.23. The tokenizers are trained on the sentences below; the chat templates are those of
../chat_template. Answers are greedy, by generate() in float32 on the CPU.
"""
import json
import pathlib
import shutil

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen3Config

HERE = pathlib.Path(__file__).parent
TEMPLATES = HERE.parent / "chat_template" / "templates"
STEPS, LOGIT_STEPS = 96, 12
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
           r"\s+(?!\S)|\s+")
SENTENCES = """The quick brown fox jumps over the lazy dog, and nobody knows why. She said: "It isn't far; we'll be there by 10:45."
Ein kleiner Vogel singt im Garten, während der Regen fällt. 今天天气很好,我们去公园散步吧。 Привет, как дела? 🙂🐦
system user assistant tool function name arguments parameters description type object properties required string weather place
You are a helpful assistant. What is the weather in Köln today? The sky is grey and it may rain in the evening, so take a coat."""
MARKS = {
    "llama": dict(special=["<|begin_of_text|>", "<|end_of_text|>", "<|h|>", "<|/h|>", "<|eot|>", "<|tag|>"], plain=[],
                  bos="<|begin_of_text|>", eos="<|eot|>", ends=["<|end_of_text|>", "<|eot|>"], template="headers"),
    "qwen2": dict(special=["<|endoftext|>", "<|begin|>", "<|end|>"], plain=["<call>", "</call>"], bos=None, eos="<|end|>",
                  ends=["<|end|>", "<|endoftext|>"], template="marks"),
    "qwen3": dict(special=["<|endoftext|>", "<|begin|>", "<|end|>"], plain=["<call>", "</call>", "<think>", "</think>"], bos=None,
                  eos="<|end|>", ends=["<|end|>", "<|endoftext|>"], template="marks"),
}
SHAPE = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=4096, rms_norm_eps=1e-5, initializer_range=0.2)


def make_tokenizer(kind, out):
    marks = MARKS[kind]
    tok = Tokenizer(models.BPE(ignore_merges=kind == "llama"))
    if kind != "llama":
        tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN % ("{1,3}" if kind == "llama" else "")), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=380, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tok.train_from_iterator(SENTENCES.split("\n"), trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tok, bos_token=marks["bos"], eos_token=marks["eos"], clean_up_tokenization_spaces=False)
    fast.add_special_tokens({"additional_special_tokens": [m for m in marks["special"] if m not in (marks["bos"], marks["eos"])]})
    if marks["plain"]:
        fast.add_tokens(marks["plain"])
    if marks["bos"]:
        fast.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{marks['bos']} $A", special_tokens=[(marks["bos"], fast.convert_tokens_to_ids(marks["bos"]))])
    day = '{%- set date_string = "26 July 2025" %}\n' if kind == "llama" else ""
    fast.chat_template = day + (TEMPLATES / f"{marks['template']}.jinja").read_text()
    fast.save_pretrained(out)
    if kind == "qwen2":  # the template is in its usual place
        (out / "chat_template.jinja").unlink()
        config = json.loads((out / "tokenizer_config.json").read_text())
        config["chat_template"] = fast.chat_template
        (out / "tokenizer_config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n")
    return AutoTokenizer.from_pretrained(out)


def make_model(kind, tok, out):
    ids = [tok.convert_tokens_to_ids(mark) for mark in MARKS[kind]["ends"]]
    shape = dict(SHAPE, vocab_size=len(tok), eos_token_id=ids, bos_token_id=None)
    if kind == "llama":
        config = LlamaConfig(**shape, tie_word_embeddings=False, rope_parameters=dict(
            rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64))
    elif kind == "qwen2":
        config = Qwen2Config(**shape, tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1000000.0))
    else:
        config = Qwen3Config(**shape, head_dim=24, tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1000000.0))
    torch.manual_seed(11)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name or name.endswith("bias"):
                weight.add_(0.3 * torch.randn_like(weight))
    model = model.to(torch.bfloat16)
    model.generation_config.update(do_sample=True, temperature=0.6, top_p=0.9, top_k=20, repetition_penalty=1.05, eos_token_id=ids)
    model.save_pretrained(out)
    if kind != "qwen3":  # in the form of older versions of transformers
        config = json.loads((out / "config.json").read_text())
        rope = config.pop("rope_parameters")
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = rope if kind == "llama" else None
        config["torch_dtype"] = config.pop("dtype")
        if kind == "qwen2":
            config.update(use_sliding_window=False, sliding_window=4096, max_window_layers=2)
            config.pop("layer_types", None)
        (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    # The model is loaded again, so that the stored files are compared.
    return AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()


TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.", "parameters": {
    "type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}}
CASES = [
    dict(name="chat", messages=[{"role": "system", "content": "You are a helpful assistant."},
                                {"role": "user", "content": "What is the weather in Köln today? 🙂"}], penalty=1.0),
    dict(name="tools", messages=[{"role": "user", "content": "Weather?"},
                                 {"role": "assistant", "content": "", "tool_calls": [
                                     {"type": "function", "function": {"name": "get_weather", "arguments": {"place": "Köln"}}}]},
                                 {"role": "tool", "content": "rain"}], tools=[TOOL], penalty=1.05),
    dict(name="text", prompt="The quick brown fox 今天 'll be 12345 <|eot|><|end|>", penalty=1.0),
]


def run(case, tok, model):
    if "messages" in case:
        text = tok.apply_chat_template(case["messages"], tools=case.get("tools"), add_generation_prompt=True, tokenize=False)
        ids = tok(text, add_special_tokens=False, return_tensors="pt").input_ids
    else:
        ids = tok(case["prompt"], return_tensors="pt").input_ids
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, temperature=None, top_p=None, top_k=None,
                         repetition_penalty=case["penalty"], max_new_tokens=STEPS, output_logits=True, return_dict_in_generate=True,
                         pad_token_id=0)
    tokens = out.sequences[0, ids.shape[1]:]
    logits = torch.stack([row[0] for row in out.logits])
    best = logits.topk(2).values
    case = dict(case, steps=len(tokens), ended=int(tokens[-1]) in model.generation_config.eos_token_id,
                text=tok.decode(tokens, skip_special_tokens=True), margin=float((best[:, 0] - best[:, 1]).min()))
    return case, {"prompt_ids": ids[0].int(), "tokens": tokens.int(), "logits": logits[:LOGIT_STEPS].float().contiguous()}


def main():
    torch.set_num_threads(1)
    for kind in MARKS:
        out = HERE / kind
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        tok = make_tokenizer(kind, out)
        model = make_model(kind, tok, out)
        cases = []
        for case in CASES:
            case, tensors = run(case, tok, model)
            cases.append(case)
            (out / "golden").mkdir(exist_ok=True)
            save_file(tensors, out / "golden" / f"{case['name']}.safetensors")
            print(kind, case["name"], tensors["prompt_ids"].numel(), case["steps"], case["ended"], case["margin"], repr(case["text"][:60]))
        (out / "golden" / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
        print(kind, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()), "bytes", sorted(load_file(out / "model.safetensors"))[:3])


if __name__ == "__main__":
    main()
