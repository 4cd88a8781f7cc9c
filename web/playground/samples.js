/** 16-bit samples of one voice, which grow while they arrive. A Player plays them meanwhile. */
export class Samples {
  done = false;
  length = 0;  // samples

  /** rate in Hz. */
  constructor(rate) {
    this.rate = rate;
    this.pcm = new Int16Array(rate * 16);
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
  }

  /** No more samples follow. */
  finish() {
    this.done = true;
  }

  /** Frees the memory of a take that is no longer played. */
  forget() {
    this.pcm = new Int16Array(0);
  }

  /** Returns samples [from, from + count) in [-1, 1]. */
  read(from, count) {
    const out = new Float32Array(count);
    for (let i = 0; i < count; ++i) out[i] = this.pcm[from + i] / 32768;
    return out;
  }
}
