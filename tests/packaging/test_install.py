"""Tests the files of `cmake --install` and of the Debian package, and that they run. Skipped (77) if tools are
missing. Standard library only.
"""
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import BIN  # noqa: E402

BUILD = os.path.dirname(os.path.abspath(BIN))
FILES = ["bin/syrinx", "share/syrinx/voices/finch/config.json",
         "share/syrinx/voices/finch/model.safetensors", "share/syrinx/voices/finch/LICENSE",
         "share/syrinx/voices/wren/model.safetensors", "share/syrinx/voices/wren/chat_template.jinja",
         "share/syrinx/voices/wren/LICENSE",
         "share/doc/syrinx/copyright", "share/doc/syrinx/docs/guide/http.md",
         "share/man/man1/syrinx.1.gz", "share/bash-completion/completions/syrinx",
         "share/zsh/vendor-completions/_syrinx", "share/fish/vendor_completions.d/syrinx.fish",
         "lib/systemd/system/syrinx.service", "include/syrinx.h", "lib/libsyrinx.so.0"]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False,
                          **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Install(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = place.name

    def check_tree(self, prefix, named_prefix):
        """`prefix` is where the files are. `named_prefix` is the prefix that the files contain."""
        for name in FILES:
            self.assertTrue(os.path.isfile(os.path.join(prefix, name)), name)
        with gzip.open(os.path.join(prefix, "share/man/man1/syrinx.1.gz"), "rt") as page:
            self.assertTrue(page.read().startswith(".TH SYRINX 1"))
        unit = os.path.join(prefix, "lib/systemd/system/syrinx.service")
        with open(unit, encoding="utf-8") as file:
            self.assertIn(f"\nExecStart={named_prefix}/bin/syrinx serve ", file.read())
        # Outside of the source tree, the program finds the voice beside itself.
        wav = os.path.join(self.dir, "said.wav")
        run(os.path.join(prefix, "bin/syrinx"), "say", "Installed.", "-o", wav, cwd=self.dir)
        with open(wav, "rb") as file:
            self.assertGreater(harness.wav_header(file.read())[1], 1000)
        return unit

    def test_install(self):
        prefix = os.path.join(self.dir, "prefix")
        run("cmake", "--install", BUILD, "--prefix", prefix)
        unit = self.check_tree(prefix, prefix)
        if shutil.which("systemd-analyze"):
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
                                  capture_output=True, text=True, check=False)  # 20 means an exposure of 2.0
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_debian_package(self):
        for tool in ["dpkg-deb", "dpkg-shlibdeps"]:
            if not shutil.which(tool):
                self.skipTest("no " + tool)
        run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-G", "DEB",
            "-B", self.dir, cwd=BUILD)
        package = next(os.path.join(self.dir, n) for n in os.listdir(self.dir)
                       if n.endswith(".deb"))
        root = os.path.join(self.dir, "root")
        run("dpkg-deb", "-x", package, root)
        self.check_tree(os.path.join(root, "usr"), "/usr")
        facts = run("dpkg-deb", "-f", package, "Depends", "Architecture")
        for library in ["libstdc++6", "libflite1", "libpcre2-8-0"]:
            self.assertIn(library, facts)
        for line in run("dpkg-deb", "-c", package).splitlines():
            self.assertIn(" root/root ", line)
            self.assertRegex(line, r"^[-d]r.xr-xr-x |^-rw-r--r-- |^lrwxrwxrwx ")
        scripts = os.path.join(self.dir, "scripts")
        run("dpkg-deb", "-e", package, scripts)
        for name in ["postinst", "prerm", "postrm"]:
            run("sh", "-n", os.path.join(scripts, name))
            # Without systemd the scripts do nothing, and succeed.
            if not os.path.isdir("/run/systemd/system"):
                run(os.path.join(scripts, name), "remove")


if __name__ == "__main__":
    if not shutil.which("cmake"):
        print("skipped: there is no cmake")
        sys.exit(77)
    harness.main()
