#!/usr/bin/env python3
"""vLLM-Omni's table of stages that pass chunks on at once (async chunk), for Qwen3-Omni.

Syrinx always passes chunks on. What the stages would take one after another is predicted, with --profile.
"""
from measure import Measure, ms, show

# Clients: first packet in ms without and with chunks, whole answer in ms without and with chunks.
PUBLISHED = {1: (6459, 523, 6582, 6180), 4: (7285, 786, 7399, 7693), 10: (13410, 1629, 13523, 11153)}


def main():
    measure = Measure(__doc__, "Qwen3-Omni-30B-A3B")
    measure.title("Chunks passed on at once, or stages one after another", "vLLM-Omni's async_chunk page (H800)")
    together = measure.client_runs(PUBLISHED, 40)
    apart = measure.client_runs(PUBLISHED, 40, simulated=["--whole"]) if measure.how.profile else [None] * len(PUBLISHED)
    rows = []
    for (clients, (first_off, first_on, total_off, total_on)), on, off in zip(PUBLISHED.items(), together, apart):
        clients = measure.load(on, "clients", clients)
        for name, run, first, total in (("at once", on, first_on, total_on), ("one after another", off, first_off, total_off)):
            rows.append([f"{clients}, {name}", run and ms(run["first_audio_s"]["mean"]), f"{first} ms",
                         run and ms(run["total_s"]["mean"]), f"{total} ms"])
    show(["", "first audio", "published", "whole answer", "published"], rows)


main()
