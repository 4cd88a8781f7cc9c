#!/usr/bin/env python3
"""How far narrow weights lead: the original in bfloat16, and Syrinx with bf16 and 8-bit weights, against float32.

    VENV/bin/python narrow.py --syrinx build/release/syrinx [--steps 100]

The environment is that of qwen3_tts/make_golden.py. One greedy request each of CSM (published_rates, "fox") and Qwen3-TTS
(equal_width, "speaker_language"); each program is compared with itself in float32. Printed are the first frame in which a
code differs, and until there the distance of codebook 0's logits: relative RMS, median over the steps.
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
import seeded  # noqa: E402


def compare(name, wide, narrow):
    (frames, logits), (other, others) = wide, narrow
    count = min(len(frames), len(other))
    same = (frames[:count] == other[:count]).all(1).tolist()
    first = same.index(False) if False in same else None
    steps = count if first is None else first + 1
    a, b = logits[:steps].double(), others[:steps].double()
    far = ((a - b).square().mean(1) / a.square().mean(1)).sqrt()
    print(f"{name}: first other frame {first} of {count}, median distance {100 * far.median():.2f} %", flush=True)


def listened(head, generate):
    """(frames, logits of codebook 0) of generate()."""
    rows = []
    hook = head.register_forward_hook(lambda _m, _i, out: rows.append(out[0, -1].float().clone()))
    with torch.inference_mode():
        frames = generate()
    hook.remove()
    return frames, torch.stack(rows)


def csm(folder, case, steps, dtype):
    from transformers import CsmConfig, CsmForConditionalGeneration
    config = CsmConfig.from_pretrained(folder / "checkpoint")
    config._attn_implementation = config.depth_decoder_config._attn_implementation = "eager"
    model = CsmForConditionalGeneration(config).eval()
    state = {k: v for file in (folder / "checkpoint").glob("*.safetensors") for k, v in load_file(file).items()}
    state["depth_decoder.model.embed_tokens.weight"] = state["backbone_model.embed_tokens.embed_audio_tokens.weight"]
    model.load_state_dict(state)
    model.to(dtype)
    ids = load_file(folder / f"{case['name']}.safetensors")["prompt_ids"].long()[None]
    return listened(model.lm_head, lambda: model.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, depth_decoder_do_sample=False,
        max_new_tokens=steps)[0])


def qwen(folder, case, steps, dtype):
    from qwen_tts import Qwen3TTSModel
    from qwen_tts.core.models import Qwen3TTSForConditionalGeneration, Qwen3TTSProcessor
    from transformers import Qwen2TokenizerFast
    model = Qwen3TTSForConditionalGeneration.from_pretrained(
        str(folder / "checkpoint"), dtype=dtype, attn_implementation="eager").eval()
    model.speech_tokenizer.model.float()
    tts = Qwen3TTSModel(model, Qwen3TTSProcessor(
        tokenizer=Qwen2TokenizerFast.from_pretrained(str(folder / "checkpoint"))), model.generate_config)
    made, generate = [], model.generate

    def kept(**kwargs):
        made.append(generate(**kwargs))
        return made[0]
    model.generate = kept

    def run():
        tts.generate_custom_voice(
            text=case["text"], language=case["language"], speaker=case["speaker"], instruct=None, do_sample=False,
            subtalker_dosample=False, non_streaming_mode=True, max_new_tokens=steps + 1, repetition_penalty=1.0)
        return made[0][0][0]
    return listened(model.talker.codec_head, run)


def syrinx(program, folder, case, steps, weights):
    with tempfile.TemporaryDirectory() as place:
        dump = f"{place}/trace.safetensors"
        voice = case.get("voice") or case.get("speaker")
        language = ["--language", case["language"].lower()] if "language" in case else []
        subprocess.run([program, "trace", "--model", str(folder / "checkpoint"), "--text", case["text"], "--voice", voice,
                        *language, "--weights", weights, "--max-frames", str(steps), "--logit-steps", str(steps),
                        "--repetition-penalty", "1", "--dump", dump], check=True, capture_output=True)
        got = load_file(dump)
    frames = got["codes"] if "codes" in got else got["frames"]
    return frames, got["logits_0"].float()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--syrinx", required=True)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for family, size, name, original in (("csm", "published_rates", "fox", csm),
                                         ("qwen3_tts", "equal_width", "speaker_language", qwen)):
        with seeded.restored(HERE / family / "golden" / size) as folder:
            case = next(c for c in json.loads((folder / "cases.json").read_text()) if c["name"] == name)
            wide = original(folder, case, args.steps, torch.float32)
            compare(f"{family}, the original in bf16", wide, original(folder, case, args.steps, torch.bfloat16))
            wide = syrinx(args.syrinx, folder, case, args.steps, "f32")
            for weights in ("bf16", "q8"):
                compare(f"{family}, Syrinx with {weights}", wide, syrinx(args.syrinx, folder, case, args.steps, weights))


if __name__ == "__main__":
    main()
