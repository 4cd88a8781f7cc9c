#!/usr/bin/env python3
"""Writes two small CSM checkpoints, and the results of transformers' CsmForConditionalGeneration with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==4.57.3 safetensors numpy
    VENV/bin/python make_golden.py [--out DIR]

Everything is float32 on the CPU with the eager attention, one thread. Layout and names are the published ones
(sesame/csm-1b as transformers stores it); only sizes and ids are smaller. Two runs on one machine give the same bytes;
each case stores its smallest margin between the two best logits ("margin"). It must be far above float noise, so that
greedy frames are reproducible. Mimi's window is set as in ../mimi/make_golden.py.
"""
import argparse
import importlib.util
import json
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (CsmConfig, CsmForConditionalGeneration, CsmProcessor, EncodecFeatureExtractor,
                          PreTrainedTokenizerFast)

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("mimi_golden", HERE.parent / "mimi" / "make_golden.py")
mimi = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mimi)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["[0]hello there, how are you?", "[1]the quick brown fox jumps over the lazy dog",
          "numbers 1 2 3 12 123 and other things", "die Straße ist naß", "I'm fine, it's warm"]
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|AUDIO|>", "<|audio_eos|>"]


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=380, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tok.train_from_iterator(CORPUS * 20, trainer)
    tok.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL])
    ids = {s: tok.token_to_id(s) for s in SPECIAL}
    begin, end = SPECIAL[:2]
    tok.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, ids[begin]), (end, ids[end])])
    tok.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"bos_token": begin, "eos_token": end, "tokenizer_class": "PreTrainedTokenizerFast"}, indent=1) + "\n")
    return ids, tok.get_vocab_size()


def csm_config(size, ids, vocab):
    codes, books = size["codec"]["codebook_size"], size["codec"].get("num_quantizers", 32)
    common = dict(num_codebooks=books, vocab_size=codes + 3, rope_theta=500000, rms_norm_eps=1e-5)
    depth = dict(common, backbone_hidden_size=size["backbone"]["hidden_size"], **size["depth"])
    return CsmConfig(**common, **size["backbone"], text_vocab_size=(vocab + 7) // 8 * 8, depth_decoder_config=depth,
                     codec_config=dict(size["codec"], model_type="mimi"), bos_token_id=ids["<|begin_of_text|>"],
                     pad_token_id=ids["<|AUDIO|>"], audio_token_id=ids["<|AUDIO|>"],
                     audio_eos_token_id=ids["<|audio_eos|>"], codebook_eos_token_id=0,
                     codebook_pad_token_id=codes + 2, max_position_embeddings=2048, tie_codebooks_embeddings=size["tied"])


def randomise(model, seed, codes):
    """Makes the weights random; returns the seeded.Weights that describe them."""
    gen = torch.Generator().manual_seed(seed)
    rand = lambda t, scale: t.copy_(torch.randn(t.shape, generator=gen) * scale)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if name.startswith("codec_model."):
                continue
            if "norm" in name:
                p.copy_(1.0 + 0.2 * torch.randn(p.shape, generator=gen))
            elif "embed_text" in name:
                rand(p, 1.0)
            elif "embed" in name and "projector" not in name:
                rand(p, 0.7)
            elif name == "depth_decoder.codebooks_head.weight":  # [C - 1, width, V]
                rand(p, 1.3 / np.sqrt(p.shape[1]))
            else:
                rand(p, 1.3 / np.sqrt(p.shape[1]))
    mimi.randomise(model.codec_model, seed + 1, 1.2)
    weights = mimi.seeded.Weights(seed)
    weights.over(model)
    with torch.no_grad():
        model.lm_head.weight[codes:] = 0  # ids without entries in the codec
        model.depth_decoder.codebooks_head.weight[..., codes:] = 0
    mimi.dead_entries(model.codec_model)
    mimi.level(model.codec_model)
    return weights


def teach(model, ids, frames, steps):
    """Makes greedy decoding answer the prompt `ids` with `frames` and then the end frame. Only the heads are changed, so
    that the other weights stay random."""
    books = model.config.num_codebooks
    target = torch.cat([frames, torch.zeros(1, books, dtype=torch.long)])
    adam = torch.optim.Adam([model.lm_head.weight, model.depth_decoder.codebooks_head.weight], lr=1e-2)
    codes = model.config.codec_config.codebook_size
    for step in range(steps):
        embeds = torch.cat([model.embed_text_tokens(ids), model.backbone_model.embed_tokens(target[None, :-1])], dim=1)
        hidden = model.backbone_model(inputs_embeds=embeds).last_hidden_state[0, ids.shape[1] - 1:]
        first = torch.nn.functional.pad(target[:, :-1], (1, 0))
        inner = model.depth_decoder(input_ids=first, backbone_last_hidden_state=hidden).logits
        loss = (torch.nn.functional.cross_entropy(model.lm_head(hidden), target[:, 0])
                + torch.nn.functional.cross_entropy(inner.flatten(0, 1), target[:, 1:].flatten()))
        adam.zero_grad()
        loss.backward()
        with torch.no_grad():
            model.lm_head.weight.grad[codes:] = 0
            model.depth_decoder.codebooks_head.weight.grad[..., codes:] = 0
        adam.step()
    print("  taught, loss", float(loss))


def prompt_text(case):
    turns = [f"<|begin_of_text|>[{t['voice']}]{t['text']}<|end_of_text|><|AUDIO|><|audio_eos|>" for t in case["context"]]
    return "".join(turns) + f"<|begin_of_text|>[{case['voice']}]{case['text']}<|end_of_text|>"


def model_inputs(model, processor, case):
    """Returns generate()'s input in the processor's form, and the codes of each turn's audio."""
    gen = torch.Generator().manual_seed(len(case["name"]))
    audio = []
    for turn in case["context"]:
        speech = mimi.speech(HERE.parent / "mimi" / "speech.wav", turn["samples"])
        audio.append((speech + 0.05 * torch.randn(speech.shape, generator=gen)).numpy())
    codes = [model.codec_model.encode(torch.from_numpy(a)[None, None]).audio_codes[0].t() for a in audio]
    if audio and model.codec_model.config.upsampling_ratios != [8, 6, 5, 4]:
        # The processor counts frames at the published rates, which this checkpoint does not have.
        text = prompt_text(case)
        for c in codes:
            text = text.replace("<|AUDIO|><|audio_eos|>", "<|audio>" * len(c) + "<|audio_end|>", 1)
        text = text.replace("<|audio>", "<|AUDIO|>").replace("<|audio_end|>", "<|audio_eos|>")
        ids = processor.tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        cuts = torch.tensor([[len(a) for a in audio]]).cumsum(-1)
        values = torch.from_numpy(np.concatenate(audio))[None, None]
        return dict(input_ids=ids, input_values=values, input_values_cutoffs=cuts), codes
    inputs = processor(text=[prompt_text(case)], audio=audio or None, return_tensors="pt")
    wanted = ("input_ids", "input_values", "input_values_cutoffs")
    return {key: inputs[key] for key in wanted if key in inputs}, codes


class Recorder:
    """Records inputs and outputs of the model's parts during one generate() of the authors' code."""

    def __init__(self, model):
        self.prefill, self.first, self.inner = None, [], []
        self.hooks = [
            model.lm_head.register_forward_hook(lambda _m, _i, out: self.first.append(out[0, -1].clone())),
            model.depth_decoder.codebooks_head.register_forward_hook(
                lambda _m, _i, out: self.inner.append(out[0, -1].clone())),
            model.backbone_model.register_forward_pre_hook(self._embeds, with_kwargs=True)]

    def _embeds(self, _module, _args, kwargs):
        if self.prefill is None:
            self.prefill = kwargs["inputs_embeds"][0].clone()

    def close(self):
        for hook in self.hooks:
            hook.remove()


def lead(logits):
    best = logits.topk(2, dim=-1).values
    return float((best[..., 0] - best[..., 1]).min())


def run_case(model, processor, case, keep_logits):
    inputs, codes = model_inputs(model, processor, case)
    # Without a mask, generate() treats frames as padding: both have the id 128002.
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    record = Recorder(model)
    with torch.no_grad():
        out = model.generate(**inputs, output_audio=True, return_dict_in_generate=True, do_sample=False,
                             depth_decoder_do_sample=False, max_new_tokens=case["max_new_tokens"])
    record.close()
    frames = out.sequences[0]
    books, size = model.config.num_codebooks, model.config.codec_config.codebook_size
    case["ended"] = bool((frames[-1] == 0).all())
    steps = len(frames)  # includes the end frame
    assert int(frames.max()) < size
    first, inner = torch.stack(record.first), torch.stack(record.inner).view(steps, books - 1, -1)
    case["steps"] = steps
    case["margin"] = min(lead(first), lead(inner))
    result = {"prompt_ids": inputs["input_ids"][0].int(), "prefill": record.prefill, "logits": first,
              "inner_logits": inner[:keep_logits], "frames": frames.int()}
    for i, c in enumerate(codes):
        result[f"context_{i}"] = c.int()
    if case.get("keep_samples"):
        result["samples"] = out.audio[0][: case["keep_samples"]]
    return {k: v.contiguous().clone() for k, v in result.items()}


SIZES = {
    # This checkpoint has the published codebooks and rates, tied tables, llama3 angles, sharded bf16 weights.
    "published_rates": dict(
        seed=31, dtype=torch.bfloat16, tied=True, teach=None,
        backbone=dict(hidden_size=48, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
                      num_key_value_heads=2, head_dim=16,
                      rope_scaling=dict(rope_type="llama3", factor=32.0, low_freq_factor=0.125, high_freq_factor=0.5,
                                        original_max_position_embeddings=64)),
        depth=dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                   num_key_value_heads=1, head_dim=8,
                   rope_scaling=dict(rope_type="llama3", factor=32.0, low_freq_factor=0.001953125,
                                     high_freq_factor=0.0078125, original_max_position_embeddings=16)),
        codec=mimi.SIZES["published_rates"]["config"]),
    # This checkpoint has other sizes, untied tables, plain angles and one f32 file, and learns to end.
    "taught": dict(
        seed=32, dtype=torch.float32, tied=False, teach=(45, 160),
        backbone=dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                      num_key_value_heads=4),
        depth=dict(hidden_size=40, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
                   num_key_value_heads=2, head_dim=16),
        codec=mimi.SIZES["other_shapes"]["config"]),
}

FOX = "The quick brown fox jumps over the lazy dog, doesn't it? 12345 times!"
MIXED = "Hello there… die Straße ist naß;  café – 你好，世界!\n\nNew line"
TALK = [dict(voice="1", text="hello there, how are you?", samples=9000),
        dict(voice="0", text=" I'm fine", samples=4001)]
CASES = {
    "published_rates": [
        dict(name="fox", voice="0", text=FOX, context=[], max_new_tokens=220, keep_samples=8 * 1920),
        dict(name="mixed", voice="17", text=MIXED, context=[], max_new_tokens=30),
        dict(name="talk", voice="1", text="and other things", context=TALK, max_new_tokens=60),
    ],
    "taught": [
        dict(name="ends", voice="0", text="hello there", context=[], max_new_tokens=100, keep_samples=45 * 96),
        dict(name="fox", voice="3", text=FOX, context=[], max_new_tokens=220),
        dict(name="talk", voice="0", text="die Straße", context=TALK, max_new_tokens=60),
    ],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    mimi.windowed(True)
    for name, size in SIZES.items():
        print(name)
        folder = args.out / name / "checkpoint"
        folder.mkdir(parents=True, exist_ok=True)
        ids, vocab = write_tokenizer(folder)
        config = csm_config(size, ids, vocab)
        config._attn_implementation = config.codec_config._attn_implementation = "eager"
        config.depth_decoder_config._attn_implementation = "eager"
        model = CsmForConditionalGeneration(config).float().eval()
        random = randomise(model, size["seed"], config.codec_config.codebook_size)
        processor = CsmProcessor(EncodecFeatureExtractor(sampling_rate=24000), PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"), pad_token="<|end_of_text|>"))
        if size["teach"]:
            frames, steps = size["teach"]
            gen = torch.Generator().manual_seed(9)
            target = torch.randint(1, config.codec_config.codebook_size, (frames, config.num_codebooks), generator=gen)
            prompt = processor.tokenizer(prompt_text(CASES[name][0]), add_special_tokens=False, return_tensors="pt")
            teach(model, prompt.input_ids, target, steps)
        state = {k: v.to(size["dtype"]).contiguous() for k, v in model.state_dict().items()}
        model.load_state_dict(state)  # the weights in the file's rounding
        for layer in model.modules():
            if hasattr(layer, "_embed"):
                layer._embed = None
        generation = dict(do_sample=True, temperature=0.96, top_k=50, depth_decoder_do_sample=True,
                          depth_decoder_temperature=0.9, depth_decoder_top_k=40, max_new_tokens=125)
        (folder / "generation_config.json").write_text(json.dumps(generation, indent=1) + "\n")
        plain = config.to_dict()
        if size["tied"]:  # as published: shards under another name, and tied tables stored once
            state.pop("depth_decoder.model.embed_tokens.weight")
            plain["transformers_weights"] = "transformers.safetensors.index.json"
            shards = [{}, {}]
            for i, key in enumerate(sorted(state)):
                shards[i * 2 // len(state)][key] = state[key]
            files = [f"transformers-0000{i}-of-00002.safetensors" for i in (1, 2)]
            for file, shard in zip(files, shards):
                save_file(shard, folder / file, metadata={"format": "pt"})
            index = {key: file for file, shard in zip(files, shards) for key in shard}
            (folder / "transformers.safetensors.index.json").write_text(json.dumps(
                {"metadata": {"total_size": sum(t.nbytes for t in state.values())}, "weight_map": index}, indent=1) + "\n")
        else:
            save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "config.json").write_text(json.dumps(plain, indent=1) + "\n")
        cases = CASES[name]
        for case in cases:
            save_file(run_case(model, processor, case, 3), folder.parent / f"{case['name']}.safetensors")
            print(" ", case["name"], "steps", case["steps"], "ended", case["ended"], "margin", case["margin"])
        (folder.parent / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
        for file in list(folder.glob("*.safetensors")):
            random.hollow(file)


if __name__ == "__main__":
    main()
