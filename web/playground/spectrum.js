// A short-time spectrum in mel bands, as loudness in 0..255, for drawing.

export const BANDS = 80;
const SIZE = 512;
/** The number of samples that a measurement reads on either side of its middle. */
export const REACH = SIZE / 2;
const FLOOR_DB = -78, RANGE_DB = 62;

const mel = (hz) => 2595 * Math.log10(1 + hz / 700);
const hz = (m) => 700 * (10 ** (m / 2595) - 1);

export class Spectrum {
  constructor(rate) {
    this.window = Float32Array.from(
        {length: SIZE}, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SIZE));
    this.cos = Float32Array.from({length: SIZE / 2}, (_, i) => Math.cos((2 * Math.PI * i) / SIZE));
    this.sin = Float32Array.from({length: SIZE / 2}, (_, i) => -Math.sin((2 * Math.PI * i) / SIZE));
    this.real = new Float32Array(SIZE);
    this.imag = new Float32Array(SIZE);
    // Edges of the bands in bins, ascending; low bands may share a bin.
    const top = mel(Math.min(rate / 2, 12000));
    this.edges = Float32Array.from(
        {length: BANDS + 1}, (_, b) => (hz((top * b) / BANDS) * SIZE) / rate);
  }

  /** Measures around sample `middle` of pcm[0, length) into out[BANDS], lowest band first. */
  measure(pcm, length, middle, out) {
    const begin = middle - SIZE / 2;
    for (let i = 0; i < SIZE; ++i) {
      const at = begin + i;
      const sample = at >= 0 && at < length ? pcm[at] / 32768 : 0;
      this.real[reversed(i)] = sample * this.window[i];
    }
    this.imag.fill(0);
    this.transform();
    for (let b = 0; b < BANDS; ++b) {
      const first = Math.floor(this.edges[b]);
      const last = Math.max(first, Math.ceil(this.edges[b + 1]) - 1);
      let power = 0;
      for (let k = first; k <= last; ++k) {
        power = Math.max(power, this.real[k] ** 2 + this.imag[k] ** 2);
      }
      const db = 10 * Math.log10(power / (SIZE * SIZE / 16) + 1e-12);
      out[b] = Math.max(0, Math.min(255, ((db - FLOOR_DB) / RANGE_DB) * 255));
    }
  }

  /** Transforms in place, radix 2, from bit-reversed order. */
  transform() {
    const {real, imag, cos, sin} = this;
    for (let half = 1; half < SIZE; half *= 2) {
      const stride = SIZE / (2 * half);
      for (let group = 0; group < SIZE; group += 2 * half) {
        for (let k = 0; k < half; ++k) {
          const a = group + k, b = a + half;
          const re = real[b] * cos[k * stride] - imag[b] * sin[k * stride];
          const im = real[b] * sin[k * stride] + imag[b] * cos[k * stride];
          real[b] = real[a] - re;
          imag[b] = imag[a] - im;
          real[a] += re;
          imag[a] += im;
        }
      }
    }
  }
}

const BITS = Math.log2(SIZE);
function reversed(i) {
  let out = 0;
  for (let bit = 0; bit < BITS; ++bit) out |= ((i >> bit) & 1) << (BITS - 1 - bit);
  return out;
}
