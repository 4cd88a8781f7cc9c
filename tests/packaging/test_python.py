"""The Python package: its wheel is built from the installed libsyrinx and tried in an environment of
its own, by wheel_checks.py. What is compiled for it stays in the build folder for the next time.

Skipped (77) where pip, scikit-build-core, nanobind or numpy are missing: nothing is downloaded.
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

NEEDED = ["pip", "scikit_build_core", "nanobind", "numpy"]


class Wheel(unittest.TestCase):
    def test_built_installed_tried(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        inside = lambda *names: os.path.join(place.name, *names)  # noqa: E731
        kept = os.path.join(BUILD, "python")
        prefix = os.path.join(kept, "prefix")
        shutil.rmtree(prefix, ignore_errors=True)
        install(prefix)
        settings = ["cmake.define.CMAKE_PREFIX_PATH=" + prefix,
                    "build-dir=" + os.path.join(kept, "{wheel_tag}")]
        if shutil.which("ccache"):
            settings.append("cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache")
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation",
            *(word for setting in settings for word in ["-C", setting]), "-w", inside("dist"),
            os.path.join(ROOT, "python"), cwd=place.name)
        wheel, = glob.glob(inside("dist", "syrinx-*.whl"))
        shutil.rmtree(prefix)  # the wheel is all that is left

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


if __name__ == "__main__":
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    missing += [tool for tool in ["cmake", "ninja"] if not shutil.which(tool)]
    if missing:
        print("skipped: missing " + ", ".join(missing))
        sys.exit(77)
    unittest.main()
