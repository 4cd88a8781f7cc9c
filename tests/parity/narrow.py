#!/usr/bin/env python3
"""Measures the errors of narrow weights: the original in bfloat16, and Syrinx with bf16 and 8-bit weights, against float32.

    VENV/bin/python narrow.py --syrinx build/release/syrinx --zonos DIR --chatterbox DIR --cosyvoice DIR --fish DIR \
        [--steps 100] [--only FAMILY ...]

The environment is that of qwen3_tts/make_golden.py, with the packages of the scripts of zonos, chatterbox, cosyvoice2 and
fish_speech. For cosyvoice2 it needs transformers 4.46.3, because later versions give its code other attention from the second
step on, without a message. The directories are checkouts of the authors' repositories. Each family gets one greedy request,
and each program is compared with itself in float32. Prints the first step in which a code differs, and the distance of
codebook 0's logits up to it: relative RMS, median over the steps. Weights of the small checkpoints are bf16 numbers, or are
first rounded to them.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import originals  # noqa: E402
import seeded  # noqa: E402

# Each row: family, size, case, class, further arguments of the class.
FAMILIES = [("csm", "published_rates", "fox", originals.Csm), ("qwen3_tts", "equal_width", "speaker_language", originals.Qwen),
            ("orpheus", "", "voice", originals.Orpheus), ("zonos", "", "plain", originals.Zonos),
            ("chatterbox", "", "guided", originals.Chatterbox), ("cosyvoice2", "", "zero_shot", originals.CosyVoice2),
            ("fish_speech", "", "fox", originals.FishSpeech)]


def compare(name, wide, narrow):
    (frames, logits), (other, others) = wide, narrow
    count = min(len(frames), len(other))
    same = (frames[:count] == other[:count]).all(1).tolist()
    first = same.index(False) if False in same else None
    steps = count if first is None else first + 1
    a, b = logits[:steps].double(), others[:steps].double()
    far = ((a - b).square().mean(1) / a.square().mean(1)).sqrt()
    print(f"{name}: first other step {first} of {count}, median distance {100 * far.median():.2f} %", flush=True)


def delayed(frames):
    """Returns Zonos' frames in the order of its steps: codebook k comes k steps later."""
    out = torch.full_like(frames, -1)
    for k in range(frames.shape[1]):
        out[k:, k] = frames[:len(frames) - k, k]
    return out


def syrinx(program, folder, case, steps, weights):
    with tempfile.TemporaryDirectory() as place:
        dump = f"{place}/trace.safetensors"
        voice = case.get("voice") or case.get("speaker")
        options = ["--voice", voice] if voice else []
        if "language" in case:
            options += ["--language", case["language"].lower()]
        if "guidance" in case:
            options += ["--guidance", str(case["guidance"])]
        else:
            options += ["--repetition-penalty", "1"]
        if (folder / "checkpoint/t3_cfg.safetensors").exists():
            options += ["--flow", "causal"]
        subprocess.run([program, "trace", "--model", str(folder / "checkpoint"), "--text", case["text"], *options,
                        "--weights", weights, "--max-frames", str(2 * steps), "--logit-steps", str(steps), "--dump", dump],
                       check=True, capture_output=True)
        got = load_file(dump)
    frames = got["codes"] if "codes" in got else got["frames"]
    return frames[:steps], got["logits_0"].float()


def rounded(folder):
    """Rounds the weights to bf16 in checkpoints that torch pickled in float32."""
    for path in (folder / "checkpoint").glob("llm.pt"):
        state = {k: v.bfloat16().float() for k, v in torch.load(path).items()}
        path.unlink()
        torch.save(state, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--syrinx", required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", nargs="*")
    for name in ("zonos", "chatterbox", "cosyvoice", "fish"):
        parser.add_argument(f"--{name}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    sources = {"zonos": args.zonos, "chatterbox": args.chatterbox, "cosyvoice2": args.cosyvoice, "fish_speech": args.fish}
    with seeded.restored(HERE) as whole:
        for family, size, name, original in FAMILIES:
            if not args.only or family in args.only:
                folder = whole / family / "golden" / size
                rounded(folder)
                cases = json.loads((folder / "cases.json").read_text())
                case = next(c for c in (cases["cases"] if isinstance(cases, dict) else cases) if c["name"] == name)
                measure(args, family, folder, case, original, sources)


def measure(args, family, folder, case, original, sources):
    def run(dtype):
        more = [sources[family]] if family in sources else []
        how = {"end": False} if family == "zonos" else {}
        frames, logits, *_ = original(folder, dtype, *more).speak(case, args.steps, **how)
        return delayed(frames) if family == "zonos" else frames, logits

    compare(f"{family}, the original in bf16", run(torch.float32), run(torch.bfloat16))
    if family == "orpheus":  # Syrinx identifies it by its published vocabulary
        print("orpheus, Syrinx: see SmallerWeightsLeadNotFar in engine_parity_test")
        return
    wide = syrinx(args.syrinx, folder, case, args.steps, "f32")
    for weights in ("bf16", "q8"):
        compare(f"{family}, Syrinx with {weights}", wide, syrinx(args.syrinx, folder, case, args.steps, weights))


if __name__ == "__main__":
    main()
