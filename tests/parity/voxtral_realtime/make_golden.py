#!/usr/bin/env python3
"""Writes small Voxtral Realtime models, and the results of transformers' code with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==5.24.0 safetensors mistral-common==1.13.1 tiktoken soundfile
    git clone https://github.com/huggingface/transformers
    VENV/bin/python make_golden.py --transformers transformers [--out DIR] [NAME...]

The classes of transformers (models/voxtral_realtime) and the tokenizer of mistral-common run unchanged, float32 on the CPU. Files
and names are those of save_pretrained(), as published, and tekken.json. "small" has the sizes of tokens that the published model
has; "other" has tokens of 40 ms, other heads and windows. "original" has Mistral's own layout: params.json and
consolidated.safetensors, with the keys and names of the published files, which transformers' script converts. For each recording and delay: rows of the projector, ids of generate()
with and without its end, the first logits, the text until an end in the silence after the recording. The recording is a token
longer, so that generate() also writes an id for the last row. Audio: tests/parity/mimi/speech.wav, repeated, with its samples read
as if at 16 kHz.
"""
import argparse
import base64
import importlib.util
import io
import json
import pathlib
import re
import sys
import tempfile
import wave

import numpy as np
import torch
from mistral_common.tokens.tokenizers.audio import Audio
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from safetensors.torch import load_file, save_file
from transformers import VoxtralRealtimeConfig, VoxtralRealtimeFeatureExtractor, VoxtralRealtimeForConditionalGeneration

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

PATTERN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
           r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")  # that of mistral-common's files
CONTROL = {token["rank"]: token["token_str"] for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS}
CONTROL |= {20: "[ARGS]", 21: "[CALL_ID]", 24: "[AUDIO]", 25: "[BEGIN_AUDIO]", 32: "[STREAMING_PAD]", 33: "[STREAMING_WORD]"}
SPECIAL = 40
PIECES = [" t", "he", " a", "in", " the", "er", " s", "on", "é", " w", "an", "re", "nd", "ing", " and", " über", " Hello", " world", "日", "本", "日本", "👋"]
TEXTS = ["Hello world, the rest!", "  two  spaces\n\nand a line", "über 123 théière — 日本 👋🏽", "don't THE CamelCase/path", ""]
ROPE = dict(rope_type="default", rope_theta=1e6)
SHAPES = {
    "small": dict(seed=37, end=5, rate=12.5, delay=6, left=32, cases=[(3.03, 8000, 6), (1.2, 30000, 2)],
                  audio=dict(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=2, head_dim=16, num_mel_bins=16,
                             sliding_window=30, rope_parameters=ROPE),
                  text=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                            sliding_window=20, rope_parameters=ROPE)),
    "other": dict(seed=38, end=5, rate=25, delay=3, left=5, cases=[(2.5, 4000, 3), (0.5, 20000, 1)],
                  audio=dict(hidden_size=32, intermediate_size=24, num_hidden_layers=1, num_attention_heads=3, head_dim=8, num_mel_bins=20,
                             sliding_window=7, rope_parameters=dict(ROPE, rope_theta=1e4)),
                  text=dict(hidden_size=48, intermediate_size=32, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1, head_dim=16,
                            sliding_window=33, rms_norm_eps=1e-6, rope_parameters=dict(ROPE, rope_theta=1e5))),
    "original": dict(seed=41, end=5, rate=12.5, delay=6, left=4, cases=[(1.6, 8000, 6), (0.7, 30000, 2)],
                     audio=dict(hidden_size=24, intermediate_size=40, num_hidden_layers=1, num_attention_heads=2, head_dim=16, num_mel_bins=16,
                                sliding_window=9, rope_parameters=dict(ROPE, rope_theta=1e4)),
                     text=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                               sliding_window=13, rms_norm_eps=1e-6, rope_parameters=dict(ROPE, rope_theta=1e5))),
}
SOUND = "mm_streams_embeddings.embedding_module."
TOWER = SOUND + "whisper_encoder."
# Parts of names in transformers, and in Mistral's files.
ORIGINAL = [(r"audio_tower\.embedder\.conv1", TOWER + "conv_layers.0.conv"), (r"audio_tower\.embedder\.conv2", TOWER + "conv_layers.1.conv"),
            (r"audio_tower\.", TOWER + "transformer."), (r"multi_modal_projector\.linear_1", SOUND + "audio_language_projection.0"),
            (r"multi_modal_projector\.linear_2", SOUND + "audio_language_projection.2"),
            (r"language_model\.model\.embed_tokens", SOUND + "tok_embeddings"), (r"language_model\.model\.", ""),
            (r"self_attn_layer_norm|input_layernorm", "attention_norm"), (r"final_layer_norm|post_attention_layernorm", "ffn_norm"),
            (r"self_attn\.(.)_proj", r"attention.w\1"), ("mlp.gate_proj", "feed_forward.w1"), ("mlp.down_proj", "feed_forward.w2"),
            ("mlp.up_proj", "feed_forward.w3"), ("ada_rms_norm.linear1", "ada_rms_norm_t_cond.0"), ("ada_rms_norm.linear2", "ada_rms_norm_t_cond.2")]


def audio(seconds, skip):
    with wave.open(io.BytesIO(seeded.stored(HERE.parent / "mimi" / "speech.wav"))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
    return samples[np.arange(skip, skip + int(seconds * 16000)) % len(samples)]


def write_tekken(path, shape):
    """Writes a tokenizer; a part of its vocabulary is beyond the ids, as in published files."""
    tokens = [bytes([i]) for i in range(256)]
    for piece in PIECES:  # each merge needs the token before it
        data = piece.encode()
        tokens += [data[:n] for n in range(2, len(data) + 1) if data[:n] not in tokens]
    size = SPECIAL + len(tokens)
    tokens += [b"beyond", b" the ids"]
    vocab = [dict(rank=i, token_bytes=base64.b64encode(t).decode(), token_str=None) for i, t in enumerate(tokens)]
    special = [dict(rank=i, token_str=CONTROL.get(i, f"<SPECIAL_{i}>"), is_control=True) for i in range(SPECIAL - 2)]
    config = dict(pattern=PATTERN, num_vocab_tokens=len(tokens), default_vocab_size=size, default_num_special_tokens=SPECIAL, version="v13")
    frames = dict(num_mel_bins=shape["audio"]["num_mel_bins"], hop_length=160, window_size=400)
    sound = dict(sampling_rate=16000, frame_rate=shape["rate"], audio_encoding_config=frames, chunk_length_s=None, transcription_format="streaming",
                 transcription_delay_ms=1000 * shape["delay"] / shape["rate"], streaming_look_ahead_ms=2.5, streaming_look_back_ms=52.5,
                 streaming_n_left_pad_tokens=shape["left"])
    path.write_text(json.dumps(dict(config=config, vocab=vocab, special_tokens=special, audio=sound)))
    return size


def randomise(model, seed):
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.state_dict().items()):
            noise = torch.randn(p.shape, generator=gen)
            if "norm" in name and "ada" not in name:
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.1 * noise)
            elif "embed_tokens" in name:
                p.copy_(0.15 * noise)
            elif "lm_head" not in name:
                p.copy_(noise * (3 if "linear" in name or "q_proj" in name else 1.3) / np.sqrt(max(1, p[0].numel())))


def lean(table, tokenizer, share_of_end):
    """Makes frames without text, marks, the end and tokens of whole characters likelier than other bytes."""
    with torch.no_grad():
        for row in range(len(table)):
            whole = row >= SPECIAL + 256 and "\ufffd" not in tokenizer.decode([row])
            table[row] *= {32: 6, 33: 4, 2: share_of_end}.get(row, 3 if whole else 1)


def converter_of(transformers):
    """Returns the authors' script that converts Mistral's layout."""
    name = "convert_voxtral_realtime_weights_to_hf"
    spec = importlib.util.spec_from_file_location(name, transformers / "src/transformers/models/voxtral_realtime" / (name + ".py"))
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def original_config(shape, size, per):
    """Returns a params.json with the keys of the published one."""
    def sizes(part):
        return dict(dim=part["hidden_size"], n_layers=part["num_hidden_layers"], head_dim=part["head_dim"], hidden_dim=part["intermediate_size"],
                    n_heads=part["num_attention_heads"], n_kv_heads=part.get("num_key_value_heads", part["num_attention_heads"]),
                    rope_theta=part["rope_parameters"]["rope_theta"], norm_eps=part.get("rms_norm_eps", 1e-5), vocab_size=size, causal=True,
                    sliding_window=part["sliding_window"])
    heard = dict(sampling_rate=16000, frame_rate=shape["rate"], num_mel_bins=shape["audio"]["num_mel_bins"], hop_length=160, window_size=400,
                 chunk_length_s=None, global_log_mel_max=1.5, transcription_format="streaming")
    encoder = dict(sizes(shape["audio"]), audio_encoding_args=heard, use_biases=True, use_cache=False, pos_embed="rope", max_source_positions=None,
                   ffn_type="swiglu", norm_type="rms_norm")
    return dict(sizes(shape["text"]), use_biases=False, model_parallel=1, tied_embeddings=True, model_max_length=131072,
                multimodal=dict(whisper_model_args=dict(encoder_args=encoder, downsample_args=dict(downsample_factor=per // 2))),
                ada_rms_norm_t_cond=True, ada_rms_norm_t_cond_dim=32)


def original_name(name):
    for theirs, original in ORIGINAL:
        name = re.sub(theirs, original, name)
    return name


def store_original(folder, whole, weights, shape, size, tokenizer, transformers):
    """Stores the random numbers of the checkpoint in the folder `whole` as a checkpoint in Mistral's layout, in `folder`. Then `whole`
    gets what the authors' script makes of this one."""
    params, file = folder / "params.json", folder / "consolidated.safetensors"
    params.write_text(json.dumps(original_config(shape, size, round(100 / shape["rate"])), indent=1) + "\n")
    stored = {original_name(name): value for name, value in load_file(str(whole / "model.safetensors")).items() if "lm_head" not in name}
    weights.over(stored)
    lean(stored[SOUND + "tok_embeddings.weight"], tokenizer, shape["end"])
    save_file(stored, str(file))
    converter = converter_of(transformers)
    converted = converter.convert_config(json.loads(params.read_text()))
    used = VoxtralRealtimeConfig.from_pretrained(whole)
    for ours, theirs in ((used.text_config, converted.text_config), (used.audio_config, converted.audio_config)):
        for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"):
            assert getattr(ours, key) == getattr(theirs, key), key
    state = converter.convert_state_dict(load_file(str(file)), converted)
    state["language_model.lm_head.weight"] = state["language_model.model.embed_tokens.weight"].clone()
    save_file({name: value.contiguous() for name, value in state.items()}, str(whole / "model.safetensors"), metadata=dict(format="pt"))
    return file


@torch.no_grad()
def transcribe(model, tokenizer, features, samples, delay, shape):
    encoder = tokenizer.instruct_tokenizer.audio_encoder
    encoded = encoder.encode_audio(Audio(samples, 16000, "wav"), 1000 * delay / shape["rate"])
    prompt = torch.tensor([tokenizer.instruct_tokenizer.start() + encoded.tokens])
    longer = np.pad(encoded.audio.audio_array, (0, encoder.audio_config.raw_audio_length_per_tok))
    mel = features(longer, sampling_rate=16000, return_tensors="pt")["input_features"]
    rows = model.get_audio_features(mel, return_dict=True).pooler_output[0, :-1]
    more = dict(input_ids=prompt, input_features=mel, num_delay_tokens=delay, do_sample=False, return_dict_in_generate=True)
    endless = model.generate(**more, eos_token_id=None, output_logits=True)
    ended = model.generate(**more, eos_token_id=2).sequences[0, prompt.shape[1]:].tolist()
    ids = endless.sequences[0, prompt.shape[1]:].tolist()
    logits = torch.cat(endless.logits)
    best = logits.topk(2).values
    tokens = tokenizer.instruct_tokenizer.tokenizer
    pad = encoder.audio_config.n_right_pad_tokens(1000 * delay / shape["rate"])
    late = [i for i, each in enumerate(ids) if each == 2 and len(ids) - i <= pad]  # ends in the silence after the recording
    out = dict(prompt=prompt[0].tolist(), ids=ids, ended=len(ended), first=tokens.decode(ended),
               text=tokens.decode(ids[:late[0]] if late else ids), margin=float((best[:, 0] - best[:, 1]).min()))
    return out, dict(rows=rows, logits=logits[:3])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    parser.add_argument("--transformers", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*", default=list(SHAPES))
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name in args.names:
        shape, folder = SHAPES[name], args.out / name / "checkpoint"
        folder.mkdir(parents=True, exist_ok=True)
        size = write_tekken(folder / "tekken.json", shape)
        per = round(100 / shape["rate"])
        config = VoxtralRealtimeConfig(audio_config=shape["audio"], text_config=dict(shape["text"], vocab_size=size), audio_length_per_tok=per,
                                       downsample_factor=per // 2, default_num_delay_tokens=shape["delay"])
        model = VoxtralRealtimeForConditionalGeneration(config).eval()
        randomise(model, shape["seed"])
        weights = seeded.Weights(shape["seed"])
        tokenizer = MistralTokenizer.from_file(str(folder / "tekken.json"))
        plain = tokenizer.instruct_tokenizer.tokenizer
        features = VoxtralRealtimeFeatureExtractor(feature_size=shape["audio"]["num_mel_bins"])
        with tempfile.TemporaryDirectory() as place:
            original = name == "original"
            whole = pathlib.Path(place) if original else folder
            if not original:
                weights.over(model, keep=("lm_head",))
                lean(model.model.language_model.embed_tokens.weight, plain, shape["end"])
                saved = dict(processor_class="VoxtralRealtimeProcessor", feature_extractor=features.to_dict())
                (folder / "processor_config.json").write_text(json.dumps(saved))
            model.save_pretrained(whole)
            file = store_original(folder, whole, weights, shape, size, plain, args.transformers) if original else folder / "model.safetensors"
            model = VoxtralRealtimeForConditionalGeneration.from_pretrained(whole, dtype=torch.float32).eval()
        cases = []
        for i, (seconds, skip, delay) in enumerate(shape["cases"]):
            said, tensors = transcribe(model, tokenizer, features, audio(seconds, skip), delay, shape)
            save_file({key: value.float().contiguous() for key, value in tensors.items()}, str(args.out / name / f"case{i}.safetensors"))
            cases.append(dict(count=int(seconds * 16000), skip=skip, delay=delay, **said))
            print(name, i, len(said["ids"]), "ids, ended after", said["ended"], "margin", said["margin"], said["ids"][:60], repr(said["text"]))
        texts = [dict(text=text, ids=plain.encode(text, bos=False, eos=False)) for text in TEXTS]
        (args.out / name / "cases.json").write_text(json.dumps(dict(cases=cases, texts=texts)))
        (folder / "generation_config.json").unlink(missing_ok=True)
        weights.hollow(file)


main()
