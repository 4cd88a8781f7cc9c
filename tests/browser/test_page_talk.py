"""Tests a conversation by voice in a real browser: Chromium's fake microphone asks, PocketSphinx transcribes, a small
random text model answers, the built-in voice speaks, and the next question interrupts it. Skipped (77) without
Chromium or PocketSphinx.

SYRINX_SCREENSHOTS=DIR stores screenshots.
"""
import base64
import json
import os
import sys
import tempfile
import time
import unittest
import wave

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "http")]
import chromium  # noqa: E402
import harness  # noqa: E402

WRITER = os.path.join(harness.PARITY, "llm", "qwen3")
QUESTION = "The quick brown fox jumps over the lazy dog."
PAUSE_S = 8  # pause between two questions: the answer begins in it, and the next question interrupts the answer
RATE = 24000

# Records each piece of audio for the loudspeaker (its time, start and cut, and the loudspeaker's delay) and the
# microphone.
WATCH = """
window.pieces = [];
const {start} = AudioBufferSourceNode.prototype, {stop} = AudioScheduledSourceNode.prototype;
AudioBufferSourceNode.prototype.start = function (at) {
  this.piece = {given: this.context.currentTime, at,
                samples: Int16Array.from(this.buffer.getChannelData(0), (x) => Math.round(x * 32768))};
  window.pieces.push(this.piece);
  return start.call(this, at);
};
AudioBufferSourceNode.prototype.stop = function () {
  this.piece.stopped = this.context.currentTime - (this.context.outputLatency || 0);
  return stop.call(this);
};
// [[when it was given, begins, was stopped or null, its samples in base64]]
window.given = () => window.pieces.map(({given, at, stopped, samples}) => {
  const bytes = new Uint8Array(samples.buffer);
  return [given, at, stopped ?? null, btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''))];
});
const ask = navigator.mediaDevices?.getUserMedia;
if (ask) navigator.mediaDevices.getUserMedia = async (wish) =>
  (window.wish = wish, window.microphone = await ask.call(navigator.mediaDevices, wish));
"""
FLAGS = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]


def theirs(text):
    return f"[...document.querySelectorAll('.turn.theirs')].{text}"


class Piece:
    def __init__(self, given, at, stopped, data):
        self.given, self.at, self.stopped, self.data = given, at, stopped, base64.b64decode(data)
        self.seconds = len(self.data) / 2 / RATE
        self.end = at + self.seconds

    def heard(self):
        """Returns the length of this piece in seconds."""
        return self.seconds if self.stopped is None else min(max(0, self.stopped - self.at), self.seconds)


def answers_of(pieces, made):
    """Returns {item: its pieces} for each possible assignment of the played pieces to items. In an assignment, the
    pieces of an item are the beginning of its audio, in order and without gaps. `made`: [(item, bytes)]. If answers
    begin with the same silence, there may be several assignments. If a sample is wrong, there is none."""
    ways = [(-1, 0, {})]  # tuples of the current answer, its played length, and its pieces
    for piece in pieces:
        fresh = []
        for now, told, parts in ways:
            if now >= 0 and made[now][1].startswith(piece.data, told):
                fresh.append((now, told + len(piece.data), {**parts, made[now][0]: parts[made[now][0]] + [piece]}))
            for later in range(now + 1, len(made)):
                if made[later][1].startswith(piece.data):
                    fresh.append((later, len(piece.data), {**parts, made[later][0]: [piece]}))
        ways = fresh
    return [parts for _, _, parts in ways]


def mine(text):
    return f"[...document.querySelectorAll('.turn.mine')].{text}"


class Talk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--model", WRITER)
        cls.addClassCleanup(cls.server.__exit__)
        if "pocketsphinx" not in [m["id"] for m in cls.server.get("/v1/models")[2]["data"]]:
            print("skipped: PocketSphinx is not installed")
            cls.server.__exit__()
            sys.exit(77)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        asked = cls.server.speak({"input": QUESTION, "response_format": "pcm", "sample_rate": 48000, "seed": 5})[2]
        cls.file = os.path.join(cls.folder.name, "question.wav")
        with wave.open(cls.file, "wb") as out:
            out.setparams((1, 2, 48000, 0, "NONE", ""))
            out.writeframes(bytes(48000) + asked + bytes(2 * 48000 * PAUSE_S))
        cls.browser = chromium.Browser(*FLAGS, f"--use-file-for-fake-audio-capture={cls.file}")
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, server=None, address=None, **options):
        page = self.browser.page(**options)
        self.addCleanup(page.close)
        page.open(address or f"http://127.0.0.1:{(server or self.server).port}/")
        page.wait("document.querySelector('#voice-a').options.length > 0 || "
                  "!document.querySelector('#talk-needs').hidden")
        return page

    def picture(self, page, name):
        if os.environ.get("SYRINX_SCREENSHOTS"):
            page.screenshot(os.path.join(os.environ["SYRINX_SCREENSHOTS"], name + ".png"))

    def said(self, page, direction):
        """Returns the events of the page's conversations, as the browser sent and received them."""
        return [json.loads(p["response"]["payloadData"]) for s, m, p in self.browser.events
                if s == page.session and m == "Network.webSocketFrame" + direction]

    def test_question_answer_interruption(self):
        page = self.open(before=WATCH, calm=True)
        page.run("document.querySelector('#talk-button').focus()")
        self.assertEqual(page.run("document.querySelector('#talk-button').innerText.trim()"), "Talk")
        page.key(" ")
        page.wait("document.querySelector('#talk').dataset.state === 'listening'")
        self.assertEqual(page.run("document.querySelector('#talk-button').innerText.trim()"), "End")
        page.wait("Number(document.querySelector('#level').getAttribute('aria-valuenow')) > 30")
        page.wait(mine("some((e) => e.textContent.includes('fox'))"), 120)
        page.wait("document.querySelector('#talk').dataset.state === 'answering'", 120)
        page.wait("pieces.length > 0", 60)
        # The question is asked again, and interrupts the answer when a part of it was played.
        cut = "find((e) => parseFloat(e.querySelector('.note').textContent.split(' ').at(-2)) > 0)"
        page.wait(theirs(cut) + " !== undefined", 120)
        self.assertEqual(page.run(chromium.CONTRAST), [])
        for width in (320, 800, 1400):
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
            self.picture(page, f"talk-{width}")
        # Audio for the loudspeaker comes from audio that had arrived.
        pieces = [Piece(*each) for each in page.run("given()")]
        sent, came = self.said(page, "Sent"), self.said(page, "Received")
        self.assertEqual(sent[0]["type"], "session.update")
        self.assertTrue(page.run("wish.audio.echoCancellation"))
        truncate = next(e for e in sent if e["type"] == "conversation.item.truncate" and e["audio_end_ms"] > 0)
        item = truncate["item_id"]
        made = {}
        for event in came:
            if event["type"] == "response.output_audio.delta":
                made[event["item_id"]] = made.get(event["item_id"], b"") + base64.b64decode(event["delta"])
        made_s = len(made[item]) / 2 / RATE
        # The played samples equal the generated ones, as many as the page reported to the server. On a busy machine
        # playback may pause, also before the interruption.
        ways = [way[item] for way in answers_of(pieces, list(made.items())) if item in way]
        self.assertNotEqual(ways, [], "the played samples differ from the generated ones")
        told_s = truncate["audio_end_ms"] / 1000
        self.assertLessEqual(told_s, made_s)
        near = min(ways, key=lambda way: abs(sum(piece.heard() for piece in way) - told_s))
        self.assertAlmostEqual(sum(piece.heard() for piece in near), told_s, delta=0.25)
        for before, after in zip(near, near[1:]):
            self.assertGreater(after.at, before.end - 0.5 / RATE, "two pieces played at once")
            if after.at > before.end + 0.5 / RATE:
                self.assertGreater(after.given, before.end, "a gap, although the next piece arrived in time")
        # The server's transcript has only the part that was played.
        whole = "".join(e["delta"] for e in came
                        if e["type"] == "response.output_audio_transcript.delta" and e["item_id"] == item)
        kept = self.wait_for(page, "conversation.item.retrieved", item)["item"]["content"][0]["transcript"]
        self.assertTrue(whole.startswith(kept))
        if told_s < made_s - 2:  # at least the last words were not played
            self.assertLess(len(kept), len(whole))
        page.wait(theirs(cut) + f".querySelector('span').textContent === {json.dumps(kept or '…')}")
        came = self.said(page, "Received")
        self.assertEqual([e for e in came if e["type"] == "error"], [])
        # The Escape key ends the conversation and releases the microphone.
        page.key("Escape")
        page.wait("document.querySelector('#talk-button').innerText.trim() === 'Talk'")
        self.wait_idle(self.server)
        self.assertEqual(page.run("microphone.getTracks().map((each) => each.readyState)"), ["ended"])
        self.assertEqual(page.problems(), [])
        sockets = [p["url"] for s, m, p in self.browser.events
                   if s == page.session and m == "Network.webSocketCreated"]
        self.assertEqual([url for url in sockets if not url.startswith(f"ws://127.0.0.1:{self.server.port}/")], [])

    def needs(self, page):
        self.assertTrue(page.run("document.querySelector('#talk-button').disabled"))
        return page.run("document.querySelector('#talk-needs').innerText")

    def test_what_is_missing_is_said(self):
        with harness.Server("--quiet") as voice_only, \
                harness.Server("--quiet", "--ears", "none", model=WRITER) as deaf:
            page = self.open(voice_only)
            self.assertIn("syrinx serve --model finch --model DIR", page.wait(
                "document.querySelector('#talk-needs').innerText"))
            self.assertNotIn("--ears", self.needs(page))
            self.assertFalse(page.run("document.querySelector('#recording').disabled"))
            self.picture(page, "talk-needs")
            page = self.open(deaf)
            self.assertIn("apt install libpocketsphinx3", self.needs(page))
            self.assertNotIn("--model DIR", self.needs(page))
            self.assertIn("apt install", page.run("document.querySelector('#hear-needs').innerText"))
            self.assertTrue(page.run("document.querySelector('#recording').disabled"))

    def test_without_a_microphone(self):
        # A page from another machine without encryption gets no microphone.
        with chromium.Browser("--host-resolver-rules=MAP elsewhere.test 127.0.0.1") as browser, \
                harness.Server("--quiet", "--model", WRITER, "--allowed-host", "elsewhere.test") as server:
            page = browser.page()
            page.open(f"http://elsewhere.test:{server.port}/")
            said = page.wait("document.querySelector('#talk-needs').innerText")
            self.assertIn("--tls-cert", said)
            self.assertIn(f"ssh -L {server.port}:localhost:{server.port} elsewhere.test", said)
            self.assertTrue(page.run("document.querySelector('#talk-button').disabled"))
            # A page from this machine may request a microphone, but the machine has none.
            page.open(f"http://127.0.0.1:{server.port}/")
            page.wait("!document.querySelector('#talk-button').disabled")
            page.click("#talk-button")
            page.wait("document.querySelector('#talk-trouble').textContent === 'There is no microphone.'")
            self.assertEqual(page.run("document.querySelector('#talk-button').innerText.trim()"), "Talk")
        # The user denies the microphone.
        with chromium.Browser(FLAGS[0]) as browser:
            browser.call("Browser.setPermission", permission={"name": "microphone"}, setting="denied")
            page = browser.page()
            page.open(f"http://127.0.0.1:{self.server.port}/")
            page.wait("!document.querySelector('#talk-button').disabled")
            page.click("#talk-button")
            page.wait("document.querySelector('#talk-trouble').textContent.includes('does not let this page')")
        self.wait_idle(self.server)

    def wait_idle(self, server):
        """Waits until the server has no conversation."""
        for _ in range(1000):
            if server.get("/health")[2]["streams"] == 0:
                return
            time.sleep(0.01)
        raise AssertionError("a conversation did not end")

    def test_key_and_a_server_that_goes_away(self):
        for key in ("sesame", "open sesame"):  # the second key cannot be a subprotocol
            with harness.Server("--quiet", "--model", WRITER, env={"SYRINX_API_KEY": key}) as server:
                page = self.browser.page(before=f"sessionStorage.setItem('syrinx-key', {key!r});")
                self.addCleanup(page.close)
                page.open(f"http://127.0.0.1:{server.port}/")
                page.wait("!document.querySelector('#talk-button').disabled")
                page.click("#talk-button")
                page.wait("document.querySelector('#talk').dataset.state === 'listening'")
                server.process.kill()
                page.wait("document.querySelector('#talk-trouble').textContent.includes('has ended')")
                self.assertEqual(page.run("document.querySelector('#talk-button').innerText.trim()"), "Talk")

    def wait_for(self, page, kind, item):
        """Waits for an event of a kind for an item; returns it."""
        for _ in range(1000):
            page.run("new Promise((done) => setTimeout(done, 30))")
            for event in self.said(page, "Received"):
                if event["type"] == kind and event["item"]["id"] == item:
                    return event
        raise AssertionError(kind + " never came")


if __name__ == "__main__":
    if not chromium.find():
        print("skipped: there is no Chromium")
        sys.exit(77)
    harness.main()
