"""Tests tools/setup.sh: the output of a build, and messages of ./run without root and sudo."""
import os
import pty
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETUP = os.path.join(ROOT, "tools", "setup.sh")


class Progress(unittest.TestCase):
    LINES = ["@0/2@first", "@1/10@one", "no step", "@5/10@half", "@10/10@end"]

    def run_on(self, stderr):
        writer = subprocess.Popen(["bash", "-c", f'source "{SETUP}"; show_progress build/x build/x.log'],
                                  stdin=subprocess.PIPE, stderr=stderr, text=True)
        for line in self.LINES:
            writer.stdin.write(line + "\n")
            writer.stdin.flush()
            time.sleep(0.6)
        writer.stdin.close()
        self.assertEqual(writer.wait(), 0)

    def test_on_a_terminal(self):
        ours, theirs = pty.openpty()
        self.run_on(theirs)
        os.close(theirs)
        shown = os.read(ours, 4096).decode()
        os.close(ours)
        self.assertIn("building 10 steps into build/x", shown)
        self.assertRegex(shown, r"\r  5 of 10, 0:0[1-3] left")
        self.assertIn("10 of 10, 0:00 left", shown)
        self.assertNotIn("of 2", shown)

    def test_into_a_file(self):
        with tempfile.TemporaryFile("w+") as file:
            self.run_on(file)
            file.seek(0)
            self.assertEqual(file.read(), "building 10 steps into build/x (the log is build/x.log)\n")


class WithoutRoot(unittest.TestCase):
    """Replaces the system's programs of these names."""

    def say(self, *programs, configured=False):
        with tempfile.TemporaryDirectory() as place:
            tree = os.path.join(place, "tree")
            os.makedirs(os.path.join(tree, "tools"))
            setup = shutil.copy(SETUP, os.path.join(tree, "tools"))
            if configured:
                os.makedirs(os.path.join(tree, "build", "release"))
                with open(os.path.join(tree, "build", "release", "build.ninja"), "w", encoding="utf-8"):
                    pass
            for name, text in [("dpkg-query", "exit 1"), ("apt-cache", "exit 0"), ("id", "echo 1000"),
                               ("mkdir", "exit 0"), *programs]:
                path = os.path.join(place, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n" + text + "\n")
                os.chmod(path, 0o755)
            for name in ["bash", "sed", "grep", "tail", "dirname", "uname"]:
                found = subprocess.run(["which", name], capture_output=True, text=True, check=True)
                os.symlink(found.stdout.strip(), os.path.join(place, name))
            return subprocess.run(["bash", "-c", f'source "{setup}"; install_packages build; echo on'],
                                  capture_output=True, text=True, check=False, env={"PATH": place})

    def test_says_what_is_missing(self):
        done = self.say()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"neither root nor sudo to install them: g\+\+ cmake ")
        self.assertIn("apt-get install --no-install-recommends g++ cmake", done.stderr)

    def test_tries_with_other_libraries(self):
        done = self.say(*[(tool, "exit 0") for tool in ["c++", "cmake", "ninja", "pkg-config"]])
        self.assertEqual((done.returncode, done.stdout), (0, "on\n"))
        self.assertRegex(done.stderr, r"them: g\+\+ cmake [^\n]*\n.*\ntrying to build with what is there\n$")

    def test_says_nothing_once_it_is_configured(self):
        done = self.say(configured=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "on\n", ""))

    def test_builds_with_what_is_there(self):
        done = self.say(("dpkg-query", "echo install ok installed"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "on\n", ""))


if __name__ == "__main__":
    unittest.main()
