"""Tests transcription in a real browser: recordings are chosen and dropped, shown with times, played from there, and
saved as files. Skipped (77) without Chromium or PocketSphinx.

SYRINX_SCREENSHOTS=DIR stores screenshots.
"""
import json
import os
import sys
import tempfile
import time
import unittest
import uuid
import wave

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "http")]
import chromium  # noqa: E402
import harness  # noqa: E402

# The second text is longer than a subtitle.
TEXTS = ["Good morning.", "The quick brown fox jumps over the lazy dog and the old man walks home along the river with a "
         "letter for his sister."]
# A possible answer of the server, for tests of the page.
KNOWN = {"duration": 3725.5, "language": "english", "text": "Good morning. <b>Two</b> birds & a tree.", "segments": [
    {"start": 0.2, "end": 1.9, "text": " Good morning."},
    {"start": 61.25, "end": 62, "text": " <b>Two</b> birds & a tree, and a_very_long_name_without_any_blank_" + 12 * "x"},
    {"start": 3725, "end": 3725.4, "text": " The end."}]}
ANSWER = """
const ask = window.fetch;
window.fetch = async (address, options) => {
  if (!String(address).endsWith('/v1/audio/transcriptions')) return ask(address, options);
  window.form = [...options.body].map(([name, value]) => [name, value.name ?? value]);
  return new Response(JSON.stringify(KNOWN), {headers: {'Content-Type': 'application/json'}});
};
""".replace("KNOWN", json.dumps(KNOWN))


class Recording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet")
        cls.addClassCleanup(cls.server.__exit__)
        if "pocketsphinx" not in [m["id"] for m in cls.server.get("/v1/models")[2]["data"]]:
            print("skipped: PocketSphinx is not installed")
            cls.server.__exit__()
            sys.exit(77)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.file = os.path.join(cls.folder.name, "Two birds.wav")
        with wave.open(cls.file, "wb") as out:
            out.setparams((1, 2, 24000, 0, "NONE", ""))
            for text in TEXTS:
                out.writeframes(cls.server.speak({"input": text, "response_format": "pcm", "seed": 5})[2] + bytes(48000))
        with open(cls.file, "rb") as file:
            cls.audio = file.read()
        cls.browser = chromium.Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def heard(self, form):
        """Returns the server's own transcript."""
        line = uuid.uuid4().hex
        part = f'--{line}\r\nContent-Disposition: form-data; name="{{}}"{{}}\r\n\r\n'.format
        body = (part("response_format", "") + form + "\r\n" + part("file", '; filename="x.wav"')).encode() + self.audio
        connection = self.server.connect(timeout=240)
        connection.request("POST", "/v1/audio/transcriptions", body + f"\r\n--{line}--\r\n".encode(),
                           {"Content-Type": f"multipart/form-data; boundary={line}"})
        answer = connection.getresponse().read().decode()
        connection.close()
        return answer

    def open(self, server=None, **options):
        page = self.browser.page(**options)
        self.addCleanup(page.close)
        page.open(f"http://127.0.0.1:{(server or self.server).port}/")
        page.wait("document.querySelector('#voice-a').options.length > 0")
        return page

    def picture(self, page, name):
        if os.environ.get("SYRINX_SCREENSHOTS"):
            page.screenshot(os.path.join(os.environ["SYRINX_SCREENSHOTS"], name + ".png"))

    def choose(self, page, path):
        node = page.call("DOM.querySelector", nodeId=page.call("DOM.getDocument")["root"]["nodeId"],
                         selector="#recording")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=node, files=[path])

    def drop(self, page, path):
        data = {"items": [], "files": [path], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            page.call("Input.dispatchDragEvent", type=kind, x=200, y=200, data=data)

    def written(self, page):
        page.wait("!document.querySelector('#transcript').hidden", 120)
        return page.run("[...document.querySelectorAll('#segments button')].map((b) => "
                        "[b.querySelector('time').textContent, b.querySelector('span').textContent])")

    def saved(self, page, place, name):
        page.click(f"#save-{name[-3:]}")
        path = os.path.join(place, name)
        deadline = time.monotonic() + 30
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.03)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_segments_play_and_become_files(self):
        page = self.open()
        with tempfile.TemporaryDirectory() as place:
            self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=place)
            self.choose(page, self.file)
            rows = self.written(page)
            self.assertGreater(len(rows), 1)
            self.assertEqual(page.run("document.querySelector('#heard-name').textContent"), "Two birds.wav")
            # The keyboard selects the last segment, and the recording plays from that segment's time.
            page.run("document.querySelector('#segments button').focus()")
            for _ in rows[1:]:
                page.key("ArrowDown")
            page.key(" ")
            start = page.run("Number(document.querySelector('#segments li:last-child button').dataset.start)")
            self.assertGreater(start, 1)
            page.wait("document.querySelector('#sound').readyState >= 2")
            page.wait(f"document.querySelector('#sound').currentTime > {start}")
            self.assertFalse(page.run("document.querySelector('#sound').hidden"))
            page.wait("document.querySelector('#segments li:last-child button').matches('[aria-current=true]')")
            self.picture(page, "recording")
            # Compares with the server's own subtitles, which are divided by the times of words.
            srt = self.saved(page, place, "Two birds.srt")
            self.assertEqual(srt, self.heard("srt"))
            self.assertGreater(srt.count("-->"), len(rows))
            self.assertEqual(self.saved(page, place, "Two birds.vtt"), self.heard("vtt"))
            self.assertEqual(self.saved(page, place, "Two birds.txt").split("\n"), [text for _, text in rows] + [""])
        self.assertEqual(page.problems(), [])

    def test_dropped(self):
        page = self.open(before=ANSWER)
        self.drop(page, self.file)
        rows = self.written(page)
        self.assertEqual(rows[0], ["0:00", "Good morning."])
        self.assertEqual([when for when, _ in rows], ["0:00", "1:01", "1:02:05"])
        self.assertIn("<b>Two</b> birds & a tree", rows[1][1])
        self.assertFalse(page.run("document.body.classList.contains('dropping')"))
        form = page.run("form")
        self.assertIn(["file", "Two birds.wav"], form)
        self.assertIn(["timestamp_granularities[]", "word"], form)
        with tempfile.TemporaryDirectory() as place:
            self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=place)
            self.assertEqual(self.saved(page, place, "Two birds.vtt").split("\n")[5:7],
                             ["00:01:01.250 --> 00:01:02.000",
                              KNOWN["segments"][1]["text"].strip().replace("&", "&amp;").replace("<", "&lt;")
                              .replace(">", "&gt;")])

    def test_errors_in_words(self):
        page = self.open()
        other = os.path.join(self.folder.name, "letter.wav")
        with open(other, "w", encoding="utf-8") as file:
            file.write("Dear sister, " * 100)
        self.drop(page, other)
        page.wait("document.querySelector('#hear-trouble').textContent")
        self.assertTrue(page.run("document.querySelector('#transcript').hidden"))
        # The error disappears when the next try begins, and the user can stop that try.
        page.run("window.fetch = (_, {signal}) => new Promise((_, no) => "
                 "signal?.addEventListener('abort', () => no(new DOMException('', 'AbortError'))))")
        self.drop(page, self.file)
        page.wait("document.querySelector('#hear-state').textContent.includes('Two birds.wav')")
        self.assertEqual(page.run("document.querySelector('#hear-trouble').textContent"), "")
        page.click("#hear-stop")
        page.wait("document.querySelector('#hear-state').textContent === ''")
        self.assertEqual(page.run("document.querySelector('#hear-trouble').textContent"), "")

    def test_nobody_hears(self):
        with harness.Server("--quiet", "--ears", "none") as deaf:
            page = self.open(deaf)
            self.assertIn("apt install libpocketsphinx3", page.run("document.querySelector('#hear-needs').innerText"))
            self.drop(page, self.file)
            page.wait("document.querySelector('#hear-trouble').textContent.includes('no recogniser')")

    def test_any_width_and_light(self):
        for width, dark in ((320, True), (360, False), (1400, True)):
            page = self.open(width=width, height=780, mobile=width < 400, dark=dark, before=ANSWER)
            self.drop(page, self.file)
            self.written(page)
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
            self.assertEqual(page.run(chromium.CONTRAST), [])
            small = page.run("[...document.querySelectorAll('#talk button, #hear button, #hear input')]"
                             ".filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 38)"
                             ".map((e) => e.outerHTML)")
            self.assertEqual(small, [])
            self.picture(page, f"recording-{width}")


if __name__ == "__main__":
    if not chromium.find():
        print("skipped: there is no Chromium")
        sys.exit(77)
    harness.main()
