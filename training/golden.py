"""Writes the results that the C++ family must reproduce for a voice: greedy frames, first logits, samples.

    python3 golden.py VOICE_DIR SPOKEN_STEM OUT.safetensors

SPOKEN_STEM: synth's files for the golden sentence, whose symbols are those of the server's text front end. The
three cases are the default voice, another voice, and a mix at another speed.
"""
import sys

import numpy as np
import torch

import codec
import lm
from corpus import SPEAKERS, load_sentences
from infer import speak_codes, symbols_of
from voice_file import from_folder, write_safetensors

STEPS = 4
CASES = (({0: 1.0}, 1.0), ({1: 1.0}, 1.0), ({0: 0.25, 3: 0.75}, 1.3))  # mix of speakers, speed


@torch.no_grad()
def first_logits(speech_lm, text, mix, speed, codes, path):
    """Returns the logits [STEPS, heads] of the first steps for the given codes."""
    rows, said = [], []
    age = 0
    for step in range(STEPS):
        age = age + 1 if step and path[step] == path[step - 1] else 0
        rows.append(text.at(path[step], age))
        said.append([codes[step - 1 - b][b] if step - 1 - b >= 0 else lm.NONE
                     for b in range(codec.BOOKS)])
    return speech_lm(torch.tensor(said)[None], torch.tensor(rows)[None], mix[None],
                     torch.tensor([lm.heard_speed(speech_lm, mix, speed)]))[0]


def main(voice, spoken, out):
    speech_lm, decoder, books = from_folder(voice)
    record = load_sentences(spoken)[0][0]
    text = lm.Text(record["phone"], record["phrase"], record["place"])
    tensors = {}
    for case, (mix, speed) in enumerate(CASES):
        mix = torch.tensor([float(mix.get(s, 0)) for s in range(SPEAKERS)])
        codes, paths, ended = speak_codes(speech_lm, [text], mix, speed, (0.0,) * codec.BOOKS)
        codes, path = codes[0], paths[0]
        assert ended[0]
        symbols = symbols_of(text, path[: len(codes)])
        z = sum(books[b][codes[:, b]] for b in range(codec.BOOKS))
        samples = codec.decode(decoder, z, symbols, mix).numpy().clip(-1, 1)
        logits = first_logits(speech_lm, text, mix, speed, codes.tolist(), path).numpy()
        tensors[f"frames.{case}"] = torch.cat([codes, symbols], 1).numpy().astype(np.int32)
        tensors[f"logits.{case}"], tensors[f"{case}.samples"] = logits, samples
        print(f"{out}: case {case}: {len(codes)} frames of '{record['text']}'")
    write_safetensors(out, tensors, {"text": record["text"]})


if __name__ == "__main__":
    main(*sys.argv[1:4])
