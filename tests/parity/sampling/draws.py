"""Generates logits and histories for these scripts, and catches the inputs of generate()'s draw."""
import importlib.util
import pathlib

import numpy as np
import torch

PARITY = pathlib.Path(__file__).resolve().parent.parent


def mixed(x):
    """Returns a bijection of 32-bit numbers that looks random (the last step of Murmur 3)."""
    x = x.astype(np.uint64)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ((x ^ (x >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return x ^ (x >> np.uint64(16))


def logits(case, count):
    """Returns bell-shaped logits with a deviation of 0.58 * spread, computed exactly in float64 and rounded once."""
    ids = np.arange(count, dtype=np.uint64)
    total = sum(mixed(ids * np.uint64(4) + np.uint64(i + case["seed"] * 1_000_003)) >> np.uint64(16) for i in range(4))
    x = (total.astype(np.float64) / 65536.0 - 2.0) * case["spread"]
    return torch.from_numpy(x.astype(np.float32))


def history(count, codes, books, seed):
    """Returns codes [count][books], with repetitions."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, max(2, codes // 3), (count, books)).tolist()


def softmax(scores):
    return scores.double().softmax(-1)


# Settings of transformers' processors, which include all settings of the other programs.
PLAIN = [
    dict(),
    dict(temperature=0.7),
    dict(top_k=5),
    dict(temperature=1.3, top_k=20, repetition_penalty=1.5),
    dict(top_p=0.5, top_k=0),
    dict(temperature=0.8, top_k=30, top_p=0.9, repetition_penalty=1.05),
    dict(min_p=0.2, top_k=0),
    dict(temperature=0.9, top_k=12, top_p=0.8, min_p=0.05, repetition_penalty=1.3),
    dict(top_k=1),
    dict(top_p=0.01),
]


class Caught:
    """Collects the lists of processors that a run of generate() uses, in the order of their first calls."""

    def __enter__(self):
        from transformers import LogitsProcessorList
        self.lists, self.kind, self.call = [], LogitsProcessorList, LogitsProcessorList.__call__

        def call(processors, input_ids, scores, **kwargs):
            if not any(processors is p for p, _ in self.lists):
                self.lists.append((processors, scores.shape[-1]))
            return self.call(processors, input_ids, scores, **kwargs)

        self.kind.__call__ = call
        return self

    def __exit__(self, *_):
        self.kind.__call__ = self.call


def module_of(folder):
    spec = importlib.util.spec_from_file_location(folder + "_golden", PARITY / folder / "make_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
