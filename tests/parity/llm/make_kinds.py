#!/usr/bin/env python3
"""Makes small random text models that differ from Llama's by switches, and the results of transformers with them.

  make_kinds.py       writes kinds/ beside this file: KIND/ is a checkpoint as published, whose weights are a recipe
                      (../seeded.py); cases.json has the prompt, the chat and the answers of each kind, golden.safetensors
                      KIND.ids, KIND.chat_ids, KIND.tokens and KIND.logits (f32, of the first steps)

transformers 5.24, torch 2.15, tokenizers 0.23. Windows are shorter than the prompts, so that they have an effect. Tokenizers have
the structure of the published ones: characters and bytes for mistral and gemma, the tokenizer of ../qwen2 for the others. Chat
templates are written here, in the style of each kind.
"""
import json
import os
import pathlib
import shutil
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (AutoModelForCausalLM, AutoTokenizer, Gemma2Config, Gemma3TextConfig, MistralConfig, Olmo2Config, Phi3Config,
                          PreTrainedTokenizerFast, SmolLM3Config)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

STEPS, LOGIT_STEPS = 24, 2
PROMPT = "The quick brown fox jumps over the lazy dog; nobody knows why. Ein kleiner Vogel singt: 今天 12345!"
CHAT = [{"role": "user", "content": "Is it far?"}, {"role": "assistant", "content": "No."}, {"role": "user", "content": "Good. Now?"}]
SHAPE = dict(hidden_size=64, intermediate_size=80, num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5,
             initializer_range=0.2, bos_token_id=None, pad_token_id=None, eos_token_id=1)
PLAIN = {key: value for key, value in SHAPE.items() if key != "head_dim"}
LONG = dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75, original_max_position_embeddings=512,
            short_factor=[1.0, 1.1, 1.5, 2.5, 3.0, 4.0], long_factor=[1.0, 2.0, 8.0, 30.0, 40.0, 50.0])
KINDS = {  # config; tokenizer; template
    "mistral": (MistralConfig, dict(SHAPE, num_hidden_layers=2, sliding_window=12), "characters",
                "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
                "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"),
    "olmo2": (Olmo2Config, dict(PLAIN, num_hidden_layers=2), "bytes",
              "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}\n"
              "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"),
    "smollm3": (SmolLM3Config, dict(PLAIN, hidden_size=32, num_hidden_layers=4, no_rope_layer_interval=4,
                                    use_sliding_window=False), "bytes", None),
    "gemma2": (Gemma2Config, dict(SHAPE, num_hidden_layers=4, sliding_window=12, query_pre_attn_scalar=24,
                                  attn_logit_softcapping=5.0, final_logit_softcapping=30.0), "gemma",
               "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
               "{{ m.content | trim }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"),
    "gemma3_text": (Gemma3TextConfig, dict(SHAPE, num_hidden_layers=6, sliding_window=12, query_pre_attn_scalar=16, rope_parameters={
        "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}), "gemma", "as gemma2"),
    "phi3": (Phi3Config, dict(PLAIN, num_hidden_layers=2, sliding_window=14,
                              max_position_embeddings=2048, original_max_position_embeddings=512, rope_parameters=LONG), "bytes",
             "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
             "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"),
}
WORDS = "the quick brown fox jumps over lazy dog nobody knows why Is it far No Good Now user model assistant ein kleiner Vogel singt"


def make_tokenizer(kind, out):
    """Makes a tokenizer of single characters, with byte tokens for all others."""
    gemma = kind == "gemma"
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"] if gemma else ["<unk>", "</s>", "<s>"]
    marks = ["<start_of_turn>", "<end_of_turn>"] if gemma else []
    spelled = [f"<0x{i:02X}>" for i in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=specials + marks + spelled, show_progress=False)
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.Replace(" ", "▁")
    tok.train_from_iterator([" " + w for w in WORDS.split()] * 3, trainer)
    model = json.loads(tok.to_str())["model"]
    tok = Tokenizer(models.BPE(vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]], fuse_unk=True, unk_token="<unk>",
                               byte_fallback=True))
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if gemma:
        tok.normalizer = normalizers.Replace(" ", "▁")
        tok.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    else:
        tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        parts.append(decoders.Strip(" ", 1, 0))
    tok.decoder = decoders.Sequence(parts)
    bos, eos = ("<bos>", "<eos>") if gemma else ("<s>", "</s>")
    tok.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, tok.token_to_id(bos))])
    fast = PreTrainedTokenizerFast(tokenizer_object=tok, bos_token=bos, eos_token=eos, unk_token="<unk>", clean_up_tokenization_spaces=False,
                                   additional_special_tokens=marks)
    fast.save_pretrained(out)


def link(out, name, target):
    (out / name).symlink_to(os.path.relpath(target, out))


def main():
    torch.set_num_threads(1)
    root = HERE / "kinds"
    shutil.rmtree(root, ignore_errors=True)
    tensors, cases, first = {}, {}, {}
    for number, (kind, (config_class, shape, tokenizer, template)) in enumerate(KINDS.items()):
        out = root / kind
        out.mkdir(parents=True)
        if tokenizer == "bytes":
            for name in ("tokenizer.json", "tokenizer_config.json"):
                link(out, name, HERE / "qwen2" / name)
        elif tokenizer in first:
            for path in first[tokenizer].glob("tokenizer*"):
                link(out, path.name, path)
        else:
            make_tokenizer(tokenizer, out)
            first[tokenizer] = out
        if template == "as gemma2":
            link(out, "chat_template.jinja", root / "gemma2" / "chat_template.jinja")
        elif template:
            (out / "chat_template.jinja").write_text(template)
        tok = AutoTokenizer.from_pretrained(out)
        torch.manual_seed(number)
        config = config_class(vocab_size=len(tok), **shape)
        config.architectures = [config_class.__name__.replace("TextConfig", "Config").replace("Config", "ForCausalLM")]
        model = AutoModelForCausalLM.from_config(config)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "norm" in name:
                    weight.add_(0.3 * torch.randn_like(weight))
                elif "embed" in name and tokenizer == "gemma":  # Gemma multiplies the rows, and its head is the table
                    weight.mul_(0.3)
        model = model.to(torch.bfloat16)
        weights = seeded.Weights(number)
        weights.over(model)
        model.save_pretrained(out)
        (out / "generation_config.json").unlink(missing_ok=True)
        model = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()
        weights.hollow(out / "model.safetensors")
        ids = tok(PROMPT, return_tensors="pt").input_ids
        text = tok.apply_chat_template(CHAT, add_generation_prompt=True, tokenize=False)
        answer = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=STEPS, output_logits=True,
                                return_dict_in_generate=True, eos_token_id=-1, pad_token_id=0)
        logits = torch.stack([row[0] for row in answer.logits])
        best = logits.topk(2).values
        tensors[f"{kind}.ids"] = ids[0].int()
        tensors[f"{kind}.chat_ids"] = torch.tensor(tok(text, add_special_tokens=False).input_ids).int()
        tensors[f"{kind}.tokens"] = answer.sequences[0, ids.shape[1]:].int()
        tensors[f"{kind}.logits"] = logits[:LOGIT_STEPS].float().contiguous()
        margin = float((best[:, 0] - best[:, 1]).min())
        cases[kind] = dict(margin=margin, chat=text)
        print(kind, ids.shape[1], margin, tensors[f"{kind}.tokens"][:8].tolist())
    save_file(tensors, root / "golden.safetensors")
    (root / "cases.json").write_text(json.dumps(dict(prompt=PROMPT, messages=CHAT, kinds=cases), indent=1, ensure_ascii=False) + "\n")
    print(sum(p.stat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink()), "bytes")


if __name__ == "__main__":
    main()
