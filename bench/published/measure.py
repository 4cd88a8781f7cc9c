"""Runs `syrinx bench` or `syrinx simulate` for the tables of this folder, and prints their figures beside published ones.

A table is a script. It runs loads with `Measure` and prints rows with `show`. A figure that cannot be had is `None`.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Measure:
    """The arguments of a table's command line, and the loads that it runs.

    `model_args`: arguments of `syrinx bench` that name the model, e.g. --model DIR --load-format dummy.
    """

    def __init__(self, description, model):
        parser = argparse.ArgumentParser(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=f"Other options go to `syrinx bench` unchanged: --model DIR ({model} was published), --url URL,\n"
            "--load-format dummy (random weights of the checkpoint's shape), --device cuda, --text-file FILE.")
        parser.add_argument("--syrinx", default=os.path.join(ROOT, "build/release/syrinx"), help="the program")
        parser.add_argument("--profile", metavar="FILE",
                            help="predict the figures from costs, the output of `syrinx bench --profile-steps`")
        parser.add_argument("--scale", type=float, default=1, metavar="SHARE",
                            help="run a share of the published load: rates, clients and requests (default 1)")
        parser.add_argument("--seconds", type=float, default=60, help="of a run with Poisson arrivals (default 60)")
        self.how, self.model_args = parser.parse_known_args()
        if not 0 < self.how.scale <= 1:
            parser.error("--scale must be between 0 and 1")

    def scaled(self, number):
        """Returns a whole number of requests or clients, at least 1."""
        return max(1, round(number * self.how.scale))

    def rate_runs(self, rates, policy="streaming", simulated=()):
        """Returns a summary for each rate (Poisson arrivals, requests a second). `simulated`: options of `simulate`."""
        rates = ",".join(f"{rate * self.how.scale:g}" for rate in rates)
        return self._load(["--rates", rates, "--duration", f"{self.how.seconds:g}"], policy, simulated)

    def load(self, run, unit, published):
        """Returns the load of a row: the published one, and the run's own if it was scaled."""
        level = f"{run['load']['level']:g}"
        return f"{published:g} {unit}" if level == f"{published:g}" else f"{published:g} {unit} (here {level})"

    def client_runs(self, clients, requests, policy="streaming", simulated=(), options=()):
        """Returns a summary for each number of clients, of which each sends its share of `requests`, one after another."""
        out = []
        for number in clients:
            number = self.scaled(number)
            each = max(1, round(self.scaled(requests) / number))
            out += self._load(["--streams", str(number), "--repeats", str(each), *options], policy, simulated)
        return out

    def _load(self, load, policy, simulated):
        how = ["--policy", policy] if self.how.profile or not self.has("--url") else []
        if self.how.profile:
            return self.json("simulate", "--profile", self.how.profile, *load, *how, *simulated)["runs"]
        return self.json("bench", *self.model_args, *load, *how)["runs"]

    def has(self, option):
        """Returns whether the command line has an option of `syrinx bench`."""
        return any(argument.split("=")[0] == option for argument in self.model_args)

    def json(self, *arguments):
        """Runs the program with --json and returns what it wrote. The program's messages go to standard error."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            done = subprocess.run([self.how.syrinx, *arguments, "--json", path], stdout=subprocess.DEVNULL)
            if done.returncode != 0:
                sys.exit(done.returncode)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def title(self, table, published):
        """Prints which table follows, from which source, and how ours was measured."""
        what = f"predicted from {self.how.profile}" if self.how.profile else "measured: " + " ".join(
            self.model_args or ["finch in this process"])
        scale = "" if self.how.scale == 1 else f"; load scaled to {self.how.scale:g} of the published one"
        print(f"\n{table}\npublished: {published}\nours: {what}{scale}\n")


def ms(seconds):
    """Returns milliseconds; no run has 0 seconds, unless it had no request."""
    return f"{1000 * seconds:.{0 if seconds > 0.01 else 1}f} ms" if seconds else None


def percent(share):
    return f"{100 * share:.1f} %"


def show(columns, rows):
    """Prints a table in Markdown; None is an empty cell."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for number, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
