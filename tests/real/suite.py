#!/usr/bin/env python3
"""`./check real`: runs trained weights in Syrinx and in their authors' code, compares them and writes docs/real.md.

    VENV/bin/python tests/real/suite.py --syrinx build/release/syrinx --scores build/release/text_scores [PART...]

Parts: tiny.en, base, voices, qwen; all by default. Results of a part are kept in the cache, and the page is made from all
of these. Prints 'N passed, N failed, N skipped' at the end.
"""
import argparse
import datetime
import json
import os
import sys
import time

import fetch
import page

PARTS = ("tiny.en", "base", "voices", "qwen")


def say(line):
    print(f"  {time.strftime('%H:%M:%S')} {line}", flush=True)


def run(part, arguments):
    """Runs a part. Returns its results and its faults."""
    if part == "qwen":
        import llm
        result = llm.run(arguments.syrinx, arguments.scores, arguments.threads, say)
        return result, llm.faults(result)
    if part == "voices":
        import voices
        result = voices.run(arguments.syrinx, say)
        return result, voices.faults(result)
    import recordings
    import whisper
    result = whisper.run(arguments.syrinx, part, recordings.all_recordings(), arguments.threads, say)
    return result, whisper.faults(result)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--syrinx", required=True)
    parser.add_argument("--scores", required=True)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    arguments = parser.parse_args()
    groups = ("recordings", "whisper-tiny.en", "whisper-base", "kokoro", "piper", "qwen")
    print(f"trained weights and recordings: {sum(int(row['bytes']) for row in fetch.table(groups)) / 1e6:,.0f} MB in all, "
          f"kept in {fetch.cache()}", flush=True)
    results = fetch.cache() / "results"
    results.mkdir(exist_ok=True)
    passed = failed = skipped = 0
    for part in arguments.parts or PARTS:
        began = time.monotonic()
        print(f"{part}:", flush=True)
        try:
            result, faults = run(part, arguments)
        except fetch.Offline as fault:
            say(f"skipped: offline ({fault})")
            skipped += 1
            continue
        for each in faults:
            print(f"  FAILED: {each}", flush=True)
        passed, failed = passed + (not faults), failed + bool(faults)
        kept = dict(date=datetime.date.today().isoformat(), minutes=(time.monotonic() - began) / 60, result=result)
        # The authors' code returns some numbers as NumPy's.
        text = json.dumps(kept, ensure_ascii=False, indent=1, default=lambda number: number.item())
        (results / f"{part}.json").write_text(text)
    page.write(results, fetch.HERE.parents[1] / "docs" / "real.md")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
