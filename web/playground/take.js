// One spoken text: its samples, which grow while it is being made, and the picture of them.
import {BANDS, REACH, Spectrum} from './spectrum.js';
import {wav} from './wav.js';

const MAX_COLUMNS = 4096;  // past it two columns become one, so that a book costs what a page costs

export class Take {
  done = false;
  length = 0;  // samples
  columns = 0;
  peak = 0;  // the largest magnitude so far, of 1
  /** Called after anything has changed. */
  changed = () => {};

  /** rate in Hz; expected seconds, to have an axis before the end is known. */
  constructor(rate, expected) {
    this.rate = rate;
    this.expected = expected;
    this.pcm = new Int16Array(rate * 16);
    this.hop = Math.round(rate / 100);  // samples in a column
    this.low = new Float32Array(MAX_COLUMNS);
    this.high = new Float32Array(MAX_COLUMNS);
    this.bands = new Uint8Array(MAX_COLUMNS * BANDS);
    this.spectrum = new Spectrum(rate);
  }

  get seconds() {
    return this.length / this.rate;
  }

  append(samples) {
    if (this.length + samples.length > this.pcm.length) {
      const grown = new Int16Array(2 * (this.length + samples.length));
      grown.set(this.pcm.subarray(0, this.length));
      this.pcm = grown;
    }
    this.pcm.set(samples, this.length);
    this.length += samples.length;
    // A column looks at samples beyond it: those that are still to come are no silence.
    while ((this.columns + 1) * this.hop + REACH <= this.length) this.addColumn();
    this.changed();
  }

  finish() {
    while ((this.columns + 1) * this.hop <= this.length) this.addColumn();
    this.done = true;
    this.changed();
  }

  addColumn() {
    if (this.columns === MAX_COLUMNS) this.halve();
    const begin = this.columns * this.hop;
    if (begin + this.hop > this.length) return;  // a column has just become longer
    let low = 0, high = 0;
    for (let i = begin; i < begin + this.hop; ++i) {
      if (this.pcm[i] < low) low = this.pcm[i];
      if (this.pcm[i] > high) high = this.pcm[i];
    }
    this.low[this.columns] = low / 32768;
    this.high[this.columns] = high / 32768;
    this.peak = Math.max(this.peak, high / 32768, -low / 32768);
    const middle = begin + (this.hop >> 1);
    this.spectrum.measure(this.pcm, this.length, middle,
                          this.bands.subarray(this.columns * BANDS, (this.columns + 1) * BANDS));
    ++this.columns;
  }

  halve() {
    for (let i = 0; i < MAX_COLUMNS / 2; ++i) {
      this.low[i] = Math.min(this.low[2 * i], this.low[2 * i + 1]);
      this.high[i] = Math.max(this.high[2 * i], this.high[2 * i + 1]);
      for (let b = 0; b < BANDS; ++b) {
        this.bands[i * BANDS + b] =
            Math.max(this.bands[2 * i * BANDS + b], this.bands[(2 * i + 1) * BANDS + b]);
      }
    }
    this.columns = MAX_COLUMNS / 2;
    this.hop *= 2;
  }

  /** Samples [from, from + count) in [-1, 1]. */
  read(from, count) {
    const out = new Float32Array(count);
    for (let i = 0; i < count; ++i) out[i] = this.pcm[from + i] / 32768;
    return out;
  }

  /** A WAV file of what there is. */
  wav() {
    return wav(this.pcm.subarray(0, this.length), this.rate);
  }
}
