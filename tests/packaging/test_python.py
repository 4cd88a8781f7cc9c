"""Tests the Python package. It packs a wheel from an installed libsyrinx, and wheel_checks.py tests that wheel in a new
environment. The same files give the same bytes, and the program in the wheel runs. Skipped (77) without pip or numpy,
as the test downloads nothing.
"""
import glob
import importlib.util
import os
import shutil
import sys
import tempfile
import unittest
import venv

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from installed_library import BUILD, ROOT, install, run  # noqa: E402

NEEDED = ["pip", "numpy"]


class Wheel(unittest.TestCase):
    def pack(self, prefix, into, **environment):
        os.makedirs(into)
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation",
            "-w", into, os.path.join(ROOT, "python"), cwd=into,
            env={**os.environ, "SYRINX_PREFIX": prefix, **environment})
        wheel, = glob.glob(os.path.join(into, "syrinx-*.whl"))
        return wheel

    def test_packed_installed_tried(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        inside = lambda *names: os.path.join(place.name, *names)  # noqa: E731
        prefix = inside("prefix")
        install(prefix)
        os.makedirs(inside("prefix", "bin"))
        os.symlink(os.path.join(BUILD, "syrinx"), inside("prefix", "bin", "syrinx"))
        wheel = self.pack(prefix, inside("dist"), SOURCE_DATE_EPOCH="1700000000")
        again = self.pack(prefix, inside("again"), SOURCE_DATE_EPOCH="1700000000")
        with open(wheel, "rb") as one, open(again, "rb") as two:
            self.assertTrue(one.read() == two.read(), "the bytes differ")
        shutil.rmtree(prefix)  # so that only the wheel is left

        venv.create(inside("venv"), symlinks=True)
        packages, = glob.glob(inside("venv", "lib", "python*", "site-packages"))
        run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", packages,
            wheel)
        numpy = os.path.dirname(importlib.util.find_spec("numpy").origin)
        for part in [numpy, numpy + ".libs"]:
            if os.path.isdir(part):
                os.symlink(part, os.path.join(packages, os.path.basename(part)))
        run(inside("venv", "bin", "python"), "-I",
            os.path.join(os.path.dirname(os.path.abspath(__file__)), "wheel_checks.py"),
            cwd=place.name)
        program = [inside("venv", "bin", "python"), "-I", os.path.join(packages, "bin", "syrinx")]
        self.assertIn("finch", run(*program, "inspect", "finch"))
        wav = inside("said.wav")
        run(*program, "say", "From the wheel.", "-o", wav)
        self.assertGreater(os.path.getsize(wav), 20000)

    def test_no_library_is_named(self):
        with tempfile.TemporaryDirectory() as place:
            with self.assertRaises(AssertionError) as caught:
                self.pack(place, os.path.join(place, "dist"))
        self.assertIn("no libsyrinx.so.0 in lib of " + place, str(caught.exception))


if __name__ == "__main__":
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    missing += [tool for tool in ["cmake"] if not shutil.which(tool)]
    if missing:
        print("skipped: missing " + ", ".join(missing))
        sys.exit(77)
    unittest.main()
