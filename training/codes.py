"""Writes codes.npy, the codes [T, 3] of a whole corpus. The speech LM and the decoder learn from them.

    python3 codes.py CORPUS CODEC.pt
"""
import sys
from pathlib import Path

import numpy as np
import torch

from corpus import Corpus
from infer import load_codec

STEP, MARGIN = 2000, 16  # frames coded at once, and further frames read at both ends


@torch.no_grad()
def write(corpus_dir, codec_path):
    corpus, model, out = Corpus(corpus_dir), load_codec(codec_path), []
    for at in range(0, corpus.frames, STEP):
        first, last = max(0, at - MARGIN), min(corpus.frames, at + STEP + MARGIN)
        mel = torch.tensor(np.array(corpus.heard_mel[first * 4 : last * 4], dtype=np.float32))[None]
        pitch = torch.tensor(np.array(corpus.heard_pitch[first * 4 : last * 4],
                                      dtype=np.float32))[None]
        speaker = torch.tensor(np.array(corpus.speaker[first:last])).long()[None]
        phone = torch.tensor(np.array(corpus.phone[first:last])).long()[None]
        codes = model.quantiser.encode(model.encoder(mel, pitch, speaker, phone))[0]
        out.append(codes[at - first : at - first + STEP].numpy().astype(np.int16))
    np.save(Path(corpus_dir) / "codes.npy", np.concatenate(out)[: corpus.frames])


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2])
