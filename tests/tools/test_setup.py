"""Tests tools/setup.sh: the output of apt-get and of a build, and messages of ./run without root and sudo."""
import os
import pty
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETUP = os.path.join(ROOT, "tools", "setup.sh")


def show(function, lines, stderr):
    """Runs a function of setup.sh, which reads `lines`, one after 0.6 s."""
    with subprocess.Popen(["bash", "-c", f'source "{SETUP}"; {function}'],
                          stdin=subprocess.PIPE, stderr=stderr, text=True) as shower:
        for line in lines:
            shower.stdin.write(line + "\n")
            shower.stdin.flush()
            time.sleep(0.6)
        shower.stdin.close()
        assert shower.wait() == 0


def shown_on_a_terminal(function, lines):
    ours, theirs = pty.openpty()
    show(function, lines, theirs)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    return shown


class Packages(unittest.TestCase):
    LINES = ["Get:1 some line", "dlstatus:1:0:Retrieving file 1 of 2", "dlstatus:2:25.5:Retrieving file 2 of 2",
             "pmstatus:dpkg-exec:0.0000:Running dpkg", "pmstatus:libc6:amd64:08,5:Installing libc6",
             "pmstatus:dpkg-exec:100.0000:Running dpkg", "E: dlstatus"]

    def test_on_a_terminal(self):
        shown = shown_on_a_terminal("show_apt_progress /dev/null", self.LINES).split("\r\x1b[K")
        shown = [line.strip() for line in shown]
        self.assertEqual(shown[1], "fetching: 0 %")
        self.assertRegex(shown[2], r"^fetching: 25 %, 0:0[0-6] left$")
        self.assertEqual(shown[3], "installing: 0 %")
        self.assertRegex(shown[4], r"^installing: 8 %, 0:[0-3][0-9] left$")
        self.assertEqual(shown[5:], ["installing: 100 %, 0:00 left"])

    def test_into_a_file(self):
        with tempfile.TemporaryFile("w+") as file, tempfile.NamedTemporaryFile("r") as log:
            show(f"show_apt_progress {log.name}", self.LINES[:2] + self.LINES[-1:], file)
            file.seek(0)
            self.assertEqual(file.read(), "")
            self.assertEqual(log.read(), "Get:1 some line\nE: dlstatus\n")


class Names(unittest.TestCase):
    def test_a_name_that_apt_knows(self):
        """apt-cache goes on to write after the line that was looked for."""
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "apt-cache"), "w", encoding="utf-8") as file:
                file.write("#!/bin/bash\n[ $2 = new ] || { echo '  Candidate: (none)'; exit; }\n"
                           "echo '  Candidate: 1.0'\nsleep 0.2\nfor i in {1..20000}; do echo line $i; done\n")
            os.chmod(file.name, 0o755)
            run = subprocess.run(["bash", "-c", f'source "{SETUP}"; name_here "old|new|newest"; name_here "old|older"'],
                                 capture_output=True, text=True, check=True,
                                 env={"PATH": place + ":/usr/bin:/bin"})
        self.assertEqual(run.stdout.split(), ["new", "old"])


class Interrupted(unittest.TestCase):
    def interrupt(self, apt_get):
        """Presses Ctrl-C 1 s after install_packages has called this `apt-get install`."""
        with tempfile.TemporaryDirectory() as place:
            os.makedirs(os.path.join(place, "tools"))
            setup = shutil.copy(SETUP, os.path.join(place, "tools"))
            update = '[ "$3" = install ] || exit 0\n'
            for name, text in [("dpkg-query", "exit 1"), ("apt-cache", "exit 0"), ("id", "echo 0"),
                               ("apt-get", update + apt_get)]:
                path = os.path.join(place, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/bash\n" + text + "\n")
                os.chmod(path, 0o755)
            command = ["bash", "-c", f'source "{setup}"; install_packages build; echo on']
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  start_new_session=True, env={"PATH": place + ":/usr/bin:/bin"}) as run:
                said = run.stderr.readline()
                time.sleep(1)
                os.killpg(run.pid, signal.SIGINT)
                out, rest = run.communicate(timeout=60)
            ended = os.path.exists(os.path.join(place, "ended"))
            return run.returncode, out, said + rest, ended

    def test_a_download_ends(self):
        code, out, said, ended = self.interrupt('sleep 30; touch "${0%/*}/ended"')
        self.assertEqual((code, out, ended), (130, "", False))
        self.assertRegex(said, r"^installing \d+ Debian packages[^\n]*\ninterrupted\n$")

    def test_an_installation_is_finished_first(self):
        code, out, said, ended = self.interrupt("trap '' INT; sleep 3; echo some text; touch \"${0%/*}/ended\"")
        self.assertEqual((code, out, ended), (130, "", True))
        self.assertRegex(said, r"^installing \d+ Debian packages[^\n]*\ninterrupted\n$")


class Progress(unittest.TestCase):
    LINES = ["@0/2@first", "@1/10@one", "no step", "@5/10@half", "@10/10@end"]

    def test_on_a_terminal(self):
        shown = shown_on_a_terminal("show_progress build/x build/x.log", self.LINES)
        self.assertIn("building 10 steps into build/x", shown)
        self.assertRegex(shown, r"\r  5 of 10, 0:0[1-3] left")
        self.assertIn("10 of 10, 0:00 left", shown)
        self.assertNotIn("of 2", shown)

    def test_into_a_file(self):
        with tempfile.TemporaryFile("w+") as file:
            show("show_progress build/x build/x.log", self.LINES, file)
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
