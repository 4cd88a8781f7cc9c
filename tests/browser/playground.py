"""The base class for tests of the playground."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "http")]
import chromium  # noqa: E402
import harness  # noqa: E402

TEXT = "Two birds sat in a tree, and it's \"quiet\" now: $HOME, `ls`, \\n."


class PlaygroundTest(unittest.TestCase):
    """A server, a browser, and pages in it."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet")
        cls.browser = chromium.Browser()
        cls.rate = cls.server.get("/v1/models")[2]["data"][0]["sample_rate"]

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.server.__exit__()

    def open(self, server=None, ready=True, **options):
        page = self.browser.page(**options)
        self.addCleanup(page.close)
        page.open(f"http://127.0.0.1:{(server or self.server).port}/")
        if ready:
            page.wait("document.querySelector('#voice-a').options.length > 0")
            page.wait("document.querySelector('#format').options.length > 0")
        return page

    def idle(self, page, timeout_s=60):
        """Waits until all audio is complete and was played."""
        page.wait("document.querySelector('#speak').textContent === 'Speak'", timeout_s)

    def figures(self, page):
        return page.run("[...document.querySelectorAll('.said')].map((e) => e.textContent)")

    def trouble(self, page):
        return page.wait("document.querySelector('#trouble').textContent")

    def picture(self, page, name):
        if os.environ.get("SYRINX_SCREENSHOTS"):
            page.screenshot(os.path.join(os.environ["SYRINX_SCREENSHOTS"], name + ".png"))


def main():
    if chromium.find() is None:
        print("skipped: there is no Chromium")
        sys.exit(77)
    harness.main()
