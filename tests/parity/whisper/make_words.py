#!/usr/bin/env python3
"""Writes the times of words: the results of the authors' code with the checkpoints that make_golden.py wrote.

  make_words.py       writes small/golden/words.json and large/golden/words.json

torch 2.9.1, transformers 4.57.3, openai-whisper 20250625, on the CPU in f32, one thread. In `alignments`, find_alignment() aligns
each text with a window, with the authors' default heads and with chosen ones (`heads`, as generation_config.json has them);
`whole` has recordings by transcribe(word_timestamps=True). Draws are those of make_golden.py. The weights of attention are
compared with those of transformers here, and so are its median filter and its path. If small differences of arithmetic would
change a path, the script stops with an error.
"""
import json

import numpy as np
import torch
import whisper
import whisper.timing
import whisper.tokenizer
from make_golden import HERE, SHAPES, WATCH, Draws, authors_of, encoding_of, signal
from tokenizers import Tokenizer
from transformers import WhisperForConditionalGeneration
from transformers.models.whisper.generation_whisper import _dynamic_time_warping, _median_filter
from whisper.audio import log_mel_spectrogram, pad_or_trim

torch.set_num_threads(1)
NOISE, TRIES = 2e-5, 4
HEADS = {"small": [[1, 1], [0, 0], [1, 0]], "large": [[0, 0]]}
COLUMNS = 211  # every 211th column of the matrix is kept
dtw = whisper.timing.dtw
SEEN = {}


def steady_dtw(x):
    """Returns the authors' path, after checks that noise does not change it and that transformers gives the same path."""
    text, time = dtw(x)
    matrix = x.double().numpy()
    for attempt in range(TRIES):
        noise = np.random.default_rng(attempt).normal(size=matrix.shape) * NOISE
        again = whisper.timing.dtw_cpu(matrix + noise)
        if not np.array_equal(again[0], text) or not np.array_equal(again[1], time):
            SEEN["unsteady"] = True
    theirs = _dynamic_time_warping(matrix)
    assert np.array_equal(theirs[0], text) and np.array_equal(theirs[1], time)
    SEEN["matrix"] = -x
    begins = time[np.pad(np.diff(text), (1, 0), constant_values=1).astype(bool)]
    SEEN["begins"] = begins.tolist()
    return text, time


whisper.timing.dtw = steady_dtw


def set_heads(model, heads):
    mask = torch.zeros(model.dims.n_text_layer, model.dims.n_text_head, dtype=torch.bool)
    for layer, head in heads:
        mask[layer, head] = True
    model.register_buffer("alignment_heads", mask.to_sparse(), persistent=False)


def check_transformers(hf, tokenizer, mel, text, heads):
    """Checks the authors' matrix of a whole window against the weights that transformers returns."""
    ids = torch.tensor([[*tokenizer.sot_sequence, tokenizer.no_timestamps, *text, tokenizer.eot]])
    across = hf(input_features=mel[None], decoder_input_ids=ids, output_attentions=True).cross_attentions
    weights = torch.stack([across[layer][0, head] for layer, head in sorted(map(tuple, heads))])
    std, mean = torch.std_mean(weights, dim=-2, keepdim=True, unbiased=False)
    matrix = _median_filter((weights - mean) / std, 7).mean(axis=0)[len(tokenizer.sot_sequence):-1]
    difference = (matrix - SEEN["matrix"]).abs().max() / SEEN["matrix"].abs().max()
    assert difference < 1e-3, difference
    return float(difference)


def alignments(name, model, hf, recording, cases):
    mel = log_mel_spectrogram(recording, model.dims.n_mels, padding=480000)
    content, out = mel.shape[-1] - 3000, []
    default = model.alignment_heads.indices().T.tolist()
    for first, frames, language, task, heads, text in cases:
        part = pad_or_trim(mel[:, first:first + frames], 3000)
        assert frames <= content - first
        tokenizer = whisper.tokenizer.get_tokenizer(True, num_languages=model.num_languages, language=language, task=task)
        SEEN.clear()
        set_heads(model, heads or default)
        words = whisper.timing.find_alignment(model, tokenizer, text, part, frames)
        set_heads(model, default)
        assert not SEEN.get("unsteady"), (name, first, "the path is not steady")
        off = check_transformers(hf, tokenizer, part, text, heads or default) if frames == 3000 else None
        whisper.timing.merge_punctuations(merged := [whisper.timing.WordTiming(**vars(w)) for w in words],
                                          "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、")
        out.append({"first": first, "frames": frames, "language": language, "task": task, "heads": heads, "text": text,
                    "begins": SEEN["begins"], "weights": [[round(float(v), 4) for v in row[::COLUMNS]] for row in SEEN["matrix"]],
                    "words": [[w.word, len(w.tokens), round(w.start, 2), round(w.end, 2), round(w.probability, 6)] for w in words],
                    "merged": [w.word for w in merged]})
        print(name, "alignment", first, frames, language, len(text), "ids,", len(words), "words, transformers differs by", off)
    return out


def whole(name, model, recording, options):
    mel = log_mel_spectrogram(torch.from_numpy(recording), model.dims.n_mels, padding=480000)
    content, starts, decode = mel.shape[-1] - 3000, {}, whisper.model.Whisper.decode

    def run(part, given):
        for first in range(content):
            frames = min(3000, content - first)
            if torch.equal(mel[:, first], part[:, 0]) and torch.equal(mel[:, first:first + frames], part[:, :frames]):
                break
        starts[first] = starts.get(first, -1) + 1
        Draws.seed = (first << 8) + starts[first]
        return decode(model, part, given)
    before = len(WATCH.windows)
    SEEN.clear()
    model.decode = run
    result = whisper.transcribe(model, recording, fp16=False, verbose=None, word_timestamps=True, **options)
    del model.decode
    assert not SEEN.get("unsteady"), (name, options, "the path is not steady")
    for segment in result["segments"]:
        for key in ("id", "seek", "avg_logprob", "compression_ratio", "no_speech_prob", "temperature"):
            del segment[key]
        segment["start"], segment["end"] = round(segment["start"], 3), round(segment["end"], 3)
        segment["words"] = [[w["word"].strip(), round(w["start"], 3), round(w["end"], 3), round(w["probability"], 6)]
                            for w in segment["words"]]
    print(name, "whole", options, len(result["segments"]), "segments,", len(WATCH.windows) - before, "windows,",
          sum(len(s["words"]) for s in result["segments"]), "words,", repr(result["text"][:60]))
    return {"options": options, "windows": len(WATCH.windows) - before, **result}


@torch.no_grad()
def main():
    recordings = [dict(seconds=31.7, seed=7, swell=5), dict(seconds=20.5, seed=9, swell=3)]
    samples = [signal(**r) for r in recordings]
    for name, shape in SHAPES.items():
        at = HERE / name
        tok = Tokenizer.from_file(str(at / "tokenizer.json"))
        encoding = encoding_of(tok, shape["languages"])
        whisper.tokenizer.get_encoding = lambda name=None, num_languages=0: encoding
        whisper.tokenizer.get_tokenizer.cache_clear()
        hf = WhisperForConditionalGeneration.from_pretrained(at, attn_implementation="eager", dtype=torch.float32).eval()
        model = authors_of(hf, shape)
        text = tok.encode(" (The lazy dog), and \"nobody\" knows - why. Ein kleiner Vogel während!").ids
        chosen = [(0, 3000, "en", "transcribe", None, text), (50, 3000, "de", "translate", HEADS[name], text[4:20]),
                  (1200, 905, "zh", "transcribe", None, tok.encode("für ä 10:45.").ids),
                  (3161, 9, "en", "transcribe", None, text[:3]), (3165, 5, "en", "transcribe", None, text[:2])]
        cases = {"recordings": recordings, "columns": COLUMNS,
                 "alignments": alignments(name, model, hf, torch.from_numpy(samples[0]), chosen),
                 "whole": [{"recording": r, **whole(name, model, samples[r], options)} for r, options in
                           [(0, dict(language="en", temperature=0.0)),
                            (1, dict(language="zh", temperature=(0.0, 0.6), logprob_threshold=-1.6)),
                            (0, dict(language="zh", task="translate", temperature=0.0, initial_prompt="The lazy dog."))]]}
        (at / "golden" / "words.json").write_text(json.dumps(cases, separators=(",", ":"), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
