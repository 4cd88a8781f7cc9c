#!/usr/bin/env python3
"""Tests the runner of a GPU kit (tools/gpu_kit_run), with small programs instead of the tests and benches."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

BENCH = r"""#!/bin/bash
out=$1; shift
case "$1" in
  ceilings) echo '{"part": "ceilings", "gpu": "Test", "copy_gb_s": 1000, "bf16_tflop_s": 10}' >"$out" ;;
  steps) echo '{"part": "kernel", "model": "m", "kernel": "step", "batch": 8, "us": 20, "floor_us": 5, "share": 0.25}' >"$out"
         echo '{"part": "kernel", "mod' >>"$out" ;;
  *) exit 3 ;;
esac
"""
ENGINE = r"""#!/bin/bash
cat >"$1" <<'J'
{"models": [{"name": "Orpheus-3B", "failed": "a kernel faulted", "decode": [{"batch": 1, "ms": 7.0,
 "floor_ms": 1.4, "roofline_share": 0.2, "replayed_share": 0.9, "prompt_ms": 3}], "codec": null}]}
J
exit 1
"""


class GpuKitTest(unittest.TestCase):
    def setUp(self):
        self.kit = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.kit)
        (self.kit / "bin").mkdir()
        for name in ("gpu_check", "gpu_kit_run", "gpu_table"):
            shutil.copy(ROOT / "tools" / name, self.kit / name)
        self.program("gpu_bench", BENCH)
        self.program("gpu_engine_bench", ENGINE)
        self.program("kernels_test", """#!/bin/bash
echo '[ RUN      ] Devices/Sums.Add/cuda'
echo '[  FAILED  ] Devices/Sums.Add/cuda, where GetParam() = 1 (1 ms)'
echo '[ RUN      ] Devices/Sums.Fault/cuda'
exit 1
""")
        self.program("gpu_test", "#!/bin/bash\nsleep 60\n")

    def program(self, name, text):
        path = self.kit / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run_kit(self, seconds, parts):
        env = {**os.environ, "KIT_PARTS": parts, "OUT": str(self.kit / "out")}
        done = subprocess.run([self.kit / "gpu_check", "--kit", str(seconds)], env=env, text=True,
                              capture_output=True, timeout=400)
        states = [line.split("\t")[:2] for line in (self.kit / "out" / "parts.tsv").read_text().splitlines()]
        return done, dict(states)

    def test_goes_on_after_parts_that_fail(self):
        done, states = self.run_kit(300, "ceilings kernels_test steps products orpheus")
        self.assertEqual(states, {"ceilings": "passed", "kernels_test": "failed, code 1", "steps": "passed",
                                  "products": "failed, code 3", "orpheus": "failed, code 1"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernels_test: 0 passed, 1 failed, 0 skipped\nFAILED Devices/Sums.Add/cuda\n"
                      "DID NOT END Devices/Sums.Fault/cuda", done.stdout)
        self.assertIn("ceilings: copy 1000 GB/s, bf16 product 10 TFLOP/s", done.stdout)
        self.assertIn("20.0 (25)", done.stdout)
        self.assertIn("Orpheus-3B: a kernel faulted", done.stdout)
        results = json.loads((self.kit / "out" / "results.json").read_text())
        self.assertEqual(len(results["rows"]["steps"]), 1)  # the incomplete line is ignored

    def test_ends_in_time(self):
        # A part needs 5 s. The runner has 9 s to start, because a busy machine may need some of them.
        done, states = self.run_kit(14, "gpu_test steps")
        self.assertTrue(states["gpu_test"].startswith("cut after"), states)
        self.assertEqual(states["steps"], "no time left")
        self.assertEqual(done.returncode, 1)

    def test_a_spare_part_without_time_is_no_failure(self):
        done, states = self.run_kit(14, "steps orpheus")
        self.assertEqual(states, {"steps": "passed", "orpheus": "no time left"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_passes_when_all_parts_pass(self):
        done, states = self.run_kit(300, "ceilings steps")
        self.assertEqual(set(states.values()), {"passed"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_no_part_takes_the_time_of_another(self):
        text = (ROOT / "tools/gpu_kit_run").read_text()
        fixed, spare = text.split("\nspare=yes\n")
        limits = re.findall(r"^(?:part|bench|engine) \w+ (\d+) ", fixed, re.M)
        self.assertGreater(len(limits), 10)
        reserve = int(re.search(r"started\) - (\d+)\)\)", text)[1])
        self.assertLessEqual(sum(map(int, limits)) + reserve, int(re.search(r"total=\$\{1:-(\d+)\}", text)[1]))
        known = {name for name in re.findall(r"^(?:part|bench|engine) (\w+)", text, re.M)}
        self.assertTrue(spare)
        self.assertEqual(len(known), len(re.findall(r"^(?:part|bench|engine) \w+", text, re.M)))


if __name__ == "__main__":
    unittest.main()
