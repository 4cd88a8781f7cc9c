#!/usr/bin/env python3
"""Writes small recognisers with transducers, and the results of transformers' code with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==5.24.0 safetensors
    VENV/bin/python make_golden.py [--out DIR]

The classes of transformers (models/nemotron_asr_streaming, models/parakeet) run unchanged, float32 on the CPU. Files and names are
those of save_pretrained(), as published. "small" has the keys of a Nemotron; "other" has no biases in the attention, another factor
and lookaheads that do not divide the window; "tdt" and "rnnt" are Parakeets. For each: rows of the encoder, for each lookahead of
the whole recording and of its chunks with caches, ids and the rows that they move on, the first logits. Audio:
tests/parity/mimi/speech.wav, repeated, with its samples read as if at 16 kHz.
"""
import argparse
import io
import json
import pathlib
import sys
import wave

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers, Regex
from transformers import (NemotronAsrStreamingConfig, NemotronAsrStreamingFeatureExtractor, NemotronAsrStreamingForRNNT,
                          NemotronAsrStreamingProcessor, ParakeetFeatureExtractor, ParakeetForRNNT, ParakeetForTDT,
                          ParakeetProcessor, ParakeetRNNTConfig, ParakeetTDTConfig, ParakeetTokenizer)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

CORPUS = ["hello there, how are you today? the quick brown fox jumps over the lazy dog.", "it isn't the other one, is it?",
          "we walked along the river, and then, when it was dark, we went home.", "Voilà, c'est déjà l'été!"]
ENCODER = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, num_mel_bins=20,
               subsampling_conv_channels=8, conv_kernel_size=9)
SHAPES = {
    "small": dict(seed=11, lookaheads=[3, 1, 0], encoder=dict(ENCODER, sliding_window=9, default_num_lookahead_tokens=3),
                  model=dict(decoder_hidden_size=24, num_decoder_layers=2), blank=5.0),
    "other": dict(seed=12, lookaheads=[5, 2], blank=2.8, model=dict(decoder_hidden_size=40, num_decoder_layers=1, max_symbols_per_step=3),
                  encoder=dict(ENCODER, hidden_size=48, num_attention_heads=3, num_mel_bins=16, attention_bias=False, subsampling_factor=4,
                               convolution_bias=False, scale_input=False, conv_kernel_size=5, sliding_window=12,
                               default_num_lookahead_tokens=2)),
    "tdt": dict(seed=13, lookaheads=[None], encoder=dict(ENCODER, num_mel_bins=24), model=dict(decoder_hidden_size=24), blank=3.3),
    "rnnt": dict(seed=14, lookaheads=[None], encoder=dict(ENCODER, num_mel_bins=16, num_hidden_layers=1, attention_bias=False, convolution_bias=False),
                 model=dict(decoder_hidden_size=16, num_decoder_layers=1), blank=3.4),
}


def audio(count, skip):
    with wave.open(io.BytesIO(seeded.stored(HERE.parent / "mimi" / "speech.wav"))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
    return samples[np.arange(skip, skip + count) % len(samples)]


def tokenizer():
    """Returns what transformers' ParakeetConverter makes of a sentencepiece BPE, with a blank as last token."""
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Strip(left=False, right=True),
                                            normalizers.Replace(Regex(" {2,}"), "▁")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    made.train_from_iterator(CORPUS * 20, trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>", "<pad>"], show_progress=False))
    made.add_special_tokens([AddedToken("<blank>", special=True)])
    return ParakeetTokenizer(tokenizer_object=made, unk_token="<unk>", pad_token="<pad>")


def randomise(model, seed, blank, blank_id):
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.state_dict().items()):
            if not p.is_floating_point():
                continue
            noise = torch.randn(p.shape, generator=gen)
            if "norm" in name and name.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("running_var"):
                p.copy_(1 + 0.3 * noise.abs())
            elif name.endswith("bias") or "bias_" in name or name.endswith("running_mean"):
                p.copy_(0.1 * noise)
            elif name.endswith("embedding.weight"):
                p.copy_(noise)
            else:
                p.copy_(noise * (2 if "head" in name or "lstm" in name else 1) / np.sqrt(max(1, p[0].numel())))
        model.joint.head.bias[blank_id] += blank
        model.joint.head.bias[blank_id + 1:][:1] -= 2  # makes a duration of 0 less likely


def build(name, shape, tok):
    blank = tok.convert_tokens_to_ids("<blank>")
    common = dict(shape["model"], vocab_size=blank + 1, blank_token_id=blank, pad_token_id=tok.pad_token_id, encoder_config=shape["encoder"])
    features = dict(feature_size=shape["encoder"]["num_mel_bins"], sampling_rate=16000)
    if name in ("tdt", "rnnt"):
        config, model = (ParakeetTDTConfig, ParakeetForTDT) if name == "tdt" else (ParakeetRNNTConfig, ParakeetForRNNT)
        processor = ParakeetProcessor(ParakeetFeatureExtractor(**features), tok)
    else:
        config, model = NemotronAsrStreamingConfig, NemotronAsrStreamingForRNNT
        processor = NemotronAsrStreamingProcessor(NemotronAsrStreamingFeatureExtractor(**features), tok,
                                                  supported_num_lookahead_tokens=shape["lookaheads"],
                                                  default_num_lookahead_tokens=shape["encoder"]["default_num_lookahead_tokens"])
    model = model(config(**common)).eval()
    model.generation_config.decoder_start_token_id = blank
    randomise(model, shape["seed"], shape["blank"], blank)
    return model, processor


def chunks_of(mel, lookahead, factor):
    at, size = 0, 1 + factor * lookahead
    while at + size <= mel.shape[1]:
        yield mel[:, at:at + size]
        at, size = at + size, factor * (lookahead + 1)


@torch.no_grad()
def streamed(model, mel, lookahead):
    """Runs the encoder chunk by chunk with its caches, as generate() does; returns its rows."""
    cache = padding = None
    rows = []
    for chunk in chunks_of(mel, lookahead, model.config.encoder_config.subsampling_factor):
        out = model.get_audio_features(input_features=chunk, cache=cache, padding_cache=padding, num_lookahead_tokens=lookahead,
                                       use_cache=True, output_attention_mask=False)
        cache, padding = out.cache, out.padding_cache
        rows.append(out.pooler_output)
    return torch.cat(rows, 1)[0]


@torch.no_grad()
def first_logits(model, row, steps, vocab):
    """Returns the logits of the first ids at one row; the blank is never chosen."""
    hidden, out, ids = None, [], [model.config.blank_token_id]
    for _ in range(steps):
        embedded = model.decoder.embedding(torch.tensor([[ids[-1]]]))
        lstm, hidden = model.decoder.lstm(embedded, hidden)
        logits = model.joint(encoder_hidden_states=row[None, None, None], decoder_hidden_states=model.decoder.decoder_projector(lstm)[:, None])
        out.append(logits.flatten())
        ids.append(int(out[-1][:vocab - 1].argmax()))
    return torch.stack(out), ids[1:]


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    tok = tokenizer()
    for name, shape in SHAPES.items():
        folder = out / name / "checkpoint"
        folder.mkdir(parents=True, exist_ok=True)
        model, processor = build(name, shape, tok)
        weights = seeded.Weights(shape["seed"])
        weights.over(model, keep=("joint.head.bias", "inv_freq"))
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        cases = []
        for i, (count, skip) in enumerate([(160 * 301, 8000), (160 * 96, 30000)]):
            samples = audio(count, skip)
            features = processor.feature_extractor(samples, sampling_rate=16000, return_tensors="pt", return_attention_mask=True)
            mel, mask = features["input_features"], features["attention_mask"]
            tensors = {}
            case = dict(count=count, skip=skip, runs=[])
            for lookahead in shape["lookaheads"]:
                ahead = {} if lookahead is None else dict(num_lookahead_tokens=lookahead)
                whole = model.get_audio_features(input_features=mel, attention_mask=mask, **ahead)
                rows = whole.pooler_output[0, :int(whole.attention_mask.sum())]
                said = model.generate(input_features=mel, attention_mask=mask, **ahead)
                ids, moves = said.sequences[0, 1:].tolist(), said.durations[0, 1:].tolist()
                run = dict(lookahead=lookahead, rows=len(rows), ids=ids, moves=moves,
                           text=tok.decode(said.sequences[0], group_tokens=False, skip_special_tokens=True))
                tensors[f"rows{lookahead or 0}"] = rows.contiguous()
                if lookahead is not None:
                    parts = streamed(model, mel[:, :int(mask.sum())], lookahead)
                    off = float((parts - rows[:len(parts)]).abs().max() / rows.abs().max())
                    said = model.generate(input_features=chunks_of(mel[:, :int(mask.sum())], lookahead, model.config.encoder_config.subsampling_factor),
                                          num_lookahead_tokens=lookahead)
                    run["streamed_ids"] = said.sequences[0, 1:].tolist()
                    run["streamed_rows"] = len(parts)
                    if i == 0:
                        tensors[f"streamed{lookahead}"] = parts.contiguous()
                    print(name, i, lookahead, "rows", len(rows), "streamed", len(parts), f"off {off:.1e}")
                print(name, i, lookahead, "ids", len(ids), "text", repr(run["text"][:70]))
                case["runs"].append(run)
            if i == 0:
                tensors["logits"], case["logit_ids"] = first_logits(model, tensors[f"rows{shape['lookaheads'][0] or 0}"][0], 6, model.config.vocab_size)
            save_file(tensors, str(out / name / f"case{i}.safetensors"))
            cases.append(case)
        (out / name / "cases.json").write_text(json.dumps(dict(cases=cases)))
        weights.hollow(folder / "model.safetensors")
        if name != "small":
            words = folder / "tokenizer.json"
            words.unlink()
            words.symlink_to(pathlib.Path("../../small/checkpoint/tokenizer.json"))


main()
