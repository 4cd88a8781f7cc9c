#!/usr/bin/env python3
"""Writes the results of the authors' package for recordings at other rates, with make_base_golden.py's Base checkpoint.

The environment is that of make_golden.py. The signal is sweep and speech of golden/base/recordings.safetensors, read as if at
RATES; golden/base/rates.safetensors gets the vector and the codes of each. Prints the smallest lead of the best code over the
next one. It must be far above the difference of two float32 programs.
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen2TokenizerFast
from transformers.models.mimi import modeling_mimi

from qwen_tts import Qwen3TTSModel
from qwen_tts.core.models import Qwen3TTSForConditionalGeneration, Qwen3TTSProcessor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

RATES = [8000, 16000, 44100, 48000]


def main():
    torch.set_num_threads(1)
    golden = pathlib.Path(__file__).parent / "golden/base"
    lead, quantize, out = [], modeling_mimi.MimiEuclideanCodebook.quantize, {}

    def watched(self, hidden):
        best = torch.cdist(hidden[None], self.embed[None])[0].topk(2, largest=False).values
        lead.append(float(((best[:, 1] - best[:, 0]) / best[:, 1]).min()))
        return quantize(self, hidden)

    modeling_mimi.MimiEuclideanCodebook.quantize = watched
    with seeded.restored(golden) as folder:
        checkpoint = str(folder / "checkpoint")
        model = Qwen3TTSForConditionalGeneration.from_pretrained(
            checkpoint, dtype=torch.float32, attn_implementation="eager").eval()
        model.speech_tokenizer.model.float().eval()
        tts = Qwen3TTSModel(model, Qwen3TTSProcessor(tokenizer=Qwen2TokenizerFast.from_pretrained(checkpoint)),
                            model.generate_config)
        recordings = load_file(folder / "recordings.safetensors")
        signal = torch.cat([recordings["sweep"], recordings["speech"]]).numpy()
        for rate in RATES:
            item = tts.create_voice_clone_prompt((signal, rate), ref_text="x")[0]
            out[f"{rate}_speaker"] = item.ref_spk_embedding.float()
            out[f"{rate}_codes"] = item.ref_code.int().contiguous()
            print(rate, "smallest lead", min(lead), tuple(item.ref_code.shape))
            lead.clear()
    save_file(out, golden / "rates.safetensors")


if __name__ == "__main__":
    main()
