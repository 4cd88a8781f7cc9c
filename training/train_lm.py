"""Trains the speech LM on the codes of the corpus.

    python3 train_lm.py CORPUS OUT.pt MINUTES [--start VOICE_DIR] [--rate R] [--resume]

--start begins with the speech LM of a finished voice whose codes have nearly the same meaning.
"""
import argparse
import copy
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import lm
from codec import BOOKS, CODES
from corpus import SPEAKERS, TEACHERS, VOICES
from train_codec import adamw, compiled, reduced, save
from voice_file import load_known, pace_of, read_safetensors

TOKENS, EMA = 1700, 0.9985
RISING = 4      # times that a sentence with a rising end is drawn: one of 13 sentences
BY_WORD = 0.33  # share of the utterances whose phrase classes are those of text that arrives word by word
HEAD_WEIGHTS = (1.0, 0.8, 0.6)
IGNORE = -100


class Example:
    """One utterance as rows: inputs codes_in [T, 3] and symbols [T, 7], targets [T, 4]. `near` [T]: its phrase
    classes for text that arrives word by word. `times`: how often it is drawn."""

    def __init__(self, meta, codes):
        frames = meta["frames"]
        self.speaker, self.speed = meta["speaker"], meta["speed"]
        text = lm.Text(meta["phone"], meta["phrase"], meta["place"])
        path = [0]
        for t in range(1, frames):
            path.append(min(max(meta["path"][t], path[-1]), path[-1] + lm.MOVES - 1))
        steps = frames + lm.DRAIN
        path += [text.size] * (steps - frames + 1)
        self.targets = np.full((steps, BOOKS + 1), IGNORE, dtype=np.int64)
        for book in range(BOOKS):
            self.targets[book : book + frames, book] = codes[:, book]
        moves = np.diff(np.array(path))[:frames]
        self.targets[:frames, BOOKS] = np.minimum(moves, lm.MOVES - 1)
        self.codes = np.full((steps, BOOKS), lm.NONE, dtype=np.int64)
        shifted = self.targets[:-1, :BOOKS]
        self.codes[1:] = np.where(shifted == IGNORE, lm.NONE, shifted)
        rows, age = [], 0
        for t in range(steps):
            age = age + 1 if t and path[t] == path[t - 1] else 0
            rows.append(text.at(path[t], age))
        self.symbols = np.array(rows, dtype=np.int64)
        self.times = RISING if meta["phrase"][-1] in lm.RISING_PHRASES else 1
        near = np.array(lm.near_phrases(meta["phrase"], meta["word"]) + [0], dtype=np.int64)
        self.near = near[np.minimum(path[:steps], text.size)]


def with_borrowed_rises(metas):
    """Returns the utterances. For each speaker in `rise_as` of speakers.json, whose teacher's questions fall, adds the
    rising questions of another speaker."""
    names = list(TEACHERS.values())
    lent = [(names.index(to), names.index(of)) for to, of in VOICES.get("rise_as", {}).items()]
    return metas + [{**m, "speaker": to} for to, of in lent for m in metas
                    if m["speaker"] == of and m["phrase"][-1] in lm.RISING_PHRASES]


def make_batches(examples, rng):
    """Returns lists of examples of similar length, about TOKENS rows each, in random order. Each example occurs
    as often as it is to be drawn."""
    order = sorted(np.repeat(range(len(examples)), [e.times for e in examples]),
                   key=lambda i: len(examples[i].codes) + rng.uniform(0, 6))
    batches, batch = [], []
    for i in order:
        longest = max([len(examples[j].codes) for j in batch] + [len(examples[i].codes)])
        if batch and longest * (len(batch) + 1) > TOKENS:
            batches.append(batch)
            batch = []
        batch.append(i)
    batches.append(batch)
    rng.shuffle(batches)
    return batches


def collate(examples, rng, corrupt):
    steps = max(len(e.codes) for e in examples)
    pad = lambda a, fill: np.pad(a, ((0, steps - len(a)), (0, 0)), constant_values=fill)
    codes = np.stack([pad(e.codes, lm.NONE) for e in examples])
    symbols = np.stack([pad(e.symbols, 0) for e in examples])
    targets = np.stack([pad(e.targets, IGNORE) for e in examples])
    if corrupt:
        rate = rng.uniform(0.0, 0.25, size=(len(examples), 1, 1))
        hit = (rng.random(codes.shape) < rate) & (codes != lm.NONE)
        codes = np.where(hit, rng.integers(0, CODES, size=codes.shape), codes)
        for row in np.flatnonzero(rng.random(len(examples)) < BY_WORD):
            near = examples[row].near
            symbols[row, : len(near), lm.WINDOW] = near
    speaker = F.one_hot(torch.tensor([e.speaker for e in examples]), SPEAKERS).float()
    speed = torch.tensor([e.speed for e in examples])
    return (torch.tensor(codes), torch.tensor(symbols), speaker, speed), torch.tensor(targets)


def losses(model, inputs, targets):
    with reduced():
        logits = model(*inputs).flatten(0, 1).float()
    targets = targets.flatten(0, 1)
    out = []
    for head in range(BOOKS + 1):
        part = logits[:, head * CODES : min((head + 1) * CODES, logits.shape[1])]
        out.append(F.cross_entropy(part, targets[:, head], ignore_index=IGNORE))
    return out


def learning_rate(part, step, most):
    decay = 1.0 if part < 0.4 else 0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * (part - 0.4) / 0.6))
    return float(most * min(1.0, (step + 1) / 200) * decay)


@torch.no_grad()
def validate(model, examples):
    model.eval()
    rng = np.random.default_rng(0)
    rows = [torch.stack(losses(model, *collate(examples[i : i + 8], rng, False)))
            for i in range(0, len(examples), 8)]
    model.train()
    return torch.stack(rows).mean(0).numpy().round(3)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("corpus")
    args.add_argument("out")
    args.add_argument("minutes", type=float)
    args.add_argument("--start")
    args.add_argument("--rate", type=float, default=2e-3, help="largest learning rate")
    args.add_argument("--resume", action="store_true")
    args = args.parse_args()
    torch.manual_seed(2)
    torch.set_num_threads(1)
    codes = np.load(Path(args.corpus) / "codes.npy")
    metas = with_borrowed_rises(json.loads((Path(args.corpus) / "utterances.json").read_text()))
    examples = [Example(m, codes[m["start"] : m["start"] + m["frames"]]) for m in metas]
    few = min(64, len(examples) // 10)
    held, examples = examples[:few], examples[few:]
    model, best, kept = lm.SpeechLm(), None, None
    if args.start:
        tensors = read_safetensors(Path(args.start) / "model.safetensors")
        load_known(model, "lm.", tensors, begins=True)
        if args.minutes == 0 or all(m["speed"] == 1 for m in metas):  # no new speeds are learned
            model.pace.copy_(pace_of(args.start, tensors))
        best, kept = validate(model, held), copy.deepcopy(model.state_dict())
        print("lm held-out at the start", best, flush=True)
    print(f"lm: {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, "
          f"{len(examples)} utterances", flush=True)
    optimiser = adamw(model.parameters(), 0.05)
    mean_model = lm.SpeechLm()
    mean_model.load_state_dict(model.state_dict())
    step, spent = 0, 0.0
    if args.resume and Path(args.out).exists():
        saved = torch.load(args.out)
        model.load_state_dict(saved["model"]["raw"])
        mean_model.load_state_dict(saved["model"]["mean"])
        optimiser.load_state_dict(saved["optimiser"])
        step, spent = saved["step"], saved["spent"]
    rng = np.random.default_rng(2000 + step)
    begun, shown, budget, batches = time.time() - spent, np.zeros(BOOKS + 1), args.minutes * 60, []
    run = compiled(model, dynamic=True)
    both = lambda: nn.ModuleDict({"raw": model, "mean": mean_model})
    while (spent := time.time() - begun) < budget:
        if not batches:
            batches = make_batches(examples, rng)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(spent / budget, step, args.rate)
        parts = losses(run, *collate([examples[i] for i in batches.pop()], rng, True))
        loss = sum(w * part for w, part in zip((*HEAD_WEIGHTS, 0.6), parts))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            keep = min(EMA, step / (step + 20))
            for mean, now in zip(mean_model.parameters(), model.parameters()):
                mean.lerp_(now, 1 - keep)
        values = np.array([p.item() for p in parts])
        shown = values if step == 0 else 0.98 * shown + 0.02 * values
        step += 1
        if step % 25 == 0:
            print(f"lm step {step} {spent / 60:.1f}/{args.minutes:.0f} min "
                  f"(ETA {(budget - spent) / 60:.1f}) books {shown[:3].round(3)} "
                  f"move {shown[3]:.3f}", flush=True)
        if step % (50 if args.minutes < 20 else 200) == 0:
            save(args.out, both(), optimiser, step, spent)
            found = validate(mean_model, held)
            print("lm held-out", found, flush=True)
            if args.start and found.sum() < best.sum():  # a small corpus is soon learned by heart
                best, kept = found, copy.deepcopy(mean_model.state_dict())
    if kept:
        mean_model.load_state_dict(kept)
    save(args.out, both(), optimiser, step, budget)
    print("lm held-out", validate(mean_model, held), flush=True)


if __name__ == "__main__":
    main()
