#!/usr/bin/env python3
"""Writes two small random Kokoro checkpoints in the published layout, and the results of the authors' code with them.

    python3.11 -m venv VENV && VENV/bin/pip install torch==2.15.0 transformers==5.24.0 loguru attrs numpy safetensors scipy
    VENV/bin/pip download --no-deps -d KOKORO kokoro==0.9.4 && unzip -d KOKORO KOKORO/*.whl
    VENV/bin/python make_golden.py --kokoro KOKORO

The authors' code runs unchanged, except for its constant widths 1024, 512, 128 and 64. It runs in float64 on the CPU with
the noise that Syrinx draws: one normal number per sample, spread over the harmonics so that their weighted sum is that
number times the length of the weights. Imaginary parts that are zero except for rounding (of the first stretch, which is
mirrored, and of the first and last bins) are set to zero, as the sign of half a turn would be random. `published` has the
keys of hexgrad/Kokoro-82M behind "module.", without affine norms; `plain` has the names of the modules, with norms, and
other rates.
"""
import argparse
import json
import pathlib
import sys
import types

import numpy as np
import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import philox  # noqa: E402
import seeded  # noqa: E402

NOISE = 0x4B4B0001  # kSourceNoise of src/families/kokoro
SYMBOLS = list(";:,.!?—…\"()“” ") + list("AIOQSTWYabdefhijklmnopstuvwzæðŋɑɔəɛɜɡɪɹɾʃʊʌʒʤʧˈˌːθᵊᵻ")
SHAPES = {
    "published": dict(
        plbert=dict(hidden_size=32, num_attention_heads=2, intermediate_size=48, max_position_embeddings=72,
                    num_hidden_layers=3, embedding_size=12, dropout=0.1),
        istftnet=dict(upsample_kernel_sizes=[20, 12], upsample_rates=[10, 6], gen_istft_hop_size=5, gen_istft_n_fft=20,
                      resblock_dilation_sizes=[[1, 3, 5]] * 3, resblock_kernel_sizes=[3, 7, 11],
                      upsample_initial_channel=16),
        hidden_dim=16, style_dim=6, n_layer=3, max_dur=9, n_mels=80, text_encoder_kernel_size=5, dropout=0.2),
    "plain": dict(
        plbert=dict(hidden_size=24, num_attention_heads=3, intermediate_size=40, max_position_embeddings=40,
                    num_hidden_layers=2, dropout=0.1),
        istftnet=dict(upsample_kernel_sizes=[8, 5], upsample_rates=[4, 3], gen_istft_hop_size=2, gen_istft_n_fft=8,
                      resblock_dilation_sizes=[[1, 2, 3], [1, 3, 5]], resblock_kernel_sizes=[3, 5],
                      upsample_initial_channel=12),
        hidden_dim=24, style_dim=10, n_layer=2, max_dur=7, n_mels=80, text_encoder_kernel_size=3, dropout=0.2),
}
WIDTHS = {"published": (20, 6), "plain": (18, 4)}
CASES = [dict(name="long", phonemes="ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ", seed=5, speed=1.0),
         dict(name="short", phonemes="həlˈO!", seed=2**40 + 7, speed=1.3),
         dict(name="one", phonemes="ˈI", seed=9, speed=0.7)]


def load_module(root, name, change):
    """Loads a module of the authors, with constant widths replaced."""
    path = pathlib.Path(root) / f"kokoro/{name}.py"
    module = types.ModuleType(f"kokoro.{name}")
    module.__package__ = "kokoro"
    sys.modules[module.__name__] = module
    exec(compile(change(path.read_text()), str(path), "exec"), module.__dict__)
    return module


def load_authors(root, shape):
    for name in [n for n in sys.modules if n == "kokoro" or n.startswith("kokoro.")]:
        del sys.modules[name]
    package = types.ModuleType("kokoro")
    package.__path__ = [f"{root}/kokoro"]
    sys.modules["kokoro"] = package
    wide, side = WIDTHS[shape]

    def narrow(text):
        at = text.index("class Decoder")
        tail = text[at:].replace("1024", str(wide)).replace("+ 64", f"+ {side}").replace("512, 64", f"dim_in, {side}")
        tail = tail.replace(f"{side}, 512, style_dim", f"{side}, upsample_initial_channel, style_dim")
        assert "512" not in tail and "64" not in tail, tail
        return text[:at] + tail

    load_module(root, "istftnet", narrow)
    return load_module(root, "model", lambda text: text.replace("128", str(SHAPES[shape]["style_dim"])))


def randomise(model, random):
    def normal(shape, scale=1.0):
        return torch.randn(shape, generator=random) * scale

    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("weight_g"):
                value.copy_((0.3 if "conv_post" in name else 0.7) * (1 + 0.3 * normal(value.shape)))
            elif ".alpha" in name:
                value.copy_(0.5 + 1.5 * torch.rand(value.shape, generator=random))
            elif name.endswith("weight_v"):
                value.copy_(normal(value.shape))
            elif value.dim() == 1:
                ones = name.endswith(("norm.weight", "gamma", "LayerNorm.weight", "layer_norm.weight"))
                value.copy_(normal(value.shape, 0.1) + (1 if ones else 0))
            elif "embedding" in name and "mapping" not in name:
                value.copy_(normal(value.shape))
            else:
                value.copy_(normal(value.shape, value[0].numel() ** -0.5))
        model.predictor.F0_proj.weight.mul_(120)
        model.predictor.F0_proj.bias.fill_(60.0)
        model.decoder.F0_conv.weight_g.fill_(0.02)
        model.decoder.generator.m_source.l_linear.weight.mul_(4)
        model.predictor.duration_proj.linear_layer.weight.mul_(40)


def published_names(state):
    return {"module." + key: value for key, value in state.items()
            if ".norm.weight" not in key and ".norm.bias" not in key}


def run(model, case, voice, vocabulary):
    generator = model.decoder.generator
    generator.stft.window = generator.stft.window.double()

    def transform(signal):
        stft = generator.stft
        spectrum = torch.stft(signal, stft.filter_length, stft.hop_length, stft.win_length, window=stft.window,
                              return_complex=True)
        imaginary = spectrum.imag.clone()
        imaginary[:, :, 0] = imaginary[:, 0] = imaginary[:, -1] = 0
        return torch.abs(spectrum), torch.atan2(imaginary, spectrum.real)

    generator.stft.transform = transform
    weight = generator.m_source.l_linear.weight[0].detach()
    hop = generator.m_source.l_sin_gen.upsample_scale
    drawn = []

    def randn_like(x):
        if x.shape[-1] == 1:
            return torch.zeros_like(x)  # never audible
        rows = [philox.philox_normal(case["seed"], frame, NOISE, hop) for frame in range(x.shape[1] // int(hop))]
        one = torch.from_numpy(np.concatenate(rows)).double()
        drawn.append(one)
        return (one[:, None] * weight / weight.norm())[None]

    keep = {}

    def rounded(module, inputs, output):
        keep["pitch"] = output.float().double()  # in the file's precision, because every later phase depends on it
        return keep["pitch"]

    hooks = [
        model.predictor.duration_proj.register_forward_hook(lambda m, i, o: keep.update(durations=o)),
        model.predictor.F0_proj.register_forward_hook(rounded),
        model.predictor.N_proj.register_forward_hook(lambda m, i, o: keep.update(energy=o)),
        generator.m_source.register_forward_hook(lambda m, i, o: keep.update(source=o[0])),
        generator.conv_post.register_forward_hook(lambda m, i, o: keep.update(spectrum=o))]
    saved, torch.randn_like = torch.randn_like, randn_like
    try:
        out = model(case["phonemes"], voice[len(case["phonemes"]) - 1], case["speed"], return_output=True)
    finally:
        torch.randn_like = saved
        for hook in hooks:
            hook.remove()
    durations = torch.sigmoid(keep["durations"]).sum(-1)[0] / case["speed"]
    margin = float((durations - durations.floor() - 0.5).abs().min())
    assert margin > 2e-4, margin
    ids = [0, *[vocabulary[c] for c in case["phonemes"]], 0]
    rows = keep["spectrum"][0].T
    return {
        "ids": torch.tensor(ids, dtype=torch.int32), "durations": durations.float(),
        "frames": out.pred_dur.reshape(-1).int(), "pitch": keep["pitch"].reshape(-1).float(),
        "energy": keep["energy"].reshape(-1).float(), "samples_source": keep["source"].reshape(-1).float(),
        "spectrum": rows[::37].contiguous().float(), "samples": out.audio.reshape(-1).float()}, margin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kokoro", required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for number, (shape, sizes) in enumerate(SHAPES.items()):
        torch.set_default_dtype(torch.float32)
        authors = load_authors(args.kokoro, shape)
        folder = HERE / "golden" / shape
        checkpoint = folder / "checkpoint"
        (checkpoint / "voices").mkdir(parents=True, exist_ok=True)
        vocabulary = {symbol: i + 1 for i, symbol in enumerate(SYMBOLS)}
        config = dict(sizes, n_token=len(SYMBOLS) + 1, multispeaker=True, vocab=vocabulary)
        (checkpoint / "config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1))
        # The authors' code loads a checkpoint first, so it gets one with the weights of an empty model.
        empty = checkpoint / "empty.pth"
        torch.save({}, empty)
        random = torch.Generator().manual_seed(11 + number)
        model = authors.KModel(repo_id="hexgrad/Kokoro-82M", config=config, model=str(empty)).eval()
        randomise(model, random)
        weights = seeded.Weights(31 + number)
        weights.over(model, keep=["F0_proj", "position_ids"])
        names = ["bert", "bert_encoder", "predictor", "text_encoder", "decoder"]
        file = checkpoint / ("kokoro-v1_0.pth" if shape == "published" else "kokoro.pth")
        state = {n: {k: v.detach().clone() for k, v in getattr(model, n).state_dict().items()} for n in names}
        if shape == "published":
            state = {n: published_names(d) for n, d in state.items()}
        torch.save(state, file)
        empty.unlink()
        # Outputs of the authors' code with the weights of the file.
        model = authors.KModel(repo_id="hexgrad/Kokoro-82M", config=config, model=str(file)).eval()
        voices = {}
        most = sizes["plbert"]["max_position_embeddings"] - 2
        for name in ("af_owl", "bm_rook"):
            voices[name] = (torch.randn(most, 1, 2 * sizes["style_dim"], generator=random) * 0.6).contiguous()
            weights.over({f"voice.{name}": voices[name]})
            torch.save(voices[name], checkpoint / "voices" / f"{name}.pt")
        torch.set_default_dtype(torch.float64)
        model = model.double()
        golden, told = {}, []
        for case in CASES:
            if len(case["phonemes"]) > most:
                case = dict(case, phonemes=case["phonemes"][:most])
            values, margin = run(model, case, voices["af_owl"].double(), vocabulary)
            golden.update({f"{case['name']}.{k}": v for k, v in values.items()})
            told.append(dict(case, frames=int(values["frames"].sum()), margin=round(margin, 5)))
            pitch, audio = values["pitch"], values["samples"]
            print(shape, case["name"], "frames", told[-1]["frames"], "voiced", int((pitch > 10).sum()), len(pitch),
                  "pitch", float(pitch.min()), float(pitch.max()), "rms", float(audio.pow(2).mean().sqrt()))
        save_file({k: v.contiguous() for k, v in golden.items()}, folder / "golden.safetensors")
        (folder / "cases.json").write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
        weights.hollow(file)
        for name in voices:
            weights.hollow(checkpoint / "voices" / f"{name}.pt")


if __name__ == "__main__":
    main()
