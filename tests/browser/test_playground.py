"""The playground in a real browser: speaks and is heard, by mouse, by keyboard, on a phone, in the
dark, and when something fails. Skipped (77) where there is no Chromium.

SYRINX_SCREENSHOTS=DIR keeps pictures of what the tests saw.
"""
import ast
import array
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "http")]
import chromium  # noqa: E402
import harness  # noqa: E402

TEXT = "Two birds sat in a tree, and it's \"quiet\" now: $HOME, `ls`, \\n."

# Keeps whatever reaches the loudspeaker: a second way out of every node that is connected to it.
LISTEN = """
window.heard = [];
const connect = AudioNode.prototype.connect;
AudioNode.prototype.connect = function (to, ...rest) {
  if (to instanceof AudioDestinationNode) {
    const context = this.context;
    if (!context.ear) {
      context.ear = context.createScriptProcessor(16384, 1, 1);
      context.ear.onaudioprocess = (event) =>
        window.heard.push(Float32Array.from(event.inputBuffer.getChannelData(0)));
      connect.call(context.ear, context.destination);
    }
    connect.call(this, context.ear);
  }
  return connect.call(this, to, ...rest);
};
window.samplesHeard = () => {
  const out = [];
  for (const piece of window.heard) for (const x of piece) out.push(Math.round(x * 32768));
  return out;
};
"""

# WCAG contrast of every text that is seen, against the background that lies behind it.
CONTRAST = """(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) =>
      v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    const words = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!words && !e.matches('textarea, input, select')) continue;
    if (!e.checkVisibility() || e.disabled || e.matches('.unseen, .unseen *')) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${e.tagName}#${e.id} ${e.textContent.slice(0, 30)}: ${ratio}`);
  }
  return low;
})()"""


class Playground(unittest.TestCase):
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
        """Until everything is spoken and heard."""
        page.wait("document.querySelector('#speak').textContent === 'Speak'", timeout_s)

    def figures(self, page):
        return page.run("[...document.querySelectorAll('.said')].map((e) => e.textContent)")

    def trouble(self, page):
        return page.wait("document.querySelector('#trouble').textContent")

    def picture(self, page, name):
        if os.environ.get("SYRINX_SCREENSHOTS"):
            page.screenshot(os.path.join(os.environ["SYRINX_SCREENSHOTS"], name + ".png"))

    def speak_without_a_gap(self):
        """(page, figures); again where the machine was too busy to keep up."""
        for _ in range(5):
            page = self.open(before=LISTEN)
            page.replace("#text", TEXT)
            page.click("#speak")
            page.wait("document.querySelector('#speak').textContent === 'Stop'")
            self.idle(page)
            figures = self.figures(page)[0]
            if "no gap" in figures:
                break
        return page, figures

    def test_what_is_heard_is_what_was_made(self):
        page, figures = self.speak_without_a_gap()
        self.assertRegex(figures, r"^first audio \d+ ms · [\d.]+ s · .*no gap · seed \d+$")
        seed = int(figures.rsplit(" ", 1)[1])
        pcm = self.server.speak({"input": TEXT, "seed": seed, "response_format": "pcm",
                                 "sample_rate": self.rate})[2]
        made = array.array("h", pcm).tolist()
        page.wait(f"window.heard.length * 16384 > {len(made) + 16384}")
        heard = page.run("samplesHeard()")
        first = next(i for i, x in enumerate(made) if x != 0)
        begin = next(i for i, x in enumerate(heard) if x != 0)
        self.assertEqual(heard[begin:begin + len(made) - first], made[first:])
        self.assertFalse(any(heard[begin + len(made) - first:]))
        self.assertEqual(page.problems(), [])
        self.picture(page, "light")

    def test_only_this_server_is_asked(self):
        page = self.open()
        page.replace("#text", "Hello.")
        page.click("#speak")
        self.idle(page)
        home = f"http://127.0.0.1:{self.server.port}/"
        self.assertTrue(page.requests())
        self.assertEqual([url for url in page.requests() if not url.startswith(home)], [])
        policy = self.server.get("/", {"Accept": "text/html"})[1]["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        # A script that somebody smuggled in does not run.
        page.run("""(() => { const s = document.createElement('script');
            try { s.text = 'window.smuggled = 1'; } catch {}
            document.body.append(s); })()""")
        self.assertIsNone(page.run("window.smuggled ?? null"))

    def test_picture_play_pause_seek(self):
        page = self.open()
        page.click("#speak")
        page.wait("document.querySelector('.play')?.textContent === 'Pause'")
        coloured = """(() => { const c = document.querySelector('.scope canvas');
            const {data} = c.getContext('2d').getImageData(0, 0, c.width, c.height);
            let n = 0; for (let i = 3; i < data.length; i += 4) n += data[i] > 40; return n; })()"""
        page.wait(coloured + " > 2000")
        page.wait("document.querySelector('.said').textContent.includes('real time')")
        page.click(".play")
        page.wait("document.querySelector('.play').textContent === 'Play'")
        at = page.run("document.querySelector('.seek').value")
        time.sleep(0.3)
        self.assertEqual(page.run("document.querySelector('.seek').value"), at)
        page.click(".seek")  # in its middle
        page.wait("document.querySelector('.play').textContent === 'Pause'")
        middle = page.run("Number(document.querySelector('.seek').max)") / 2
        self.assertAlmostEqual(page.run("Number(document.querySelector('.seek').value)"), middle,
                               delta=1)
        page.key("Escape")
        self.idle(page, 5)

    def test_keyboard_alone(self):
        page = self.open()
        names = []
        for _ in range(30):
            page.key("Tab")
            name = page.run("document.activeElement.id || document.activeElement.tagName")
            if name == "BODY":
                break
            names.append(name)
            seen = page.run("""(() => { const e = document.activeElement;
                const shown = e.matches('[type=radio]') ? e.nextElementSibling : e;
                const s = getComputedStyle(shown);
                return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; })()""")
            self.assertTrue(seen, name + " does not show that it has the focus")
        for name in ["text", "voice-a", "temperature-a", "seed-a", "speak", "compare", "copy"]:
            self.assertIn(name, names)
        page.run("document.querySelector('#text').focus()")
        page.key("a", control=True)
        page.type(harness.SENTENCE * 60)
        page.key("Enter", control=True)
        page.wait(r"/· ([\d.]+) s/.exec(document.querySelector('.said')?.textContent)?.[1] > 3")
        page.key("Escape")
        self.server.wait_running(0)
        page.wait("document.querySelector('.said').textContent.includes('stopped')")
        page.run("document.querySelector('.seek').focus()")
        page.key("ArrowRight")
        page.wait("document.querySelector('.play').textContent === 'Pause'")
        page.key("Escape")
        # Space presses the button that has the focus.
        page.run("document.querySelector('#compare').focus()")
        page.key(" ")
        self.assertFalse(page.run("document.querySelector('#side-b').hidden"))

    def test_everything_has_a_name(self):
        page = self.open()
        page.click("#compare")
        page.click("#more summary")
        page.click("#speak")
        page.wait("document.querySelectorAll('.said').length === 2")
        page.wait("[...document.querySelectorAll('.play')].every((e) => !e.disabled)")
        page.key("Escape")
        roles = {"button", "textbox", "combobox", "checkbox", "radio", "slider", "spinbutton",
                 "image", "link"}
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        checked = [n for n in nodes if n.get("role", {}).get("value") in roles]
        self.assertGreater(len(checked), 15)
        for node in checked:
            self.assertTrue(node.get("name", {}).get("value"), node)
        self.assertEqual(page.run("document.querySelector('#trouble').getAttribute('role')"),
                         "alert")

    def test_compare_two(self):
        page = self.open(dark=True)
        page.click("#compare")
        page.replace("#text", harness.SENTENCE)
        page.replace("#seed-a", "1")
        page.replace("#seed-b", "2")
        page.replace("#temperature-b", "0.9")
        page.click("#speak")
        page.wait("document.querySelectorAll('.take').length === 2")
        page.wait("document.querySelector('.take.b .play').textContent === 'Pause'")  # after A
        self.idle(page)
        a, b = self.figures(page)
        self.assertTrue(a.endswith("seed 1") and b.endswith("seed 2"), (a, b))
        self.assertEqual(page.run(CONTRAST), [])
        self.picture(page, "dark")

    def test_phone(self):
        for width in (320, 360):
            self.look_at_phone(width)

    def look_at_phone(self, width):
        page = self.open(width=width, height=780, mobile=True, scale=2)
        page.click("#compare")
        page.click("#more summary")
        page.click("#speak")
        page.wait("document.querySelector('.take.b .play')?.textContent === 'Pause'")
        page.key("Escape")
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
        wide = page.run("""[...document.querySelectorAll('body *:not(.unseen)')].filter((e) =>
            e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 0.5)
            .map((e) => e.outerHTML.slice(0, 200))""")
        self.assertEqual(wide, [])
        small = page.run("""[...document.querySelectorAll('button, select, label.check, .tabs label,'
            + 'input:not([type=checkbox], [type=radio])')].filter((e) => e.checkVisibility())
            .filter((e) => e.getBoundingClientRect().height < 38).map((e) => e.outerHTML)""")
        self.assertEqual(small, [])
        self.picture(page, "phone")

    def test_light_contrast_and_calm(self):
        page = self.open(calm=True)
        page.click("#speak")
        page.wait("document.querySelector('.said') !== null")
        page.key("Escape")
        self.assertEqual(page.run(CONTRAST), [])
        self.assertEqual(page.run("getComputedStyle(document.querySelector('#copy'))"
                                  ".transitionDuration"), "0s")

    def test_errors_in_words(self):
        page = self.open()
        page.replace("#text", "   ")
        page.click("#speak")
        self.assertIn("no text", self.trouble(page))
        page.run("document.querySelector('#text').value = 'word '.repeat(60000)")
        page.click("#speak")
        page.wait("document.querySelector('#trouble').textContent.includes('at most')")
        page.wait("document.querySelector('.take') === null")
        self.picture(page, "error")
        page.replace("#text", "Hello.")
        # The error leaves when the next try begins, not when it ends.
        page.run("window.fetch = () => new Promise(() => {})")
        page.click("#speak")
        self.assertEqual(page.run("document.querySelector('#trouble').textContent"), "")
        page.key("Escape")
        page = self.open()
        page.replace("#text", "Hello.")
        page.click("#speak")
        page.wait("document.querySelector('#trouble').textContent === ''")
        self.idle(page)

    def test_only_what_the_model_takes_is_offered(self):
        facts = self.server.get("/v1/models")[2]["data"][0]
        page = self.open()
        page.click("#more summary")
        page.wait("document.querySelector('#model').options.length > 0")
        for name, taken in (("instructions", facts["instructions"]),
                            ("language", len(facts["languages"]) > 1)):
            self.assertEqual(
                page.run(f"document.querySelector('#{name}').closest('.field').hidden"), not taken)
        page.run("document.querySelector('#instructions').value = 'softly'")
        page.run("document.querySelector('#text').dispatchEvent(new Event('input', {bubbles: true}))")
        self.assertEqual("softly" in page.run("document.querySelector('#snippet').textContent"),
                         facts["instructions"])

    def test_server_that_goes_away(self):
        with harness.Server("--quiet") as server:
            page = self.open(server)
            page.replace("#text", harness.SENTENCE * 400)
            page.click("#speak")
            page.wait("document.querySelector('.said')?.textContent.startsWith('first audio')")
            server.process.kill()
            page.wait("document.querySelector('#trouble').textContent.includes('cut this off')")
            page.wait("document.querySelector('.said').textContent.includes('cut off')")
            page.key("Escape")
            page.click("#speak")
            page.wait("document.querySelector('#trouble').textContent.includes('be reached')")
            page.wait("document.querySelector('#state').dataset.state === 'gone'")

    def test_key(self):
        with harness.Server("--quiet", env={"SYRINX_API_KEY": "open sesame"}) as server:
            page = self.open(server, ready=False)
            page.wait("!document.querySelector('#key-row').hidden")
            self.assertIn("wants an API key", self.trouble(page))
            page.replace("#key", "wrong")
            page.key("Enter")
            page.wait("document.querySelector('#trouble').textContent.includes('not know')")
            page.replace("#key", "open sesame")
            page.key("Tab")
            page.wait("document.querySelector('#format').options.length > 0")
            page.replace("#text", "Hello.")
            page.click("#speak")
            self.idle(page)
            self.assertIn("first audio", self.figures(page)[0])
            snippet = page.run("document.querySelector('#snippet').textContent")
            self.assertIn("$SYRINX_API_KEY", snippet)
            self.assertNotIn("sesame", snippet)
            self.assertNotIn("sesame", page.run("JSON.stringify(localStorage) + document.cookie"))

    def test_engine_view(self):
        page = self.open()
        page.replace("#text", harness.SENTENCE * 200)
        page.click("#speak")
        value = "[...document.querySelectorAll('#engine div')].find((e) => e.firstChild" \
                ".textContent === %s)?.lastChild.textContent"
        page.wait(value % "'streams'" + " === '1'")
        rate = page.wait("parseFloat(" + value % "'audio per second'" + ") > 1 && "
                         + value % "'audio per second'")
        self.assertRegex(rate, r"^[\d.]+ s$")
        page.key("Escape")
        self.server.wait_running(0)
        page.wait(value % "'streams'" + " === '0'")

    def snippet(self, page, kind):
        page.click(f"[value={kind}]")
        return page.run("document.querySelector('#snippet').textContent")

    def test_snippets_run(self):
        page = self.open()
        page.replace("#text", TEXT + " \U0001f426 é\nnew line")
        page.replace("#seed-a", "7")
        body = {"input": TEXT + " \U0001f426 é\nnew line", "seed": 7, "response_format": "wav"}
        want = self.server.speak(body)[2]
        curl = self.snippet(page, "curl")
        with tempfile.TemporaryDirectory() as place:
            wav = os.path.join(place, "speech.wav")

            def check(command):
                subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=60)
                with open(wav, "rb") as file:
                    self.assertTrue(file.read() == want, command[0])
                os.unlink(wav)

            if shutil.which("curl"):
                check(["bash", "-c", curl])
            node = self.snippet(page, "node")
            if shutil.which("node"):
                check(["node", "--input-type=module", "-e", node])
            python = self.snippet(page, "python")
            call = next(n for n in ast.walk(ast.parse(python)) if isinstance(n, ast.Call)
                        and getattr(n.func, "attr", "") == "create")
            values = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
            self.assertEqual((values["input"], values["extra_body"]), (body["input"], {"seed": 7}))
            if subprocess.run([sys.executable, "-c", "import openai"], check=False,
                              capture_output=True).returncode == 0:
                check([sys.executable, "-c", python])

    def test_download(self):
        with tempfile.TemporaryDirectory() as place:
            page = self.open()
            self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=place)
            page.replace("#seed-a", "7")
            page.replace("#text", "Good morning.")
            page.click("#speak")
            self.idle(page)
            page.click(".save")
            path = os.path.join(place, self.server.get("/v1/audio/voices")[2]["voices"][0]["id"] +
                                "-7.wav")
            deadline = time.monotonic() + 10
            while not os.path.exists(path) and time.monotonic() < deadline:
                time.sleep(0.05)
            with open(path, "rb") as file:
                data = file.read()
        rate, size = harness.wav_header(data)
        want = self.server.speak({"input": "Good morning.", "seed": 7, "response_format": "wav"})
        self.assertEqual((rate, size), (self.rate, len(data) - 44))
        self.assertTrue(data[44:] == want[2][44:])

    def test_small_parts(self):
        page = self.open()
        metrics = ("# HELP a b\na 1\nb{x=\"1 2\"} 2\nb{x=\"y\",stage=\"ar\"} 3\n"
                   "c_bucket{le=\"1\"} 9\nd NaN\n")
        sums = page.run(f"""import('/playground/api.js').then((m) =>
            Object.fromEntries(m.parseMetrics({json.dumps(metrics)})))""")
        self.assertEqual(sums, {"a": 1, "b": 5, "b/ar": 3})
        # A tone of 1 kHz is loudest in the band of 1 kHz, and a long take costs no more columns.
        tone = page.run("""import('/playground/take.js').then(({Take}) => {
            const take = new Take(16000, 1);
            const pcm = Int16Array.from({length: 16000 * 60},
                (_, i) => 16000 * Math.sin(2 * Math.PI * 1000 * i / 16000));
            for (let i = 0; i < pcm.length; i += 1000) take.append(pcm.subarray(i, i + 1000));
            take.finish();
            // Nothing to see where pieces met.
            const quiet = Array.from({length: take.columns - 20}, (_, c) =>
                take.bands[(c + 10) * 80 + 60]);
            const bands = [...take.bands.subarray(800, 880)];
            return [take.columns, take.hop, bands.indexOf(Math.max(...bands)), take.seconds,
                    Math.max(...quiet)];
        })""")
        self.assertEqual(tone[3], 60)
        self.assertLessEqual(tone[0], 4096)
        self.assertEqual(tone[0], 60 * 16000 // tone[1])
        self.assertEqual(tone[4], 0)
        self.assertIn(tone[2], range(26, 30))  # 1000 mel of 2840, in 80 bands


if __name__ == "__main__":
    if chromium.find() is None:
        print("skipped: there is no Chromium")
        sys.exit(77)
    harness.main()
