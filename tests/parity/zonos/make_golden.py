"""Writes a small Zonos checkpoint in the published layout, and the results of the authors' code with it.

The authors' package (https://github.com/Zyphra/Zonos, given with --source) runs unchanged, in float32 on the CPU with a
float32 cache; its codec is the small DAC of ../dac (run make_golden.py there first). Needs torch 2.9.1, transformers
4.57.3, phonemizer 3.3.0, inflect 7.5.0 and the library of Debian's espeak-ng 1.51. The Japanese front end (kanjize,
sudachipy) is removed, because no case is Japanese.

  python make_golden.py --source DIR      # DIR: a checkout of the repository
"""
import argparse
import json
import pathlib
import sys
import types

import torch
from safetensors.torch import save_file
from transformers.models.dac import DacModel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

HERE = pathlib.Path(__file__).parent
OUT = HERE / "golden"
WIDTH, LAYERS = 32, 3

CONFIG = {
    "backbone": {
        "d_model": WIDTH, "d_intermediate": 0, "attn_mlp_d_intermediate": 80, "n_layer": LAYERS, "ssm_cfg": {},
        "attn_layer_idx": list(range(LAYERS)),
        "attn_cfg": {"causal": True, "num_heads": 4, "num_heads_kv": 2, "rotary_emb_dim": 8, "qkv_proj_bias": False,
                     "out_proj_bias": False},
        "rms_norm": False, "residual_in_fp32": False, "norm_epsilon": 1e-5},
    "prefix_conditioner": {
        "conditioners": [
            {"type": "EspeakPhonemeConditioner", "name": "espeak"},
            {"cond_dim": 128, "uncond_type": "learned", "projection": "linear", "type": "PassthroughConditioner",
             "name": "speaker"},
            {"input_dim": 8, "uncond_type": "learned", "type": "FourierConditioner", "name": "emotion"},
            {"min_val": 0, "max_val": 24000, "uncond_type": "learned", "type": "FourierConditioner", "name": "fmax"},
            {"min_val": 0, "max_val": 400, "uncond_type": "learned", "type": "FourierConditioner",
             "name": "pitch_std"},
            {"min_val": 0, "max_val": 40, "uncond_type": "learned", "type": "FourierConditioner",
             "name": "speaking_rate"},
            {"min_val": -1, "max_val": 126, "uncond_type": "learned", "type": "IntegerConditioner",
             "name": "language_id"}],
        "projection": "linear"},
    "eos_token_id": 1024, "masked_token_id": 1025}

CASES = [
    dict(name="plain", text="Hello there, how are you today?", language="en-us", speaker=None, steps=232,
         guidance=2.0, conditions={}),
    dict(name="voiced", text="It's 1999: the fox isn't lazy… twice!", language="en-us", speaker="ann", steps=60,
         guidance=3.0, conditions={"pitch_std": 45.0, "speaking_rate": 20.5, "fmax": 24000.0,
                                   "emotion": [0.5, 0.1, 0, 0, 0.2, 0, 0, 0.4]}),
    dict(name="german", text="Guten Morgen, wie geht es Ihnen?", language="de", speaker="bob", steps=40,
         guidance=1.5, conditions={}),
    dict(name="stops", text="Good weather.", language="en-us", speaker="ann", steps=400, guidance=2.0, conditions={}),
]

# Texts for the front end alone: numbers and phonemes.
NUMBERS = ["0 1 7 10 13 20 21 99 100 101 110 999 1000 1001 1066 1100 1110 1900 1905 1999 2000 2001 2009 2010 2019 2100",
           "2999 3000 3001 10000 12345 100000 1234567 1,234,567 1000000 1000000000 12345678901234567890",
           "1st 2nd 3rd 4th 11th 12th 21st 22nd 100th 101st 121st 1000th 1999th 20th 30th 40th 0th 1000001st 007th",
           "$5 $1 $0 $5.99 $1.01 $0.50 $1,000 $1.2.3 £20 £1,5 3.14 0.5 1.50 2.", "007 5th-grade 50% a1b2 v1.2.3 1.2.3",
           "no numbers", "1 000 1, 2, 3 12,34 ,5, $ £ $x", "In 1984, 30,000 people paid $2.50 for the 3rd time."]
TEXTS = {
    "en-us": ["Hello, world!", "It would be nice to have time for testing, indeed.",
              "  The quick (brown) fox — isn't lazy… ", "read a the of in-house x", "I'm can't o'clock",
              "Mr. Smith & co", "twenty-one point three five", "He said: \"Don't do that\"; then left?! Why...", "a",
              "naïve café résumé ABC NASA U.S.A. iPhone", "'quoted' words’ apostrophe’s", "aa\tbb", "...", "emoji 😀 here",
              "for the to of and", "«Bonjour»! ¿Qué?", "line one\nline two"],
    "de": ["Guten Morgen, wie geht es Ihnen?", "Der Fluß ist tief; das Haus ist groß."],
    "fr-fr": ["Bonjour, comment allez-vous aujourd'hui ?", "Les enfants ont été à l'école."],
    "es": ["¿Cómo estás? Muy bien, gracias."],
    "ru": ["Привет, как дела?"],
    "ko": ["안녕하세요 세계"],
}


def import_zonos(source):
    for name in ("kanjize", "sudachipy"):
        module = types.ModuleType(name)
        module.number2kanji = None
        module.Dictionary = lambda dict: types.SimpleNamespace(create=lambda: None)
        module.SplitMode = None
        sys.modules[name] = module
    load = DacModel.from_pretrained

    def small(_):
        with seeded.restored(HERE.parent / "dac/golden/checkpoint") as folder:
            return load(folder)
    DacModel.from_pretrained = small
    sys.path.insert(0, str(source))
    from zonos import conditioning, model
    from zonos.backbone._torch import TorchZonosBackbone
    from zonos.config import ZonosConfig
    return conditioning, model, TorchZonosBackbone, ZonosConfig


def make_model(model_module, backbone, config_class):
    torch.manual_seed(8)
    model = model_module.Zonos(config_class.from_dict(CONFIG), backbone).eval()
    with torch.no_grad():
        for name, value in model.state_dict().items():
            scale = 1.0 if name.startswith("embeddings") else 0.25 if value.dim() == 2 else 0.1
            scale = 1.0 if "phoneme_embedder" in name or "int_embedder" in name or "uncond" in name else scale
            if ".conditioners." in name and name.endswith(".weight") and value.shape[0] == WIDTH // 2:
                scale = 1.0  # frequencies
            value.copy_(torch.randn_like(value) * scale)
            if "norm" in name and name.endswith("weight"):
                value.add_(1)
        random = seeded.Weights(9)
        random.over(model)
        model.heads[0].weight[1024] *= 1.15  # so that some cases end
        for value in model.state_dict().values():
            value.copy_(value.bfloat16().float())
    saved = {k: v.bfloat16().clone() for k, v in model.state_dict().items()}
    folder = OUT / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    save_file(saved, folder / "model.safetensors")
    if not (folder / "dac_44khz").is_symlink():
        (folder / "dac_44khz").symlink_to("../../../dac/golden/checkpoint", target_is_directory=True)
    model.load_state_dict({k: v.float() for k, v in saved.items()})  # loading pads the tables, like from_local
    gen = torch.Generator().manual_seed(1)
    speakers = {name: torch.randn(1, 1, 128, generator=gen).bfloat16() for name in ("ann", "bob")}
    (folder / "speakers").mkdir(exist_ok=True)
    torch.save(speakers["ann"], folder / "speakers" / "ann.pt")
    save_file({"speaker": speakers["bob"][0, 0].contiguous()}, folder / "speakers" / "bob.safetensors")
    setup = model.setup_cache
    model.setup_cache = lambda **kw: setup(**kw, dtype=torch.float32)
    return model, {k: v.float() for k, v in speakers.items()}, random


def run_case(case, model, speakers, conditioning, columns):
    rows = []
    compute = model._compute_logits

    def record(*args):
        rows.append(compute(*args)[0, :, :1025].clone())
        return torch.nn.functional.pad(rows[-1], (0, 1), value=-torch.inf)[None].clone()

    cond = conditioning.make_cond_dict(text=case["text"], language=case["language"], device="cpu",
                                       speaker=speakers.get(case["speaker"]), **case["conditions"])
    prefix = model.prepare_conditioning(cond)
    phonemes = conditioning.phonemize([case["text"]], [case["language"]])
    ids, _ = conditioning.tokenize_phonemes(phonemes)
    model._compute_logits = record
    codes = model.generate(prefix, max_new_tokens=case["steps"], cfg_scale=case["guidance"],
                           sampling_params=dict(temperature=0.0), progress_bar=False, disable_torch_compile=True)
    model._compute_logits = compute
    logits = torch.stack(rows)
    case["phonemes"] = phonemes[0]
    # At the length limit the authors fill the tail from the wrong codebooks, so it is not compared.
    case["ended"] = codes.shape[2] < case["steps"] - 9
    case["frames"] = codes.shape[2] if case["ended"] else case["steps"] - 9
    frames = codes[0].t()[: case["frames"]].int()
    steps = case["frames"] + (9 if case["ended"] else 0)
    out = {"prompt_ids": ids[0].int(), "prefix": prefix, "logits_full": logits[:1],
           "logits_some": logits[:steps][..., columns], "frames": frames}
    if steps > 100:  # keeps the first and last steps, but not that of the end, and every fifth between them
        kept = torch.tensor([s for s in range(steps - 1) if s < 16 or s >= steps - 12 or s % 5 == 0])
        out |= {"logits_some": out["logits_some"][kept], "logits_steps": kept.int()}
    if case["ended"]:
        out["samples"] = model.autoencoder.decode(codes)[0, 0]
    return {k: v.contiguous().clone() for k, v in out.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    conditioning, model_module, backbone, config_class = import_zonos(args.source)
    model, speakers, random = make_model(model_module, backbone, config_class)
    columns = torch.cat([torch.arange(0, 1024, 61), torch.tensor([1024])])
    for case in CASES:
        with torch.inference_mode():
            save_file(run_case(case, model, speakers, conditioning, columns), OUT / f"{case['name']}.safetensors")
        print(case)
    numbers = [[t, conditioning.normalize_numbers(t)] for t in NUMBERS]
    phonemes = [[lang, t, conditioning.phonemize([t], [lang])[0]] for lang, ts in TEXTS.items() for t in ts]
    (OUT / "cases.json").write_text(json.dumps(
        {"cases": CASES, "columns": columns.tolist(), "numbers": numbers, "phonemes": phonemes,
         "symbols": conditioning.symbols, "languages": conditioning.supported_language_codes},
        indent=0, ensure_ascii=False) + "\n")
    random.hollow(OUT / "checkpoint/model.safetensors")


if __name__ == "__main__":
    main()
