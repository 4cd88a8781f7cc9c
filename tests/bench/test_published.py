"""Tests the tables of bench/published at a small scale: measured in process, predicted from costs, and with errors."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "published")


class Published(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.profile = os.path.join(cls.dir.name, "costs.json")
        done = harness.run_cli("bench", "--profile-steps", cls.profile, "--duration", "2")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def run_table(self, name, *arguments):
        return subprocess.run([sys.executable, "-B", os.path.join(TABLES, name), "--syrinx", harness.BIN, *arguments],
                              capture_output=True, text=True, timeout=200)

    def rows(self, name, *arguments):
        """Returns the cells of all rows of all tables."""
        done = self.run_table(name, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [[cell.strip() for cell in line.strip("|").split("|")]
                for line in done.stdout.splitlines() if line.startswith("|")]

    def test_voxserve(self):
        rows = self.rows("voxserve.py", "--profile", self.profile, "--scale", "0.25", "--seconds", "20")
        first = {row[0]: row for row in rows}
        self.assertEqual(first["4 requests/s (here 1)"][-1], "500 ms")
        self.assertIn("1 requests/s (here 0.25), arrival", first)
        self.assertIn("4 replicas, 16 requests/s (here 4)", first)
        in_time = [row for row in rows if row[0].startswith("1 requests/s") or "replicas" in row[0]]
        for row in in_time:
            self.assertTrue(row[1].endswith(" ms"), row)
            self.assertEqual(row[5], "0", row)
        [offline] = [row for row in rows if row[-1] == "134"]
        self.assertGreater(float(offline[1]), 1)

    def test_clients(self):
        rows = self.rows("vllm_omni.py", "--scale", "0.02", "--seconds", "2")
        first = {row[0]: row for row in rows}
        self.assertTrue(first["64 clients (here 1)"][1].endswith(" ms"))
        self.assertEqual(first["64 clients (here 1)"][2], "1128 ms")
        self.assertEqual(first["20 requests/s (here 0.4)"][-1], "33 ms; 48 ms; 0 to 0.8 %")

    def test_stages_one_after_another_are_slower(self):
        rows = self.rows("async_chunk.py", "--profile", self.profile, "--scale", "0.5")
        first = {row[0]: row for row in rows}
        at_once, after = (first[f"10 clients (here 5), {how}"] for how in ("at once", "one after another"))
        self.assertLess(float(at_once[1].split()[0]), float(after[1].split()[0]))
        self.assertEqual(at_once[2], "1629 ms")

    def test_guidance_and_prediction(self):
        opuslm = os.path.join(harness.PARITY, "opuslm", "golden", "checkpoint")
        rows = self.rows("unified.py", "--scale", "0.01", "--model", opuslm, "--max-frames", "40")
        self.assertEqual(rows[-1][0], "with guidance / without")
        self.assertGreater(float(rows[-1][1].split()[0]), 5)
        rows = self.rows("predgen.py", "--scale", "0.02")
        self.assertEqual([row[0] for row in rows[2:]], ["without", "greedy", "top-3", "reflection"])
        self.assertEqual(rows[2][8], "100.0 %")

    def test_errors(self):
        for message, *arguments in (("between 0 and 1", "vllm_omni.py", "--scale", "2"),
                                    ("/nowhere", "vllm_omni.py", "--model", "/nowhere"),
                                    ("no costs", "unified.py", "--profile", self.profile)):
            done = self.run_table(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    harness.main()
