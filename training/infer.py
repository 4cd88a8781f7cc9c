"""Speaks with the trained tensors in PyTorch: the reference that the C++ family must match."""
import torch
import torch.nn.functional as F

import codec
import lm
from train_codec import Codec


def pick(logits, temperature, generator):
    """logits [B, 256] -> codes [B]; greedy at temperature 0."""
    if temperature <= 0:
        return logits.argmax(-1)
    p = torch.softmax(logits / temperature, -1)
    return torch.multinomial(p, 1, generator=generator)[:, 0]


@torch.no_grad()
def speak_codes(model, texts, mix, speed=1.0, temperature=(0.5, 0.5, 0.5), seed=1, limit=700):
    """Codes [F, 3] for each text, and the pointer of each frame. All texts step together, with one
    mix [S] of speakers."""
    generator = torch.Generator().manual_seed(seed)
    count = len(texts)
    caches = [[] for _ in range(lm.LAYERS)]
    pointers = [lm.Pointer() for _ in texts]
    made = [[] for _ in texts]          # per step: the three codes said, still delayed
    paths = [[] for _ in texts]
    ends = [None] * count               # number of frames once the pointer has passed the end
    last = torch.full((count, codec.BOOKS), lm.NONE)
    mixes, speeds = mix.expand(count, -1), torch.full((count,), lm.heard_speed(model, mix, speed))
    for step in range(limit):
        rows = [text.at(p.at, p.age) for text, p in zip(texts, pointers)]
        logits = model(last[:, None], torch.tensor(rows)[:, None], mixes, speeds, caches,
                       step)[:, 0]
        codes = torch.stack([
            pick(logits[:, b * 256 : (b + 1) * 256], temperature[b], generator)
            for b in range(codec.BOOKS)], -1)
        for i, (text, pointer) in enumerate(zip(texts, pointers)):
            made[i].append(codes[i].tolist())
            for book in range(codec.BOOKS):
                out_of_range = book > step or (ends[i] is not None and step - book >= ends[i])
                last[i, book] = lm.NONE if out_of_range else codes[i, book]
            if ends[i] is None:
                paths[i].append(pointer.at)
                pointer.move(pointer.choose(logits[i, -lm.MOVES:]))
                if pointer.at >= text.size:
                    ends[i] = step + 1
            else:
                pointer.move(0)
        if all(e is not None and step + 1 >= e + lm.DRAIN for e in ends):
            break
    out = []
    for i, end in enumerate(ends):
        frames = end if end is not None else limit - lm.DRAIN
        out.append(torch.tensor([[made[i][f + b][b] for b in range(codec.BOOKS)]
                                 for f in range(frames)]))
    return out, paths, [e is not None for e in ends]


def symbols_of(text, path):
    """The decoder's symbols [F, 3] of a pointer path: spoken, before, after."""
    around = [0] + text.phone
    return torch.tensor([[around[p + 1], around[p], around[p + 2]] for p in path])


def load_codec(path):
    model = Codec()
    saved = torch.load(path)["model"]
    model.load_state_dict(saved.get("mean", saved))
    return model.eval()


def load_lm(path, which="mean"):
    model = lm.SpeechLm()
    model.load_state_dict(torch.load(path)["model"][which])
    return model.eval()
