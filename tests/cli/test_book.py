"""Tests `syrinx book`: chapters, files, and the resumption of an interrupted book."""
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
import harness  # noqa: E402
from harness import BIN, MODEL, SENTENCE, run_cli  # noqa: E402


def book_text(chapters, sentences):
    return "".join(f"Chapter {n}\n\n" + "".join(f"{n} {s}. {SENTENCE}" for s in range(sentences)) +
                   "\n\n* * *\n\n" for n in range(1, chapters + 1))


class Book(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = place.name
        self.text = os.path.join(self.dir, "birds.txt")

    def write(self, text):
        with open(self.text, "w", encoding="utf-8") as file:
            file.write(text)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def book(self, *arguments, stdin=b"", voice=MODEL):
        done = subprocess.run([BIN, "book", "--model", voice, *arguments], input=stdin,
                              capture_output=True, cwd=self.dir, timeout=300, check=False)
        return done

    def test_parts_without_speech_do_not_end_the_book(self):
        self.write("[\u4f60\u597d]\n\n" * 300 + "\u4f60\u597d\n\n" * 300 + "One.\n")
        done = self.book("birds.txt", "-o", "birds.wav")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), r"^syrinx: \d+ of \d+ parts have words, but none for this voice: the text")

    def test_a_chapter_without_speech_has_no_file(self):
        self.write("# One\n\n\u4f60\u597d\n\n# Two\n\nHello.\n\n# \u4e09\n\n\u4f60\u597d\n")
        done = self.book("birds.txt", voice="finch")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("birds"))), ["01-one.wav", "02-two.wav", "book.m3u8"])
        self.assertEqual(self.read("birds", "book.m3u8"), b"#EXTM3U\n01-one.wav\n02-two.wav\n")
        self.assertIn("chapter 3 (\u4e09) has no file", done.stderr.decode())

    def test_a_book_without_speech_fails(self):
        self.write("\u4f60\u597d\n")
        for output, left in (("birds.wav", ["birds.txt"]), ("birds/", ["birds", "birds.txt"])):
            done = self.book("birds.txt", "-o", output, voice="finch")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, b"")
            self.assertIn(b"birds.txt: the text contains nothing to speak", done.stderr)
            self.assertEqual(sorted(os.listdir(self.dir)), left)
        self.assertEqual(os.listdir(self.path("birds")), [])

    def test_a_pause_that_is_too_long_is_refused_at_once(self):
        self.write("# One\n\nHello.\n\n# Two\n\nA wren [pause 20s] and a finch.\n")
        done = self.book("birds.txt")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"chapter 2 (Two): a pause of 20 s: at most 10 s are possible", done.stderr)
        self.assertNotIn("01-one.wav", os.listdir(self.path("birds")))

    def test_a_file_per_chapter(self):
        self.write("\ufeff" + book_text(3, 2).replace("\n", "\r\n"))
        done = self.book("birds.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"^3 chapters, 0:\d\d of audio in 0:\d\d: birds/\n$")
        names = [f"0{n}-chapter-{n}.wav" for n in (1, 2, 3)]
        self.assertEqual(sorted(os.listdir(self.path("birds"))), [*names, "book.m3u8"])
        self.assertEqual(self.read("birds", "book.m3u8").decode().split("\n")[1:4], names)
        for name in names:
            data = self.read("birds", name)
            self.assertEqual(harness.wav_header(data)[1], len(data) - 44)
        # The samples do not depend on the number of jobs, and one file has the same samples.
        done = self.book("birds.txt", "-o", "all.wav", "--jobs", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        # One file has pauses of 0.7 s between chapters.
        pause = bytes(2 * int(0.7 * harness.wav_header(data)[0] + 0.5))
        self.assertTrue(self.read("all.wav")[44:] ==
                        pause.join(self.read("birds", name)[44:] for name in names))
        cue = self.read("all.cue").decode()
        self.assertEqual(cue.count("INDEX 01"), 3)
        self.assertIn('TITLE "Chapter 2"', cue)
        self.assertNotIn("all.wav.journal", os.listdir(self.dir))
        done = self.book("birds.txt", "-o", "mp3/", "--format", "mp3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.read("mp3", "01-chapter-1.mp3").startswith(b"ID3"))
        self.assertIn(b"01-chapter-1.mp3", self.read("mp3", "book.m3u8"))

    def test_labels(self):
        """Files name the book, its author and its chapters."""
        self.write("Title: Birds\n\nAuthor: A. Bird\n\n" + book_text(2, 1))
        for ending in ("m4b", "mp3", "opus", "flac"):
            done = self.book("birds.txt", "-o", f"all.{ending}")
            self.assertEqual(done.returncode, 0, done.stderr)
            shown = json.loads(subprocess.run(
                ["ffprobe", "-v", "error", "-show_chapters", "-show_entries", "format_tags:stream_tags:format=duration",
                 "-of", "json", self.path(f"all.{ending}")], capture_output=True, check=True, timeout=60).stdout)
            tags = shown["format"].get("tags") or shown["streams"][0]["tags"]
            tags = {name.lower(): value for name, value in tags.items()}
            self.assertEqual((tags["title"], tags["artist"]), ("Birds", "A. Bird"), ending)
            chapters = shown["chapters"]
            self.assertEqual([each["tags"]["title"] for each in chapters], ["Chapter 1", "Chapter 2"], ending)
            self.assertEqual(chapters[0]["end_time"], chapters[1]["start_time"])
            self.assertAlmostEqual(float(chapters[1]["end_time"]), float(shown["format"]["duration"]), delta=0.1)
        done = self.book("birds.txt", "--title", "Other", "--author", "B", "-o", "apart/", "--format", "mp3")
        self.assertEqual(done.returncode, 0, done.stderr)
        tags = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format_tags", "-of", "csv=p=0:nk=0",
                               self.path("apart", "02-chapter-2.mp3")], capture_output=True, check=True, timeout=60).stdout
        for tag in (b"title=Chapter 2", b"album=Other", b"artist=B", b"track=2"):
            self.assertIn(tag, tags)

    def test_ssml(self):
        words = "".join(f"<p>Number {n}: <emphasis>{SENTENCE}</emphasis></p>" for n in range(12))
        document = ("<speak><p>Say <phoneme ph='tə'>x</phoneme> <prosody rate='fast' pitch='+2st'>so.</prosody></p>"
                    f"{words}</speak>")
        self.write(document)
        done = self.book("birds.txt", "-o", "a.wav")
        self.assertEqual(done.returncode, 0, done.stderr)
        # The first part equals the speech of `say`.
        short = document.split("<p>Number")[0] + "</speak>"
        self.write(short)
        done = self.book("birds.txt", "-o", "b.wav", "--seed", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = run_cli("say", short, "--model", MODEL, "-o", self.path("c.wav"), "--seed", "4")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(self.read("b.wav")[44:], self.read("c.wav")[44:])
        self.assertGreater(len(self.read("a.wav")), 5 * len(self.read("b.wav")))
        self.write("<speak>\n<p>x</speak>")
        done = self.book("birds.txt", "-o", "d.wav")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"birds.txt: SSML, line 2: this end tag does not", done.stderr)

    def test_speed(self):
        self.write("The wren sang in the hedge, and then it flew away over the pond.")
        sizes = []
        for speed in ("0.8", "1.6", "3.2"):  # finch was trained for 0.66 to 1.75
            done = self.book("birds.txt", "-o", "a.wav", "--restart", "--speed", speed)
            self.assertEqual(done.returncode, 0, done.stderr)
            sizes.append(len(self.read("a.wav")))
        for slow, fast in zip(sizes, sizes[1:]):
            self.assertTrue(1.7 < slow / fast < 2.3, sizes)

    def test_goes_on_where_it_was(self):
        text = book_text(2, 25).encode()
        whole = self.book("-", "-o", "whole.wav", stdin=text)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        self.write(text.decode())
        command = [BIN, "book", "--model", MODEL, "birds.txt", "-o", "cut.wav", "--jobs", "1"]
        process = subprocess.Popen(command, cwd=self.dir, stderr=subprocess.DEVNULL)
        journal = self.path("cut.wav.journal")
        deadline = time.monotonic() + 60
        while not os.path.exists(journal) and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertNotIn("cut.wav", os.listdir(self.dir))
        other = self.book("birds.txt", "-o", "cut.wav", "--seed", "9")
        self.assertEqual(other.returncode, 1)
        self.assertIn(b"--restart", other.stderr)
        done = self.book("birds.txt", "-o", "cut.wav")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rb"^continuing after \d+:\d\d of audio\n")
        self.assertTrue(self.read("cut.wav") == self.read("whole.wav"))
        # A book must not have files of two formats.
        process = subprocess.Popen([*command[:5], "-o", "cut/", "--jobs", "1"], cwd=self.dir, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path("cut", "01-chapter-1.wav")) and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if os.path.exists(self.path("cut", "book.m3u8")):
            return  # the book was already complete
        other = self.book("birds.txt", "-o", "cut/", "--format", "mp3")
        self.assertEqual(other.returncode, 1)
        self.assertIn(b"--restart", other.stderr)

    def test_interrupted_it_leaves_no_half_of_a_file(self):
        self.write(book_text(1, 60))
        process = subprocess.Popen([BIN, "book", "--model", MODEL, "birds.txt", "-o", "a.opus"], cwd=self.dir,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not any(name.startswith("a.opus.new-") for name in os.listdir(self.dir)):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        if process.wait(60) == 0:
            self.skipTest("it was faster")
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual([name for name in os.listdir(self.dir) if ".new-" in name], [])
        done = self.book("birds.txt", "-o", "a.opus")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a.opus", os.listdir(self.dir))

    def test_a_finished_book_is_left_alone(self):
        self.write(book_text(2, 1))
        for target, first in (("birds/", "birds/01-chapter-1.wav"), ("all.wav", "all.wav")):
            self.assertEqual(self.book("birds.txt", "-o", target).returncode, 0)
            os.utime(self.path(first), (1, 1))
            names = sorted(os.listdir(self.path("birds")))
            again = self.book("birds.txt", "-o", target)
            self.assertEqual(again.returncode, 1)
            self.assertIn(b"--restart", again.stderr)
            self.assertEqual((again.stderr.count(b"\n"), again.stdout), (1, b""))
            self.assertEqual(os.stat(self.path(first)).st_mtime, 1)
            self.assertEqual(sorted(os.listdir(self.path("birds"))), names)
            forced = self.book("birds.txt", "-o", target, "--restart")
            self.assertEqual(forced.returncode, 0, forced.stderr)
            self.assertGreater(os.stat(self.path(first)).st_mtime, 1)

    def test_a_name_tells_a_file_or_a_directory(self):
        self.write(book_text(2, 1))
        vague = self.book("birds.txt", "-o", "name")
        self.assertEqual(vague.returncode, 2)
        self.assertIn(b"-o name.wav is one file, -o name/ a directory", vague.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), ["birds.txt"])
        os.mkdir(self.path("name"))  # the output is an existing directory
        done = self.book("birds.txt", "-o", "name")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("01-chapter-1.wav", os.listdir(self.path("name")))
        self.assertEqual(self.book("birds.txt", "-o", "whole", "--format", "flac").returncode, 0)
        self.assertTrue(self.read("whole").startswith(b"fLaC"))
        os.mkdir(self.path("v1.2"))  # the dot is part of the directory's name
        self.assertEqual(self.book("birds.txt", "-o", "v1.2/whole", "--format", "flac").returncode, 0)
        self.assertEqual(sorted(os.listdir(self.path("v1.2"))), ["whole", "whole.cue"])

    def test_gutenbergs_headings(self):
        chapters = [f"CHAPTER {n}.\nThe {title}\n\n\n{SENTENCE}\n\n\n"
                    for n, title in (("I", "Fox"), ("II", "Dog"), ("III", "Licence"))]
        chapters.insert(2, "*** END OF THE PROJECT GUTENBERG EBOOK BIRDS ***\n\n")
        self.write("".join(chapters))
        done = self.book("birds.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("birds"))),
                         ["01-chapter-i-the-fox.wav", "02-chapter-ii-the-dog.wav", "book.m3u8"])

    def test_epub(self):
        pages = {"META-INF/container.xml": "<container><rootfile full-path='b.opf'/></container>",
                 "b.opf": "<package><metadata><title>Birds</title></metadata><manifest><item id='n' href='n.xhtml' "
                          "properties='nav'/><item id='a' href='a.xhtml'/></manifest><spine><itemref idref='a'/></spine>"
                          "</package>",
                 "n.xhtml": "<html xmlns:epub='e'><nav epub:type='toc'><ol><li><a href='a.xhtml'>One</a></li>"
                            "<li><a href='a.xhtml#b'>Two</a></li></ol></nav></html>",
                 "a.xhtml": "<html><body><h1>One</h1><p>A wren.</p><h1 id='b'>Two</h1><p>A finch.</p></body></html>"}
        with zipfile.ZipFile(self.path("birds.epub"), "w", zipfile.ZIP_DEFLATED) as archive:
            for name, page in pages.items():
                archive.writestr(name, page)
        done = self.book("birds.epub")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("01-one.wav", "02-two.wav"):
            self.assertIn(name, os.listdir(self.path("birds")))
        self.write("no archive")
        os.rename(self.text, self.path("text.epub"))
        self.assertIn(b"expected a zip archive (an EPUB", self.book("text.epub").stderr)

    def test_exit_codes(self):
        self.write("Hello there.")
        self.assertEqual(self.book().returncode, 2)
        self.assertEqual(self.book("-", stdin=b"Hello.").returncode, 2)  # the output has no name
        self.assertEqual(self.book("birds.txt", "-o", "-").returncode, 2)
        self.assertEqual(self.book("no-such.txt").returncode, 1)
        self.assertEqual(self.book("birds.txt", "--voice", "nobody").returncode, 1)
        self.assertEqual(self.book("-", "-o", "x.wav", stdin=b" \n").returncode, 2)
        short = self.book("birds.txt", "-o", "short.wav", "--max-frames", "5")
        self.assertEqual(short.returncode, 3)
        self.assertIn(b"1 of 1 parts reached a length limit", short.stderr)

    def test_progress_is_for_people(self):
        self.write("Hello there.")
        self.assertEqual(self.book("birds.txt").stderr, b"")
        master, slave = os.openpty()
        subprocess.run([BIN, "book", "--model", MODEL, "birds.txt", "-o", "a.wav"], cwd=self.dir,
                       stdout=subprocess.DEVNULL, stderr=slave, timeout=60, check=True)
        os.close(slave)
        shown = os.read(master, 4096).decode()
        os.close(master)
        self.assertIn("chapter 1 of 1, 0 %", shown)
        self.assertEqual(run_cli("book", "--help").returncode, 0)

    def test_progress_is_one_line_of_a_narrow_terminal(self):
        self.write(book_text(4, 8))
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        process = subprocess.Popen([BIN, "book", "--model", MODEL, "birds.txt", "-o", "a.wav"],
                                   cwd=self.dir, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 4096):
                shown += piece
        except OSError:  # the other end has closed the terminal
            pass
        os.close(master)
        self.assertEqual(process.wait(60), 0)
        lines = shown.decode().split("\r\033[K")
        self.assertIn("chapter 1 of 4", lines[1])
        self.assertEqual(max(map(len, lines)), 39)

    def test_a_directory_of_its_own(self):
        """Without a given directory, the book is never in the root, and replaces no file."""
        for name in ("notes", ".notes"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("Hello there.")
            done = self.book(name)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"cannot make {name}/: a file has that name; choose an output".encode(), done.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), [".notes", "notes"])


if __name__ == "__main__":
    harness.main()
