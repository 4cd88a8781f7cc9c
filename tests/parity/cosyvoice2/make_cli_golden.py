#!/usr/bin/env python3
"""Writes the results of the authors' own path from a text to samples, cli/model.py, with make_golden.py's checkpoint.

    VENV/bin/python make_cli_golden.py --cosyvoice CosyVoice --matcha Matcha-TTS

The environment is that of make_golden.py. CosyVoice2Model.tts runs unchanged, offline (`stream=False`, so the flow attends to
everything), with its own limits of length. Only the draw is replaced by the largest logit, and the vocoder is in float64 with
Syrinx's noise. golden/cli.safetensors gets `NAME.samples` of each of CASES; long ones are thinned (thin.py).
"""
import argparse
import json
import pathlib
import sys
import types

import diffusers.models.attention_processor  # noqa: F401: before other modules are replaced
import numpy as np
import torch
from safetensors.torch import save_file

import make_golden as base

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import originals  # noqa: E402
import seeded  # noqa: E402
import thin  # noqa: E402

CASES = ["ends", "speaker"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cosyvoice", required=True)
    parser.add_argument("--matcha", required=True)
    args = parser.parse_args()
    sys.path[:0] = [args.cosyvoice, args.matcha]
    base.stub("matcha.utils.pylogger", get_pylogger=lambda name: None)
    base.stub("matcha.utils")
    sys.modules["matcha.utils"].__path__ = []
    torch.set_num_threads(1)
    golden = pathlib.Path(__file__).parent / "golden"
    with seeded.restored(golden) as folder:
        speaks = originals.CosyVoice2(folder, torch.float32, args.cosyvoice)
        checkpoint = folder / "checkpoint"
        encoder = types.ModuleType("given")
        encoder.Qwen2Encoder = lambda path: speaks.llm.llm
        import cosyvoice.llm.llm as module
        module.Qwen2Encoder = encoder.Qwen2Encoder
        _, flow, hift = base.build_models(checkpoint)
        noise = flow.decoder.rand_noise
        flow.load_state_dict(torch.load(checkpoint / "flow.pt"))
        flow.decoder.rand_noise = noise
        hift.load_state_dict({k.removeprefix("generator."): v for k, v in torch.load(checkpoint / "hift.pt").items()})
        from cosyvoice.cli.frontend import CosyVoiceFrontEnd
        from cosyvoice.cli.model import CosyVoice2Model
        from cosyvoice.tokenizer.tokenizer import get_qwen_tokenizer
        frontend = CosyVoiceFrontEnd.__new__(CosyVoiceFrontEnd)
        frontend.tokenizer = get_qwen_tokenizer(str(checkpoint / "CosyVoice-BlankEN"), skip_special_tokens=True)
        frontend.device, frontend.allowed_special, frontend.text_frontend = torch.device("cpu"), "all", ""
        frontend.inflect_parser = types.SimpleNamespace(number_to_words=lambda digits: digits)
        frontend.spk2info = speaks.voices
        cases = {c["name"]: c for c in json.loads((golden / "cases.json").read_text())}
    hift.double()
    hift.stft_window = hift.stft_window.double()
    inference = hift.inference

    def vocoder(speech_feat, cache_source):
        frames = speech_feat.shape[2]
        normals = np.concatenate([base.philox_normals(7, t, 0x53330002, 480) for t in range(frames)])
        weight = hift.m_source.l_linear.weight[0].detach()
        wanted = (torch.from_numpy(normals)[:, None] * weight / weight.norm())[None]
        saved = torch.randn_like
        torch.randn_like = lambda x: wanted if x.shape == wanted.shape else torch.zeros_like(x)
        made = inference(speech_feat=speech_feat.double(), cache_source=cache_source.double())
        torch.randn_like = saved
        return made

    hift.inference = vocoder
    model, out = CosyVoice2Model(speaks.llm, flow, hift), {}
    for name in CASES:
        case = cases[name]
        part, = frontend.text_normalize(case["text"])
        inputs = (frontend.frontend_sft(part, case["voice"]) if "embedding" in frontend.spk2info[case["voice"]] else
                  frontend.frontend_zero_shot(part, "", None, 24000, case["voice"]))
        with torch.inference_mode():
            made, = model.tts(**inputs, stream=False)
        out[f"{name}.samples"] = made["tts_speech"][0].float()
        print(name, out[f"{name}.samples"].numel() // 960, "tokens, margin", speaks.margin, "peak",
              float(out[f"{name}.samples"].abs().max()))
    save_file(out, golden / "cli.safetensors")
    thin.thin(golden / "cli.safetensors")


if __name__ == "__main__":
    main()
