#!/usr/bin/env python3
"""Makes the codecs' golden samples, and Orpheus's golden logits, with the originals in float64.

    VENV/bin/pip install torch transformers==4.57.3 safetensors numpy snac==1.2.1 and what qwen3_tts/make_golden.py asks for
    VENV/bin/python float64.py [--write] [--only FAMILY]

Reads the checkpoints and codes of the golden files. The original runs once in float32 and once in float64 (casts to
float32 inside it become float64 as well). Prints the largest distance of the two, and of the golden file's numbers
from float64. With --write the file gets the numbers of float64, rounded once, so that a test's limit is one against
exact arithmetic. Long samples are then thinned again (thin.py). To make one of these goldens anew, run this after
it.
"""
import argparse
import contextlib
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import seeded  # noqa: E402
import thin  # noqa: E402
from philox import block_noise  # noqa: E402

SNAC_SEED = 1234567890123


@contextlib.contextmanager
def in_float64():
    """Turns casts to float32 in the original's code into casts to float64."""
    single, cast = torch.float32, torch.Tensor.float
    torch.float32, torch.Tensor.float = torch.float64, torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32, torch.Tensor.float = single, cast
        torch.set_default_dtype(single)


def both(run):
    """Returns run(dtype) in float32 and in float64: dictionaries of tensors."""
    with torch.inference_mode():
        single = run(torch.float32)
        with in_float64():
            return single, run(torch.float64)


def qwen(path):
    from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Config
    from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Model
    folder, golden = path.parent / "checkpoint/speech_tokenizer", load_file(path)
    codes, weights = golden["codes"].long().t()[None], load_file(folder / "model.safetensors")

    def run(dtype):
        config = Qwen3TTSTokenizerV2Config.from_pretrained(folder)
        config._attn_implementation = "eager"
        config.decoder_config._attn_implementation = "eager"
        model = Qwen3TTSTokenizerV2Model(config).eval().to(dtype)
        model.load_state_dict({k: v.to(dtype) for k, v in weights.items()}, strict=False)
        out = {"samples": model.decoder(codes)[0, 0]}
        for name in golden:
            if name.startswith("tail_"):
                out[name] = model.decoder(codes[..., : int(name[5:])])[0, 0][-golden[name].numel():]
        return out

    return both(run)


def mimi(path):
    from transformers import MimiConfig, MimiModel, masking_utils
    from transformers.models.mimi import modeling_mimi
    modeling_mimi.create_causal_mask = masking_utils.create_sliding_window_causal_mask
    golden = load_file(path)
    codes, weights = golden["codes"].long().t()[None], load_file(path.parent / "model.safetensors")

    def run(dtype):
        config = MimiConfig.from_pretrained(path.parent)
        config._attn_implementation = "eager"
        model = MimiModel(config).eval().to(dtype)
        left = model.load_state_dict({k: v.to(dtype) for k, v in weights.items()}, strict=False)
        assert not left.unexpected_keys and not [k for k in left.missing_keys if "decoder" in k], left
        return {name: model.decode(codes[..., : int(name[5:])])[0][0, 0][-golden[name].numel():]
                for name in golden if name.startswith("tail_")}

    return both(run)


def dac(path):
    from transformers import DacConfig, DacModel
    golden, folder = load_file(path), path.parent / "checkpoint"
    codes, weights = golden["codes"].long().t()[None], load_file(folder / "model.safetensors")

    def run(dtype):
        model = DacModel(DacConfig.from_pretrained(folder)).eval().to(dtype)
        model.load_state_dict({k: v.to(dtype) for k, v in weights.items()}, strict=False)
        return {name: model.decode(audio_codes=codes[..., : int(name[8:])]).audio_values[0]
                for name in golden if name.startswith("samples_")}

    return both(run)


def snac(path):
    from snac import SNAC
    golden, folder = load_file(path), path.parent
    config = json.loads((folder / "config.json").read_text())
    pickled = folder / "pytorch_model.bin"
    weights = torch.load(pickled) if pickled.exists() else load_file(folder / "model.safetensors")

    def run(dtype):
        model = SNAC(**config).eval().to(dtype)
        model.load_state_dict({k: v.to(dtype) for k, v in weights.items()}, strict=False)
        randn, out = torch.randn, {}
        for name in golden:
            if not name.startswith("samples_"):
                continue
            codes, calls = golden["codes"][: int(name[8:])].long(), iter(range(100))
            torch.randn = lambda shape, **kw: torch.from_numpy(
                block_noise(SNAC_SEED, next(calls), shape[-1]))[None, None].to(dtype)
            out[name] = model.decode([codes[:: s, q][None] for q, s in enumerate(model.vq_strides)])[0, 0]
            torch.randn = randn
        return out

    return both(run)


def orpheus(path):
    """Returns the logits of all steps at once, with the golden's own frames as history."""
    from transformers import LlamaConfig, LlamaForCausalLM
    golden, folder = load_file(path), path.parent / "checkpoint"
    weights, config = load_file(folder / "model.safetensors"), LlamaConfig.from_pretrained(folder)
    config._attn_implementation = "eager"
    latents, block = golden["frames"].long().view(-1, 4, 3), 64
    # The order in which the authors place the seven tokens of a frame.
    places = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 1), (2, 2), (3, 2)]
    steps = torch.stack([latents[:, t, q] + place * block for place, (t, q) in enumerate(places)], 1).flatten()
    rows = golden["logits"].shape[0]

    def run(dtype):
        model = LlamaForCausalLM(config).eval().to(dtype)
        model.load_state_dict({k: v.to(dtype) for k, v in weights.items()}, strict=False)
        first = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
        ids = {t["content"]: t["id"] for t in first}
        history = steps[: rows - 1] + ids["<custom_token_10>"]
        inputs = torch.cat([golden["prompt_ids"].long(), history])[None]
        logits = model(inputs).logits[0, -rows:]
        begin = ids["<custom_token_2>"]  # rows of the head from the end of speech on
        return {"logits": logits[:, begin : begin + golden["logits"].shape[1]]}

    return both(run)


FILES = [("qwen3_tts/golden/equal_width/codec.safetensors", qwen), ("qwen3_tts/golden/projected/codec.safetensors", qwen),
         ("mimi/golden/published_rates/decode.safetensors", mimi), ("mimi/golden/other_shapes/decode.safetensors", mimi),
         ("dac/golden/golden.safetensors", dac), ("snac/golden/narrow/golden.safetensors", snac),
         ("snac/golden/odd/golden.safetensors", snac), ("orpheus/golden/voice.safetensors", orpheus)]


def kept(tensor, golden, name):
    """Returns the tensor in the file's form: thinned if the file's tensor is thinned."""
    if "count." + name not in golden:
        return tensor
    edge, stride = thin.EDGE, thin.STRIDE
    return torch.cat([tensor[:edge], tensor[edge:-edge:stride], tensor[-edge:]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", help="the beginning of files")
    args = parser.parse_args()
    torch.set_num_threads(1)
    with seeded.restored(HERE) as whole:
        for file, original in FILES:
            if file.startswith(args.only):
                compare(HERE / file, original(whole / file), args.write)


def compare(path, numbers, write):
    golden, (single, double) = load_file(path), numbers
    apart = lambda a, b: float((a.double() - b.double()).abs().max())
    print(path, "float32 from float64:", max(apart(single[n], double[n]) for n in double),
          "golden from float64:", max(apart(golden[n], kept(double[n], golden, n)) for n in double),
          "largest:", max(float(double[n].abs().max()) for n in double), flush=True)
    if write:
        for name in double:
            golden[name] = kept(double[name], golden, name).to(torch.float32).contiguous()
        save_file(golden, path)


if __name__ == "__main__":
    main()
