#!/usr/bin/env python3
"""Writes small random Chatterbox Turbo checkpoints in the published layout, and the results of the authors' code with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.15.0 transformers==5.24.0 safetensors numpy scipy tqdm pillow
    VENV/bin/pip install --no-deps einops conformer diffusers omegaconf antlr4-python3-runtime==4.9.3 importlib_metadata \
        zipp requests pyloudnorm==0.2.0
    VENV/bin/pip download --no-deps chatterbox-tts==0.1.7 && unzip chatterbox_tts-*.whl -d TURBO/src
    VENV/bin/python make_golden.py --chatterbox TURBO

Only sizes differ from the published ones. T3.inference_turbo runs in float32 with the largest of the processed logits instead of a
draw. The flow runs in float32 with two steps of mean flow, the vocoder in float64, both with the noise that Syrinx draws
(../chatterbox/make_golden.py). `samples` has the streaming mode, `samples_full` the authors' own mode. `wide` is a second language
model with the same codec. `loudness.json` has pyloudnorm's loudness of a signal that the test generates, too.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import sys

import numpy as np
import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("base", HERE.parent / "chatterbox/make_golden.py")
base = importlib.util.module_from_spec(spec)
spec.loader.exec_module(base)

NAMES = ("t3_turbo_v1", "s3gen_meanflow")
SHAPES = {"": dict(hidden=64, layers=2, positions=400, seed=43), "wide": dict(hidden=128, layers=1, positions=500, seed=52)}
TAGS = {"[laugh]": False, "[sigh]": True}  # whether each tag is a special token
CASES = [
    dict(name="long", text="hello there… how are you?", steps=210),
    dict(name="tags", text="The quick brown fox [laugh] — “jumps” over: the lazy dog [sigh];", steps=60),
    dict(name="samples", text="Fine Ωmega!", steps=40, samples=True),
]


def write_tokenizer(folder):
    from tokenizers import ByteLevelBPETokenizer
    tok = ByteLevelBPETokenizer()
    tok.train_from_iterator(base.CORPUS * 20, vocab_size=290, special_tokens=["<|endoftext|>"], show_progress=False)
    tok.save_model(str(folder))
    count = tok.get_vocab_size()
    added = {tag: count + i for i, tag in enumerate(TAGS)}
    (folder / "added_tokens.json").write_text(json.dumps(added))
    flags = dict(lstrip=False, normalized=False, rstrip=False, single_word=False)
    listed = {str(i): dict(content=tag, special=TAGS[tag], **flags) for tag, i in added.items()}
    listed["0"] = dict(content="<|endoftext|>", special=True, **flags)
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "add_prefix_space": False, "added_tokens_decoder": listed, "bos_token": "<|endoftext|>",
        "eos_token": "<|endoftext|>", "model_max_length": 1024, "tokenizer_class": "GPT2Tokenizer",
        "unk_token": "<|endoftext|>"}))
    return count + len(TAGS)


def build_t3(shape, texts):
    from chatterbox.models.t3 import llama_configs
    from chatterbox.models.t3.modules.t3_config import T3Config
    from chatterbox.models.t3.t3 import T3
    llama_configs.LLAMA_CONFIGS["GPT2_medium"].update(
        n_embd=shape["hidden"], hidden_size=shape["hidden"], n_head=shape["hidden"] // 64, n_layer=shape["layers"],
        n_positions=shape["positions"], n_ctx=shape["positions"], vocab_size=300)
    config = T3Config(text_tokens_dict_size=texts)
    config.llama_config_name, config.speech_tokens_dict_size, config.input_pos_emb = "GPT2_medium", 6563, None
    config.speech_cond_prompt_len, config.use_perceiver_resampler, config.emotion_adv = 375, False, False
    return T3(config).eval()


def generate(t3, cond, ids, steps):
    """Returns the greedy tokens of T3.inference_turbo (with the stop token if drawn) and the head's logits of each step."""
    rows, drawn = [], []
    hook = t3.speech_head.register_forward_hook(lambda _m, _i, out: rows.append(out[0, -1].clone()))
    saved = torch.multinomial

    def largest(probs, num_samples):
        best = probs.topk(2, dim=-1)
        drawn.append((int(best.indices[0, 0]), float(best.values[0, 0].log() - best.values[0, 1].log())))
        return best.indices[:, :1]

    torch.multinomial = largest
    try:
        t3.inference_turbo(t3_cond=cond, text_tokens=torch.tensor([ids]), temperature=1.0, top_k=0, top_p=1.0,
                           repetition_penalty=1.2, max_gen_len=steps - 1)
    finally:
        torch.multinomial = saved
        hook.remove()
    return [token for token, _ in drawn], torch.stack(rows), min(margin for _, margin in drawn)


def teach_the_end(t3, cases, cond):
    """Aligns the head's stop row with a late hidden state of the second case only."""
    hidden, best = [], []
    for ids, steps in cases:
        seen = []
        hook = t3.speech_head.register_forward_hook(lambda _m, given, _o: seen.append(given[0][0, -1].clone()))
        _, rows, _ = generate(t3, cond(), ids, steps)
        hook.remove()
        hidden.append(torch.stack(seen))
        best.append(rows.amax(-1))
    for at in range(25, len(hidden[1])):
        others = torch.cat([hidden[0], hidden[1][:at], hidden[2]])
        row = hidden[1][at] - others.mean(0)
        lead = row.dot(hidden[1][at]) - (others @ row).max()
        if lead <= 0.05 * row.dot(row):
            continue
        row = (row * 20 / lead).to(torch.bfloat16).float()
        t3.speech_head.weight[6562] = row
        t3.speech_head.bias[6562] = (best[1][at] + 5 - row.dot(hidden[1][at])).to(torch.bfloat16).float()
        return
    raise SystemExit("no step of the second case is unlike all others")


def chirp(rate, seconds):
    """Returns the signal that the test also generates: silence, then a tone that rises and gets louder."""
    t = np.arange(int(rate * seconds), dtype=np.float64) / rate
    wave = np.sin(2 * np.pi * (100 * t + 40 * t * t)) * np.clip(t - 1, 0, None) * 0.05
    return wave.astype(np.float32)


def loudness():
    import pyloudnorm
    found = []
    for rate, seconds in ((24000, 5.0), (16000, 8.13), (24000, 0.9)):
        value = float(pyloudnorm.Meter(rate).integrated_loudness(chirp(rate, seconds)))
        found.append(dict(rate=rate, seconds=seconds, lufs=value if np.isfinite(value) else None))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chatterbox", required=True)
    parser.add_argument("--out", default=str(HERE / "golden"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    out = pathlib.Path(args.out)
    shutil.rmtree(out, ignore_errors=True)
    english, _, hift, hifigan = base.build(args.chatterbox)
    del english
    flow = base.build_flow(mean_flow=True)
    from chatterbox.models.t3.modules.cond_enc import T3Cond
    from transformers import AutoTokenizer
    source = (pathlib.Path(args.chatterbox) / "src/chatterbox/tts_turbo.py").read_text()
    begin = source.index("def punc_norm")
    scope = {}
    exec(source[begin:source.index("@dataclass", begin)], scope)
    torch.manual_seed(0)
    fixed = torch.randn(1, 80, 15000)
    for name, shape in SHAPES.items():
        folder = out / name
        checkpoint = folder / "checkpoint"
        checkpoint.mkdir(parents=True)
        texts = write_tokenizer(checkpoint)
        random = torch.Generator().manual_seed(shape["seed"])
        t3 = build_t3(shape, texts)
        speaking = (flow, hift) if not name else (base.build_flow(mean_flow=True), hift)
        if name:  # only the language model is new
            for parameter in t3.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=random) * (0.2 if parameter.dim() == 1 else 0.5))
            for key, parameter in t3.named_parameters():
                if ".ln_" in key and key.endswith("weight"):
                    parameter.add_(1)
                elif parameter.dim() == 2 and "emb" not in key and "wpe" not in key:
                    parameter.mul_(2.4 / parameter.shape[0 if "tfmr.h" in key else 1] ** 0.5)
            weights = {NAMES[0]: base.seeded.Weights(shape["seed"])}
            weights[NAMES[0]].over(t3)
        else:
            weights = base.randomise(t3, *speaking, random, NAMES, (shape["seed"], shape["seed"] + 1))
        t3.speech_head.weight[6561:].mul_(0.01)
        t3.speech_head.bias[6561:].fill_(-8.0)
        conds = {
            "t3": {"speaker_emb": torch.randn(1, 256, generator=random) * 0.3, "clap_emb": None,
                   "cond_prompt_speech_tokens": torch.randint(0, 6561, (1, 20), generator=random),
                   "cond_prompt_speech_emb": None, "emotion_adv": None if name else torch.zeros(1, 1, 1)},
            "gen": {"prompt_token": torch.randint(0, 6561, (1, 31), generator=random), "prompt_token_len": torch.tensor([31]),
                    "prompt_feat": torch.randn(1, 62, 80, generator=random) * 0.5 - 1, "prompt_feat_len": None,
                    "embedding": torch.randn(1, 192, generator=random)}}
        torch.save(conds, checkpoint / "conds.pt")
        for value in t3.parameters():
            value.copy_(value.to(torch.bfloat16).float())
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        cleaned = {c["name"]: scope["punc_norm"](c["text"]) for c in CASES}
        ids = {c["name"]: tokenizer(cleaned[c["name"]]).input_ids for c in CASES}
        teach_the_end(t3, [(ids[c["name"]], c["steps"]) for c in CASES], lambda: T3Cond(**conds["t3"]))
        saved = {NAMES[0]: t3.state_dict()}
        if not name:
            for model in (flow, hift):
                for value in model.parameters():
                    value.copy_(value.to(torch.bfloat16).float())
            codec = {"flow." + k: v for k, v in flow.state_dict().items()}
            codec.update({"mel2wav." + k: v for k, v in hift.state_dict().items()})
            codec["tokenizer.window"] = torch.zeros(4)
            saved[NAMES[1]] = codec
            hift.double()
            hift.stft_window = hift.stft_window.double()
        for file, tensors in saved.items():
            save_file({k: v.to(torch.bfloat16).clone() for k, v in tensors.items()}, checkpoint / f"{file}.safetensors")
        cases = []
        for case in CASES:
            if name and case.get("samples"):
                continue
            cond = T3Cond(**conds["t3"])
            tokens, rows, margin = generate(t3, cond, ids[case["name"]], case["steps"])
            ended = tokens[-1] == 6562
            golden = {"text_ids": torch.tensor(ids[case["name"]], dtype=torch.int32),
                      "tokens": torch.tensor(tokens, dtype=torch.int32), "logits": rows[[0, 15] if case["name"] == "long" else [15]]}
            golden["voice"] = t3.prepare_conditioning(T3Cond(**conds["t3"]))[0].clone()
            if case.get("samples"):
                spoken = [t for t in tokens if t < 6561]
                how = dict(n_timesteps=2, meanflow=True)
                golden["samples"] = base.speak(flow, hift, hifigan, conds["gen"], spoken, fixed, **how)
                flow.encoder.static_chunk_size = flow.decoder.estimator.static_chunk_size = 0
                golden["samples_full"] = base.speak(flow, hift, hifigan, conds["gen"], spoken[:24], fixed, **how)
            save_file({k: v.contiguous() for k, v in golden.items()}, folder / f"{case['name']}.safetensors")
            cases.append({**case, "clean": cleaned[case["name"]], "ended": ended, "taken": len(tokens), "margin": margin})
            print(name, case["name"], repr(cases[-1]["clean"]), len(tokens), "tokens,", len(set(tokens)), "kinds", ended, margin)
        (folder / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
        for file, made in weights.items():
            made.hollow(checkpoint / f"{file}.safetensors")
    recipe = f"{NAMES[1]}.safetensors.seeded.json"
    (out / "wide/checkpoint" / recipe).symlink_to(os.path.join("../../checkpoint", recipe))
    (out / "loudness.json").write_text(json.dumps(loudness(), indent=1) + "\n")


if __name__ == "__main__":
    with torch.no_grad():
        main()
