#!/usr/bin/env python3
"""Writes a small Kyutai recogniser in the layout of transformers, and the results of transformers' code with it.

    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==5.24.0 safetensors sentencepiece protobuf
    VENV/bin/python make_transformers_golden.py [--out DIR]

The classes of transformers (models/kyutai_speech_to_text) run unchanged, float32 on the CPU. Files and names are those of
save_pretrained(), as published. The vocabulary is that of the checkpoint "small" of make_golden.py. As in the published files, the id
before the text may be any row of the table. For each recording: codes of Mimi, ids and logits of generate(), text. Recordings have
whole frames. Audio: tests/parity/mimi/speech.wav, repeated, with its samples read as if at 24 kHz.
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
from transformers import (KyutaiSpeechToTextConfig, KyutaiSpeechToTextFeatureExtractor, KyutaiSpeechToTextForConditionalGeneration,
                          MimiConfig, PreTrainedTokenizerFast)
from transformers.convert_slow_tokenizer import MoshiConverter

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

SEED, BOOKS, CODES, HOP = 23, 6, 32, 1920
DELAY, SILENCE = 0.56, 0.8


def audio(frames, skip):
    with wave.open(io.BytesIO(seeded.stored(HERE.parent / "mimi" / "speech.wav"))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
    return samples[np.arange(skip, skip + frames * HOP) % len(samples)]


def configured(texts):
    mimi = MimiConfig(num_filters=4, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=16,
                      intermediate_size=48, sliding_window=10, codebook_size=CODES, codebook_dim=16, num_quantizers=BOOKS,
                      vector_quantization_hidden_dimension=16, upsample_groups=32)
    rows = texts + 1 + BOOKS * (CODES + 1) + 1
    return KyutaiSpeechToTextConfig(codebook_vocab_size=CODES + 1, vocab_size=texts + 1, hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
                                    num_key_value_heads=3, sliding_window=12, max_position_embeddings=24, ffn_dim=144, num_codebooks=BOOKS,
                                    audio_bos_token_id=CODES, audio_pad_token_id=rows - 1, bos_token_id=rows - 40, codec_config=mimi,
                                    rope_parameters=dict(rope_type="default", rope_theta=1e5))


def randomise(model):
    gen = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, p in sorted(model.state_dict().items()):
            if not p.is_floating_point():
                continue
            noise = torch.randn(p.shape, generator=gen)
            last = name.rsplit(".", 1)[-1]
            if any(part in name for part in ("codec_model.decoder", "upsample", "output_proj")):
                p.zero_()  # no recogniser reads these
            elif last == "initialized":
                p.fill_(1)
            elif last == "cluster_usage":
                p.copy_(0.5 + 3.5 * torch.rand(p.shape, generator=gen))
            elif last == "scale":
                p.copy_(0.3 + 0.1 * noise)
            elif "norm" in name and last == "weight":
                p.copy_(1 + 0.2 * noise)
            elif last == "bias":
                p.copy_(0.1 * noise)
            elif "embed" in name:
                p.copy_(noise)
            else:
                p.copy_(noise * (2 if "q_proj" in name or "k_proj" in name else 1.3) / np.sqrt(max(1, p[0].numel())))


def lean(model):
    """Makes frames without text and ends of words likelier than single pieces of text."""
    with torch.no_grad():
        model.lm_head.weight[3] *= 2.5
        model.lm_head.weight[0] *= 2
        model.lm_head.weight[-1] = 0  # as in the published files


@torch.no_grad()
def transcribe(model, tokenizer, features, samples):
    inputs = features(samples, sampling_rate=24000, return_tensors="pt")
    more = dict(do_sample=False, return_dict_in_generate=True, output_logits=True)
    made = model.generate(**inputs, **more)
    model.generation_config.audio_window_size = 1
    framed = model.generate(**inputs, **more).sequences
    model.generation_config.audio_window_size = None
    ids = made.sequences[0, 1:].tolist()
    logits = torch.cat(made.logits)
    best = logits.topk(2).values
    codes = model.codec_model.encode(inputs["input_values"]).audio_codes[0].T
    print(len(ids), "ids, margin", float((best[:, 0] - best[:, 1]).min()), "equal frame by frame:", bool((framed == made.sequences).all()))
    return dict(ids=ids, text=tokenizer.decode([i for i in ids if 3 < i < model.config.vocab_size - 1])), dict(codes=codes.int(), logits=logits[:8])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    out = parser.parse_args().out / "transformers"
    folder = out / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    made = MoshiConverter(str(HERE / "golden" / "small" / "checkpoint" / "tokenizer_en_fr_audio_8000.model")).converted()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    model = KyutaiSpeechToTextForConditionalGeneration(configured(len(tokenizer))).eval()
    randomise(model)
    weights = seeded.Weights(SEED)
    weights.over(model, keep=("initialized",))
    lean(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    features = KyutaiSpeechToTextFeatureExtractor(audio_delay_seconds=DELAY, audio_silence_prefix_seconds=SILENCE)
    features.save_pretrained(folder)
    model = KyutaiSpeechToTextForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    cases = []
    for i, (frames, skip) in enumerate([(40, 8000), (12, 30000)]):
        said, tensors = transcribe(model, tokenizer, features, audio(frames, skip))
        save_file({key: value.contiguous() for key, value in tensors.items()}, str(out / f"case{i}.safetensors"))
        cases.append(dict(count=frames * HOP, skip=skip, **said))
        print(said)
    (out / "cases.json").write_text(json.dumps(dict(cases=cases)))
    (folder / "tokenizer_config.json").unlink()
    for path in folder.glob("*.json"):
        content = json.loads(path.read_text())
        if path.name == "tokenizer.json":
            content["model"]["byte_fallback"] = False  # the small vocabulary has no bytes
        path.write_text(json.dumps(content))
    weights.hollow(folder / "model.safetensors")


if __name__ == "__main__":
    main()
