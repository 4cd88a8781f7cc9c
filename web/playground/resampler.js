// Converts samples from one rate to another while they arrive. Uses a windowed sinc, with one row
// of taps for each position of an output between two inputs (J. O. Smith, "Digital Audio
// Resampling").

const CROSSINGS = 16;  // zeros of the sinc on either side
const PASS = 0.92;     // share of the lower rate's band that is kept; the rest fades

const gcd = (a, b) => (b === 0 ? a : gcd(b, a % b));

/** Returns the taps for an output that is `fraction` of an input after the middle one. */
function taps(fraction, half, cut) {
  const row = Float32Array.from({length: 2 * half + 1}, (_, k) => {
    const at = k - half - fraction;
    const x = Math.PI * cut * at;
    const window = Math.cos((Math.PI * at) / (2 * half + 2)) ** 2;
    return (x === 0 ? 1 : Math.sin(x) / x) * window;
  });
  const sum = row.reduce((a, b) => a + b);
  return row.map((v) => v / sum);  // a constant signal stays constant
}

export class Resampler {
  /** `from` and `to` are whole numbers of Hz. */
  constructor(from, to) {
    const common = gcd(from, to);
    this.up = to / common;
    this.down = from / common;
    const cut = PASS * Math.min(1, to / from);
    this.half = Math.ceil(CROSSINGS / cut);
    this.rows = Array.from({length: this.up}, (_, phase) => taps(phase / this.up, this.half, cut));
    this.held = new Float32Array(this.half);  // silence before the first sample
    this.at = this.half;  // index in `held` of the last input at or before the next output
    this.phase = 0;       // distance of the output from that input, in 1 / up
  }

  /** Returns the outputs that became ready. */
  push(samples) {
    const input = new Float32Array(this.held.length + samples.length);
    input.set(this.held);
    input.set(samples, this.held.length);
    const out = [];
    for (; this.at + this.half < input.length; this.phase %= this.up) {
      const row = this.rows[this.phase], begin = this.at - this.half;
      let sum = 0;
      for (let k = 0; k < row.length; ++k) sum += row[k] * input[begin + k];
      out.push(sum);
      this.phase += this.down;
      this.at += Math.floor(this.phase / this.up);
    }
    const gone = Math.min(this.at - this.half, input.length);
    this.held = input.slice(gone);
    this.at -= gone;
    return Float32Array.from(out);
  }
}
