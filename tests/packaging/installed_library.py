"""Installs libsyrinx for tests, with `cmake --install --component library`."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.abspath(os.environ.get("SYRINX_BIN", "build/release/syrinx")))


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False,
                          **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def install(prefix):
    run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "library")
    os.makedirs(os.path.join(prefix, "share", "syrinx"))
    os.symlink(os.path.join(ROOT, "voices"), os.path.join(prefix, "share", "syrinx", "voices"))
