#!/usr/bin/env python3
"""Writes a small random Base checkpoint, and the results of the authors' package for recordings with it.

The environment is that of make_golden.py, whose helpers this script uses. golden/base gets the checkpoint,
`recordings.safetensors` (signals at 24 kHz, the vector and the codes of each) and one file for each case of cases.json:
a voice cloned from one of those recordings, in context or by its vector alone.
"""
import argparse
import json
import pathlib
import wave

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import Qwen2TokenizerFast
from transformers.models.mimi import modeling_mimi

from make_golden import (FOX, Recorder, allowed_margin, codec_config, dead_entries, hollow, level, randomise, seeded,
                         sparser_end, talker_config, write_tokenizer)
from qwen_tts import Qwen3TTSModel
from qwen_tts.core.models import Qwen3TTSConfig, Qwen3TTSForConditionalGeneration, Qwen3TTSProcessor
from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Config
from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Model

RATE = 24000
SIZE = dict(
    seed=31, size="0b6", codes=64, groups=6, text_hidden=32, mrope=[3, 3, 2], end_scale=0.8, hop_keep=1920,
    talker=dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, head_dim=16),
    predictor=dict(hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                   num_key_value_heads=2, head_dim=16),
    codec=dict(codebook_dim=16, latent_dim=24, hidden_size=24, intermediate_size=32, num_hidden_layers=2,
               num_attention_heads=2, num_key_value_heads=2, head_dim=8, upsample_rates=[8, 5, 4, 3],
               upsampling_ratios=[2, 2], decoder_dim=32))
SPEAKER = dict(mel_dim=128, enc_dim=48, enc_channels=[16, 16, 16, 16, 48], enc_kernel_sizes=[5, 3, 3, 3, 1],
               enc_dilations=[1, 2, 3, 4, 1], enc_attention_channels=8, enc_res2net_scale=4, enc_se_channels=8,
               sample_rate=RATE)
# As in published files, the encoder has more codebooks than the talker, and the decoder's rates.
ENCODER = dict(hidden_size=32, num_filters=4, codebook_size=64, codebook_dim=16, upsample_groups=32,
               vector_quantization_hidden_dimension=16, num_hidden_layers=2, intermediate_size=64,
               num_attention_heads=4, num_key_value_heads=4, head_dim=8, num_quantizers=8, sampling_rate=RATE)
CASES = [
    dict(name="context_beside", recording="speech", said="hello there", text="The quick brown fox.",
         language="english", text_mode="streaming", max_new_tokens=60),
    dict(name="context_long_text", recording="sweep", said="how are you?", text=FOX, language="auto",
         text_mode="streaming", max_new_tokens=50),
    dict(name="context_whole", recording="speech", said="hello there", text="How are you?", language="german",
         text_mode="whole", max_new_tokens=40, keep_samples=15 * 1920),
    dict(name="vector_beside", recording="noise", said="", text="Hello there, how are you?", language="auto",
         text_mode="streaming", max_new_tokens=40),
    dict(name="vector_whole", recording="speech", said="", text="Hello there.", language="english",
         text_mode="whole", max_new_tokens=30, keep_samples=10 * 1920),
]


def signals():
    """Returns speech, a sweep from 100 Hz to 11 kHz, and noise with the slope and rhythm of speech (16 bits)."""
    with wave.open(str(pathlib.Path(__file__).parent.parent / "mimi" / "speech.wav")) as file:
        speech = np.frombuffer(file.readframes(30000), dtype="<i2").astype(np.float32) / 32768
    t = np.arange(26000) / RATE
    sweep = 0.4 * np.sin(2 * np.pi * 100 * 1.05 * (np.power(110, t / 1.05) - 1) / np.log(110))
    noise = np.random.default_rng(4).standard_normal(24500)
    noise = np.convolve(noise, 0.8 ** np.arange(30))[:24500] * (0.55 + 0.45 * np.sin(2 * np.pi * 4 * t[:24500])) * 0.1
    coarse = lambda x: (np.round(x * 32768) / 32768).astype(np.float32)
    return {"speech": speech, "sweep": coarse(sweep), "noise": coarse(noise)}


def write_checkpoint(folder):
    """Writes the checkpoint; returns the seeded.Weights of its two files."""
    (folder / "speech_tokenizer").mkdir(parents=True, exist_ok=True)
    special, used = write_tokenizer(folder)
    config = talker_config(SIZE, special, used)
    config.update(tts_model_type="base", speaker_encoder_config=SPEAKER)
    config["talker_config"].update(spk_id={}, spk_is_dialect={})
    codec = codec_config(SIZE)
    codec["encoder_config"] = ENCODER
    generation = dict(do_sample=True, repetition_penalty=1.05, temperature=0.9, top_p=1.0, top_k=50,
                      subtalker_dosample=True, subtalker_temperature=0.9, subtalker_top_p=1.0,
                      subtalker_top_k=50, max_new_tokens=8192)
    feature = dict(feature_extractor_type="EncodecFeatureExtractor", feature_size=1, padding_side="right",
                   padding_value=0.0, return_attention_mask=True, sampling_rate=RATE)
    for path, value in [("config.json", config), ("generation_config.json", generation),
                        ("speech_tokenizer/config.json", codec),
                        ("speech_tokenizer/preprocessor_config.json", feature)]:
        (folder / path).write_text(json.dumps(value, indent=1))
    model = Qwen3TTSForConditionalGeneration(Qwen3TTSConfig(**config))
    randomise(model, SIZE["seed"], 1.3)
    random = [seeded.Weights(SIZE["seed"]), seeded.Weights(SIZE["seed"] + 1)]
    random[0].over(model)
    sparser_end(model, SIZE["end_scale"])
    save_file({k: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items()},
              folder / "model.safetensors", metadata={"format": "pt"})
    vocoder = Qwen3TTSTokenizerV2Model(Qwen3TTSTokenizerV2Config(**codec))
    randomise(vocoder, SIZE["seed"] + 1, 0.9)
    gen = torch.Generator().manual_seed(6)
    with torch.no_grad():
        for name, p in sorted(vocoder.encoder.named_parameters()):
            if name.endswith("weight") and "norm" not in name and p.dim() > 1:
                p.copy_(torch.randn(p.shape, generator=gen) * 1.2 / np.sqrt(np.prod(p.shape[1:])))
        for name, b in sorted(vocoder.encoder.named_buffers()):
            if name.endswith("embed_sum"):
                b.copy_(torch.randn(b.shape, generator=gen))
            elif name.endswith("cluster_usage"):
                b.copy_(torch.rand(b.shape, generator=gen) * 3.5 + 0.5)
    random[1].over(vocoder)
    dead_entries(vocoder)
    level(vocoder.decoder, SIZE)
    save_file({k: v.contiguous() for k, v in vocoder.state_dict().items()},
              folder / "speech_tokenizer/model.safetensors", metadata={"format": "pt"})
    return random


class CloneRecorder(Recorder):
    def _generate(self, input_ids, ref_ids, voice_clone_prompt, **kwargs):
        self.ids = input_ids[0][0]
        self.said = None if ref_ids is None or ref_ids[0] is None else ref_ids[0][0]
        self.codes, hidden = self.generate(input_ids=input_ids, ref_ids=ref_ids,
                                           voice_clone_prompt=voice_clone_prompt, **kwargs)
        return self.codes, hidden


def run_case(tts, case, recordings):
    config = tts.model.config.talker_config
    torch.manual_seed(0)
    record = CloneRecorder(tts.model)
    wavs, _ = tts.generate_voice_clone(
        text=case["text"], language=case["language"], ref_audio=(recordings[case["recording"]], RATE),
        ref_text=case["said"] or None, x_vector_only_mode=not case["said"],
        non_streaming_mode=case["text_mode"] == "whole", do_sample=False, subtalker_dosample=False,
        max_new_tokens=case["max_new_tokens"], repetition_penalty=1.0)
    record.close()
    frames = record.codes[0]
    groups, codes = config.num_code_groups, config.vocab_size - 1024
    talker = torch.stack(record.talker)
    inner = torch.stack(record.inner).view(-1, groups - 1, codes)
    best = inner.topk(2, dim=-1).values
    first = frames[:, 0].tolist()
    case["margin"] = min(min(allowed_margin(row, config, i, first[:i], 1.0) for i, row in enumerate(talker)),
                         float((best[..., 0] - best[..., 1]).min()))
    case["steps"] = frames.shape[0]
    case["ended"] = bool(frames.shape[0] + 1 < case["max_new_tokens"])
    out = {"prompt_ids": record.ids.int(), "prefill": record.prefill, "inner_logits": inner[:6],
           "logits_codes_end": talker[:, list(range(codes)) + [config.codec_eos_token_id]], "frames": frames.int()}
    if record.said is not None:
        out["said_ids"] = record.said.int()
    if "keep_samples" in case:
        out["samples"] = torch.from_numpy(np.asarray(wavs[0]))[: case["keep_samples"]]
    return {k: v.contiguous().clone() for k, v in out.items()}


def recording_goldens(tts, recordings):
    leads, quantize = [], modeling_mimi.MimiEuclideanCodebook.quantize

    def watched(self, hidden):
        best = torch.cdist(hidden[None], self.embed[None])[0].topk(2, largest=False).values
        leads.append(float(((best[:, 1] - best[:, 0]) / best[:, 1]).min()))
        return quantize(self, hidden)

    modeling_mimi.MimiEuclideanCodebook.quantize = watched
    out = {}
    for name, signal in recordings.items():
        item = tts.create_voice_clone_prompt((signal, RATE), ref_text="x")[0]
        out[name] = torch.from_numpy(signal)
        out[f"{name}_speaker"] = item.ref_spk_embedding.float()
        out[f"{name}_codes"] = item.ref_code.int().contiguous()
    modeling_mimi.MimiEuclideanCodebook.quantize = quantize
    vectors = torch.stack([out[f"{name}_speaker"] for name in recordings])
    print("codes: smallest lead", min(leads), "distinct", len(set(out["speech_codes"].flatten().tolist())),
          "vectors: rms", float(vectors.pow(2).mean().sqrt()), "apart", float((vectors[0] - vectors[1]).abs().max()))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "golden")
    folder = parser.parse_args().out / "base"
    torch.set_num_threads(1)
    random = write_checkpoint(folder / "checkpoint")
    model = Qwen3TTSForConditionalGeneration.from_pretrained(
        str(folder / "checkpoint"), dtype=torch.float32, attn_implementation="eager").eval()
    processor = Qwen3TTSProcessor(tokenizer=Qwen2TokenizerFast.from_pretrained(str(folder / "checkpoint")))
    tts = Qwen3TTSModel(model, processor, model.generate_config)
    model.speech_tokenizer.model.float().eval()
    recordings = signals()
    save_file(recording_goldens(tts, recordings), folder / "recordings.safetensors")
    for case in CASES:
        save_file(run_case(tts, case, recordings), folder / f"{case['name']}.safetensors")
        print(case["name"], "steps", case["steps"], "ended", case["ended"], "margin", case["margin"])
    (folder / "cases.json").write_text(json.dumps(CASES, indent=1, ensure_ascii=False) + "\n")
    hollow(folder / "checkpoint", random)
    seeded.Weights(0).hollow(folder / "recordings.safetensors")  # only to make the file smaller


if __name__ == "__main__":
    main()
