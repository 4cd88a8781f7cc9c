#!/usr/bin/env python3
"""PredGen's table 1: what drafting an answer during the question saves, by rule of verification."""
import os

from measure import ROOT, Measure, ms, percent, show

# Rule: first sentence in ms, forwards until then, first audio in ms (MT-Bench, Qwen2.5-7B, A5000).
PUBLISHED = {"without": (992, 35.0, 1233), "greedy": (623, 24.4, 764), "top-3": (None, None, 612), "reflection": (None, None, 497)}


def ratio(before, now):
    return f"{before / now:.2f} x" if before and now else None


def main():
    measure = Measure(__doc__, "Qwen2.5-7B-Instruct with Zonos")
    if measure.how.profile:
        raise SystemExit("--profile has no costs of a text model; `syrinx bench --predict` takes --costs")
    questions = [] if measure.has("--text") or measure.has("--text-file") else [
        "--text-file", os.path.join(ROOT, "bench/questions.txt"), "--sample", str(measure.scaled(82))]
    model = [] if measure.has("--model") else ["--model", "wren"]
    measure.title("First sentence and first audio after the end of the question", "PredGen, MT-Bench; ratios to no prediction")
    runs = measure.json("bench", "--predict", *model, *questions, *measure.model_args)["runs"]
    base, rows = runs[0], []
    for run in runs:
        theirs = PUBLISHED.get(run["rule"], (None, None, None))
        rows.append([run["rule"], f"{run['forwards']['mean']:.1f}", theirs[1],
                     ms(run["sentence_ms"]["mean"] / 1000), ratio(base["sentence_ms"]["mean"], run["sentence_ms"]["mean"]),
                     ms(run["audio_ms"]["mean"] / 1000), ratio(base["audio_ms"]["mean"], run["audio_ms"]["mean"]),
                     ratio(PUBLISHED["without"][2], theirs[2]), percent(run["same"])])
    show(["rule", "forwards", "published", "first sentence", "ratio", "first audio", "ratio", "published ratio",
          "same answer"], rows)


main()
