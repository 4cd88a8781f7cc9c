#!/usr/bin/env python3
"""vLLM-Omni's table of clients, and SGLang-Omni's of requests a second, both for Qwen3-TTS 1.7B."""
from measure import Measure, ms, percent, show

# Clients: first packet in ms, seconds of audio a second.
PUBLISHED = {1: (71, None), 8: (269, None), 16: (451, None), 32: (637, None), 64: (1128, "42.9; one H200: 97.3")}
# Requests a second: first audio p50 and p95 in ms, share of requests with an underrun.
OPEN_LOOP = {1: "21 ms; p95 not stated", 20: "33 ms; 48 ms; 0 to 0.8 %"}


def main():
    measure = Measure(__doc__, "Qwen3-TTS 1.7B")
    measure.title("Clients, each with the next request after the answer",
                  "vLLM-Omni's blog of June 2026 (two H20, cloned voice); its request 7781 (one H200, 64 clients)")
    rows = []
    for clients, run in zip(PUBLISHED, measure.client_runs(PUBLISHED, 256)):
        first, audio = PUBLISHED[clients]
        rows.append([measure.load(run, "clients", clients), ms(run["first_audio_s"]["p50"]), f"{first} ms",
                     ms(run["total_s"]["mean"]), f"{run['audio_s_per_s']:.1f}", audio])
    show(["", "first audio p50", "published", "whole answer", "audio-s/s", "published"], rows)
    measure.title("Poisson arrivals", "SGLang-Omni's study of September 2026 (one H100, named voice)")
    rows = []
    for rate, run in zip(OPEN_LOOP, measure.rate_runs(OPEN_LOOP)):
        audio = run["first_audio_s"]
        rows.append([measure.load(run, "requests/s", rate), ms(audio["p50"]), ms(audio["p95"]),
                     run["requests"] and percent(1 - run["share_no_underrun"]), OPEN_LOOP[rate]])
    show(["", "first audio p50", "p95", "with an underrun", "published"], rows)


main()
