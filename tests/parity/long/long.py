#!/usr/bin/env python3
"""Adds long speech in several voices to the goldens of six families, to find drifts that appear late.

    VENV/bin/python long.py --zonos DIR --chatterbox DIR --cosyvoice DIR [--only FAMILY ...]

Environments and directories are those of narrow.py. Each family's golden folder gets long.json (requests, and the smallest
margin between the two best allowed logits) and long.safetensors. Request N has there the frames `N` i32 [T, C], the last
step's logits of codebook 0 `N.logits`, and `N.prints` [S, 2]: two numbers of every step's logits of all codebooks, which
change with any logit (originals.fingerprints). `widths` of long.json is the number of logits of each codebook. Everything is
greedy, in float32, and continues beyond the end of speech.
"""
import argparse
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(HERE))
import originals  # noqa: E402
import seeded  # noqa: E402

FRAMES = 512


def request(case, **more):
    out = {"text": case["text"], "voice": case.get("voice") or case.get("speaker") or "", **more}
    if case.get("language"):
        out["language"] = case["language"].lower()
    return out


def qwen3_tts(original, cases):
    """Speaks all cases in one batch of the package."""
    chosen = [cases[name] for name in ("speaker_language", "auto_streaming", "dialect")]
    for case, said in zip(chosen, original.batch(chosen, FRAMES)):
        yield request(case, text_in_prompt=True, repetition_penalty=1), said


def csm(original, cases):
    for name in ("fox", "mixed"):
        said = original.speak(cases[name], FRAMES)
        assert len(said.frames) == FRAMES and int(said.frames.max()) < original.codes
        yield request(cases[name]), said


def orpheus(original, cases):
    for name in ("voice", "penalty", "no_voice", "stops"):
        said = original.speak(cases[name], FRAMES // 4 * 7)
        # The seven tokens of a frame, in the authors' order, become four latent frames.
        c = said.frames.view(-1, 7)
        latents = torch.stack([c[:, [0, 0, 0, 0]], c[:, [1, 1, 4, 4]], c[:, [2, 3, 5, 6]]], 2).reshape(-1, 3)
        golden = original.golden(cases[name], "frames")
        assert torch.equal(latents[:len(golden) // 4 * 4][:200], golden[:200]), name
        yield request(cases[name], repetition_penalty=cases[name]["penalty"]), said._replace(frames=latents)


def zonos(original, cases):
    for name in ("plain", "voiced", "german"):
        case = cases[name]
        told = " ".join(f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
                        for key, value in case["conditions"].items())
        yield (request(case, guidance=case["guidance"], instructions=told),
               original.speak(case, FRAMES, end=False))


def chatterbox(original, cases):
    """Speaks up to the small checkpoint's last position, also with the second voice."""
    cloned = torch.load(original.folder / "cloned.pt", weights_only=False)["t3"]
    for name, voice in (("guided", None), ("plain", None), ("guided", cloned)):
        yield (request({**cases[name], "voice": "cloned" if voice else "default"}, guidance=cases[name]["guidance"]),
               original.speak(cases[name], 290, voice))


def cosyvoice2(original, cases):
    for name in ("zero_shot", "instructed", "speaker", "ends"):
        more = {"spell_numbers": False}  # as in the other goldens
        if "instruct" in cases[name]:
            more["instructions"] = cases[name]["instruct"]
        yield request(cases[name], **more), original.speak({**cases[name], "least": FRAMES}, FRAMES)


FAMILIES = {qwen3_tts: ("qwen3_tts/golden/equal_width", originals.Qwen), csm: ("csm/golden/published_rates", originals.Csm),
            orpheus: ("orpheus/golden", originals.Orpheus), zonos: ("zonos/golden", originals.Zonos),
            chatterbox: ("chatterbox/golden", originals.Chatterbox), cosyvoice2: ("cosyvoice2/golden", originals.CosyVoice2)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*")
    for name in ("zonos", "chatterbox", "cosyvoice"):
        parser.add_argument(f"--{name}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    sources = {zonos: args.zonos, chatterbox: args.chatterbox, cosyvoice2: args.cosyvoice}
    with seeded.restored(HERE) as whole:
        for family, (place, original) in FAMILIES.items():
            if args.only and family.__name__ not in args.only:
                continue
            cases = json.loads((whole / place / "cases.json").read_text())
            cases = {c["name"]: c for c in (cases["cases"] if isinstance(cases, dict) else cases)}
            model = original(whole / place, torch.float32, *([sources[family]] if family in sources else []))
            requests, out = [], {}
            for told, said in family(model, cases):
                name = str(len(requests))
                requests.append({**told, "frames": len(said.frames), "steps": len(said.logits)})
                out[name], out[name + ".logits"] = said.frames.int().contiguous(), said.logits[-1].contiguous()
                out[name + ".prints"] = said.prints.contiguous()
            save_file(out, HERE / place / "long.safetensors")
            seeded.Weights(0).hollow(HERE / place / "long.safetensors")  # not random, but hollow() makes the file smaller
            (HERE / place / "long.json").write_text(
                json.dumps({"margin": model.margin, "widths": said.widths, "requests": requests}, indent=1,
                           ensure_ascii=False) + "\n")
            print(family.__name__, [r["frames"] for r in requests], "margin", model.margin, flush=True)


if __name__ == "__main__":
    main()
