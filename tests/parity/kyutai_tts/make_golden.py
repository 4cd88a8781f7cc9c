#!/usr/bin/env python3
"""Writes small Kyutai TTS models, and the results of the moshi package with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch moshi==0.2.13 sentencepiece
    VENV/bin/python make_golden.py [--out DIR]

The package's TTSModel runs unchanged, float32 on the CPU, greedy, with the arguments of simple_generate(). Files, names and config.json
are those of kyutai/tts-1.6b-en_fr ("small") and of a newer export with other sizes ("other"). For each case: ids and steps of the
words, codes of all frames after the delay, logits, and samples of the codes. Mimi decodes all codes in one call, as in training: when
the package decodes frame by frame, its ring of keys loses the oldest position of every second row.
"""
import argparse
import importlib.util
import json
import pathlib
import sys
import types

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

sys.modules.setdefault("sphn", types.ModuleType("sphn"))  # reads sound files, which are not used here
from moshi.models import loaders, tts  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

spec = importlib.util.spec_from_file_location("stt", HERE.parent / "kyutai_stt" / "make_golden.py")
stt = importlib.util.module_from_spec(spec)
sys.modules["__stt__"] = stt
spec.loader.exec_module(stt)

CARD = 32
CFG = ["1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0"]


def conditioners(dim, wide, narrow):
    def lut(values, width):
        return dict(type="lut", lut=dict(n_bins=len(values), dim=width, tokenizer="noop", possible_values=values))
    return dict(speaker_wavs=dict(type="tensor", tensor=dict(dim=wide)), cfg=lut(CFG, narrow), control=lut(["ok"], dim))


LM = dict(card=CARD, existing_text_padding_id=3, causal=True, layer_scale=None, gating="silu", positional_embedding="rope", depformer_multi_linear=True,
          depformer_pos_emb="none", depformer_weights_per_step=True, demux_second_stream=True, cross_attention=True, model_type="tts",
          lm_gen_config=dict(temp=0.6, temp_text=0.6, top_k=250, top_k_text=50), fuser=dict(cross_attention_pos_emb=True, cross_attention_pos_emb_scale=1, sum=["control", "cfg"], prepend=[], cross=["speaker_wavs"]))
NAMES = dict(mimi_name="tokenizer-e351c8d8-checkpoint125.safetensors", mimi_config_name="mimi.json", tokenizer_name="tokenizer_spm_8k_en_fr_audio.model")
SHAPES = {
    "small": dict(seed=31, mimi=dict(filters=4, width=32, ratios=[8, 6, 5, 4], rate=24000, frame_rate=12.5, heads=2, layers=2, context=10, books=8),
                  lm=dict(LM, n_q=8, dep_q=8, delays=[0, 0] + [2] * 7, dim=64, num_heads=4, num_layers=2, hidden_scale=4.125, context=40, max_period=10000, norm="rms_norm_f32",
                          depformer_dim=32, depformer_num_heads=4, depformer_num_layers=2, depformer_dim_feedforward=96, depformer_low_rank_embeddings=16,
                          depformer_weights_per_step_schedule=[0, 1, 2, 3, 3, 3, 4, 4], conditioners=conditioners(64, 24, 8), text_card_out=None,
                          moshi_name="dsm_tts_1e68beda@240.safetensors", model_id=dict(sig="1e68beda", epoch=240), tts_config=dict(audio_delay=1.28, second_stream_ahead=2))),
    "other": dict(seed=32, mimi=dict(filters=6, width=48, ratios=[8, 8, 5], rate=16000, frame_rate=25, heads=3, layers=1, context=14, books=5),
                  lm=dict(LM, n_q=5, dep_q=5, delays=[0, 0, 1, 3, 1, 2], dim=48, num_heads=3, num_layers=3, hidden_scale=4, context=25, max_period=50000, norm="rms_norm", bias_proj=True,
                          depformer_dim=24, depformer_num_heads=3, depformer_num_layers=1, depformer_dim_feedforward=None, depformer_low_rank_embeddings=8,
                          conditioners=conditioners(48, 48, 16), text_card_out=5, fuser=dict(LM["fuser"], cross_attention_pos_emb=False),
                          model_id=dict(sig="abc", epoch=7), tts_config=dict(audio_delay=0.3, second_stream_ahead=1))),
}
TEXTS = {"long": "(He) had a bad bed: a bead, abbé’s deed and a faced cafe. Each decade a beaded facade fed a bee beside the beach, he heeded  a head ached\u00a0so be it,"
                 " cab dad deaf feed, dab bad ebb, aced a fee, add a bead, cede a decade, ace bade, be abed. Cab\nfade, fee bead, faced a bad deed.",
         "brief": "a cafe", "other": "Abbé, each decade a dad had a bead:a cab."}
CASES = {"small": [("long", "anna.wav", 2.0), ("brief", "ben.wav", 3.5)], "other": [("other", "carl.wav", 1.0), ("brief", "dora.wav", 4.0)]}


SAMPLED = {"small": 8, "other": 14}  # frames whose samples are kept


def model_hop(info):
    return int(info.mimi_config["sample_rate"] / info.mimi_config["frame_rate"])


def older(state):
    """Returns the names of the published file: all weight sets of an attention are one tensor."""
    out, sets = {}, {}
    for name, value in state.items():
        for part, whole in (("in_projs.", "in_proj_weight"), ("out_projs.", "out_proj.weight")):
            if part in name:
                sets.setdefault(name.split(part)[0] + whole, []).append(value)
                break
        else:
            out[name] = value.contiguous().clone()
    return out | {name: torch.cat(values).contiguous() for name, values in sets.items()}


def randomise(lm, seed):
    stt.randomise(lm, seed)
    gen = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, p in sorted(lm.state_dict().items()):
            if "low_rank.weight" in name or ".out1." in name or ".out2." in name:
                p.copy_(torch.randn(p.shape, generator=gen) / np.sqrt(p.shape[1]))
            elif name.endswith("output_proj.weight"):
                p.copy_(1.5 * torch.randn(p.shape, generator=gen) / np.sqrt(p.shape[1]))
            elif name.startswith("emb."):
                p.copy_(0.4 * torch.randn(p.shape, generator=gen))
            elif name.startswith("linears."):
                p.mul_(2)


def lean(lm):
    """Makes frames without text and beginnings of words likelier than text."""
    with torch.no_grad():
        lm.text_linear.weight[0] *= 2.5
        lm.text_linear.weight[3] *= 2.5


def build(name, shape, folder):
    (folder / "voices" / "some").mkdir(parents=True, exist_ok=True)
    config = dict(shape["lm"], **NAMES)
    config["text_card"] = stt.write_tokenizer(folder / NAMES["tokenizer_name"])
    sizes = stt.mimi_config(**shape["mimi"])
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mimi.json").write_text(json.dumps(sizes))
    files = dict(moshi_weights=folder / config.get("moshi_name", "model.safetensors"), mimi_weights=folder / NAMES["mimi_name"],
                 tokenizer=folder / NAMES["tokenizer_name"], config_path=folder / "config.json", mimi_config_path=folder / "mimi.json")
    def fresh():
        return loaders.CheckpointInfo.from_hf_repo("here", **files)
    lm = fresh().get_moshi(dtype=torch.float32, load_weight=False)
    mimi = loaders.get_mimi(None, sizes, num_codebooks=sizes["quantizer"]["n_q"])
    weights = seeded.Weights(shape["seed"])
    randomise(lm, shape["seed"])
    stt.randomise(mimi, shape["seed"])
    for module in (lm, mimi):
        weights.over(module, keep=("_initialized",))
    lean(lm)
    for module, path in ((lm, files["moshi_weights"]), (mimi, files["mimi_weights"])):
        state = {key: value.contiguous().clone() for key, value in module.state_dict().items() if not key.endswith("._codebook.embedding")}
        save_file(older(state) if name == "small" else state, str(path))
    gen = torch.Generator().manual_seed(shape["seed"])
    ending = ".{sig}@{epoch}.safetensors".format(**config["model_id"])
    for i, (_, voice, _) in enumerate(CASES[name]):
        rows = torch.randn(1, config["conditioners"]["speaker_wavs"]["tensor"]["dim"], 9 - 2 * i, generator=gen)
        save_file(dict(speaker_wavs=rows.half().float()), str(folder / "voices" / ("some" if i else "") / (voice + ending)))
    return fresh(), weights, files


def record(lm):
    """Stores the logits of the text and of the codes."""
    text, codes, forward_text, forward_depformer = [], [], lm.forward_text, lm.forward_depformer

    def watched_text(*args):
        out = forward_text(*args)
        text.append(out[1].flatten().clone())
        codes.append([])
        return out

    def watched_depformer(*args):
        logits = forward_depformer(*args)
        codes[-1].append(logits.flatten().clone())
        return logits
    lm.forward_text, lm.forward_depformer = watched_text, watched_depformer
    return text, codes


@torch.no_grad()
def speak(info, folder, text, voice, cfg):
    model = tts.TTSModel.from_checkpoint_info(info, dtype=torch.float32, temp=0.0, n_q=info.lm_config["n_q"])
    text_logits, code_logits = record(model.lm)
    entries = model.prepare_script([text], padding_between=1)
    path = next(folder.rglob(voice + model.voice_suffix))
    said = model.generate([entries], [model.make_condition_attributes([path], cfg_coef=cfg)])
    frames = torch.cat(said.frames[model.delay_steps:], dim=-1)[0, 1:]
    margins = [float(row.topk(2).values.diff().abs()) for step in code_logits for row in step]
    print(len(text_logits), "steps, end", said.end_steps, frames.shape, "least margin", min(margins), "drawn words",
          sum(row.argmax() == 0 for row in text_logits).item(), said.all_transcripts[0][:5])
    model.mimi.set_num_codebooks(info.lm_config["n_q"])
    out = dict(entries=[e.tokens for e in entries], paddings=[e.padding for e in entries], words=said.all_transcripts[0], end=said.end_steps[0],
               text_ids=[given for _, given in said.logged_text_tokens[0]])
    first = model.delay_steps
    tensors = dict(frames=frames.t().int(), text_logits=torch.stack(text_logits[:40]),
                   code_logits=torch.stack([torch.stack(step).flatten() for step in code_logits[first:first + 12]]))
    return out, tensors, model.mimi.decode(frames[None])[0, 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name, shape in SHAPES.items():
        folder = args.out / name / "checkpoint"
        info, weights, files = build(name, shape, folder)
        cases = []
        for text, voice, cfg in CASES[name]:
            said, tensors, samples = speak(info, folder, TEXTS[text], voice, cfg)
            if text == "brief":
                tensors["samples"] = samples[:SAMPLED[name] * model_hop(info)]
            save_file({key: value.contiguous() for key, value in tensors.items()}, str(args.out / name / f"{text}.safetensors"))
            cases.append(dict(name=text, text=TEXTS[text], voice=voice, guidance=cfg, **said))
        (args.out / name / "cases.json").write_text(json.dumps(dict(cases=cases)))
        for file in (files["moshi_weights"], files["mimi_weights"]):
            weights.hollow(file)


main()
