#!/usr/bin/env python3
"""Writes two small random Qwen3-TTS checkpoints, and the results of the authors' package with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 torchaudio==2.9.1 transformers==4.57.3 accelerate==1.12.0 \
        einops librosa soundfile onnxruntime sox
    VENV/bin/pip install --no-deps qwen-tts==0.1.1
    VENV/bin/python make_golden.py [--out DIR]

Everything is computed in float32 on the CPU with the eager attention. The checkpoints use the published layout and names;
only sizes and ids are smaller. Two runs on one machine give the same bytes; another CPU may differ in the last bits of the
logits, so each case stores its smallest margin between the two best allowed logits ("margin" in cases.json), which must be
far above float noise.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import Qwen2TokenizerFast

from qwen_tts import Qwen3TTSModel
from qwen_tts.core.models import Qwen3TTSConfig, Qwen3TTSForConditionalGeneration, Qwen3TTSProcessor
from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Config
from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

# Cuts words like the Qwen2 tokenizer, except that a vocabulary this small needs whole chat roles.
WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["assistant\n", "user\n", "the quick brown fox jumps over the lazy dog", "hello there, how are you?",
          "speak slowly and with a warm voice", "numbers 1 2 3 4 5 and other things", "die Straße ist naß"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|audio_start|>", "<|audio_end|>", "<tts_pad>",
           "<tts_text_bos>", "<tts_text_eod>"]


def write_tokenizer(folder):
    """Writes vocab.json, merges.txt, tokenizer_config.json. Returns {special token: id} and the ids used."""
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(WORDS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tok.train_from_iterator(CORPUS * 20, trainer)
    tok.model.save(str(folder))
    base = tok.get_vocab_size()
    ids = {name: base + i for i, name in enumerate(SPECIAL)}
    added = {str(i): {"content": name, "lstrip": False, "normalized": False, "rstrip": False,
                      "single_word": False, "special": True} for name, i in ids.items()}
    config = {"add_bos_token": False, "add_prefix_space": False, "added_tokens_decoder": added,
              "additional_special_tokens": SPECIAL[1:], "bos_token": None, "clean_up_tokenization_spaces": False,
              "eos_token": "<|im_end|>", "errors": "replace", "model_max_length": 131072,
              "pad_token": "<|endoftext|>", "split_special_tokens": False,
              "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))
    return ids, base + len(SPECIAL)


def talker_config(size, special, used):
    codes = size["codes"]
    decoder = dict(hidden_act="silu", rms_norm_eps=1e-6, rope_theta=1000000, attention_bias=False,
                   attention_dropout=0, use_sliding_window=False, max_position_embeddings=32768)
    predictor = dict(decoder, vocab_size=codes, num_code_groups=size["groups"], max_position_embeddings=65536,
                     model_type="qwen3_tts_talker_code_predictor", rope_scaling=None, **size["predictor"])
    talker = dict(decoder, vocab_size=codes + 1024, num_code_groups=size["groups"], code_predictor_config=predictor,
                  model_type="qwen3_tts_talker", text_hidden_size=size["text_hidden"],
                  text_vocab_size=(used + 15) // 16 * 16,
                  rope_scaling={"interleaved": True, "mrope_section": size["mrope"], "rope_type": "default",
                                "type": "default"},
                  codec_pad_id=codes + 100, codec_bos_id=codes + 101, codec_eos_token_id=codes + 102,
                  codec_think_id=codes + 106, codec_nothink_id=codes + 107, codec_think_bos_id=codes + 108,
                  codec_think_eos_id=codes + 109,
                  codec_language_id={"english": codes + 2, "german": codes + 5, "chinese": codes + 7,
                                     "sichuan_dialect": codes + 14},
                  spk_id={"vivian": codes + 1017, "eric": codes + 827, "ryan": codes + 1013},
                  spk_is_dialect={"vivian": False, "eric": "sichuan_dialect", "ryan": False}, **size["talker"])
    return dict(architectures=["Qwen3TTSForConditionalGeneration"], model_type="qwen3_tts",
                tokenizer_type="qwen3_tts_tokenizer_12hz", tts_model_size=size["size"],
                tts_model_type="custom_voice", im_start_token_id=special["<|im_start|>"],
                im_end_token_id=special["<|im_end|>"], tts_pad_token_id=special["<tts_pad>"],
                tts_bos_token_id=special["<tts_text_bos>"], tts_eos_token_id=special["<tts_text_eod>"],
                talker_config=talker, transformers_version="4.57.3")


def codec_config(size):
    hop = int(np.prod(size["codec"]["upsample_rates"]) * np.prod(size["codec"]["upsampling_ratios"]))
    decoder = dict(codebook_size=size["codes"], num_quantizers=size["groups"], attention_bias=False,
                   max_position_embeddings=8000, rope_theta=10000, hidden_act="silu", rms_norm_eps=1e-5,
                   layer_scale_initial_scale=0.01, sliding_window=72, **size["codec"])
    encoder = dict(hidden_size=16, num_filters=2, codebook_size=64, codebook_dim=8,
                   vector_quantization_hidden_dimension=8, num_attention_heads=2, head_dim=8,
                   num_key_value_heads=2, intermediate_size=16, num_hidden_layers=1,
                   num_quantizers=size["groups"], upsampling_ratios=[2, 2], upsample_groups=16, sampling_rate=24000)
    return dict(architectures=["Qwen3TTSTokenizerV2Model"], model_type="qwen3_tts_tokenizer_12hz",
                encoder_config=encoder, decoder_config=decoder, encoder_valid_num_quantizers=size["groups"],
                input_sample_rate=24000, output_sample_rate=24000, decode_upsample_rate=hop,
                encode_downsample_rate=hop)


def randomise(model, seed, gain):
    """Sets random weights at scales where every part of the network affects its output."""
    gen = torch.Generator().manual_seed(seed)
    rand = lambda t, scale: t.copy_(torch.randn(t.shape, generator=gen) * scale)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            last = name.rsplit(".", 1)[-1]
            if last == "cluster_usage":
                p.copy_(0.5 + 3.5 * torch.rand(p.shape, generator=gen))
            elif last == "embedding_sum":
                rand(p, 1.0)
            elif last in ("alpha", "beta", "bias"):
                rand(p, 0.2)
            elif last in ("scale", "gamma"):
                p.copy_(0.3 + 0.1 * torch.randn(p.shape, generator=gen))
            elif "norm" in name:
                p.copy_(1.0 + 0.2 * torch.randn(p.shape, generator=gen))
            elif "embedding" in name:
                rand(p, 1.0)
            else:
                rand(p, gain / np.sqrt(np.prod(p.shape[1:])) if p.dim() > 1 else 0.5)


def dead_entries(vocoder):
    """Makes one entry of each codebook almost unused, so that the clamp applies to it."""
    with torch.no_grad():
        for name, p in vocoder.named_parameters():
            if name.endswith("cluster_usage"):
                p[3] = 0.0
            elif name.endswith("embedding_sum"):
                p[3] *= 1e-5


def sparser_end(model, scale):
    with torch.no_grad():
        end = model.config.talker_config.codec_eos_token_id
        model.talker.codec_head.weight[end] *= scale


def level(decoder, size):
    """Scales the last convolution so that random codes give samples of rms 0.2, centred, hardly clipped."""
    last, seen = decoder.decoder[-1].conv, []
    hook = last.register_forward_hook(lambda _m, _i, out: seen.append(out))
    gen = torch.Generator().manual_seed(3)
    with torch.no_grad():
        decoder(torch.randint(0, size["codes"], (1, size["groups"], 100), generator=gen))
        hook.remove()
        scale = 0.2 / seen[0].std()
        last.bias.sub_(seen[0].mean()).mul_(scale)
        last.weight.mul_(scale)


def write_checkpoint(folder, size):
    """Writes the checkpoint; returns the seeded.Weights of its two files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "speech_tokenizer").mkdir(exist_ok=True)
    special, used = write_tokenizer(folder)
    config, codec = talker_config(size, special, used), codec_config(size)
    generation = dict(do_sample=True, repetition_penalty=1.05, temperature=0.9, top_p=1.0, top_k=50,
                      subtalker_dosample=True, subtalker_temperature=0.9, subtalker_top_p=1.0,
                      subtalker_top_k=50, max_new_tokens=8192)
    feature = dict(feature_extractor_type="EncodecFeatureExtractor", feature_size=1, padding_side="right",
                   padding_value=0.0, return_attention_mask=True, sampling_rate=24000)
    for path, value in [("config.json", config), ("generation_config.json", generation),
                        ("speech_tokenizer/config.json", codec),
                        ("speech_tokenizer/preprocessor_config.json", feature)]:
        (folder / path).write_text(json.dumps(value, indent=1))

    model = Qwen3TTSForConditionalGeneration(Qwen3TTSConfig(**config))
    randomise(model, size["seed"], 1.3)
    random = [seeded.Weights(size["seed"]), seeded.Weights(size["seed"] + 1)]
    random[0].over(model)
    sparser_end(model, size["end_scale"])
    weights = {k: v.to(size["dtype"]).contiguous() for k, v in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    vocoder = Qwen3TTSTokenizerV2Model(Qwen3TTSTokenizerV2Config(**codec))
    randomise(vocoder, size["seed"] + 1, 0.9)
    random[1].over(vocoder)
    dead_entries(vocoder)
    level(vocoder.decoder, size)
    save_file({k: v.contiguous() for k, v in vocoder.state_dict().items()},
              folder / "speech_tokenizer/model.safetensors", metadata={"format": "pt"})
    return random


def hollow(folder, random):
    random[0].hollow(folder / "model.safetensors")
    random[1].hollow(folder / "speech_tokenizer/model.safetensors")


class Recorder:
    """Collects inputs and outputs of the talker and the predictor during one generate() call."""

    def __init__(self, model):
        self.prefill, self.talker, self.inner, self.ids, self.instruct = None, [], [], None, None
        talker = model.talker
        self.hooks = [talker.codec_head.register_forward_hook(
            lambda _m, _i, out: self.talker.append(out[0, -1].clone()))]
        for head in talker.code_predictor.lm_head:
            self.hooks.append(head.register_forward_hook(
                lambda _m, _i, out: self.inner.append(out[0, -1].clone())))
        self.hooks.append(talker.model.register_forward_pre_hook(self._embeds, with_kwargs=True))
        self.model, self.generate = model, model.generate
        model.generate = self._generate

    def _embeds(self, _module, _args, kwargs):
        if self.prefill is None:
            self.prefill = kwargs["inputs_embeds"][0].clone()

    def _generate(self, input_ids, instruct_ids, **kwargs):
        self.ids = input_ids[0][0]
        self.instruct = None if instruct_ids[0] is None else instruct_ids[0][0]
        self.codes, hidden = self.generate(input_ids=input_ids, instruct_ids=instruct_ids, **kwargs)
        return self.codes, hidden

    def close(self):
        for hook in self.hooks:
            hook.remove()
        self.model.generate = self.generate


def allowed_margin(row, config, step, earlier, penalty):
    """Returns the distance between the two best logits that the sampler may choose from."""
    codes = config.vocab_size - 1024
    row = row.clone()
    for code in set(earlier):
        row[code] = row[code] / penalty if row[code] > 0 else row[code] * penalty
    ids = list(range(codes)) + ([config.codec_eos_token_id] if step >= 2 else [])
    best = row[ids].topk(2).values
    return float(best[0] - best[1])


def run_case(tts, case, inner_steps, full_steps):
    model, config = tts.model, tts.model.config.talker_config
    torch.manual_seed(0)
    record = Recorder(model)
    common = dict(text=case["text"], language=case["language"], instruct=case.get("instruct"),
                  non_streaming_mode=case["text_mode"] == "whole", do_sample=False, subtalker_dosample=False,
                  max_new_tokens=case["max_new_tokens"], repetition_penalty=case.get("repetition_penalty", 1.0))
    model.tts_model_type = case.get("type", "custom_voice")
    if model.tts_model_type == "voice_design":
        wavs, _ = tts.generate_voice_design(**common)
    else:
        wavs, _ = tts.generate_custom_voice(speaker=case["speaker"], **common)
    record.close()
    frames = record.codes[0]
    steps = frames.shape[0]
    groups, codes = config.num_code_groups, config.vocab_size - 1024
    talker = torch.stack(record.talker)
    inner = torch.stack(record.inner).view(-1, groups - 1, codes)
    columns = list(range(codes)) + [config.codec_eos_token_id]
    first, penalty = frames[:, 0].tolist(), case.get("repetition_penalty", 1.0)
    margins = [allowed_margin(row, config, i, first[:i], penalty) for i, row in enumerate(talker)]
    best = inner.topk(2, dim=-1).values
    case["margin"] = min(min(margins), float((best[..., 0] - best[..., 1]).min()))
    case["steps"] = steps
    case["ended"] = bool(steps + 1 < case["max_new_tokens"])
    out = {"prompt_ids": record.ids.int(), "prefill": record.prefill, "logits_full": talker[:full_steps],
           "logits_codes_end": talker[:, columns], "inner_logits": inner[:inner_steps],
           "frames": frames.int()}
    if record.instruct is not None:
        out["instruct_ids"] = record.instruct.int()
    keep = case.get("keep_samples", 0)
    if keep:
        out["samples"] = torch.from_numpy(np.asarray(wavs[0]))[: keep]
    return {k: v.contiguous().clone() for k, v in out.items()}


def codec_goldens(folder, decoder, size, lengths):
    """Writes the samples of random codes decoded at once, one tensor per length. All codes are prefixes of one list."""
    gen = torch.Generator().manual_seed(7)
    longest = max(lengths)
    codes = torch.randint(0, size["codes"], (1, size["groups"], longest), generator=gen)
    codes[0, :, 5] = 3  # the dead codebook entries
    out = {"codes": codes[0].t().int().contiguous()}
    with torch.no_grad():
        for n in lengths:
            wav = decoder(codes[..., :n])[0, 0]
            if n == longest:
                out["samples"] = wav.contiguous()
            else:  # the network is causal, so only the ends are kept, and the C++ test compares both
                out[f"tail_{n}"] = wav[-size["hop_keep"]:].clone()
        whole, chunked = decoder(codes), decoder.chunked_decode(codes)
    print("  codec: peak", float(whole.abs().max()), "rms", float(whole.pow(2).mean().sqrt()),
          "clipped", float((whole.abs() >= 1).float().mean()),
          "authors' 300/25 chunks differ from whole by", float((whole - chunked).abs().max()))
    save_file(out, folder / "codec.safetensors")


SIZES = {
    # Like the 0.6B model: talker and predictor have one width, and the package ignores instructions.
    "equal_width": dict(
        seed=11, dtype=torch.bfloat16, size="0b6", codes=48, groups=16,
        text_hidden=32, mrope=[3, 3, 2], end_scale=0.75, hop_keep=1920,
        talker=dict(hidden_size=48, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
                    num_key_value_heads=2, head_dim=16),
        predictor=dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=2, head_dim=16),
        codec=dict(codebook_dim=32, latent_dim=32, hidden_size=24, intermediate_size=48, num_hidden_layers=8,
                   num_attention_heads=4, num_key_value_heads=4, head_dim=8, upsample_rates=[8, 5, 4, 3],
                   upsampling_ratios=[2, 2], decoder_dim=64),
        lengths=[1, 2, 71, 72, 73, 120]),
    # Like the 1.7B model: a wider talker, so the predictor has small_to_mtp_projection; f32 weights,
    # grouped heads everywhere, other rates and fewer codebooks than published.
    "projected": dict(
        seed=323, dtype=torch.float32, size="1b7", codes=40, groups=6, text_hidden=24, mrope=[4, 2, 2],
        end_scale=0.85, hop_keep=192,
        talker=dict(hidden_size=64, intermediate_size=112, num_hidden_layers=2, num_attention_heads=6,
                    num_key_value_heads=2, head_dim=16),
        predictor=dict(hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2,
                       num_key_value_heads=1, head_dim=16),
        codec=dict(codebook_dim=24, latent_dim=40, hidden_size=32, intermediate_size=64, num_hidden_layers=4,
                   num_attention_heads=4, num_key_value_heads=2, head_dim=16, upsample_rates=[4, 2, 3, 2],
                   upsampling_ratios=[2, 2], decoder_dim=48),
        lengths=[1, 2, 71, 72, 73, 320]),
}

FOX = "The quick brown fox jumps over the lazy dog, doesn't it? 12345 times!"
MIXED = "Hello there… die Straße ist naß;  cafe\u0301 – 你好，世界!\n\nNew line"
CASES = {
    "equal_width": [
        dict(name="speaker_language", text=FOX, speaker="Vivian", language="English", text_mode="whole",
             max_new_tokens=225, keep_samples=20 * 1920),
        dict(name="auto_streaming", text=MIXED, speaker="ryan", language="Auto", text_mode="streaming",
             max_new_tokens=217),
        dict(name="dialect", text="Hello there, how are you?", speaker="eric", language="chinese", text_mode="whole",
             max_new_tokens=41),
        dict(name="instruct_ignored", text="Hello there.", speaker="vivian", language="german",
             instruct="Speak slowly.", text_mode="whole", max_new_tokens=25),
        dict(name="one_token_streaming", text="a", speaker="vivian", language="english", text_mode="streaming",
             max_new_tokens=25),
        dict(name="penalty", text=FOX, speaker="vivian", language="english", text_mode="streaming",
             max_new_tokens=81, repetition_penalty=1.05),
    ],
    "projected": [
        dict(name="instruct", text=FOX, speaker="ryan", language="english", text_mode="whole",
             instruct="speak slowly and with a warm voice", max_new_tokens=225, keep_samples=200 * 192),
        dict(name="instruct_streaming", text=MIXED, speaker="vivian", language="german", text_mode="streaming",
             instruct="Speak slowly and with a warm voice.", max_new_tokens=217),
        dict(name="auto_dialect", text="Hello there, how are you?", speaker="eric", language="auto",
             text_mode="streaming", max_new_tokens=41),
        dict(name="no_speaker", text="  hello there  ", speaker="", language="auto", text_mode="whole",
             max_new_tokens=41),
        dict(name="design", text="How are you?", speaker="", language="english", text_mode="whole",
             instruct="a warm voice", type="voice_design", max_new_tokens=41),
        dict(name="penalty", text=FOX, speaker="ryan", language="english", text_mode="whole",
             max_new_tokens=81, repetition_penalty=1.05),
    ],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name, size in SIZES.items():
        folder = args.out / name
        random = write_checkpoint(folder / "checkpoint", size)
        model = Qwen3TTSForConditionalGeneration.from_pretrained(
            str(folder / "checkpoint"), dtype=torch.float32, attn_implementation="eager")
        model.eval()
        processor = Qwen3TTSProcessor(tokenizer=Qwen2TokenizerFast.from_pretrained(str(folder / "checkpoint")))
        tts = Qwen3TTSModel(model, processor, model.generate_config)
        codec = model.speech_tokenizer.model.float().eval()
        print(name)
        codec_goldens(folder, codec.decoder, size, size["lengths"])
        cases = CASES[name]
        for case in cases:
            save_file(run_case(tts, case, inner_steps=6, full_steps=1), folder / f"{case['name']}.safetensors")
            print(" ", case["name"], "steps", case["steps"], "ended", case["ended"], "margin", case["margin"])
        (folder / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
        hollow(folder / "checkpoint", random)


if __name__ == "__main__":
    main()
