#!/usr/bin/env python3
"""Writes a small VoxCPM2 checkpoint, and the results of the authors' code with it.

    git clone https://github.com/OpenBMB/VoxCPM    (made with 616d3d3)
    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==4.57.3 safetensors numpy einops pydantic tqdm
    VENV/bin/python make_golden.py --source VoxCPM [--out DIR]
    python3 ../thin.py golden/*.safetensors

Everything is float32 on the CPU, one thread; the noise of each step is that of src/kernels/sample.h (../philox.py). Names and
layout are the published ones (openbmb/VoxCPM2: config.json, tokenizer.json, model.safetensors, audiovae.pth); only sizes are
smaller. Two runs on one machine give the same bytes. FSQ rounds, so each case stores the smallest distance of its numbers from a
rounding border, which must be far above float noise.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import types
import wave

import numpy as np
import torch
import transformers  # imported before the stub of librosa, which it would find
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from philox import philox_normal  # noqa: E402

PATCH, DIM, RATE = 4, 8, 16000
FACTORS = [0.9978, 1.0347, 1.1243, 1.3539, 2.0097, 4.0487, 11.2288, 26.0073]
CORPUS = ["hello there, how are you? the quick brown fox jumps over the lazy dog.", "It isn't the other one, is it? (a warm voice)",
          "你好世界 你好 世界 他说好 你好,世界", "a prompt that was spoken before and the words of it", "0123456789 !?.,;:'\"-()"] * 8
SEED = 8


def write_tokenizer(folder):
    """Writes a sentencepiece-like BPE like Llama's, with a token of two Chinese characters, which the authors divide."""
    marks = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    learned = Tokenizer(models.BPE(unk_token="<unk>"))
    learned.normalizer, learned.pre_tokenizer = marks, pre_tokenizers.Split("▁", "merged_with_next")
    learned.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=150, show_progress=False))
    merges = json.loads(learned.to_str())["model"]["merges"]
    pieces = sorted(learned.get_vocab(), key=learned.get_vocab().get)
    # The ids that mark audio, 101 to 104, are here bytes of letters that have tokens of their own.
    vocab = {t: i for i, t in enumerate(["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)])}
    for piece in pieces:
        vocab.setdefault(piece, len(vocab))
    tok = Tokenizer(models.BPE(vocab, [tuple(m) for m in merges], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = marks
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                     decoders.Strip(" ", 1, 0)])
    tok.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in ["<unk>", "<s>", "</s>"]])
    tok.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "bos_token": "<s>",
         "eos_token": "</s>", "unk_token": "<unk>", "legacy": True}, indent=1) + "\n")
    return len(vocab)


def model_config(vocab):
    def local(layers):
        return dict(hidden_dim=16, ffn_dim=24, num_heads=2, num_layers=layers, kv_channels=16)

    return dict(
        architecture="voxcpm2",
        lm_config=dict(bos_token_id=1, eos_token_id=2, hidden_size=32, intermediate_size=40, max_position_embeddings=32768,
                       num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=10000,
                       kv_channels=16, vocab_size=vocab, use_mup=False, scale_emb=12, dim_model_base=256, scale_depth=1.4,
                       rope_scaling=dict(type="longrope", long_factor=FACTORS, short_factor=FACTORS,
                                         original_max_position_embeddings=32768)),
        patch_size=PATCH, feat_dim=DIM, scalar_quantization_latent_dim=6, scalar_quantization_scale=9,
        residual_lm_num_layers=1, residual_lm_no_rope=True, encoder_config=local(1),
        dit_config=dict(local(2), mean_mode=False,
                        cfm_config=dict(sigma_min=1e-6, solver="euler", t_scheduler="log-norm", inference_cfg_rate=2.0)),
        audio_vae_config=dict(encoder_dim=4, encoder_rates=[2, 5, 2], latent_dim=DIM, decoder_dim=32, decoder_rates=[5, 3, 2, 2],
                              sr_bin_boundaries=[20000, 30000, 40000], sample_rate=RATE, out_sample_rate=48000),
        max_length=1024, device="cuda", dtype="bfloat16")


def randomise(module, seed, skip="audio_vae"):
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(module.named_parameters()):
            if name.startswith(skip):
                continue
            noise = torch.randn(p.shape, generator=gen)
            if name.endswith("alpha"):
                p.copy_(0.6 + 0.4 * noise.abs())
            elif name.endswith("weight_g") or "scale_embed" in name:
                p.copy_(1.0 + 0.2 * noise)
            elif "norm" in name:
                p.copy_(1.0 + 0.2 * noise)
            elif name.endswith("bias") or "bias_embed" in name:
                p.copy_(0.1 * noise)
            elif "embed_tokens" in name or "special_token" in name:
                p.copy_(noise)
            else:
                p.copy_(noise / np.sqrt(max(1, p[0].numel())))
            p.copy_(p.to(torch.bfloat16))
    return module.eval()


def level(vae):
    """Scales the VAE so that tanh is not saturated and latents are about 1."""
    gen = torch.Generator().manual_seed(1)
    with torch.no_grad():
        tail = vae.decoder.model[-2]
        seen = []
        hook = tail.register_forward_hook(lambda _m, _i, out: seen.append(out))
        vae.decode(torch.randn(1, DIM, 40, generator=gen))
        hook.remove()
        tail.weight_g.copy_((tail.weight_g * 0.4 / seen[0].std()).to(torch.bfloat16))
        latents = vae.encode(torch.from_numpy(speech(4000))[None, None], RATE)
        vae.encoder.fc_mu.weight_g.copy_((vae.encoder.fc_mu.weight_g * 0.8 / latents.std()).to(torch.bfloat16))


def speech(count, skip=8000):
    """Returns samples of ../mimi/speech.wav, taken as 16 kHz."""
    with wave.open(str(HERE.parent / "mimi" / "speech.wav")) as file:
        file.setpos(skip)
        return np.frombuffer(file.readframes(count), np.int16).astype(np.float32) / 32768


def stub_librosa():
    def load(path, sr, mono):
        with wave.open(path) as file:
            assert file.getframerate() == sr and mono
            return np.frombuffer(file.readframes(1 << 30), np.int16).astype(np.float32) / 32768, sr

    sys.modules["librosa"] = types.SimpleNamespace(load=load)


def write_wav(path, samples):
    with wave.open(path, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(RATE)
        file.writeframes((samples * 32768).astype(np.int16).tobytes())
    return path


def level_stop(voxcpm):
    """Sets the stop head so that a few steps in a hundred stop."""
    head, seen = voxcpm.tts_model.stop_head, []
    hook = head.register_forward_hook(lambda _m, args, out: seen.append((args[0][0], (out[0, 1] - out[0, 0]).item())))
    run_case(voxcpm, dict(CASES[0]), None)
    hook.remove()
    mean = torch.stack([h for h, _ in seen]).mean(0)
    with torch.no_grad():
        shift = float(np.quantile([d for _, d in seen], 0.97))
        head.weight[0] = (head.weight[0] + shift * mean / mean.dot(mean)).to(torch.bfloat16)


def vae_golden(vae, folder):
    gen = torch.Generator().manual_seed(5)
    latents = torch.randn(1, DIM, 200, generator=gen)
    out = {"latents": latents[0].t()}
    with torch.no_grad():
        for n in [1, 2, 3, 9, 200]:
            out[f"tail_{n}"] = vae.decode(latents[..., :n])[0, 0, -7 * 60:]
        for n in [1, 19, 20, 21, 1000, 4001]:
            out[f"encoded_{n}"] = vae.encode(torch.from_numpy(speech(n))[None, None], RATE)[0].t()
    save_file({k: v.contiguous().clone() for k, v in out.items()}, folder / "vae.safetensors")


def run_case(voxcpm, case, scratch):
    """Runs a case through the authors' VoxCPM.generate() and records its decisions."""
    model = voxcpm.tts_model
    seen = {"stop": [], "margin": []}
    hooks = [model.stop_head.register_forward_hook(lambda _m, _i, out: seen["stop"].append(out[0])),
             model.fsq_layer.in_proj.register_forward_hook(
                 lambda _m, _i, out: seen["margin"].append((torch.tanh(out) * 9).reshape(-1)))]
    inference, randn, steps = model._inference, torch.randn, iter(range(1 << 20))

    def noise(shape, dtype=torch.float32, **_kwargs):  # [1, D, P]
        values = philox_normal(case["seed"], next(steps), 0, PATCH * DIM).reshape(PATCH, DIM)
        return torch.from_numpy(values.copy()).t()[None].to(dtype)

    def watched(text, text_mask, feat, feat_mask, **kwargs):
        seen.update(ids=text[0].int(), mask=feat_mask[0].int(), feats=feat[0][feat_mask[0] == 1])
        torch.randn = noise
        for result in inference(text, text_mask, feat, feat_mask, **kwargs):
            seen["latents"] = result[1]
            yield result

    model._inference = watched
    paths = {}
    for key in ["reference", "prompt"]:
        if case.get(key):
            paths[f"{key}_wav_path"] = write_wav(f"{scratch}/{key}.wav", speech(case[key]))
    try:
        samples = voxcpm.generate(case["text"], prompt_text=case.get("prompt_text"), retry_badcase=False,
                                  cfg_value=case.get("cfg", 2.0), **paths, **case.get("lengths", {}))
    finally:
        model._inference, torch.randn = inference, randn
        for hook in hooks:
            hook.remove()
    distance = torch.cat(seen["margin"]) % 1
    case["steps"] = len(seen["latents"])
    case["ended"] = bool(seen["stop"][-1].argmax() == 1) and case["steps"] > case.get("lengths", {}).get("min_len", 2) + 1
    case["margin"] = round(float((distance - 0.5).abs().min()), 7)
    case["stops"] = int(sum(s.argmax() == 1 for s in seen["stop"]))
    keep = case.pop("keep_samples", None)
    result = {"prompt_ids": seen["ids"], "audio_mask": seen["mask"], "latents": seen["latents"].reshape(-1, PATCH * DIM),
              "stop": torch.stack(seen["stop"])}
    if len(seen["feats"]) > 0:
        result["feats"] = seen["feats"].reshape(-1, PATCH * DIM)
    if keep:
        result["samples"] = torch.from_numpy(samples[: keep * PATCH * 60])
    return {k: v.contiguous().clone() for k, v in result.items()}


FOX = "The quick brown fox jumps over the lazy dog, doesn't it?\n\n  12345 times!"
MIXED = "你好世界!  Hello\tthere… die Straße; 他说 你好 – naïve 🙂 zażółć 她"
CASES = [
    dict(name="fox", text=FOX, seed=7, lengths=dict(min_len=100000, max_len=220), keep_samples=230),
    dict(name="mixed", text=MIXED, seed=11),
    dict(name="loud", text="how are you?", seed=(5 << 32) + 3, cfg=3.5),
    dict(name="plain", text="It isn't", seed=1, cfg=1.0),
    dict(name="reference", text="(a warm voice)hello there", seed=2, reference=4001),
    dict(name="continuation", text=" and other words", seed=3, prompt=1700, prompt_text="a prompt that was spoken", keep_samples=30),
    dict(name="both", text="the lazy dog", seed=4, reference=900, prompt=900, prompt_text="hello there,", keep_samples=20),
    dict(name="short_prompt", text="the fox", seed=5, prompt=100, prompt_text="a", keep_samples=20),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True, help="a checkout of VoxCPM")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    stub_librosa()
    sys.path.insert(0, str(args.source / "src"))
    from voxcpm.core import VoxCPM
    from voxcpm.model import voxcpm2
    folder = args.out / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    vocab = write_tokenizer(folder)
    config = model_config(vocab)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")

    # The same as the authors' from_local, except for the computing type.
    config = voxcpm2.VoxCPMConfig.model_validate(dict(config, device="cpu", dtype="float32"))
    vae = voxcpm2.AudioVAEV2(config=config.audio_vae_config).float()
    randomise(vae, 42, skip="nothing")
    level(vae)
    tokenizer = transformers.LlamaTokenizerFast.from_pretrained(str(folder))
    model = randomise(voxcpm2.VoxCPM2Model(config, tokenizer, vae), SEED)
    voxcpm = VoxCPM.__new__(VoxCPM)
    voxcpm.tts_model, voxcpm.text_normalizer, voxcpm.denoiser = model, None, None
    level_stop(voxcpm)
    state = {k: v.to(torch.bfloat16) for k, v in model.state_dict().items() if not k.startswith("audio_vae")}
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    torch.save({k: v.to(torch.bfloat16) if v.is_floating_point() else v for k, v in vae.state_dict().items()},
               folder / "audiovae.pth")
    vae_golden(vae, args.out)

    with tempfile.TemporaryDirectory() as scratch:
        for case in CASES:
            save_file(run_case(voxcpm, case, scratch), args.out / f"{case['name']}.safetensors")
            print(case["name"], case["steps"], case["ended"], case["stops"], "margin", case["margin"])
    (args.out / "cases.json").write_text(json.dumps(CASES, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
