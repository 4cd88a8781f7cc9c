"""Tests that the playground plays exactly the server's samples. Playback takes real time, so this test runs alone on
the machine (tests/CMakeLists.txt). Skipped (77) without Chromium.
"""
import array

import playground
from playground import TEXT

# Records all audio for the loudspeaker: every node that is connected to it gets a second output.
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


class Heard(playground.PlaygroundTest):
    def speak_without_a_gap(self):
        """Returns (page, figures). Tries again if the machine was too busy."""
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


if __name__ == "__main__":
    playground.main()
