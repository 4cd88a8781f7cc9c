#!/usr/bin/env python3
"""Writes a small random Chatterbox checkpoint in the published layout, and the results of the authors' code with it.

    git clone https://github.com/resemble-ai/chatterbox
    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 torchaudio==2.9.1 transformers==4.46.3 diffusers==0.29.2 einops conformer \
        omegaconf safetensors numpy scipy tqdm pillow
    VENV/bin/python make_golden.py --chatterbox chatterbox

Only sizes differ from the published ones. The language model runs in float32 on the CPU. Its draw is replaced by the largest of
the processed logits. The flow runs in float32 in streaming mode (its chunk sizes are set, which the authors' code leaves at 0)
with the noise that Syrinx draws, the vocoder in float64, with Syrinx's noise and phases.
"""
import argparse
import json
import pathlib
import shutil
import sys
import types

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

HIDDEN, FFN, WIDTH, CHANNELS, TEXTS, TEXT_TOKENS, SEED = 64, 96, 16, 16, 300, 120, 7
CORPUS = ["the quick brown fox jumps over the lazy dog", "Hello there, how are you? It's fine.",
          "You need to add some text for me to talk."]
CASES = [
    dict(name="guided", text="hello there...  how are you?", steps=220, guidance=1.5),
    dict(name="plain", text="The quick brown fox — “jumps” over: the lazy dog", steps=205, guidance=1.0),
    dict(name="samples", text="Fine Ωmega!", steps=50, guidance=2.0, samples=True),
]


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


def philox(counter, seed):
    c = [np.asarray(x, np.uint64) for x in np.broadcast_arrays(*counter)]
    key, low = [seed & 0xFFFFFFFF, seed >> 32], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]), b & low,
             (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack([x.astype(np.float64) for x in c], -1)


def normals(step, stream, count):
    """Returns normal numbers by Box-Muller over Philox 4x32-10: key = seed, counter = (step, i, stream, 1)."""
    bits = philox([step, np.arange(count // 4), stream, 1], SEED)
    out = np.empty((count // 4, 4))
    for pair in (0, 2):
        radius = np.sqrt(-2 * np.log((bits[:, pair] + 0.5) / 2**32))
        angle = 2 * np.pi * bits[:, pair + 1] / 2**32
        out[:, pair], out[:, pair + 1] = radius * np.cos(angle), radius * np.sin(angle)
    return out.reshape(-1)


def uniform(step, code, stream):
    return float(int(philox([step, code, stream, 0], SEED).reshape(-1)[0]) >> 8) * 2.0**-24


def write_tokenizer(path):
    tok = Tokenizer(models.BPE(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train_from_iterator(CORPUS * 20, trainers.BpeTrainer(
        vocab_size=140, special_tokens=["[STOP]", "[UNK]", "[SPACE]", "[START]"], show_progress=False))
    tok.save(str(path))


def build_flow(mean_flow=False):
    from chatterbox.models.s3gen.decoder import ConditionalDecoder
    from chatterbox.models.s3gen.flow import CausalMaskedDiffWithXvec
    from chatterbox.models.s3gen.flow_matching import CausalConditionalCFM
    from chatterbox.models.s3gen.transformer.upsample_encoder import (
        PreLookaheadLayer, Upsample1D, UpsampleConformerEncoder)
    encoder = UpsampleConformerEncoder(
        output_size=WIDTH, attention_heads=4, linear_units=48, num_blocks=1, input_layer="linear",
        pos_enc_layer_type="rel_pos_espnet", selfattention_layer_type="rel_selfattn", input_size=WIDTH,
        use_cnn_module=False, macaron_style=False, static_chunk_size=25)
    encoder.pre_lookahead_layer = PreLookaheadLayer(channels=WIDTH, pre_lookahead_len=3)
    encoder.up_layer = Upsample1D(WIDTH, WIDTH, 2)
    how = dict(meanflow=True) if mean_flow else {}
    estimator = ConditionalDecoder(in_channels=320, out_channels=80, causal=True, channels=[CHANNELS], dropout=0.0,
                                   attention_head_dim=64, n_blocks=1, num_mid_blocks=1, num_heads=1, act_fn="gelu", **how)
    estimator.static_chunk_size = 50
    return CausalMaskedDiffWithXvec(
        input_size=WIDTH, encoder=encoder, decoder=CausalConditionalCFM(spk_emb_dim=80, estimator=estimator)).eval()


def build(root):
    for name in ("chatterbox", "chatterbox.models", "chatterbox.models.s3gen", "chatterbox.models.t3",
                 "chatterbox.models.t3.modules", "chatterbox.models.tokenizers"):
        stub(name).__path__ = [f"{root}/src/" + name.replace(".", "/")]
    from chatterbox.models.t3 import llama_configs
    llama_configs.LLAMA_CONFIGS["Llama_520M"].update(
        hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=2, num_attention_heads=1, num_key_value_heads=1)
    from chatterbox.models.t3.modules.perceiver import Perceiver
    from chatterbox.models.t3.modules.t3_config import T3Config
    from chatterbox.models.t3.t3 import T3
    from chatterbox.models.t3.modules.cond_enc import T3CondEnc
    import chatterbox.models.t3.modules.cond_enc as cond_enc
    cond_enc.Perceiver = lambda: Perceiver(6, HIDDEN, HIDDEN, 4)
    config = T3Config(text_tokens_dict_size=TEXTS)
    config.max_text_tokens, config.max_speech_tokens, config.speech_tokens_dict_size = TEXT_TOKENS, 300, 6570
    t3 = T3(config).eval()
    from chatterbox.models.s3gen.f0_predictor import ConvRNNF0Predictor
    from chatterbox.models.s3gen import hifigan
    flow = build_flow()
    hift = hifigan.HiFTGenerator(
        in_channels=80, base_channels=16, sampling_rate=24000, upsample_rates=[8, 5, 3],
        upsample_kernel_sizes=[16, 11, 7], source_resblock_kernel_sizes=[7, 7, 11],
        source_resblock_dilation_sizes=[[1, 3, 5]] * 3,
        f0_predictor=ConvRNNF0Predictor(in_channels=80, cond_channels=8)).eval()
    return t3, flow, hift, hifigan


def randomise(t3, flow, hift, random, names=("t3_cfg", "s3gen"), seeds=(21, 22)):
    def normal(shape, scale=1.0):
        return torch.randn(shape, generator=random) * scale

    with torch.no_grad():
        for model in (t3, flow):
            for name, value in model.named_parameters():
                norm = name.endswith("weight") and value.dim() == 1
                table = "emb" in name and value.dim() == 2 and "embed.out" not in name and "affine" not in name
                spread = 0.2 if value.dim() == 1 else 1.0 if table else 1.2 / value[0].numel() ** 0.5
                value.copy_(normal(value.shape, spread) + (1 if norm else 0))
        t3.speech_head.weight.mul_(2)
        for name, value in hift.named_parameters():
            if name.endswith("original0"):
                value.copy_((0.3 if "conv_post" in name else 0.6) * (1 + 0.3 * normal(value.shape)))
            elif name.endswith("alpha"):
                value.copy_(0.5 + 1.5 * torch.rand(value.shape, generator=random))
            elif name.endswith("bias"):
                value.copy_(normal(value.shape, 0.1))
            else:
                value.copy_(normal(value.shape, 1 if name.endswith("original1") else value[0].numel() ** -0.5))
        hift.m_source.l_linear.weight.mul_(6)
        hift.f0_predictor.classifier.weight.mul_(60)
        hift.f0_predictor.classifier.bias.fill_(40.0)
        weights = {name: seeded.Weights(seed) for name, seed in zip(names, seeds)}
        weights[names[0]].over(t3)
        weights[names[1]].over(flow, "flow.")
        weights[names[1]].over(hift, "mel2wav.", keep=["stft_window"])
        t3.speech_head.weight[6561:].mul_(0.01)
    return weights


def generate(t3, cond, ids, case):
    """Returns the greedy tokens of T3.inference and each step's merged logits before its logit processors."""
    merged = []
    processors = vars(sys.modules[t3.__class__.__module__])
    saved_multinomial, saved_penalty = torch.multinomial, processors["RepetitionPenaltyLogitsProcessor"]

    class Penalty(saved_penalty):
        def __call__(self, input_ids, scores):
            merged.append(scores[0].clone())
            return super().__call__(input_ids, scores)

    processors["RepetitionPenaltyLogitsProcessor"] = Penalty
    torch.multinomial = lambda probs, num_samples: probs.argmax(-1, keepdim=True)
    text = torch.tensor([[255] + ids + [0]] * 2)
    try:
        tokens = t3.inference(t3_cond=cond, text_tokens=text, max_new_tokens=case["steps"], temperature=0.8,
                              cfg_weight=case["guidance"] - 1, repetition_penalty=case.get("penalty", 1.2), min_p=0.05, top_p=1.0)
    finally:
        torch.multinomial = saved_multinomial
        processors["RepetitionPenaltyLogitsProcessor"] = saved_penalty
    return tokens[0].tolist(), torch.stack(merged)


def speak(flow, hift, hifigan, conds, tokens, fixed, **how):
    prompt = conds["prompt_token"].shape[1]
    saved = torch.randn_like

    def noise_of(mu):
        out = fixed[:, :, :mu.shape[2]].clone()
        for t in range(2 * prompt, mu.shape[2]):
            out[0, :, t] = torch.from_numpy(normals(t - 2 * prompt, 0x53330001, 80))
        return out

    torch.randn_like = noise_of
    mel, _ = flow.inference(token=torch.tensor([tokens]), token_len=torch.tensor([len(tokens)]), finalize=True,
                            **{"n_timesteps": 10, **how}, **conds)
    frames = mel.shape[2]
    weight = hift.m_source.l_linear.weight[0].detach()
    made = np.concatenate([normals(t, 0x53330002, 480) for t in range(frames)])
    noise = (torch.from_numpy(made)[:, None] * weight / weight.norm())[None].transpose(1, 2)
    torch.randn_like = lambda x: noise if x.shape == noise.shape else torch.zeros_like(x)
    phases = [0.0] + [2 * np.pi * (np.float32(uniform(0, k, 0x53330003)) - np.float32(0.5)) for k in range(1, 9)]
    hifigan.Uniform.sample = lambda self, sample_shape: torch.tensor(phases, dtype=torch.float64)[None, :, None]
    samples, _ = hift.inference(speech_feat=mel.double())
    torch.randn_like = saved
    trim = 480
    fade = torch.zeros(2 * trim, dtype=torch.float64)
    fade[trim:] = (torch.cos(torch.linspace(torch.pi, 0, trim, dtype=torch.float64)) + 1) / 2
    samples = samples[0].clone()
    samples[:2 * trim] *= fade
    return samples.float()


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--chatterbox", required=True)
    parser.add_argument("--out", default=str(here / "golden"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    out = pathlib.Path(args.out)
    checkpoint = out / "checkpoint"
    shutil.rmtree(out, ignore_errors=True)
    checkpoint.mkdir(parents=True)
    t3, flow, hift, hifigan = build(args.chatterbox)
    random = torch.Generator().manual_seed(21)
    weights = randomise(t3, flow, hift, random)
    write_tokenizer(checkpoint / "tokenizer.json")
    with torch.no_grad():  # stored in bf16 to keep files small; the original runs with the stored weights
        for model in (t3, flow, hift):
            for value in model.parameters():
                value.copy_(value.to(torch.bfloat16).float())
    codec = {"flow." + k: v for k, v in flow.state_dict().items()}
    codec.update({"mel2wav." + k: v for k, v in hift.state_dict().items()})
    codec["tokenizer.window"] = torch.zeros(4)
    for name, tensors in (("t3_cfg", t3.state_dict()), ("s3gen", codec)):
        save_file({k: v.to(torch.bfloat16).clone() for k, v in tensors.items()}, checkpoint / f"{name}.safetensors")
    prompt = torch.randint(0, 6561, (1, 31), generator=random)
    conds = {
        "t3": {"speaker_emb": torch.randn(1, 256, generator=random) * 0.3, "clap_emb": None,
               "cond_prompt_speech_tokens": torch.randint(0, 6561, (1, 20), generator=random),
               "cond_prompt_speech_emb": None, "emotion_adv": 0.5 * torch.ones(1, 1, 1)},
        "gen": {"prompt_token": prompt, "prompt_token_len": torch.tensor([31]),
                "prompt_feat": torch.randn(1, 62, 80, generator=random) * 0.5 - 1, "prompt_feat_len": None,
                "embedding": torch.randn(1, 192, generator=random)}}
    torch.save(conds, checkpoint / "conds.pt")
    torch.manual_seed(0)
    fixed = torch.randn(1, 80, 15000)
    from chatterbox.models.t3.modules.cond_enc import T3Cond
    from chatterbox.models.tokenizers.tokenizer import EnTokenizer
    source = (pathlib.Path(args.chatterbox) / "src/chatterbox/tts.py").read_text()
    begin = source.index("def punc_norm")
    scope = {}
    exec(source[begin:source.index("@dataclass", begin)], scope)
    tokenizer = EnTokenizer(str(checkpoint / "tokenizer.json"))
    hift.double()
    hift.stft_window = hift.stft_window.double()
    cases = []
    for case in CASES:
        text = scope["punc_norm"](case["text"])
        ids = tokenizer.encode(text)
        golden = {"text_ids": torch.tensor([255] + ids + [0], dtype=torch.int32)}
        with torch.inference_mode():
            golden["voice"] = t3.prepare_conditioning(T3Cond(**conds["t3"]))[0].clone()
        tokens, merged = generate(t3, T3Cond(**conds["t3"]), ids, case)
        golden["tokens"] = torch.tensor(tokens, dtype=torch.int32)
        golden["logits"] = merged[:2]
        best = merged.topk(2, dim=-1).values
        if case.get("samples"):
            golden["samples"] = speak(flow, hift, hifigan, conds["gen"], [t for t in tokens if t < 6561], fixed)
        save_file({k: v.contiguous() for k, v in golden.items()}, out / f"{case['name']}.safetensors")
        cases.append({**case, "clean": text, "margin": (best[:, 0] - best[:, 1]).min().item()})
        print(case["name"], repr(text), len(ids), "ids,", len(tokens), "tokens,", len(set(tokens)), "kinds",
              cases[-1]["margin"], golden["samples"].abs().max().item() if case.get("samples") else "")
    (out / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
    for name, made in weights.items():
        made.hollow(checkpoint / f"{name}.safetensors")


if __name__ == "__main__":
    main()
