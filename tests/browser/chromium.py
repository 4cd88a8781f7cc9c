"""Drives a headless Chromium through its DevTools protocol. Standard library only.

The browser is SYRINX_CHROMIUM, or the first of Debian's names that is found. The connection is a pair of pipes
(--remote-debugging-pipe), so there is no port and no WebSocket.
"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# Computes the WCAG contrast of every visible text against its background.
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


def find():
    names = [os.environ.get("SYRINX_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


class Browser:
    """A browser process with its own profile, for a with statement."""

    def __init__(self, *flags):
        self.profile = tempfile.mkdtemp(prefix="syrinx_browser_")
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        # The browser reads from 3 and writes to 4; our descriptors must not have these numbers before they are moved.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_browser, from_browser)]

        def move():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        command = [find(), "--headless=new", "--remote-debugging-pipe", "--disable-gpu",
                   "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage",
                   "--disable-background-timer-throttling", "--mute-audio", "--hide-scrollbars",
                   f"--user-data-dir={self.profile}", *flags, "about:blank"]
        if os.getuid() == 0:
            command.insert(1, "--no-sandbox")
        self.process = subprocess.Popen(command, preexec_fn=move, pass_fds=(3, 4),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (to_browser, from_browser, *ends):
            os.close(fd)
        self.held = b""
        self.count = 0
        self.events = []  # (session, method, parameters), oldest first

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.writer)
        os.close(self.reader)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, timeout_s):
        """Returns the next message, or None if none arrived in time."""
        deadline = time.monotonic() + timeout_s
        while b"\0" not in self.held:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                return None
            data = os.read(self.reader, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.held += data
        message, self.held = self.held.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, timeout_s=60, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            answer = self.receive(deadline - time.monotonic())
            if answer is None:
                break
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append((answer.get("sessionId"), answer["method"], answer["params"]))
        raise TimeoutError(f"{method}: no answer from the browser")

    def page(self, **options):
        return Page(self, **options)


class Page:
    """A tab. It collects problems that the browser reports (script errors, violations of the policy)."""

    def __init__(self, browser, width=1000, height=900, mobile=False, scale=1, dark=False,
                 calm=False, before="", bypass_policy=False):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility", "DOM"]:
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"}])
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        if bypass_policy:
            self.call("Page.setBypassCSP", enabled=True)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, expression):
        """Returns the value of a JavaScript expression, which may be a promise."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                         returnByValue=True, userGesture=False)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait(self, expression, timeout_s=30):
        """Waits until an expression is true; returns its value."""
        deadline = time.monotonic() + timeout_s
        while True:
            value = self.run(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"{expression}: not within {timeout_s} s")
            time.sleep(0.03)

    def problems(self, optional=("/metrics", "/openapi.json")):
        """Returns the problems; requests for optional paths may fail."""
        self.run("0")  # so that pending events arrive first
        found = []
        for session, method, parameters in self.browser.events:
            if session != self.session:
                continue
            if method == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            entry = parameters.get("entry", {}) if method == "Log.entryAdded" else {}
            if entry.get("level") == "error" and not entry.get("url", "").endswith(optional):
                found.append(f"{entry.get('url')}: {entry['text']}")
        return found

    def requests(self):
        """Returns the addresses of all requests of the page."""
        return [p["request"]["url"] for s, m, p in self.browser.events
                if s == self.session and m == "Network.requestWillBeSent"]

    def click(self, selector, timeout_s=30):
        """Clicks an element with the mouse. A browser drops clicks on a page that it has not drawn yet, and a page
        that still loads moves its elements: so the click is repeated until the element gets it."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.run(f"""window.clicked = false;
                     {element}.addEventListener('mousedown', () => window.clicked = true, {{once: true}})""")
        deadline = time.monotonic() + timeout_s
        while not self.run("window.clicked"):
            if time.monotonic() > deadline:
                raise AssertionError(f"{selector}: not clicked within {timeout_s} s")
            x, y = self.run(f"""(async () => {{
                {element}.scrollIntoView({{block: 'center', behavior: 'instant'}});
                await new Promise(requestAnimationFrame);
                const {{x, y, width, height}} = {element}.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }})()""")
            for kind in ["mousePressed", "mouseReleased"]:
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                          clickCount=1)

    def key(self, name, control=False, shift=False):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "a": 65, "ArrowRight": 39,
                 "ArrowLeft": 37, "ArrowDown": 40}
        text = {"Enter": "\r", " ": " "}.get(name, "")
        common = {"key": name, "code": "Space" if name == " " else name,
                  "windowsVirtualKeyCode": codes[name],
                  "modifiers": (2 if control else 0) + (8 if shift else 0)}
        commands = ["selectAll"] if name == "a" and control else []
        self.call("Input.dispatchKeyEvent", type="keyDown" if text or commands else "rawKeyDown",
                  text="" if control else text, commands=commands, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def replace(self, selector, text):
        """Sets the whole text of a field, as typing does."""
        self.click(selector)
        self.key("a", control=True)
        self.type(text)

    def screenshot(self, path, whole=True):
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options = {"captureBeyondViewport": True,
                       "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"],
                                "scale": 1}}
        else:
            options = {}
        data = self.call("Page.captureScreenshot", format="png", **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
