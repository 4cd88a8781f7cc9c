"""The codes that the speech LM would have said at each frame of the corpus, given the true ones
before: train_decoder.py learns from them what to make of the LM's slips.

    python3 said_codes.py CORPUS LM.pt OUT.npy [TEMPERATURE]
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch

from codec import BOOKS, CODES
from infer import load_lm, pick
from train_lm import Example, collate, make_batches


@torch.no_grad()
def main(corpus, lm_path, out, temperature=0.5):
    torch.set_num_threads(1)
    model, generator = load_lm(lm_path), torch.Generator().manual_seed(5)
    codes = np.load(Path(corpus) / "codes.npy")
    metas = json.loads((Path(corpus) / "utterances.json").read_text())
    examples = [Example(m, codes[m["start"] : m["start"] + m["frames"]]) for m in metas]
    said, rng = codes.copy(), np.random.default_rng(5)
    for batch in make_batches(examples, rng):
        inputs, _ = collate([examples[i] for i in batch], rng, False)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(*inputs).float()
        for row, i in enumerate(batch):
            first, frames = metas[i]["start"], metas[i]["frames"]
            for book in range(BOOKS):
                part = logits[row, book : book + frames, book * CODES : (book + 1) * CODES]
                said[first : first + frames, book] = pick(part, float(temperature), generator)
    np.save(out, said)
    print(f"{out}: as the corpus in {[round(float(s), 2) for s in (said == codes).mean(0)]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
