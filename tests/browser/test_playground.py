"""Tests the playground in a real browser: speech, mouse, keyboard, phone sizes, dark colours, and errors. Skipped
(77) without Chromium. SYRINX_SCREENSHOTS=DIR stores screenshots.
"""
import ast
import array
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import wave
from html.parser import HTMLParser

import playground  # so that the next two modules are found
from playground import HERE, TEXT
import chromium
import harness


def page_words(html):
    """Returns the texts of a page that are visible or read aloud, without code and without names of languages and
    keys."""
    words, open_tags = set(), []
    left_out = {"title", "noscript", "h1", "kbd", "textarea", "svg"}

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ("meta", "link", "input", "path"):
                open_tags.append(tag)
            words.update(value for name, value in attributes if name in ("aria-label", "placeholder"))

        def handle_endtag(self, tag):
            if tag in open_tags:
                while open_tags.pop() != tag:
                    pass

        def handle_data(self, data):
            text = " ".join(data.split())
            if len(text) > 1 and not left_out & set(open_tags):
                words.add(text)

    Reader().feed(html)
    return {word for word in words if re.search("[a-z]{2}", word)} - {"curl", "Python", "Node"}


class Playground(playground.PlaygroundTest):
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
        # A script in a client's text does not run.
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
        page.click(".seek")  # a click into the middle of the take
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
        page.wait("document.querySelector('.take.b .play').textContent === 'Pause'")  # B follows A
        self.idle(page)
        a, b = self.figures(page)
        self.assertTrue(a.endswith("seed 1") and b.endswith("seed 2"), (a, b))
        self.assertEqual(page.run(chromium.CONTRAST), [])
        self.picture(page, "dark")

    def test_phone(self):
        for width in (320, 360):
            self.look_at_phone(width)

    def look_at_phone(self, width):
        page = self.open(width=width, height=780, mobile=True, scale=2)
        page.replace("#text", "Two birds.")
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
        self.assertEqual(page.run(chromium.CONTRAST), [])
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
        # The error disappears when the next try begins, not when it ends.
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
            page.wait("document.querySelector('#trouble').textContent.includes('stopped before the end')")
            page.wait("document.querySelector('.said').textContent.includes('cut off')")
            page.key("Escape")
            page.click("#speak")
            page.wait("document.querySelector('#trouble').textContent.includes('be reached')")
            page.wait("document.querySelector('#state').dataset.state === 'gone'")
            page.wait("getComputedStyle(document.querySelector('#engine')).opacity < 0.5")  # the figures are old

    def test_key(self):
        with harness.Server("--quiet", env={"SYRINX_API_KEY": "open sesame"}) as server:
            page = self.open(server, ready=False)
            page.wait("!document.querySelector('#key-row').hidden")
            self.assertIn("requires an API key", self.trouble(page))
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
        self.assertEqual(page.run("document.querySelector('#engine').children.length"), 6)
        columns = "getComputedStyle(document.querySelector('#engine')).gridTemplateColumns.split(' ').length"
        self.assertIn(page.run(columns), (3, 6))
        self.assertNotIn("learned", page.run("document.querySelector('#about-a').textContent"))

    def test_engine_view_of_several_models(self):
        row = "[...document.querySelectorAll('#engine-models tr')].map((r) => " \
              "[...r.cells].map((c) => c.textContent))"
        own = self.open()
        own.wait("document.querySelector('#engine').children.length > 0")
        self.assertTrue(own.run("document.querySelector('#engine-models').hidden"))
        text = os.path.join(harness.PARITY, "llm", "llama")
        with harness.Server("--quiet", "--model", text) as server:
            page = self.open(server)
            rows = page.wait(f"{row}.length === 3 && {row}")
            self.assertEqual(rows[0][0], "Model")
            self.assertEqual(rows[2], ["llama", "not loaded", "", "", ""])
            page.replace("#text", harness.SENTENCE * 100)
            page.click("#speak")
            page.wait(f"{row}[1][1] === '1' && parseFloat({row}[1][2]) > 1")
            self.assertEqual(page.run("document.documentElement.scrollWidth <= innerWidth"), True)
            self.picture(page, "several-models")
            body = {"model": "llama", "messages": [{"role": "user", "content": "Hello"}]}
            connection = server.connect()
            connection.request("POST", "/v1/chat/completions", json.dumps(body),
                               {"Content-Type": "application/json"})
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
            page.wait(f"{row}[2][1] === '0' && {row}[2][4] !== ''")
            # The sums over the table's models equal the figures above it.
            value = "[...document.querySelectorAll('#engine div')].find((e) => e.firstChild" \
                    ".textContent === 'streams')?.lastChild.textContent"
            page.wait(f"{value} === {row}[1][1]")

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

    def test_wave_fills_the_height(self):
        page = self.open()
        page.replace("#text", "Good morning.")
        page.click("#speak")
        self.idle(page)
        page.wait("document.querySelector('.said').textContent.includes('seed')")
        # Counts the rows of the upper part that the waveform reaches, and all of its rows.
        rows = page.run("""new Promise((done) => requestAnimationFrame(() => {
            const c = document.querySelector('.scope canvas'), wave = Math.round(c.height * 0.42);
            const {data} = c.getContext('2d').getImageData(0, 0, c.width - 4, wave);
            let seen = 0;
            for (let y = 0; y < wave; ++y) {
              const row = data.subarray(4 * y * (c.width - 4), 4 * (y + 1) * (c.width - 4));
              if (row.some((v, i) => i % 4 === 3 && v > 0)) ++seen;
            }
            done([seen, wave]); }))""")
        self.assertGreater(rows[0], 0.5 * rows[1])
        self.assertLessEqual(rows[0], rows[1])

    def test_speed(self):
        page = self.open()
        page.replace("#text", harness.SENTENCE)
        page.replace("#seed-a", "3")
        page.click("#more summary")
        seconds = []
        for speed in ("", "2"):
            page.replace("#speed", speed)
            page.click("#speak")
            self.idle(page)
            seconds.append(float(self.figures(page)[0].split(" · ")[1].split(" ")[0]))
        self.assertLess(seconds[1], 0.7 * seconds[0])
        self.assertIn('"speed":2', page.run("document.querySelector('#snippet').textContent"))

    def test_every_language_has_every_word(self):
        page = self.open()
        tables = page.run("import('/playground/words.js').then(({TABLES}) => TABLES)")
        words = {word for table in tables.values() for word in table}
        folder = os.path.join(HERE, "..", "..", "web", "playground")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            if name.endswith(".js") and name != "reference.js":  # the API's page is English
                words |= {literal.replace("\\'", "'") for literal in
                          re.findall(r"\bt\(\s*'((?:[^'\\]|\\.)*)'", text)}
        with open(os.path.join(folder, "..", "index.html"), encoding="utf-8") as file:
            words |= page_words(file.read())
        self.assertGreater(len(words), 100)
        for language, table in tables.items():
            self.assertEqual(sorted(words - set(table)), [], language)
            # No placeholder for a value is missing.
            odd = [w for w in table if sorted(re.findall(r"\{\w+\}", w)) != sorted(re.findall(r"\{\w+\}", table[w]))]
            self.assertEqual(odd, [], language)

    def test_in_the_language_of_the_reader(self):
        german = "Object.defineProperty(navigator, 'languages', {get: () => ['de-AT', 'en']});"
        page = self.open(before=german)
        self.assertEqual(page.run("document.documentElement.lang"), "de")
        self.assertEqual(page.run("document.querySelector('#speak').textContent"), "Sprechen")
        page.replace("#text", " ")
        page.click("#speak")
        self.assertIn("kein Text", self.trouble(page))
        page.replace("#text", "Good morning.")
        page.click("#speak")
        page.wait("document.querySelector('.said')?.textContent.includes('Startwert')")
        page.wait("document.querySelector('#speak').textContent === 'Sprechen'")
        self.assertEqual(page.run("""import('/playground/words.js').then(({t}) =>
            t('{n} gaps, {s} s in all', {n: 2, s: 0.5}) + t('never heard of'))"""),
            "2 Lücken, zusammen 0.5 snever heard of")
        self.assertEqual(page.problems(), [])

    def test_each_voice_can_be_heard(self):
        page = self.open()
        voices = self.server.get("/v1/audio/voices")[2]["voices"]
        page.click("#previews summary")
        buttons = "[...document.querySelectorAll('#voice-list button')]"
        self.assertEqual(page.run(buttons + ".length"), len(voices))
        names = page.run(buttons + ".map((b) => b.getAttribute('aria-label'))")
        self.assertEqual(len(set(names)), len(voices))
        for number in range(min(2, len(voices))):
            page.click(f"#voice-list li:nth-child({number + 1}) button")
            page.wait("document.querySelector('#speak').textContent === 'Stop'")
            page.wait("document.querySelector('#speak').textContent === 'Speak'", timeout_s=30)
        self.assertEqual(page.run("document.querySelector('#preview-trouble').textContent"), "")
        page.click("#voice-list li button")  # the page's one button stops it
        page.wait("document.querySelector('#speak').textContent === 'Stop'")
        page.click("#speak")
        page.wait("document.querySelector('#speak').textContent === 'Speak'")
        self.assertEqual(page.run(chromium.CONTRAST), [])
        self.assertEqual(page.problems(), [])

    def test_voices_of_recordings(self):
        page = self.open()
        cloning = self.server.get("/v1/models")[2]["data"][0]["voice_cloning"]["supported"]
        self.assertEqual(page.run("document.querySelector('#voices').hidden"), not cloning)
        checkpoint = os.path.join(harness.PARITY, "qwen3_tts/golden/base/checkpoint")
        with tempfile.TemporaryDirectory() as place, \
                harness.Server("--quiet", "--voice-store", os.path.join(place, "store"),
                               model=checkpoint) as server:
            recording = os.path.join(place, "anna.wav")
            tone = array.array("h", (int(9000 * ((i * 440 // 8000) % 2 - 0.5) * (1 + i % 7))
                                     for i in range(32000)))
            with wave.open(recording, "wb") as file:
                file.setparams((1, 2, 16000, 0, "NONE", ""))
                file.writeframes(tone.tobytes())
            self.keep_and_delete(server, recording)

    def keep_and_delete(self, server, recording):
        page = self.open(server, ready=False)
        page.wait("!document.querySelector('#voices').hidden")
        trouble = "document.querySelector('#voice-trouble').textContent"
        page.replace("#voice-name", "Anna Bell")
        page.click("#keep")
        self.assertIn("file or record", page.wait(trouble))
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        chosen = page.call("DOM.querySelector", nodeId=root, selector="#voice-file")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=chosen, files=[recording])
        page.click("#keep")
        self.assertIn("must agree", page.wait(trouble + ".includes('must agree') && " + trouble))
        page.click("#voice-consent")
        page.click("#keep")
        page.wait("document.querySelector('#own-voices li') !== null")
        self.assertEqual(page.run(trouble), "")
        kept = server.get("/v1/audio/voices")[2]["uploaded_voices"][0]
        self.assertEqual((kept["id"], kept["seconds"]), ("anna-bell", 2.0))
        self.assertIn("agrees", kept["consent"])
        page.wait("[...document.querySelector('#voice-a').options].some((o) => "
                  "o.value === 'anna-bell')")
        # The same name is refused a second time, with a message that disappears at the next try.
        page.call("DOM.setFileInputFiles", nodeId=chosen, files=[recording])
        page.replace("#voice-name", "Anna Bell")
        page.click("#voice-consent")
        page.click("#keep")
        self.assertIn("already", page.wait(trouble))
        # With the keyboard, the first press asks for confirmation and the second deletes.
        page.run("document.querySelector('#own-voices button').focus()")
        page.key("Enter")
        page.wait("document.querySelector('#own-voices button').textContent.includes('for good')")
        self.assertEqual(len(server.get("/v1/audio/voices")[2]["uploaded_voices"]), 1)
        page.key("Enter")
        page.wait("!document.querySelector('#own-voices li')")
        self.assertEqual(server.get("/v1/audio/voices")[2]["uploaded_voices"], [])
        self.assertEqual(page.run(trouble), "")
        self.assertEqual(page.run(chromium.CONTRAST), [])
        page.call("Emulation.setDeviceMetricsOverride", width=320, height=780,
                  deviceScaleFactor=1, mobile=True)
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 320)

    def test_reference(self):
        page = self.browser.page()
        self.addCleanup(page.close)
        home = f"http://127.0.0.1:{self.server.port}/"
        page.open(home + "api.html")
        page.wait("document.querySelectorAll('.operation').length > 20")
        document = self.server.get("/openapi.json")[2]
        methods = sum(len([m for m in ops if "responses" in ops[m]])
                      for ops in document["paths"].values())
        self.assertEqual(page.run("document.querySelectorAll('.operation').length"), methods)
        send = """(() => { const o = [...document.querySelectorAll('.operation')].find((e) =>
            e.querySelector('code').textContent === %s); o.open = true;
            const body = o.querySelector('textarea'); if (body && %s) body.value = %s;
            o.querySelector('form').requestSubmit(); window.asked = o; })()"""
        answer = "window.asked.querySelector('[role=status]').textContent"
        page.run(send % (json.dumps("GET /health"), "false", "''"))
        page.wait(answer + ".startsWith('200')")
        self.assertIn('"status"', page.run("window.asked.querySelector('pre').textContent"))
        body = json.dumps(json.dumps({"input": "Good morning.", "response_format": "wav"}))
        page.run(send % (json.dumps("POST /v1/audio/speech"), "true", body))
        page.wait(answer + ".includes('audio/')")
        page.run(send % (json.dumps("POST /v1/audio/speech"), "true", "'{'"))
        page.wait(answer + ".startsWith('400')")
        self.assertEqual([u for u in page.requests() if not u.startswith((home, "blob:"))], [])

    def test_small_parts(self):
        page = self.open()
        metrics = ("# HELP a b\na 1\nb{x=\"1 2\"} 2\nb{x=\"y\",stage=\"ar\"} 3\n"
                   "c_bucket{le=\"1\"} 9\nd NaN\n")
        sums = page.run(f"""import('/playground/api.js').then((m) =>
            Object.fromEntries(m.parseMetrics({json.dumps(metrics)})))""")
        self.assertEqual(sums, {"a": 1, "b": 5, "b/ar": 3})
        # A tone of 1 kHz is loudest in the band of 1 kHz. A long take has no more columns.
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
        self.assertIn(tone[2], range(26, 30))  # 1000 mel of 2840 mel, in 80 bands


if __name__ == "__main__":
    playground.main()
