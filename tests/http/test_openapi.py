"""Tests that the description of the API is right for every path. If schemathesis is installed, it runs, too."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import harness

FORMS = ("/v1/audio/transcriptions", "/v1/audio/translations", "/v1/audio/voices",
         "/v1/audio/voice_consents")

class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--max-audio", "2", "--model", "wren").__enter__()

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

    def schemathesis(self, *arguments, hooks=None):
        if importlib.util.find_spec("schemathesis") is None:
            self.skipTest("the package schemathesis is not installed")
        tool = os.path.join(os.path.dirname(sys.executable), "schemathesis")
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.abspath(__file__)),
                           PYTHONDONTWRITEBYTECODE="1")
        if hooks:
            environment["SCHEMATHESIS_HOOKS"] = hooks
        with tempfile.TemporaryDirectory() as folder:  # schemathesis writes files into its working directory
            done = subprocess.run(
                [tool, "run", f"http://127.0.0.1:{self.server.port}/openapi.json", "--seed", "1",
                 "--max-examples", "20", "--no-color", *arguments],
                capture_output=True, text=True, check=False, cwd=folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:])

    # Runs every check: requests that match the schema are accepted, others are refused, and every answer is described.
    # meanings.py sets texts and names that no schema states.
    def test_schemathesis(self):
        self.schemathesis(*(word for path in FORMS for word in ("--exclude-path", path)),
                          hooks="meanings")

    # In a form every value is text, so null and wrong types cannot be detected. No schema can state whether a recording
    # matches a field. So these tests do not require that all matching forms are accepted.
    def test_schemathesis_of_forms(self):
        self.schemathesis("--exclude-checks", "positive_data_acceptance",
                          *(word for path in FORMS for word in ("--include-path", path)))


if __name__ == "__main__":
    harness.main()
