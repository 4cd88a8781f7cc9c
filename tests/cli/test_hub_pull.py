"""Tests `syrinx hub pull` against an imitation of the hub's HTTP API: complete, interrupted, corrupt and resumed
downloads."""
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import run_cli  # noqa: E402

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = b'{"model_type": "none"}'
WEIGHTS = os.urandom(1 << 20)


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files = {"config.json": CONFIG, "sub/model weights.bin": WEIGHTS, "empty.txt": b""}
    lies, cuts, faults, log, extra, no_ranges = {}, [], [], [], [], False
    facts = {}  # the hub's metadata of the files
    repositories = {"Org/Name", "hexgrad/Kokoro-82M", "rhasspy/piper-voices", "Zyphra/Zonos-v0.1-transformer",
                    "Zyphra/Zonos-v0.1-speaker-embedding", "descript/dac_44khz", "kyutai/tts-1.6b-en_fr", "kyutai/tts-voices"}

    def do_GET(self):
        words = self.path.split("/")
        listed = "/".join(words[3:5]) if words[1] == "api" else "/".join(words[1:3])
        Hub.log.append((self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        if Hub.faults:
            self.answer(Hub.faults.pop(), b"busy")
        elif listed in Hub.repositories and self.path.startswith(f"/api/models/{listed}/revision/main?"):
            self.list()
        elif listed in Hub.repositories and self.path.startswith(f"/{listed}/resolve/{COMMIT}/"):
            name = self.path.split("/", 5)[5]
            self.answer(302, b"", {"Location": f"/cdn/{name}"})
        elif self.path.startswith("/cdn/"):
            self.send_file(urllib.parse.unquote(self.path[5:]))
        elif "Secret" in self.path:
            self.answer(401, b"no")
        else:
            self.answer(404, b"nothing here")

    def list(self):
        siblings = list(Hub.extra)
        for name, data in Hub.files.items():
            entry = {"rfilename": name, "size": len(data), "blobId": git_hash(data)}
            if len(data) > 1000:
                entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            siblings.append(entry)
        self.answer(200, json.dumps({"sha": COMMIT, "siblings": siblings, **Hub.facts}).encode())

    def send_file(self, name):
        data = Hub.lies.get(name, Hub.files[name])
        asked, status, headers = self.headers.get("Range"), 200, {}
        if asked:
            begin = int(asked[6:].split("-")[0])
            if not Hub.no_ranges:
                headers = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}
                data, status = data[begin:], 206
        if Hub.cuts and len(data) > 1000:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            for each, value in headers.items():
                self.send_header(each, value)
            self.end_headers()
            self.wfile.write(data[:Hub.cuts.pop()])
            self.close_connection = True
        else:
            self.answer(status, data, headers)

    def answer(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # the tests cause clients to disconnect


class HubPull(unittest.TestCase):
    def setUp(self):
        Hub.lies, Hub.cuts, Hub.faults, Hub.log, Hub.extra = {}, [], [], [], []
        Hub.no_ranges, Hub.facts = False, {}
        self.hub = Quiet(("127.0.0.1", 0), Hub)
        threading.Thread(target=self.hub.serve_forever, daemon=True).start()
        self.home = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.home.name, "hub", "models--Org--Name")
        self.snapshot = os.path.join(self.root, "snapshots", COMMIT)

    def tearDown(self):
        self.hub.shutdown()
        self.hub.server_close()
        self.home.cleanup()

    def pull(self, *arguments, **env):
        return run_cli("hub", "pull", *arguments, env={
            "HF_ENDPOINT": f"http://127.0.0.1:{self.hub.server_port}/", "HF_HOME": self.home.name,
            "HF_TOKEN": "", "HF_HUB_CACHE": "", "HOME": self.home.name, **env})

    def blob(self, data):
        return os.path.join(self.root, "blobs", hashlib.sha256(data).hexdigest())

    def check(self):
        for name, data in Hub.files.items():
            path = os.path.join(self.snapshot, name)
            with open(path, "rb") as file:
                self.assertTrue(file.read() == data, name)
            self.assertTrue(os.path.islink(path))
        with open(os.path.join(self.root, "refs", "main"), encoding="utf-8") as file:
            self.assertEqual(file.read(), COMMIT)

    def test_whole(self):
        done = self.pull("Org/Name", HF_TOKEN="secret")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode().strip(), self.snapshot)
        self.check()
        self.assertEqual({entry[2] for entry in Hub.log}, {"Bearer secret"})
        self.assertNotIn(b"secret", done.stdout + done.stderr)
        Hub.log.clear()
        self.assertEqual(self.pull("Org/Name").returncode, 0)
        self.assertEqual(len(Hub.log), 1)  # only the list was requested, as all files are present
        # The other commands find the model there.
        env = {"HF_HOME": self.home.name, "HF_HUB_CACHE": ""}
        self.assertIn(b"no known family", run_cli("inspect", "Org/Name", env=env).stderr)

    def test_progress_is_for_people(self):
        quiet = self.pull("Org/Name").stderr
        self.assertNotIn(b"\r", quiet)
        self.assertIn(b"sub/model weights.bin: 1.0 MiB\n", quiet)
        shutil.rmtree(self.root)
        master, slave = os.openpty()
        env = dict(os.environ, HF_ENDPOINT=f"http://127.0.0.1:{self.hub.server_port}/",
                   HF_HOME=self.home.name, HF_TOKEN="", HF_HUB_CACHE="")
        subprocess.run([harness.BIN, "hub", "pull", "Org/Name"], stdout=subprocess.DEVNULL,
                       stderr=slave, env=env, timeout=60, check=True)
        os.close(slave)
        shown = os.read(master, 65536).decode()
        os.close(master)
        self.assertRegex(shown, r"\r\x1b\[K[^\r]+: [\d.]+ \w+ of [\d.]+ \w+")

    def test_goes_on_after_a_cut(self):
        Hub.cuts = [300_000, 400_000]
        done = self.pull("Org/Name")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check()
        ranges = [r for path, r, _ in Hub.log if r and path.startswith("/cdn")]
        self.assertEqual(ranges, ["bytes=400000-", "bytes=700000-"])

    def test_begins_anew_where_the_hub_cannot_go_on(self):
        Hub.cuts, Hub.no_ranges = [300_000], True
        done = self.pull("Org/Name")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check()

    def test_goes_on_in_another_process(self):
        os.makedirs(os.path.join(self.root, "blobs"))
        with open(self.blob(WEIGHTS) + ".incomplete", "wb") as file:
            file.write(WEIGHTS[:123_456])
        self.assertEqual(self.pull("Org/Name").returncode, 0)
        self.check()
        self.assertIn("bytes=123456-", [r for _, r, _ in Hub.log])

    def test_corrupt_files_do_not_appear(self):
        Hub.lies = {"sub/model weights.bin": b"x" * len(WEIGHTS)}
        done = self.pull("Org/Name")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"the hash differs", done.stderr)
        self.assertFalse(os.path.exists(self.blob(WEIGHTS)))
        self.assertFalse(os.path.exists(self.blob(WEIGHTS) + ".incomplete"))
        self.assertFalse(os.path.exists(os.path.join(self.root, "refs")))
        Hub.lies = {}
        self.assertEqual(self.pull("Org/Name").returncode, 0)
        self.check()

    def test_a_file_that_was_cut_is_not_there(self):
        self.assertEqual(self.pull("Org/Name").returncode, 0)
        for size in (0, 1000):
            os.truncate(self.blob(WEIGHTS), size)
            done = self.pull("Org/Name")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.check()

    def test_the_token_lies_beside_the_cache(self):
        os.makedirs(os.path.join(self.home.name, "x", "huggingface"))
        with open(os.path.join(self.home.name, "x", "huggingface", "token"), "w", encoding="utf-8") as file:
            file.write("kept\n")
        done = self.pull("Org/Name", HF_HOME="", HF_TOKEN_PATH="", XDG_CACHE_HOME=os.path.join(self.home.name, "x"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({entry[2] for entry in Hub.log}, {"Bearer kept"})

    def test_a_busy_hub_is_asked_again(self):
        Hub.faults = [503, 429]
        done = self.pull("Org/Name")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"trying again", done.stderr)

    def test_hostile_lists(self):
        for entry in ({"rfilename": "../../evil", "size": 1, "blobId": git_hash(b"x")},
                      {"rfilename": "/etc/evil", "size": 1, "blobId": git_hash(b"x")},
                      {"rfilename": "a//b", "size": 1, "blobId": git_hash(b"x")},
                      {"rfilename": "evil", "size": 1, "blobId": "../../../evil"},
                      {"rfilename": "evil", "size": -5, "blobId": git_hash(b"x")},
                      {"rfilename": 5, "size": 1}, "evil"):
            Hub.extra = [entry]
            with self.subTest(entry=entry):
                done = self.pull("Org/Name")
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.count(b"\n"), 1)
                self.assertFalse(os.path.exists(self.root))

    def test_faults(self):
        for model, says in [("Org/Nobody", b"404"), ("Org/Secret", b"HF_TOKEN"),
                            ("nothing", b"Org/Name"), ("../x/y", b"Org/Name")]:
            done = self.pull(model)
            self.assertEqual(done.returncode, 1)
            self.assertIn(says, done.stderr)

    def test_without_a_network_it_fails_at_once(self):
        with socket.socket() as free:  # no server listens there
            free.bind(("127.0.0.1", 0))
            host = f"http://127.0.0.1:{free.getsockname()[1]}"
            began = time.monotonic()
            done = self.pull("Org/Name", HF_ENDPOINT=host)
        self.assertEqual(done.returncode, 1)
        self.assertLess(time.monotonic() - began, 10)
        self.assertIn(f"cannot reach {host}: ".encode(), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_size_and_licence_come_first(self):
        Hub.facts = {"cardData": {"license": "apache-2.0"}}
        lines = self.pull("Org/Name").stderr.decode().splitlines()
        self.assertEqual(lines[0], "Org/Name: 3 files, 1.0 MiB; licence apache-2.0")
        again = self.pull("Org/Name").stderr.decode().splitlines()
        self.assertEqual(again[0], "Org/Name: 3 files, 1.0 MiB, 1.0 MiB already downloaded; licence apache-2.0")
        for card in ({"license": "other", "license_name": "my-terms"}, {"license": ["a"]}, {"license": "\x1b[31m"}, 5):
            Hub.facts = {"cardData": card}
            said = "my-terms" if card == {"license": "other", "license_name": "my-terms"} else "not stated"
            self.assertIn(f"licence {said}\n".encode(), self.pull("Org/Name").stderr)

    def test_a_dry_run_downloads_nothing(self):
        done = self.pull("Org/Name", "--dry-run")
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertIn(b"3 files, 1.0 MiB; licence not stated", done.stderr)
        self.assertEqual((len(Hub.log), os.path.exists(self.root)), (1, False))

    def test_a_full_disk_is_told_before(self):
        Hub.extra = [{"rfilename": "huge.bin", "lfs": {"size": 1 << 40, "sha256": "0" * 64}}]
        done = self.pull("Org/Name")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), "needs 1.0 TiB more|needs 1024.+more")
        self.assertFalse(os.path.exists(self.root))

    def test_terms_that_must_be_accepted(self):
        for gated in (False, None):
            Hub.facts = {"gated": gated}
            self.assertEqual(self.pull("Org/Name", "--include", "config.json").returncode, 0)
        Hub.facts = {"gated": "manual"}
        done = self.pull("Org/Name")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"http://127.0.0.1:{self.hub.server_port}/Org/Name and set HF_TOKEN".encode(), done.stderr)
        self.assertEqual(os.listdir(self.snapshot), ["config.json"])
        self.assertEqual(self.pull("Org/Name", HF_TOKEN="secret").returncode, 0)

    def test_known_names(self):
        done = self.pull("kokoro")
        self.assertEqual(done.returncode, 0, done.stderr)
        snapshot = os.path.join(self.home.name, "hub", "models--hexgrad--Kokoro-82M", "snapshots", COMMIT)
        self.assertEqual(done.stdout.decode().strip(), snapshot)
        self.assertEqual(os.listdir(snapshot), ["config.json"])  # only the files that the family reads
        self.assertIn(b"hexgrad/Kokoro-82M: 1 file, 22 bytes; licence Apache-2.0\n", done.stderr)
        # The other commands find the model by that name.
        env = {"HF_HOME": self.home.name, "HF_HUB_CACHE": ""}
        self.assertIn(b"no known family", run_cli("inspect", "kokoro", env=env).stderr)
        self.assertIn(b"syrinx hub pull zonos", run_cli("inspect", "zonos", env=env).stderr)

    def test_a_model_comes_with_what_it_needs(self):
        done = self.pull("zonos")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([name for name in sorted(os.listdir(os.path.join(self.home.name, "hub")))],
                         ["models--Zyphra--Zonos-v0.1-speaker-embedding", "models--Zyphra--Zonos-v0.1-transformer",
                          "models--descript--dac_44khz"])
        self.assertEqual(len(done.stdout.splitlines()), 1)

    def test_a_model_speaks_after_its_download(self):
        golden, ending = pathlib.Path(harness.PARITY) / "kyutai_tts/golden/small/checkpoint", ".1e68beda@240.safetensors"
        voice = (golden / f"voices/anna.wav{ending}").read_bytes()
        Hub.files = {path.name: path.read_bytes() for path in golden.iterdir() if path.is_file()}
        Hub.files |= {f"expresso/anna.wav{ending}": voice, f"other/ben.wav{ending}": voice, "README.md": b""}
        self.addCleanup(setattr, Hub, "files", {"config.json": CONFIG, "sub/model weights.bin": WEIGHTS, "empty.txt": b""})
        done = self.pull("kyutai-tts")
        self.assertEqual(done.returncode, 0, done.stderr)
        wav = os.path.join(self.home.name, "said.wav")
        env = {"HF_HOME": self.home.name, "HF_HUB_CACHE": ""}
        said = run_cli("say", "--model", "kyutai-tts", "a bad bed", "-o", wav, env=env)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertGreater(os.path.getsize(wav), 20000)
        self.assertIn(b"anna.wav", run_cli("inspect", "kyutai-tts", env=env).stdout)

    def test_voices_of_piper(self):
        path = "en/en_US/lessac/medium/en_US-lessac-medium.onnx"
        Hub.files = {path: b"graph", path + ".json": b"{}", "en/en_US/joe/medium/en_US-joe-medium.onnx": b"other"}
        self.addCleanup(setattr, Hub, "files", {"config.json": CONFIG, "sub/model weights.bin": WEIGHTS, "empty.txt": b""})
        done = self.pull("piper:en_US-lessac-medium")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = done.stdout.decode().strip()
        self.assertTrue(model.endswith("/" + path) and os.path.exists(model + ".json"), model)
        self.assertFalse(os.path.exists(os.path.join(os.path.dirname(model), "../../joe")))
        self.assertIn(b"LANGUAGE_REGION-SPEAKER-QUALITY", self.pull("piper:lessac").stderr)

    def test_list(self):
        done = run_cli("hub", "list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"\nkokoro +hexgrad/Kokoro-82M +355  Apache-2.0\n")
        self.assertRegex(done.stdout.decode(), r"\norpheus .*HF_TOKEN; needs snac\n")
        self.assertRegex(done.stdout.decode(), r"\nmoss-tts-realtime .* unknown  Apache-2.0; needs moss-audio-tokenizer\n")
        self.assertRegex(done.stdout.decode(), r"\npocket-tts .*; needs further files, see docs/families/pocket_tts.md\n")

    def test_checkpoints_of_the_pages_have_names(self):
        listed = run_cli("hub", "list").stdout.decode().split()
        pages = pathlib.Path(__file__).parents[2] / "docs" / "families"
        published = set()
        for row in re.findall(r"^\| `.*$", "".join(page.read_text() for page in pages.glob("*.md")), re.M):
            cells = row.split("|")
            if cells[2].strip() not in ("refused", "not loaded"):
                published.update(re.findall(r"`([\w-]+/[\w.-]+\w)`", cells[1].replace("LANGUAGE", "fr")))
        self.assertGreater(len(published), 25)
        self.assertEqual(published - set(listed), set())

    def test_every_name_of_the_list(self):
        rows = [line.split()[:2] for line in run_cli("hub", "list").stdout.decode().splitlines()[1:]]
        rows = [(name, repository) for name, repository in rows if name != "piper:VOICE"]
        published = ["config.json", "params.json", "tokenizer.json", "model.safetensors", "model.bin", "model.pt",
                     "languages/english/a", "model/xeus_checkpoint_new.pth", "t3_mtl23ls_v2.safetensors", "cosyvoice3.yaml",
                     "expresso/a.1e68beda@240.safetensors"]
        Hub.files = dict.fromkeys(published, b"x")
        for size in ("tiny.en", "base.en", "base", "small", "large-v3-turbo-q5_0"):
            Hub.files[f"ggml-{size}.bin"] = b"x"
        for file in ("orpheus-3b-0.1-ft-q4_k_m.gguf", "qwen2.5-0.5b-instruct-q4_k_m.gguf"):
            Hub.files[file] = b"x"
        kept = set(Hub.repositories)
        Hub.repositories |= {repository for _, repository in rows}
        self.addCleanup(setattr, Hub, "files", {"config.json": CONFIG, "sub/model weights.bin": WEIGHTS, "empty.txt": b""})
        self.addCleanup(setattr, Hub, "repositories", kept)
        done = self.pull("--dry-run", *(name for name, _ in rows))
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, repository in rows:
            self.assertIn(f"{repository}: ".encode(), done.stderr, name)

    def test_editions_of_one_repository(self):
        files = ("t3_cfg.safetensors", "t3_mtl23ls_v2.safetensors", "conds.pt", "t3_23lang.safetensors")
        Hub.files = dict.fromkeys(files, b"x")
        Hub.repositories = Hub.repositories | {"ResembleAI/chatterbox"}
        self.addCleanup(setattr, Hub, "files", {"config.json": CONFIG, "sub/model weights.bin": WEIGHTS, "empty.txt": b""})
        done = self.pull("chatterbox", "chatterbox-multilingual")
        self.assertEqual(done.returncode, 0, done.stderr)
        english, multilingual = done.stdout.decode().split()
        self.assertEqual(os.path.join(english, "t3_mtl23ls_v2.safetensors"), multilingual)
        self.assertEqual(sorted(os.listdir(english)), ["conds.pt", "t3_cfg.safetensors", "t3_mtl23ls_v2.safetensors"])
        # Each name finds its edition in the common directory: their tokenizers, which are missing here, differ.
        env = {"HF_HOME": self.home.name, "HF_HUB_CACHE": ""}
        for name, file in (("chatterbox", b"/tokenizer.json"), ("chatterbox-multilingual", b"/grapheme_mtl_merged")):
            self.assertIn(file, run_cli("inspect", name, env=env).stderr)

    def test_patterns(self):
        self.assertEqual(self.pull("Org/Name", "--include", "*.json").returncode, 0)
        self.assertEqual(os.listdir(self.snapshot), ["config.json"])


if __name__ == "__main__":
    harness.main()
