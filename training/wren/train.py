"""Trains wren on conversations that are generated during the training.

    train.py TOKENIZER OUT.pt MINUTES

Saves every minute, and continues from OUT.pt. Minutes are wall-clock minutes of all calls together. With more
minutes than before, training continues from a finished model: the rate rises again, and falls to zero at the
new end. Matrices learn by Muon (Jordan et al. 2024), all other tensors by Adam.
"""
import os
import random
import sys
import time

import conversation
import torch
from model import Wren
from tokenizers import Tokenizer

ROWS, LENGTH = 16, 128
ANSWERED = ROWS * LENGTH * 5 // 8  # limit of the positions of answers in a batch
RATE, TABLE_RATE = 0.012, 0.003


class Batches:
    def __init__(self, tokenizer, seed):
        self.tokenizer, self.rng = tokenizer, random.Random(seed)

    def row(self):
        ids, told = [], []
        for text, wrens in conversation.endless(self.rng):
            part = self.tokenizer.encode(text, add_special_tokens=False).ids
            ids += part
            told += [wrens] * len(part)
            if len(ids) > LENGTH:
                return ids[:LENGTH + 1], told[:LENGTH + 1]

    def take(self):
        rows = [self.row() for _ in range(ROWS)]
        ids = torch.tensor([row for row, _ in rows])
        told = torch.tensor([told for _, told in rows])
        places = told[:, 1:].flatten().nonzero()[:ANSWERED, 0]
        targets = ids[:, 1:].flatten()[places]
        missing = ANSWERED - len(places)
        return (ids[:, :-1].contiguous(), torch.nn.functional.pad(places, (0, missing)),
                torch.nn.functional.pad(targets, (0, missing), value=-100))


class Muon:
    """Makes steps along the nearest orthogonal matrix of the momentum; matrices of one shape are processed
    together."""

    def __init__(self, matrices):
        self.groups = {}
        for p in matrices:
            self.groups.setdefault(tuple(p.shape), []).append(p)
        self.momenta = {shape: torch.zeros(len(ps), *shape) for shape, ps in self.groups.items()}

    @torch.no_grad()
    def step(self, rate):
        for (rows, columns), ps in self.groups.items():
            gradient = torch.stack([p.grad for p in ps])
            momentum = self.momenta[rows, columns].mul_(0.95).add_(gradient)
            x = (gradient + 0.95 * momentum).bfloat16()
            if rows > columns:
                x = x.mT
            x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
            for _ in range(5):
                a = x @ x.mT
                x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
            x = (x.mT if rows > columns else x).float() * max(1, rows / columns) ** 0.5
            for p, change in zip(ps, x):
                p.mul_(1 - 0.02 * rate).sub_(change, alpha=rate)


def rate_at(done):
    return min(1, done / 0.01) * min(1, (1 - done) / 0.5)


def main(tokenizer_path, out, minutes):
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    model = Wren()
    matrices = model.matrices()
    known = {id(p) for p in matrices}
    muon = Muon(matrices)
    adam = torch.optim.AdamW([p for p in model.parameters() if id(p) not in known], betas=(0.9, 0.95),
                             weight_decay=0.0, fused=True)
    spent, step = 0.0, 0
    if os.path.exists(out):
        state = torch.load(out)
        model.load_state_dict(state["model"])
        adam.load_state_dict(state["adam"])
        muon.momenta = state["momenta"]
        spent, step = state["spent"], state["step"]
    batches = Batches(Tokenizer.from_file(tokenizer_path), step)
    loss_of = torch.compile(model.loss) if os.environ.get("COMPILE", "0") == "1" else model.loss

    def save():
        torch.save({"model": model.state_dict(), "adam": adam.state_dict(), "momenta": muon.momenta,
                    "spent": spent, "step": step}, out + ".new")
        os.replace(out + ".new", out)

    saved = told = time.monotonic()
    mean, began = None, time.monotonic() - spent
    budget = 60 * minutes
    while spent < budget:
        rate = rate_at(spent / budget)
        ids, places, targets = batches.take()
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(ids, places, targets)
        loss.backward()
        muon.step(RATE * rate)
        for group in adam.param_groups:
            group["lr"] = TABLE_RATE * rate
        adam.step()
        model.zero_grad()
        step += 1
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        spent = time.monotonic() - began
        if time.monotonic() - told > 15:
            told = time.monotonic()
            print(f"{time.strftime('%T')} step {step} loss {mean:.4f} spent {spent / 60:.1f} of {minutes} min",
                  flush=True)
        if time.monotonic() - saved > 60:
            saved = time.monotonic()
            save()
    save()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
