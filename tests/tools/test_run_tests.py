"""Tests how tools/run_tests reads the output of ctest."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

PATH = pathlib.Path(__file__).resolve().parents[2] / "tools" / "run_tests"
loader = importlib.machinery.SourceFileLoader("run_tests", str(PATH))
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
sys.modules["run_tests"] = run_tests  # the module's dataclass needs this
loader.exec_module(run_tests)

PASSED = "Test Passed."
FAILED = "Test Failed."
SKIPPED = "Test Pass Reason:\nSkip regular expression found in output. Regex=[\\[  SKIPPED \\]]"


def part(name, output, end):
    """Returns one test in the form that ctest writes."""
    return (f'1/2 Testing: {name}\n1/2 Test: {name}\nOutput:\n{"-" * 20}\n{output}\n<end of output>\n'
            f'Test time =   1.50 sec\n{"-" * 20}\n{end}\n"{name}" time elapsed: 00:00:01\n')


def case(name, result):
    begun = f"[ RUN      ] {name}\n"
    return begun + (f"[ {result:>8} ] {name} (20 ms)\n" if result else "")


class RunTests(unittest.TestCase):
    def results(self, *parts):
        return {name: it.result for name, it in run_tests.outcomes("".join(parts)).items()}

    def test_cases_of_a_suite_are_counted_one_by_one(self):
        output = case("A.b", "OK") + case("A.c", "SKIPPED") + case("A.d", "FAILED")
        self.assertEqual(self.results(part("io:A", output, FAILED)),
                         {"io:A.b": "passed", "io:A.c": "skipped", "io:A.d": "failed"})

    def test_a_case_that_ctest_calls_skipped_has_not_failed(self):
        self.assertEqual(self.results(part("io:A.b", case("A.b", "SKIPPED"), SKIPPED)),
                         {"io:A.b": "skipped"})

    def test_a_crash_is_that_of_the_case_it_happened_in(self):
        output = case("A.b", "OK") + case("A.c", None)
        self.assertEqual(self.results(part("io:A", output, FAILED)),
                         {"io:A.b": "passed", "io:A.c": "failed"})
        # Tests also that ctest stopped at another test, which was skipped.
        output = case("A.b", "SKIPPED") + case("A.c", None)
        self.assertEqual(self.results(part("io:A", output, SKIPPED)),
                         {"io:A.b": "skipped", "io:A.c": "failed"})

    def test_what_goes_wrong_after_the_last_case_is_told(self):
        output = case("A.b", "OK") + "ERROR: LeakSanitizer: detected memory leaks"
        self.assertEqual(self.results(part("io:A", output, FAILED)), {"io:A.b": "failed"})

    def test_other_programs_are_one_test_each(self):
        told = run_tests.outcomes(part("program:a", "OK (skipped=1)", PASSED) +
                                  part("program:b", "", "Test Skipped.") + part("c", "", FAILED))
        self.assertEqual({name: (it.result, it.partly, it.seconds) for name, it in told.items()},
                         {"program:a": ("passed", True, 1.5), "program:b": ("skipped", False, 1.5),
                          "c": ("failed", False, 1.5)})


if __name__ == "__main__":
    unittest.main()
