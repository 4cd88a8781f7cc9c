#!/usr/bin/env python3
"""Writes two small random Qwen3-Omni checkpoints, and the results of transformers with them.

    python3 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==5.23.0 numpy safetensors
    VENV/bin/python make_golden.py [--out DIR]

Everything is computed in float32 on the CPU with the eager attention, one thread. The checkpoints use the published layout and
names; only sizes and ids are smaller. Recordings are not stored: `signal` generates them from integers, and the tests do the
same. README.md lists the contents of each file.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import (PreTrainedTokenizerFast, Qwen3OmniMoeConfig, Qwen3OmniMoeForConditionalGeneration,
                          Qwen3OmniMoeProcessor, WhisperFeatureExtractor)
from transformers.models.qwen3_omni_moe.processing_qwen3_omni_moe import _get_feat_extract_output_lengths

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

# Ids of the small vocabulary; words have higher ids.
IDS = dict(im_start_token_id=0, im_end_token_id=1, system_token_id=2, user_token_id=3, assistant_token_id=4,
           tts_pad_token_id=5, tts_bos_token_id=6, tts_eos_token_id=7)
NEWLINE, AUDIO_START, AUDIO_END, AUDIO, IMAGE, VIDEO, WORDS = 8, 9, 10, 11, 12, 13, 16

SIZES = {
    # As published: norm_topk_prob everywhere, 1920 samples a frame, bf16.
    "published": dict(
        dtype=torch.bfloat16, vocab=96, accept=2, codes=64, groups=6, hop_store=3000,
        thinker=dict(hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                     num_experts=8, num_experts_per_tok=2, moe_intermediate_size=8, intermediate_size=32,
                     norm_topk_prob=True),
        audio=dict(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48,
                   downsample_hidden_size=8, n_window=50, n_window_infer=200, output_dim=64),
        talker=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                    num_experts=6, num_experts_per_tok=3, moe_intermediate_size=16, intermediate_size=40,
                    shared_expert_intermediate_size=24, norm_topk_prob=True),
        predictor=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
                       intermediate_size=48),
        code2wav=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
                      intermediate_size=48, decoder_dim=32, upsample_rates=[8, 5, 4, 3], upsampling_ratios=[2, 2]),
        rope=[4, 2, 2]),
    # Differs in all values of a config: no norm_topk_prob, other windows and rates, f32.
    "other": dict(
        dtype=torch.float32, vocab=64, accept=1, codes=32, groups=4, hop_store=0,
        thinker=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=24,
                     num_experts=5, num_experts_per_tok=3, moe_intermediate_size=8, intermediate_size=24,
                     norm_topk_prob=False),
        audio=dict(d_model=16, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=24,
                   downsample_hidden_size=4, n_window=50, n_window_infer=400, output_dim=32),
        talker=dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
                    num_experts=4, num_experts_per_tok=1, moe_intermediate_size=8, intermediate_size=24,
                    shared_expert_intermediate_size=16, norm_topk_prob=False),
        predictor=dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=8,
                       intermediate_size=24),
        code2wav=dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
                      intermediate_size=24, decoder_dim=16, upsample_rates=[2, 3, 2], upsampling_ratios=[2]),
        rope=[6, 3, 3]),
}
# Samples at 16 kHz: shortest, odd, one chunk of 100 mel frames and a frame less and more, whole windows, and longer.
LENGTHS = [320, 1599, 2720, 15999, 16000, 16160, 32000, 33600, 70401]


def signal(count, seed):
    """Returns noise from integers that swells and falls: the same bits in any language."""
    out = np.empty(count, np.float32)
    state = seed
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = (((state >> 16) - 32768) * ((i * 5) & 16383) >> 14) / 32768
    return out


# A template like the published one, for all contents of a message, with the marks of a recording.
TEMPLATE = """{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.content is string -%}
{{- message.content -}}
{%- else -%}
{%- for part in message.content -%}
{%- if part.type == 'image' or 'image' in part or 'image_url' in part -%}
<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type == 'audio' or 'audio' in part or 'audio_url' in part -%}
<|audio_start|><|audio_pad|><|audio_end|>
{%- elif 'text' in part -%}
{{- part.text -}}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}"""
SPECIALS = {0: "<|im_start|>", 1: "<|im_end|>", 5: "<tts_pad>", 6: "<tts_text_bos>", 7: "<tts_text_eod>",
            9: "<|audio_start|>", 10: "<|audio_end|>", 11: "<|audio_pad|>", 12: "<|image_pad|>",
            13: "<|video_pad|>", 14: "<|vision_start|>", 15: "<|vision_end|>"}
ROLES = ["sy te tem stem system", "us er user", "as ass is ist an ant assist assistant"]


def make_tokenizer(folder, vocab):
    """Makes a byte-level BPE that knows the roles' names and otherwise letters, so that the words of a prompt have texts."""
    names = {2: "system", 3: "user", 4: "assistant", 8: "\u010a"}
    pieces = [p for role in ROLES for p in role.split() if p not in names.values()]
    letters = "WORDS0123456789ABCEFGHIJKLMNPQTUVXYZ" + "aeimnrstuy" + "bcdfghjklopqvwxz\u0120.,?!-:;()" + "[]{}<>=+*/"
    ids = [i for i in range(WORDS, vocab)]
    late = [c for c in "aeimnrstuy"] + pieces  # the pieces of roles are at the end
    first = [c for c in letters if c not in late][: len(ids) - len(late)]
    table = {text: id for text, id in zip(first + late, ids)} | {text: id for id, text in (names | SPECIALS).items()}
    assert sorted(table.values()) == list(range(vocab))
    merges = []
    for role in ROLES:
        known = list("aeimnrstuy")
        for piece in role.split():
            merges.append(next([piece[:i], piece[i:]] for i in range(1, len(piece))
                               if piece[:i] in known and piece[i:] in known))
            known.append(piece)
    added = [dict(id=id, content=text, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
             for id, text in SPECIALS.items()]
    bytelevel = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=False, use_regex=False)
    split = dict(type="Split", pattern=dict(Regex="\\p{L}+|\\p{N}|[^\\s\\p{L}\\p{N}]+|\\s+"), behavior="Isolated", invert=False)
    (folder / "tokenizer.json").write_text(json.dumps(dict(
        version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=dict(type="NFC"),
        pre_tokenizer=dict(type="Sequence", pretokenizers=[split, bytelevel]), post_processor=None, decoder=bytelevel,
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix="", end_of_word_suffix="",
                   fuse_unk=False, byte_fallback=False, ignore_merges=False, vocab=table, merges=merges)),
        indent=None) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(
        tokenizer_class="PreTrainedTokenizerFast", eos_token="<|im_end|>", audio_token="<|audio_pad|>",
        image_token="<|image_pad|>", video_token="<|video_pad|>")) + "\n")
    (folder / "chat_template.json").write_text(json.dumps(dict(chat_template=TEMPLATE)) + "\n")
    return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), chat_template=TEMPLATE)


def prompt_ids(tokenizer, extractor, messages, recordings):
    """Returns prompt ids as the processor makes them, without its part for pictures, which needs other packages."""
    processor = Qwen3OmniMoeProcessor.__new__(Qwen3OmniMoeProcessor)
    processor.feature_extractor, processor.audio_token = extractor, SPECIALS[AUDIO]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True).split(SPECIALS[AUDIO])
    places = []
    if recordings:
        places = processor._process_audio(recordings, n_window=50, **Qwen3OmniMoeProcessor.audio_kwargs)[1]
    assert len(text) == len(places) + 1
    text = "".join(piece + place for piece, place in zip(text, places + [""]))
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def make_config(size):
    codes, rope = size["codes"], dict(rope_type="default", rope_theta=1000000.0, mrope_section=size["rope"],
                                      interleaved=True)
    plain = dict(rope_type="default", rope_theta=1000000.0)
    decoder = dict(hidden_act="silu", rms_norm_eps=1e-6, max_position_embeddings=32768)
    ids = dict(audio_token_id=AUDIO, image_token_id=IMAGE, video_token_id=VIDEO, vision_start_token_id=14,
               audio_start_token_id=AUDIO_START, position_id_per_seconds=13)
    thinker = dict(text_config=dict(decoder, vocab_size=size["vocab"], rope_parameters=rope, **size["thinker"]),
                   audio_config=dict(num_mel_bins=128, max_source_positions=1500, activation_function="gelu",
                                     **size["audio"]),
                   vision_config=dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=1, patch_size=2,
                                      out_hidden_size=size["thinker"]["hidden_size"], num_position_embeddings=4,
                                      deepstack_visual_indexes=[0], spatial_merge_size=2),
                   audio_end_token_id=AUDIO_END, user_token_id=IDS["user_token_id"], **ids)
    talker = dict(text_config=dict(decoder, vocab_size=codes + 1024, rope_parameters=rope, **size["talker"]),
                  code_predictor_config=dict(decoder, vocab_size=codes, num_code_groups=size["groups"],
                                             rope_parameters=plain, **size["predictor"]),
                  num_code_groups=size["groups"], thinker_hidden_size=size["thinker"]["hidden_size"],
                  accept_hidden_layer=size["accept"], codec_pad_id=codes + 100, codec_bos_id=codes + 101,
                  codec_eos_token_id=codes + 102, codec_think_id=codes + 106, codec_nothink_id=codes + 107,
                  codec_think_bos_id=codes + 108, codec_think_eos_id=codes + 109, spatial_merge_size=2,
                  speaker_id={"chelsie": codes + 253, "ethan": codes + 254, "aiden": codes + 255}, **ids)
    wav = dict(codebook_size=codes, num_quantizers=size["groups"], sliding_window=72, rms_norm_eps=1e-5,
               rope_parameters=dict(rope_type="default", rope_theta=10000.0), **size["code2wav"])
    return Qwen3OmniMoeConfig(thinker_config=thinker, talker_config=talker, code2wav_config=wav,
                              enable_audio_output=True, **IDS)


def randomise(model, seed):
    """Sets random weights at scales where every part of the network affects its output."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise, last = torch.randn(p.shape, generator=gen), name.rsplit(".", 1)[-1]
            if last in ("alpha", "beta", "bias"):
                p.copy_(0.2 * noise)
            elif last in ("scale", "gamma"):
                p.copy_(0.3 + 0.1 * noise)
            elif "norm" in name or "ln_" in name:
                p.copy_(1 + 0.2 * noise)
            elif "embed" in name:
                p.copy_(noise)
            elif "router" in name or name.endswith("mlp.gate.weight"):
                p.copy_(noise * 2 / np.sqrt(p.shape[-1]))
            elif "experts." in name:
                p.copy_(noise * 1.5 / np.sqrt(p.shape[-1]))
            else:
                gain = 1 if name.startswith("code2wav") else 1.5
                p.copy_(noise * gain / np.sqrt(np.prod(p.shape[1:])) if p.dim() > 1 else 0.5 * noise)


def level(code2wav, size):
    """Scales the last convolution so that random codes give samples of rms 0.2, hardly clipped."""
    last, seen = code2wav.decoder[-1].conv, []
    hook = last.register_forward_hook(lambda _m, _i, out: seen.append(out))
    gen = torch.Generator().manual_seed(3)
    with torch.no_grad():
        code2wav(torch.randint(0, size["codes"], (1, size["groups"], 60), generator=gen))
        hook.remove()
        scale = 0.2 / seen[0].std()
        last.bias.sub_(seen[0].mean()).mul_(scale)
        last.weight.mul_(scale)


def features(extractor, samples):
    """Calls the extractor as the processor does."""
    out = extractor(samples, sampling_rate=16000, padding=True, truncation=False, return_attention_mask=True,
                    return_tensors="pt")
    return out["input_features"], out["attention_mask"]


def audio_golden(model, extractor):
    golden = {}
    for length in LENGTHS:
        mel, mask = features(extractor, signal(length, length))
        rows = model.thinker.get_audio_features(mel, mask, return_dict=True).last_hidden_state
        golden[f"rows_{length}"] = rows
        if length == 2720:
            golden[f"mel_{length}"] = mel[0, :, : mask.sum()].T.contiguous()
    return golden


def turn(role, body):
    return [IDS["im_start_token_id"], IDS[role + "_token_id"], NEWLINE] + body + [IDS["im_end_token_id"], NEWLINE]


def conversation_golden(model, extractor, size, prompt, samples, speaker):
    """Runs one whole request: what the thinker reads and writes, the talker's inputs, the frames, the samples."""
    golden, thinker_in = {}, dict(input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)).long())
    if samples:
        mel, mask = features(extractor, samples)
        thinker_in.update(input_features=mel, feature_attention_mask=mask)
        rows = model.thinker.get_audio_features(mel, mask, return_dict=True).last_hidden_state
        at = [i for i, id in enumerate(prompt) if id == AUDIO]
        assert len(at) == rows.shape[0]
    seen = {}
    generate = model.talker.generate

    def watch(**kwargs):
        seen["in"] = kwargs
        seen["out"] = generate(**kwargs, output_logits=True)
        return seen["out"]

    model.talker.generate = watch
    ids, wav = model.generate(**thinker_in, speaker=speaker, thinker_max_new_tokens=9, thinker_do_sample=False,
                              thinker_eos_token_id=IDS["im_end_token_id"], talker_do_sample=False,
                              talker_max_new_tokens=12)
    model.talker.generate = generate
    thinker_in.update(input_ids=ids, attention_mask=torch.ones_like(ids))
    whole = model.thinker(**thinker_in, output_hidden_states=True)
    golden["ids"] = ids[0].int()
    golden["thinker_logits"] = whole.logits[0]
    golden["thinker_tap"] = whole.hidden_states[model.config.talker_config.accept_hidden_layer][0]
    golden["talker_prefill"] = seen["in"]["inputs_embeds"][0]
    golden["talker_trailing"] = seen["in"]["trailing_text_hidden"][0]
    golden["talker_pad"] = seen["in"]["tts_pad_embed"][0]
    result = seen["out"]
    codes = torch.stack([h[-1] for h in result.hidden_states if h[-1] is not None], dim=1)[0]
    golden["talker_logits"] = torch.cat(result.logits)[:, : size["codes"] + 128]  # the tests do not use the rest
    golden["codes"] = codes.int()
    # Runs the predictor once more on the codes that were drawn.
    past = torch.cat([h[0][-1][:, -1:] for h in result.hidden_states[: len(codes)]], dim=1)[0]
    inner = []
    predictor = model.talker.code_predictor
    for hidden, frame in zip(past, codes):
        x = [hidden, model.talker.model.codec_embedding(frame[0])]
        x += [predictor.model.codec_embedding[i](frame[i + 1]) for i in range(len(frame) - 2)]
        out = predictor.model(inputs_embeds=torch.stack(x)[None]).last_hidden_state[0]
        inner.append(torch.stack([head(row) for head, row in zip(predictor.lm_head, out[1:])]))
    golden["inner_logits"] = torch.stack(inner)
    assert all((row.argmax(-1) == frame[1:]).all() for row, frame in zip(inner, codes))
    golden["samples"] = wav.reshape(-1)[-(2500 if len(samples) < 2 else 600):]
    if len(samples) > 1:  # the results of the parts are in the other goldens
        golden = {name: golden[name] for name in ("ids", "codes", "samples")}
    return golden, wav.numel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "golden")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    for number, (name, size) in enumerate(SIZES.items()):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        config = make_config(size)
        config._attn_implementation = "eager"
        model = Qwen3OmniMoeForConditionalGeneration(config).float().eval()
        model.set_attn_implementation("eager")
        randomise(model, number + 1)
        level(model.code2wav, size)
        model.to(size["dtype"]).save_pretrained(folder / "checkpoint")
        (folder / "checkpoint" / "generation_config.json").unlink(missing_ok=True)
        # Numbers that a recipe can describe, one tensor of the file at a time, because the file stores each expert apart.
        file, random = folder / "checkpoint/model.safetensors", seeded.Weights(number + 1)
        state = load_file(file)
        random.over(state)
        save_file(state, file, metadata={"format": "pt"})
        # Read again instead of converted back, because that would round tables that are not weights.
        model = Qwen3OmniMoeForConditionalGeneration.from_pretrained(
            folder / "checkpoint", dtype=torch.float32, attn_implementation="eager").eval()
        extractor = WhisperFeatureExtractor(feature_size=128)

        save_file({k: v.contiguous() for k, v in audio_golden(model, extractor).items()}, folder / "audio.safetensors")

        tokenizer = make_tokenizer(folder / "checkpoint", size["vocab"])
        words = lambda count, step: [WORDS + (i * step + 3) % (size["vocab"] - WORDS) for i in range(count)]
        text = lambda count, step: tokenizer.decode(words(count, step))
        audio = dict(type="audio", audio="")
        heard = signal(20000, 7)
        # Whole seconds, because transformers pads a shorter recording if it encodes several at once.
        pair = [signal(48000, 8), signal(16000, 9)]
        rows = lambda samples: int(_get_feat_extract_output_lengths(np.array([len(samples) // 160]))[0])
        spoken = lambda samples: [AUDIO_START] + [AUDIO] * rows(samples) + [AUDIO_END]
        tail = [IDS["im_start_token_id"], IDS["assistant_token_id"], NEWLINE]
        part = lambda count, step: dict(type="text", text=text(count, step))
        say = lambda role, *content: dict(role=role, content=content[0] if isinstance(content[0], str) else content)
        prompts = {
            "heard": (turn("system", words(4, 5)) + turn("user", spoken(heard) + words(3, 7)) + tail,
                      [say("system", text(4, 5)), say("user", audio, part(3, 7))], [heard], "Ethan"),
            "turns": (turn("user", words(5, 3)) + turn("assistant", words(3, 9)) + turn("user", words(2, 11)) + tail,
                      [say("user", text(5, 3)), say("assistant", text(3, 9)), say("user", text(2, 11))], [], "chelsie"),
            "pair": (turn("user", spoken(pair[0]) + words(2, 3)) + turn("assistant", words(2, 9))
                     + turn("user", words(1, 5) + spoken(pair[1])) + tail,
                     [say("user", audio, part(2, 3)), say("assistant", text(2, 9)), say("user", part(1, 5), audio)],
                     pair, "aiden"),
        }
        cases = {}
        for case, (prompt, messages, samples, speaker) in prompts.items():
            assert prompt_ids(tokenizer, extractor, messages, samples) == prompt, case
            golden, total = conversation_golden(model, extractor, size, prompt, samples, speaker)
            save_file({k: v.contiguous() for k, v in golden.items()}, folder / f"{case}.safetensors")
            cases[case] = dict(prompt=len(prompt), speaker=speaker, recordings=[len(s) for s in samples],
                               samples=total, messages=messages,
                               text=tokenizer.decode(golden["ids"][len(prompt):], skip_special_tokens=True))
        gen = torch.Generator().manual_seed(11)
        codes = torch.randint(0, size["codes"], (100, size["groups"]), generator=gen)
        wav = model.code2wav(codes.T[None]).reshape(-1)
        keep = size["hop_store"] or wav.numel()
        save_file(dict(codes=codes.int(), head=wav[:keep].contiguous(), tail=wav[-keep:].clone(),
                       one=model.code2wav(codes[:1].T[None]).reshape(-1)), folder / "codec.safetensors")
        cases["codec"] = dict(samples=wav.numel())
        (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
        random.hollow(file)


if __name__ == "__main__":
    main()
