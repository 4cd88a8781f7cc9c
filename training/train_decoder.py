"""Trains the decoder further on the frozen codes, half of them as the speech LM says them.

    python3 train_decoder.py CORPUS CODEC.pt LM.pt OUT.pt MINUTES [--resume]

The LM says each frame with the true past given, so that its codes belong to the true audio: the
decoder learns to make that audio of codes that are plausible and not exact.
"""
import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from codec import BOOKS, CODES
from corpus import Corpus
from infer import load_lm, pick
from train_codec import BATCH, FRAMES, WEIGHTS, Codec, decoder_losses, hide_ahead, save
from train_lm import Example, collate, make_batches

EMA = 0.998
TEMPERATURE = 0.5  # at which the LM speaks


@torch.no_grad()
def said_codes(corpus_dir, codes, lm_path, cache):
    """Codes [T, 3] of the whole corpus as the LM says them, from a file when made before."""
    if Path(cache).exists():
        return np.load(cache)
    model = load_lm(lm_path)
    metas = json.loads((Path(corpus_dir) / "utterances.json").read_text())
    examples = [Example(m, codes[m["start"] : m["start"] + m["frames"]]) for m in metas]
    rng, generator = np.random.default_rng(5), torch.Generator().manual_seed(5)
    said = codes.copy()
    for batch in make_batches(examples, rng):
        rows, symbols, _ = collate([examples[i] for i in batch], rng, False)
        logits = model(rows, symbols)
        for book in range(BOOKS):
            part = logits[..., book * CODES : (book + 1) * CODES].flatten(0, 1)
            picked = pick(part, TEMPERATURE, generator).view(rows.shape[:2]).numpy()
            for row, i in enumerate(batch):
                first, frames = metas[i]["start"], metas[i]["frames"]
                said[first : first + frames, book] = picked[row, book : book + frames]
    np.save(cache, said)
    return said


def learning_rate(part, step):
    return 1e-3 * min(1.0, (step + 1) / 100) * (0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * part)))


def batch_losses(decoder, quantiser, codes, said, corpus, rng):
    starts = rng.integers(0, corpus.frames - FRAMES, size=BATCH)
    wave, mel, pitch, phone = corpus.windows(starts, FRAMES)
    code = np.stack([(said if rng.random() < 0.5 else codes)[s : s + FRAMES]
                     for s in starts]).astype(np.int64)
    z, phone = hide_ahead(quantiser.decode(torch.tensor(code)), phone, rng)
    return decoder_losses(decoder, z, phone, wave, mel, pitch, rng.integers(0, 100000, BATCH))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("corpus")
    args.add_argument("codec")
    args.add_argument("lm")
    args.add_argument("out")
    args.add_argument("minutes", type=float)
    args.add_argument("--resume", action="store_true")
    args = args.parse_args()
    torch.manual_seed(3)
    corpus, model, smooth = Corpus(args.corpus), Codec(), Codec()
    codes = np.load(Path(args.corpus) / "codes.npy")
    said = said_codes(args.corpus, codes, args.lm, Path(args.corpus) / "said.npy")
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
        saved = torch.load(args.codec)["model"]
        model.load_state_dict(saved.get("mean", saved))
        smooth.load_state_dict(model.state_dict())
    rng = np.random.default_rng(3000 + step)
    begun, mean, budget = time.time() - spent, {}, args.minutes * 60
    both = nn.ModuleDict({"raw": model, "mean": smooth})
    while (spent := time.time() - begun) < budget:
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(spent / budget, step)
        losses = batch_losses(model.decoder, model.quantiser, codes, said, corpus, rng)
        optimiser.zero_grad(set_to_none=True)
        sum(WEIGHTS[k] * v for k, v in losses.items()).backward()
        nn.utils.clip_grad_norm_(model.decoder.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            for slow, fast in zip(smooth.decoder.parameters(), model.decoder.parameters()):
                slow.lerp_(fast, 1 - EMA)
        for k, v in losses.items():
            mean[k] = 0.98 * mean.get(k, float(v)) + 0.02 * float(v)
        step += 1
        if step % 50 == 0:
            shown = " ".join(f"{k} {v:.3f}" for k, v in mean.items())
            print(f"decoder step {step} {spent / 60:.1f}/{args.minutes:.0f} min "
                  f"(ETA {(budget - spent) / 60:.1f}) {shown}", flush=True)
        if step % 250 == 0:
            save(args.out, both, optimiser, step, spent)
    save(args.out, both, optimiser, step, budget)


if __name__ == "__main__":
    main()
