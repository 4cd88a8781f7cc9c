"""Packs the wheel from this package, an installed libsyrinx and program, and the built-in voices.

A build backend (PEP 517) without dependencies: `pip install ./python`. Nothing is compiled. The installed
files are those of SYRINX_PREFIX, else of the first of CMAKE_PREFIX_PATH, ~/.local, /usr/local and /usr that
has libsyrinx.so.0. SYRINX_WHEEL_PLATFORM replaces the platform tag, as in manylinux_2_31_x86_64.
The same input gives the same bytes; file times are SOURCE_DATE_EPOCH.
"""
import base64
import glob
import hashlib
import os
import re
import sysconfig
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Finds the package without an import, which would also import numpy.
SCRIPT = b"""#!python
import importlib.util
import os
import sys

place = importlib.util.find_spec("syrinx").submodule_search_locations[0]
program = os.path.join(place, "bin", "syrinx")
os.execv(program, ["syrinx", *sys.argv[1:]])
"""


def prefix():
    given = os.environ.get("SYRINX_PREFIX")
    places = [given] if given else [
        *filter(None, re.split("[:;]", os.environ.get("CMAKE_PREFIX_PATH", ""))),
        os.path.expanduser("~/.local"), "/usr/local", "/usr"]
    for place in places:
        for library in sorted(glob.glob(os.path.join(place, "lib", "libsyrinx.so.0")) +
                              glob.glob(os.path.join(place, "lib", "*", "libsyrinx.so.0"))):
            return place, library
    raise SystemExit("no libsyrinx.so.0 in lib of " + ", ".join(places) +
                     ": install it, and name where in SYRINX_PREFIX")


def project():
    """Returns the values of [project] for the wheel's metadata."""
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    found = dict(re.findall(r'^([a-z-]+) = "(.*)"$', text, re.M))
    needs = re.findall(r'"([^"]+)"', re.search(r"^dependencies = \[(.*)\]$", text, re.M)[1])
    return found, needs


def tree(folder, into):
    """Returns {name in the wheel: file} for all files below a folder."""
    out = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = os.path.join(place, name)
            out[os.path.join(into, os.path.relpath(path, folder))] = path
    return out


def metadata():
    found, needs = project()
    lines = ["Metadata-Version: 2.1", "Name: " + found["name"], "Version: " + found["version"],
             "Summary: " + found["description"], "License: Apache-2.0",
             "Requires-Python: " + found["requires-python"]]
    return found["name"] + "-" + found["version"], "\n".join(
        lines + ["Requires-Dist: " + name for name in needs]) + "\n"


def tag():
    platform = os.environ.get("SYRINX_WHEEL_PLATFORM") or sysconfig.get_platform()
    return "py3-none-" + re.sub(r"[-.]", "_", platform)


def contents():
    """Returns {name in the wheel: (bytes, executable)}."""
    place, library = prefix()
    files = tree(os.path.join(HERE, "syrinx"), "syrinx")
    files["syrinx/libsyrinx.so.0"] = os.path.realpath(library)
    installed = os.path.join(place, "share", "syrinx", "voices")
    voices = installed if os.path.isdir(installed) else os.path.join(HERE, "..", "voices")
    files.update(tree(os.path.realpath(voices), "syrinx/voices"))
    program = os.path.join(place, "bin", "syrinx")
    if os.path.exists(program):
        files["syrinx/bin/syrinx"] = program
    out = {}
    for name, path in files.items():
        with open(path, "rb") as file:
            out[name] = (file.read(), name == "syrinx/bin/syrinx")
    stem, text = metadata()
    if os.path.exists(program):
        out[stem + ".data/scripts/syrinx"] = (SCRIPT, True)
    licences = os.path.join(place, "share", "doc", "syrinx", "licences")
    for name, path in tree(licences, stem + ".dist-info/licenses").items():
        with open(path, "rb") as file:
            out[name] = (file.read(), False)
    with open(os.path.join(HERE, "..", "LICENSE"), "rb") as file:
        out[stem + ".dist-info/licenses/LICENSE"] = (file.read(), False)
    out[stem + ".dist-info/METADATA"] = (text.encode(), False)
    out[stem + ".dist-info/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: syrinx\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode(), False)
    return stem, out


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    stem, files = contents()
    record = stem + ".dist-info/RECORD"
    lines = []
    for name, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    files[record] = ("".join(lines + [record + ",,\n"]).encode(), False)
    earliest = 315532800  # 1980, the first year of zip files
    when = time.gmtime(max(earliest, int(os.environ.get("SOURCE_DATE_EPOCH", earliest))))[:6]
    name = f"{stem}-{tag()}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED,
                         compresslevel=9) as wheel:
        # The metadata of a wheel is at its end.
        for each in sorted(files, key=lambda key: (".dist-info/" in key, key)):
            data, executable = files[each]
            entry = zipfile.ZipInfo(each, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, whichever system this runs on
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source archive of the package alone: take the whole source tree")
