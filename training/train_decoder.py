"""Trains the decoder further on the frozen codes, which the LM can learn from meanwhile.

    python3 train_decoder.py CORPUS CODEC.pt OUT.pt MINUTES [--said SAID.npy] [--resume]

--said: half of the examples take the codes that the speech LM would have said (said_codes.py).
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from corpus import Corpus
from train_codec import (BATCH, FRAMES, WEIGHTS, Codec, frame_losses, hide_ahead, save,
                         wave_loss)

EMA = 0.995


def learning_rate(part, step):
    cosine = 0.5 * (1 + np.cos(np.pi * part))
    return float(1e-3 * min(1.0, (step + 1) / 100) * (0.01 + 0.99 * cosine))


def batch_losses(decoder, quantiser, code_sets, corpus, rng):
    starts = rng.integers(0, corpus.frames - FRAMES, size=BATCH)
    wave, mel, pitch, phone, speaker = corpus.windows(starts, FRAMES)
    sets = rng.integers(0, len(code_sets), size=BATCH)
    code = np.stack([code_sets[n][s : s + FRAMES] for n, s in zip(sets, starts)]).astype(np.int64)
    z, phone = hide_ahead(quantiser.decode(torch.tensor(code)), phone, rng)
    hidden, losses = frame_losses(decoder, z, phone, mel, pitch, speaker)
    losses["stft"] = wave_loss(decoder, hidden, wave, pitch, rng.integers(0, 100000, BATCH))
    return losses


def main():
    args = argparse.ArgumentParser()
    args.add_argument("corpus")
    args.add_argument("codec")
    args.add_argument("out")
    args.add_argument("minutes", type=float)
    args.add_argument("--said")
    args.add_argument("--resume", action="store_true")
    args = args.parse_args()
    torch.manual_seed(3)
    torch.set_num_threads(1)
    corpus, model, smooth = Corpus(args.corpus), Codec(), Codec()
    code_sets = [np.load(Path(args.corpus) / "codes.npy")]
    if args.said:
        code_sets.append(np.load(args.said))
    optimiser = torch.optim.AdamW(model.decoder.parameters(), lr=1e-3, betas=(0.9, 0.98),
                                  weight_decay=0.01)
    step, spent = 0, 0.0
    if args.resume and Path(args.out).exists():
        saved = torch.load(args.out)
        model.load_state_dict(saved["model"]["raw"])
        smooth.load_state_dict(saved["model"]["mean"])
        optimiser.load_state_dict(saved["optimiser"])
        step, spent = saved["step"], saved["spent"]
    else:
        model.load_state_dict(torch.load(args.codec)["model"])
        smooth.load_state_dict(model.state_dict())
    rng = np.random.default_rng(3000 + step)
    begun, mean, budget = time.time() - spent, {}, args.minutes * 60
    both = nn.ModuleDict({"raw": model, "mean": smooth})
    while (spent := time.time() - begun) < budget:
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(spent / budget, step)
        losses = batch_losses(model.decoder, model.quantiser, code_sets, corpus, rng)
        optimiser.zero_grad(set_to_none=True)
        sum(WEIGHTS[k] * v for k, v in losses.items()).backward()
        nn.utils.clip_grad_norm_(model.decoder.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            keep = min(EMA, (step + 1) / (step + 10))
            for slow, fast in zip(smooth.decoder.parameters(), model.decoder.parameters()):
                slow.lerp_(fast, 1 - keep)
        for k, v in losses.items():
            mean[k] = 0.98 * mean.get(k, v.item()) + 0.02 * v.item()
        step += 1
        if step % 25 == 0:
            shown = " ".join(f"{k} {v:.3f}" for k, v in mean.items())
            print(f"decoder step {step} {spent / 60:.1f}/{args.minutes:.0f} min "
                  f"(ETA {(budget - spent) / 60:.1f}) {shown}", flush=True)
        if step % 150 == 0:
            save(args.out, both, optimiser, step, spent)
    save(args.out, both, optimiser, step, budget)


if __name__ == "__main__":
    main()
