"""Trains the decoder further on the constant codes. The LM can learn from the same codes at the same time.

    python3 train_decoder.py CORPUS CODEC.pt OUT.pt MINUTES [--steps N] [--rate R] [--resume]

--steps: a number of steps in place of minutes, for a busy machine.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from clear import Clear
from corpus import Corpus
from train_codec import (BATCH, FRAMES, WEIGHTS, Codec, adamw, compiled, frame_losses, hide_ahead, save,
                         wave_loss)

EMA = 0.995


def learning_rate(part, step, most):
    cosine = 0.5 * (1 + np.cos(np.pi * part))
    return float(most * min(1.0, (step + 1) / 100) * (0.01 + 0.99 * cosine))


@torch.no_grad()
def move_mean(smooth, decoder, step):
    """Updates the mean of the decoder's weights over the last steps."""
    keep = min(EMA, (step + 1) / (step + 10))
    for slow, fast in zip(smooth.parameters(), decoder.parameters()):
        slow.lerp_(fast, 1 - keep)


def batch_losses(decoder, quantiser, codes, corpus, clear, rng):
    starts = corpus.starts(rng, BATCH, FRAMES)
    wave, mel, pitch, phone, speaker = corpus.windows(starts, FRAMES)
    code = np.stack([codes[s : s + FRAMES] for s in starts]).astype(np.int64)
    z, phone = hide_ahead(quantiser.decode(torch.tensor(code)), phone, rng)
    hidden, losses = frame_losses(decoder, z, phone, mel, pitch, speaker)
    del losses["mel"]  # only the codes need it; an exported voice lacks this layer
    return {**losses, **wave_loss(decoder, hidden, wave, pitch, phone, speaker, clear, rng)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("corpus")
    args.add_argument("codec")
    args.add_argument("out")
    args.add_argument("minutes", type=float)
    args.add_argument("--steps", type=int)
    args.add_argument("--rate", type=float, default=4e-4, help="largest learning rate")
    args.add_argument("--resume", action="store_true")
    args = args.parse_args()
    torch.manual_seed(3)
    torch.set_num_threads(1)
    corpus, model, smooth = Corpus(args.corpus), Codec(), Codec()
    codes = np.load(Path(args.corpus) / "codes.npy")
    clear = Clear(corpus, np.random.default_rng(3))
    optimiser = adamw(model.decoder.parameters(), 0.01)
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
    model.decoder.trunk = compiled(model.decoder.trunk)
    rng = np.random.default_rng(3000 + step)
    begun, mean, budget = time.time() - spent, {}, args.minutes * 60
    both = nn.ModuleDict({"raw": model, "mean": smooth})
    done = lambda: step / args.steps if args.steps else (time.time() - begun) / budget
    while (part := done()) < 1:
        spent = time.time() - begun
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(part, step, args.rate)
        losses = batch_losses(model.decoder, model.quantiser, codes, corpus, clear, rng)
        optimiser.zero_grad(set_to_none=True)
        sum(WEIGHTS[k] * v for k, v in losses.items()).backward()
        nn.utils.clip_grad_norm_(model.decoder.parameters(), 1.0)
        optimiser.step()
        move_mean(smooth.decoder, model.decoder, step)
        for k, v in losses.items():
            mean[k] = 0.98 * mean.get(k, v.item()) + 0.02 * v.item()
        step += 1
        if step % 25 == 0:
            shown = " ".join(f"{k} {v:.3f}" for k, v in mean.items())
            print(f"decoder step {step} {spent / 60:.1f} min "
                  f"(ETA {spent / 60 * (1 / max(part, 1e-3) - 1):.1f}) {shown}", flush=True)
        if step % 150 == 0:
            save(args.out, both, optimiser, step, spent)
    save(args.out, both, optimiser, step, time.time() - begun)


if __name__ == "__main__":
    main()
