// One spoken text: its samples, which grow while it is being made, and their picture.
import {Samples} from './samples.js';
import {BANDS, REACH, Spectrum} from './spectrum.js';
import {wav} from './wav.js';

// beyond it two columns become one, so that a book needs no more than a page
const MAX_COLUMNS = 4096;

export class Take extends Samples {
  columns = 0;
  peak = 0;  // the largest magnitude so far; full scale 1
  /** Called after anything has changed. */
  changed = () => {};

  /** rate in Hz; `expected`: seconds, for the axis until the end is known. */
  constructor(rate, expected) {
    super(rate);
    this.expected = expected;
    this.hop = Math.round(rate / 100);  // samples in a column
    this.low = new Float32Array(MAX_COLUMNS);
    this.high = new Float32Array(MAX_COLUMNS);
    this.bands = new Uint8Array(MAX_COLUMNS * BANDS);
    this.spectrum = new Spectrum(rate);
  }

  append(samples) {
    super.append(samples);
    // A column also needs later samples: wait for them instead of assuming silence.
    while ((this.columns + 1) * this.hop + REACH <= this.length) this.addColumn();
    this.changed();
  }

  finish() {
    while ((this.columns + 1) * this.hop <= this.length) this.addColumn();
    super.finish();
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

  /** Returns a WAV file of the samples so far. */
  wav() {
    return wav(this.pcm.subarray(0, this.length), this.rate);
  }
}
