#!/usr/bin/env python3
"""VoxServe's figures 6 to 9 (arXiv 2602.00269): Poisson arrivals for 60 s, scheduling on and off, replicas, throughput."""
from measure import Measure, ms, percent, show

PUBLISHED = "one H100, CosyVoice2: first audio p90 of 500 ms at 4 requests/s, with 4 replicas at 16; offline 134 times real time"
RATES = [1, 2, 4, 8, 16]


def rate_row(label, run, theirs=None):
    audio = run["first_audio_s"]
    if run["requests"] == 0:
        return [label, *[None] * 5, theirs]
    return [label, ms(audio["p90"]), ms(audio["p99"]), percent(run["share_viable_chunks"]),
            percent(run["share_no_underrun"]), run["failed"], theirs]


def main():
    measure = Measure(__doc__, "CosyVoice2")
    columns = ["", "first audio p90", "p99", "chunks in time", "no underrun", "failed", "published p90"]
    at = {4: "500 ms"}
    measure.title("Figure 6: first audio and continuity by requests a second", PUBLISHED)
    streaming = measure.rate_runs(RATES)
    show(columns, [rate_row(measure.load(run, "requests/s", rate), run, at.get(rate)) for rate, run in zip(RATES, streaming)])
    if not measure.has("--url"):
        measure.title("Figure 7: scheduling by playback deadlines, and in order of arrival", PUBLISHED)
        arrival = measure.rate_runs(RATES, policy="fcfs")
        show(columns, [rate_row(f"{measure.load(run, 'requests/s', rate)}, {name}", run)
                       for rate, *pair in zip(RATES, streaming, arrival)
                       for name, run in zip(("deadlines", "arrival"), pair)])
    measure.title("Figure 8: replicas", PUBLISHED)
    if measure.how.profile:
        rows = []
        for replicas in (1, 2, 4):
            [run] = measure.rate_runs([4 * replicas], simulated=["--replicas", str(replicas)])
            rows.append(rate_row(f"{replicas} replicas, {measure.load(run, 'requests/s', 4 * replicas)}", run,
                                 {1: "500 ms", 4: "500 ms"}.get(replicas)))
        show(columns, rows)
    else:
        print("Needs --profile, or --url of a balancer in front of the replicas: figure 6 then has their figures.")
    measure.title("Figure 9: throughput of 1,000 requests", PUBLISHED)
    [run] = measure.client_runs([64], 1000, policy="throughput")
    show(["requests", "audio-s/s", "published"], [[run["requests"], f"{run['audio_s_per_s']:.1f}", "134"]])


main()
