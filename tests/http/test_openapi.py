"""The description of the API: true in every path, and, where schemathesis is installed, by it."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import harness


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--max-audio", "2").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_every_operation_exists(self):
        document = self.server.get("/openapi.json")[2]
        self.assertTrue(document["openapi"].startswith("3.1"))
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                connection = self.server.connect()
                connection.request(method.upper(), path.replace("{name}", "nobody").replace("{id}", "nobody"))
                answer = connection.getresponse()
                answer.read()
                connection.close()
                with self.subTest(path=path, method=method):
                    self.assertIn(str(answer.status), operation["responses"])
                    self.assertNotEqual(answer.status, 405)

    def test_document_lists_every_path(self):
        document = self.server.get("/openapi.json")[2]
        home = self.server.get("/")[2]
        for line in home.splitlines():
            if line.startswith(("GET", "POST")) and " / " not in line:
                self.assertIn(line.split()[1], document["paths"], line)

    def schemathesis(self, *arguments):
        if importlib.util.find_spec("schemathesis") is None:
            self.skipTest("the package schemathesis is not installed")
        tool = os.path.join(os.path.dirname(sys.executable), "schemathesis")
        with tempfile.TemporaryDirectory() as folder:  # it keeps notes where it runs
            done = subprocess.run(
                [tool, "run", f"http://127.0.0.1:{self.server.port}/openapi.json", "--seed", "1",
                 "--max-examples", "20", "--no-color", *arguments],
                capture_output=True, text=True, check=False, cwd=folder)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:])

    # Left out: that every request that fits the schema is accepted. Which voices there are, and
    # which characters can be spoken, no schema tells.
    def test_schemathesis(self):
        self.schemathesis("--exclude-checks", "positive_data_acceptance",
                          "--exclude-path", "/v1/audio/speech/batch")

    # A batch is accepted when its items are not: each has its own result.
    def test_schemathesis_of_batches(self):
        self.schemathesis("--exclude-checks", "positive_data_acceptance,negative_data_rejection",
                          "--include-path", "/v1/audio/speech/batch")


if __name__ == "__main__":
    harness.main()
