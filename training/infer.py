"""Speaks with the trained tensors in PyTorch. The C++ family must produce the same speech."""
import torch
import torch.nn.functional as F

import codec
import lm
from train_codec import Codec


def pick(logits, temperature, generator):
    """Converts logits [B, 256] to codes [B]; selects the best code at temperature 0."""
    if temperature <= 0:
        return logits.argmax(-1)
    p = torch.softmax(logits / temperature, -1)
    return torch.multinomial(p, 1, generator=generator)[:, 0]


@torch.no_grad()
def speak_codes(model, texts, mix, speed=1.0, temperature=(0.5, 0.5, 0.5), seed=1, limit=700):
    """Returns the codes [F, 3] of each text, and the pointer of each frame. All texts step together, with one
    mix [S] of speakers."""
    generator = torch.Generator().manual_seed(seed)
    count = len(texts)
    caches = [[] for _ in range(lm.LAYERS)]
    pointers = [lm.Pointer() for _ in texts]
    made = [[] for _ in texts]          # per step: the three codes, still delayed
    paths = [[] for _ in texts]
    ends = [None] * count               # number of frames when the pointer has passed the end
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
    """Returns the decoder's symbols [F, 3] for a pointer path: the spoken symbol, the one before, the one
    after."""
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
