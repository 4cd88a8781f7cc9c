#!/usr/bin/env python3
"""The unified pipeline's table: tokens a second of 512 requests, and what classifier-free guidance costs.

A token is a step of the language model, which is a frame of 20 ms in OpusLM and Bagpiper.
"""
from measure import Measure, percent, show

PUBLISHED = "one H100, 512 requests: Bagpiper 5,695 tokens/s, OpusLM 4,583; 256 with guidance 3,961 of 4,952 (80 %)"
FRAMES_PER_S = 50


def main():
    measure = Measure(__doc__, "OpusLM or Bagpiper")
    if measure.how.profile:
        raise SystemExit("--profile has no costs of guidance")
    measure.title("Tokens a second with and without guidance", PUBLISHED)
    tokens = []
    for clients, guidance in ((512, "1"), (256, "1"), (256, "3")):
        options = ["--guidance", guidance]
        if not measure.has("--url"):
            options += ["--max-batch", str(max(2, measure.scaled(512))), "--max-requests", str(max(2, measure.scaled(512)))]
        [run] = measure.client_runs([clients], clients, policy="throughput", options=options)
        tokens.append(run["audio_s_per_s"] * FRAMES_PER_S)
    show(["", "tokens/s", "published"],
         [[f"{measure.scaled(512)} requests", f"{tokens[0]:.0f}", "5695 (Bagpiper), 4583 (OpusLM)"],
          [f"{measure.scaled(256)} requests", f"{tokens[1]:.0f}", "4952"],
          [f"{measure.scaled(256)} with guidance", f"{tokens[2]:.0f}", "3961"],
          ["with guidance / without", percent(tokens[2] / tokens[1]), "80 %"]])


main()
