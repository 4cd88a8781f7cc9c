#!/usr/bin/env python3
"""Writes a small random Chatterbox Multilingual checkpoint in the published layout, and the authors' results with it.

    (the environment of ../chatterbox_turbo/make_golden.py)
    VENV/bin/python make_golden.py --chatterbox TURBO [--tokenizer FILE]

Text passes through punc_norm() of mtl_tts.py and MTLTokenizer without the optional packages (pykakasi, dicta_onnx, spacy_pkuseg,
russian_text_stresser). T3.inference runs as for ../chatterbox, without the check of its attention, which exists only for a text
table of 2454. `--tokenizer` takes the published grapheme_mtl_merged_expanded_v1.json instead of a small one, to compare ids.
"""
import argparse
import importlib.util
import json
import pathlib
import shutil
import sys
import unicodedata

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("base", HERE.parent / "chatterbox/make_golden.py")
base = importlib.util.module_from_spec(spec)
spec.loader.exec_module(base)

TEXTS = [
    ("en", "hello there...  how are you? [laughter]"), ("de", "Größe, Übung: Straße — „ja“!"), ("fr", "Ça va ? L’été où j’étais là…"),
    ("el", "ΟΔΟΣ Σοφός, καλημέρα"), ("ru", "Привет, как дела?"), ("ar", "مرحبا بالعالم"), ("he", "שלום עולם"), ("hi", "नमस्ते दुनिया"),
    ("ko", "안녕하세요, 세계 여러분"), ("ja", "こんにちは、ガギグ。"), ("zh", "你好，世界明们"), ("tr", "İstanbul'da IŞIK"), ("sw", "Habari ya dunia"),
    ("pl", "Zażółć gęślą jaźń"), ("da", "Æblegrød på øen"),
]
CANGJIE = ["你\tonf", "好\tvnd", "世\tpt", "界\twoll", "明\tab", "昍\tab", "们\tab", "，\tzz"]
CASE = dict(name="guided", language="de", text="Guten Tag, wie geht es dir?", steps=205, guidance=1.5, penalty=2.0)


def write_tokenizer(path):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tok = Tokenizer(models.BPE(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[STOP]", "[UNK]", "[SPACE]", "[START]"] + [f"[{code}]" for code, _ in TEXTS]
    special += [f"[cj_{c}]" for c in "abcdefghijklmnopqrstuvwxyz0123456789."]
    corpus = [unicodedata.normalize("NFKD", text.lower()) for code, text in TEXTS if code != "hi"]
    tok.train_from_iterator((base.CORPUS + corpus) * 20, trainers.BpeTrainer(
        vocab_size=290, special_tokens=special, show_progress=False))
    tok.save(str(path))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chatterbox", required=True)
    parser.add_argument("--tokenizer")
    parser.add_argument("--out", default=str(HERE / "golden"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    out = pathlib.Path(args.out)
    checkpoint = out / "checkpoint"
    shutil.rmtree(out, ignore_errors=True)
    checkpoint.mkdir(parents=True)
    name = "grapheme_mtl_merged_expanded_v1.json"
    if args.tokenizer:
        shutil.copy(args.tokenizer, checkpoint / name)
        base.TEXTS = 2500
    else:
        write_tokenizer(checkpoint / name)
        base.TEXTS, base.TEXT_TOKENS = 400, 400
    (checkpoint / "Cangjie5_TC.json").write_text(json.dumps(CANGJIE, ensure_ascii=False))
    t3, flow, hift, _ = base.build(args.chatterbox)
    random = torch.Generator().manual_seed(61)
    names = ("t3_mtl23ls_v2", "s3gen")
    weights = base.randomise(t3, flow, hift, random, names, (61, 62))
    for model in (t3, flow, hift):
        for value in model.parameters():
            value.copy_(value.to(torch.bfloat16).float())
    codec = {"flow." + k: v for k, v in flow.state_dict().items()}
    codec.update({"mel2wav." + k: v for k, v in hift.state_dict().items()})
    codec["tokenizer.window"] = torch.zeros(4)
    half = lambda tensors: {k: v.to(torch.bfloat16).clone() for k, v in tensors.items()}
    save_file(half(t3.state_dict()), checkpoint / "t3_mtl23ls_v2.safetensors")
    torch.save(half(codec), checkpoint / "s3gen.pt")
    prompt = torch.randint(0, 6561, (1, 31), generator=random)
    conds = {
        "t3": {"speaker_emb": torch.randn(1, 256, generator=random) * 0.3, "clap_emb": None,
               "cond_prompt_speech_tokens": torch.randint(0, 6561, (1, 20), generator=random),
               "cond_prompt_speech_emb": None, "emotion_adv": 0.5 * torch.ones(1, 1, 1)},
        "gen": {"prompt_token": prompt, "prompt_token_len": torch.tensor([31]),
                "prompt_feat": torch.randn(1, 62, 80, generator=random) * 0.5 - 1, "prompt_feat_len": None,
                "embedding": torch.randn(1, 192, generator=random)}}
    torch.save(conds, checkpoint / "conds.pt")
    from chatterbox.models.t3.modules.cond_enc import T3Cond
    from chatterbox.models.tokenizers import tokenizer as module
    module.hf_hub_download = lambda **_: str(checkpoint / "Cangjie5_TC.json")
    tokenizer = module.MTLTokenizer(str(checkpoint / name))
    assert tokenizer.cangjie_converter.word2cj and tokenizer.cangjie_converter.segmenter is None
    source = (pathlib.Path(args.chatterbox) / "src/chatterbox/mtl_tts.py").read_text()
    begin = source.index("def punc_norm")
    scope = {}
    exec(source[begin:source.index("@dataclass", begin)], scope)
    texts = []
    for language, text in TEXTS:
        clean = scope["punc_norm"](text)
        texts.append(dict(language=language, text=text, clean=clean, ids=tokenizer.encode(clean, language_id=language)))
        print(language, clean, texts[-1]["ids"])
    ids = tokenizer.encode(scope["punc_norm"](CASE["text"]), language_id=CASE["language"])
    tokens, merged = base.generate(t3, T3Cond(**conds["t3"]), ids, CASE)
    best = merged.topk(2, dim=-1).values
    margin = (best[:, 0] - best[:, 1]).min().item()
    print(len(tokens), "tokens,", len(set(tokens)), "kinds", margin)
    save_file({"tokens": torch.tensor(tokens, dtype=torch.int32), "logits": merged[:1].contiguous()}, out / "guided.safetensors")
    (out / "cases.json").write_text(json.dumps({"texts": texts, "guided": {**CASE, "margin": margin}}, ensure_ascii=False, indent=1) + "\n")
    weights[names[0]].hollow(checkpoint / "t3_mtl23ls_v2.safetensors")
    weights[names[1]].hollow(checkpoint / "s3gen.pt")


if __name__ == "__main__":
    with torch.no_grad():
        main()
