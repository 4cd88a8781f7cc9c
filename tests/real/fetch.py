"""Downloads the packages of packages.tsv into a cache outside the tree, and unpacks the requested parts.

Every file is compared with its SHA-256 before use. Wheels and source packages come from pip, Debian packages from
apt-get, each in the version that the table names. Offline() is raised if a package cannot be downloaded.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ("group", "source", "name", "version", "file", "bytes", "sha256", "licence")


class Offline(Exception):
    """Raised when a package could not be downloaded."""


def cache():
    """Returns $SYRINX_REAL_CACHE, or syrinx/real in the user's cache; makes the folder if needed."""
    place = os.environ.get("SYRINX_REAL_CACHE")
    if not place:
        place = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "syrinx/real"
    place = pathlib.Path(place)
    place.mkdir(parents=True, exist_ok=True)
    return place


def table(groups):
    rows = []
    for line in (HERE / "packages.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            row = dict(zip(COLUMNS, line.split("\t")))
            if row["group"] in groups:
                rows.append(row)
    return rows


def is_whole(path, row):
    if not path.is_file() or path.stat().st_size != int(row["bytes"]):
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == row["sha256"]


def download(row, folder):
    wanted = f"{row['name']}=={row['version']}"
    if row["source"] == "debian":
        command = ["apt-get", "download", f"{row['name']}={row['version']}"]
    elif row["source"] == "wheel":
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", wanted]
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", row["name"], wanted]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Offline(f"{wanted}: {fault}") from fault
    if done.returncode != 0:
        raise Offline(f"{wanted}: {(done.stderr.strip().splitlines() or ['not available'])[-1]}")


def fetch(*groups):
    """Downloads the packages of these groups; returns their files by package name."""
    folder = cache() / "packages"
    folder.mkdir(exist_ok=True)
    rows = table(groups)
    missing = [row for row in rows if not is_whole(folder / row["file"], row)]
    if missing:
        size = sum(int(row["bytes"]) for row in missing) / 1e6
        print(f"  downloads {len(missing)} packages, {size:,.0f} MB, into {folder}", file=sys.stderr)
    for row in missing:
        print(f"    {row['name']} {row['version']}: {int(row['bytes']) / 1e6:.1f} MB, {row['licence']}", file=sys.stderr)
        download(row, folder)
        if not is_whole(folder / row["file"], row):
            raise ValueError(f"{row['file']}: expected {row['bytes']} bytes of SHA-256 {row['sha256']}")
    return {row["name"]: folder / row["file"] for row in rows}


def unpack(path, target):
    """Unpacks the package into the folder `target`, once; returns the folder."""
    if target.is_dir():
        return target
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    if path.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", path, partial], check=True)
    elif path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(partial)
    else:
        with tarfile.open(path) as archive:
            archive.extractall(partial, filter="data")
    partial.rename(target)
    return target


def join(parts, target):
    """Writes the file `target` from an iterator of byte strings."""
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    with open(partial, "wb") as file:
        for part in parts:
            file.write(part)
    partial.rename(target)
    return target


def part_of(wheel, name):
    """Returns the bytes of the only file in a wheel whose path ends with `name`."""
    with zipfile.ZipFile(wheel) as archive:
        found = [each for each in archive.namelist() if each.endswith(name)]
        if len(found) != 1:
            raise ValueError(f"{wheel}: {len(found)} files end with {name}")
        return archive.read(found[0])
