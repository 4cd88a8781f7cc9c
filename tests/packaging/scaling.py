#!/usr/bin/env python3
"""Measures the load that 1, 2 and 4 workers behind HAProxy can serve, each with a share of a core.

  SYRINX_BIN=build/release/syrinx tests/packaging/scaling.py [--share 0.1] [--workers 1,2,4] [-- BENCH...]

Prints for each number of workers the highest rate with p90 of first audio within 100 ms (`syrinx bench --search`, which
gets the arguments after --). Shares are quotas of Linux control groups (version 1 or 2). So it needs root, and removes
its groups at the end. Needs minutes, and cores for all shares.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys

import fleet

GROUPS = "/sys/fs/cgroup"
PERIOD_US = 10000


@contextlib.contextmanager
def share(name, cores, pid):
    """Makes a control group with a quota of `cores`, for one process and its threads."""
    old = os.path.isdir(f"{GROUPS}/cpu")
    path = f"{GROUPS}/cpu/{name}" if old else f"{GROUPS}/{name}"
    os.mkdir(path)
    quota = int(PERIOD_US * cores)
    limits = ({"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": quota} if old
              else {"cpu.max": f"{quota} {PERIOD_US}"})
    for file, value in limits.items():
        with open(f"{path}/{file}", "w", encoding="ascii") as out:
            out.write(str(value))
    with open(f"{path}/cgroup.procs", "w", encoding="ascii") as out:
        out.write(str(pid))
    try:
        yield
    finally:
        os.rmdir(path)


def held(count, cores, options):
    """Returns the requests per second that `count` workers can serve."""
    with contextlib.ExitStack() as stack, fleet.Fleet(count) as workers:
        for name, worker in workers.workers.items():
            stack.enter_context(share(f"syrinx-{os.getpid()}-{name}", cores, worker.process.pid))
            stack.callback(worker.end)
        out = subprocess.run(
            [fleet.BIN, "bench", "--url", f"http://127.0.0.1:{workers.port}", "--rates", "1",
             "--search", "--json", "-", *options], stdout=subprocess.PIPE, check=True).stdout
        return json.loads(out)["search"]["best"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--share", type=float, default=0.1, help="cores of each worker")
    parser.add_argument("--workers", default="1,2,4", help="how many, up to 4")
    parser.add_argument("options", nargs="*", help="for syrinx bench, after --")
    options = parser.parse_args()
    for count in map(int, options.workers.split(",")):
        rate = held(count, options.share, options.options)
        print(f"{count} x {options.share:g} cores: {rate:.2f} requests/s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
