"""Measures a voice in PyTorch against its teacher on sentences that it never heard.

    python3 evaluate.py VOICE_DIR SPOKEN_STEM [--stop STOP_STEM] [--temperature T] [--wav OUT.wav]

SPOKEN_STEM names the two files that synth wrote for the held-out sentences; STOP_STEM the same for
200 sentences whose ends are counted. training/evaluate_server.py does this with the real program.
"""
import argparse
from pathlib import Path

import numpy as np
import torch

import codec
import hear
import lm
from corpus import log_mel, load_sentences
from export import from_tensors, read_safetensors
from infer import speak_codes, symbols_of


def speak(voice, records, temperature, seed=1):
    """-> (samples per sentence, pointer paths, which ended)."""
    speech_lm, decoder, books = voice
    texts = [lm.Text(r["phone"], r["phrase"], r["place"]) for r in records]
    codes, paths, ended = speak_codes(speech_lm, texts, (temperature,) * codec.BOOKS, seed)
    waves = []
    for text, code, path in zip(texts, codes, paths):
        z = sum(books[b][code[:, b]] for b in range(codec.BOOKS))
        waves.append(codec.decode(decoder, z, symbols_of(text, path[: len(code)])).numpy())
    return waves, paths, ended


def main():
    args = argparse.ArgumentParser()
    args.add_argument("voice")
    args.add_argument("spoken")
    args.add_argument("--stop")
    args.add_argument("--temperature", type=float, default=0.5)
    args.add_argument("--wav")
    args.add_argument("--show", action="store_true")
    args = args.parse_args()
    torch.set_num_threads(1)
    voice = from_tensors(read_safetensors(Path(args.voice) / "model.safetensors"))
    records, pcm = load_sentences(args.spoken)
    texts = [r["text"] for r in records]
    teacher = [pcm[r["offset"] : r["offset"] + r["samples"]] / 32768.0 for r in records]
    made, _, ended = speak(voice, records, args.temperature)
    ratio = np.array([len(m) / len(t) for m, t in zip(made, teacher)])
    print(f"ended {sum(ended)}/{len(ended)}, duration {ratio.mean():.3f} +- {ratio.std():.3f} "
          f"of the teacher's (least {ratio.min():.2f}, most {ratio.max():.2f})")
    if args.wav:
        hear.write_wav(args.wav, np.concatenate(made))
    for name, waves in (("teacher", teacher), ("finch", made)):
        rate, exact = hear.word_error_rate(texts, waves, args.show)
        print(f"{name}: word error rate {100 * rate:.1f} %, heard exactly {exact}/{len(texts)}")
    if args.stop:
        records, _ = load_sentences(args.stop)
        made, _, ended = speak(voice, records, args.temperature)
        ratio = [len(m) / r["samples"] for m, r in zip(made, records)]
        print(f"stop: {sum(ended)}/{len(ended)} ended, longest {max(ratio):.2f} x the teacher")


if __name__ == "__main__":
    main()
