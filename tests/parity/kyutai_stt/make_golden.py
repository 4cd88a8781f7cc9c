#!/usr/bin/env python3
"""Writes small Kyutai recognisers, and the results of the moshi package with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch moshi==0.2.13 sentencepiece
    git clone https://github.com/kyutai-labs/delayed-streams-modeling DSM
    VENV/bin/python make_golden.py --dsm DSM [--out DIR]

The package's classes run unchanged, float32 on the CPU, with the loop of DSM/scripts/stt_from_file_pytorch.py and its function for
times of words. Files, names and config.json are those of kyutai/stt-1b-en_fr ("small") and of a newer export with other sizes
("other"). Mimi encodes each recording as a whole, as in training: when the package encodes frame by frame, its ring of keys loses the
oldest position of every second row. For each: codes of Mimi, ids, logits, text, and the words that stand alone between two marks. Audio:
tests/parity/mimi/speech.wav, repeated, with its samples read as if at the model's rate.
"""
import argparse
import importlib.util
import io
import itertools
import json
import math
import pathlib
import sys
import types
import wave

import numpy as np
import sentencepiece
import torch
from moshi.models import LMGen, loaders
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

# Few letters, so that most pieces begin a word.
CORPUS = ["a bad bed", "add a bead", "cab dad deed", "abbé ace bade", "cede a decade", "faced a cafe", "fab deaf feed", "be abed", "a beaded facade",
          "fed a bee", "dab bad ebb", "aced a fee", "each beach", "he had heed", "a head ached"]
LM = dict(card=32, dep_q=0, existing_text_padding_id=3, causal=True, layer_scale=None, gating="silu", positional_embedding="rope",
          depformer_dim=32, depformer_num_heads=4, depformer_num_layers=1, depformer_dim_feedforward=None, depformer_multi_linear=True,
          depformer_pos_emb="none", depformer_weights_per_step=True, conditioners={}, cross_attention=False, model_type="stt",
          lm_gen_config=dict(temp=0.0, temp_text=0.0, top_k=250, top_k_text=50))
NAMES = dict(mimi_name="mimi-pytorch-e351c8d8@125.safetensors", mimi_config_name="mimi.json")
SHAPES = {
    "small": dict(seed=21, tokenizer="tokenizer_en_fr_audio_8000.model", lean=0.66, mimi=dict(filters=4, width=32, ratios=[8, 6, 5, 4], rate=24000, frame_rate=12.5, heads=2, layers=2, context=10, books=8),
                  lm=dict(LM, n_q=8, dim=64, num_heads=4, num_layers=2, hidden_scale=4.125, context=12, max_period=100000.0, norm="rms_norm_f32",
                          extra_heads_num_heads=4, extra_heads_dim=6, stt_config=dict(audio_delay_seconds=0.5, audio_silence_prefix_seconds=2.0))),
    "other": dict(seed=22, tokenizer="tokenizer_en_audio_4000.model", lean=0.45, mimi=dict(filters=6, width=48, ratios=[8, 8, 5], rate=16000, frame_rate=25, heads=3, layers=1, context=14, books=6),
                  lm=dict(LM, n_q=5, dim=48, num_heads=3, num_layers=3, hidden_scale=4, context=9, max_period=10000.0, norm="rms_norm", bias_proj=True,
                          moshi_name="lm.safetensors", stt_config=dict(audio_delay_seconds=0.25, audio_silence_prefix_seconds=1.0))),
}


def audio(count, skip):
    with wave.open(io.BytesIO(seeded.stored(HERE.parent / "mimi" / "speech.wav"))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
    return torch.from_numpy(samples[np.arange(skip, skip + count) % len(samples)].copy())


def timed_words(dsm):
    """Returns the authors' function; modules of sound files, which it does not use, may be missing."""
    for name in ("julius", "sphn"):
        sys.modules.setdefault(name, types.ModuleType(name))
    spec = importlib.util.spec_from_file_location("stt_from_file", dsm / "scripts" / "stt_from_file_pytorch.py")
    script = importlib.util.module_from_spec(spec)
    sys.modules["stt_from_file"] = script
    spec.loader.exec_module(script)
    return script.tokens_to_timestamped_text


def write_tokenizer(path):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS * 20), model_writer=out, vocab_size=64, model_type="unigram",
                                             pad_id=3, normalization_rule_name="identity", hard_vocab_limit=False, minloglevel=2)
    path.write_bytes(out.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=out.getvalue()).vocab_size()


def mimi_config(filters, width, ratios, rate, frame_rate, heads, layers, context, books):
    seanet = dict(loaders._seanet_kwargs, dimension=width, n_filters=filters, ratios=ratios)
    transformer = dict(loaders._transformer_kwargs, d_model=width, num_heads=heads, num_layers=layers, context=context, dim_feedforward=2 * width,
                       input_dimension=width, output_dimensions=[width])
    quantizer = dict(dimension=width // 2, n_q=books, bins=LM["card"], input_dimension=width, output_dimension=width)
    return dict(sample_rate=rate, channels=1, frame_rate=frame_rate, seanet=seanet, quantizer=quantizer, transformer=transformer)


def randomise(module, seed):
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(module.state_dict().items()):
            if not p.is_floating_point():
                continue
            noise = torch.randn(p.shape, generator=gen)
            last = name.rsplit(".", 1)[-1]
            if last == "_initialized":
                p.fill_(1)
            elif last == "cluster_usage":
                p.copy_(0.5 + 3.5 * torch.rand(p.shape, generator=gen))
            elif last == "scale":
                p.copy_(0.3 + 0.1 * noise)
            elif last == "alpha" or ("norm" in name and last == "weight"):
                p.copy_(1 + 0.2 * noise)
            elif last == "bias":
                p.copy_(0.1 * noise)
            elif "emb" in name:
                p.copy_(noise)
            else:
                p.copy_(noise * (2 if "in_proj" in name else 1.3) / np.sqrt(max(1, p[0].numel())))


def lean(lm, much):
    """Makes frames without text and ends of words as likely as text."""
    with torch.no_grad():
        gen = torch.Generator().manual_seed(5)
        way = torch.randn(lm.dim, generator=gen)
        lm.emb[0].weight += 3 * way
        lm.text_linear.weight[3] += much * way / np.sqrt(lm.dim)
        lm.text_linear.weight[0] += 0.85 * much * way / np.sqrt(lm.dim)


def older(state):
    """Returns the names of the published files."""
    return {name.replace("in_projs.0.weight", "in_proj_weight").replace("out_projs.0.weight", "out_proj.weight"): value.contiguous().clone()
            for name, value in state.items()}


def build(name, shape, folder):
    folder.mkdir(parents=True, exist_ok=True)
    lm_config = dict(shape["lm"], tokenizer_name=shape["tokenizer"], **NAMES)
    lm_config["text_card"] = write_tokenizer(folder / shape["tokenizer"])
    lm_config["delays"] = [0] * (lm_config["n_q"] + 1)
    sizes = mimi_config(**shape["mimi"])
    (folder / "config.json").write_text(json.dumps(lm_config))
    (folder / "mimi.json").write_text(json.dumps(sizes))
    info = dict(moshi_weights=folder / lm_config.get("moshi_name", "model.safetensors"), mimi_weights=folder / NAMES["mimi_name"],
                tokenizer=folder / shape["tokenizer"], config_path=folder / "config.json", mimi_config_path=folder / "mimi.json")
    made = loaders.CheckpointInfo.from_hf_repo("here", **info)
    lm = made.get_moshi(dtype=torch.float32, load_weight=False)
    mimi = loaders.get_mimi(None, sizes, num_codebooks=sizes["quantizer"]["n_q"])
    weights = seeded.Weights(shape["seed"])
    for module in (lm, mimi):
        randomise(module, shape["seed"])
        weights.over(module, keep=("_initialized",))
    lean(lm, shape["lean"])
    for module, path in ((lm, info["moshi_weights"]), (mimi, info["mimi_weights"])):
        state = {key: value.contiguous().clone() for key, value in module.state_dict().items() if not key.endswith("._codebook.embedding")}
        save_file(older(state) if name == "small" else state, str(path))
    return loaders.CheckpointInfo.from_hf_repo("here", **info), weights, info


@torch.no_grad()
def transcribe(info, samples, function):
    """The loop of stt_from_file_pytorch.py."""
    mimi, lm, tokenizer = info.get_mimi(), info.get_moshi(dtype=torch.float32), info.get_text_tokenizer()
    logits, codes, heads, ids = [], [], [], []
    generator = LMGen(lm, temp=0, temp_text=0.0, on_text_logits_hook=lambda x: logits.append(x.flatten().clone()))
    before, delay = info.stt_config["audio_silence_prefix_seconds"], info.stt_config["audio_delay_seconds"]
    audio_in = torch.nn.functional.pad(samples[None], (0, -len(samples) % mimi.frame_size))
    first = math.ceil(before * mimi.frame_rate)
    silence = torch.zeros(1, 1, mimi.frame_size)
    chunks = itertools.chain(itertools.repeat(silence, first), torch.split(audio_in[:, None], mimi.frame_size, dim=-1),
                             itertools.repeat(silence, math.ceil((delay + 0.5) * mimi.frame_rate)))
    whole = mimi.encode(torch.cat(list(chunks), dim=-1))[0]
    with generator.streaming(1):
        for frame in range(whole.shape[1]):
            codes.append(whole[:, frame])
            text, turn = generator.step_with_extra_heads(codes[-1][None, :, None])
            ids.append(int(text[0, 0, 0]))
            if turn:
                heads.append(torch.stack(turn)[:, 0, 0])
    text = tokenizer.decode([i for i in ids if i > 3])
    marks = [i for i, each in enumerate(ids) if each == 0]
    # The function fails where the word after the last mark lasts for more than a second.
    words = function(torch.tensor(ids[:marks[-1] + 1]), tokenizer, mimi.frame_rate, end_of_padding_id=0, padding_token_id=3,
                     offset_seconds=int(first / mimi.frame_rate) + delay)
    # Words that share a pair of marks have estimated times.
    spoken = {a + 1: tokenizer.decode([i for i in ids[a + 1:b] if i > 3]) for a, b in zip(marks, marks[1:])}
    offset = int(first / mimi.frame_rate) + delay
    alone = [at / mimi.frame_rate - offset for at, text_of in spoken.items() if len(text_of.split()) == 1]
    out = dict(ids=ids, text=text, words=[[w.text, *w.timestamp] for w in words if any(abs(w.timestamp[0] - at) < 1e-6 for at in alone)])
    tensors = dict(codes=torch.stack(codes).int(), logits=torch.stack(logits)[:40])
    if heads:
        tensors["turn"] = torch.stack(heads)[:40]
    return out, tensors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dsm", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    function = timed_words(args.dsm)
    torch.set_num_threads(1)
    for name, shape in SHAPES.items():
        folder = args.out / name / "checkpoint"
        info, weights, files = build(name, shape, folder)
        cases, rate = [], shape["mimi"]["rate"]
        for i, (seconds, skip) in enumerate([(6.03, 8000), (1.5, 30000)]):
            count = int(seconds * rate)
            said, tensors = transcribe(info, audio(count, skip), function)
            save_file({key: value.contiguous() for key, value in tensors.items()}, str(args.out / name / f"case{i}.safetensors"))
            cases.append(dict(count=count, skip=skip, **said))
            empty = sum(each <= 3 for each in said["ids"])
            print(name, i, len(said["ids"]), "ids,", empty, "without text,", len(said["words"]), "words between marks:", repr(said["text"][:90]))
        (args.out / name / "cases.json").write_text(json.dumps(dict(cases=cases)))
        for file in (files["moshi_weights"], files["mimi_weights"]):
            weights.hollow(file)


if __name__ == "__main__":
    main()
