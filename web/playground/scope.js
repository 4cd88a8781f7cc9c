// Draws a Take: the waveform above, the spectrum below, the played part in colour.
import {BANDS} from './spectrum.js';

const WAVE = 0.42;    // the waveform's share of the height
const QUIET = 0.05;   // a lower peak does not fill the height, so silence looks silent

export class Scope {
  constructor(canvas) {
    this.canvas = canvas;
    this.image = document.createElement('canvas');  // the spectrum, one pixel per column and band
    this.image.height = BANDS;
    this.painted = 0;  // number of columns in the image
    this.hop = 0;
    new ResizeObserver(() => this.again?.()).observe(canvas);
  }

  colours() {
    const style = getComputedStyle(this.canvas);
    return {heard: style.getPropertyValue('color'), rest: style.getPropertyValue('--faint')};
  }

  /** heard: played samples. Draws only new columns of the spectrum. */
  draw(take, heard) {
    this.again = () => this.draw(take, heard);
    const {canvas} = this;
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * scale);
    const height = Math.round(canvas.clientHeight * scale);
    if (width === 0) return;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext('2d');
    const {heard: bright, rest} = this.colours();
    context.clearRect(0, 0, width, height);
    const span = axis(take);
    const split = Math.round((width * heard) / take.rate / span);

    this.paint(take);
    const wave = Math.round(height * WAVE), gap = Math.round(6 * scale);
    const end = (width * take.columns * take.hop) / take.rate / span;
    context.imageSmoothingEnabled = true;
    context.drawImage(this.image, 0, 0, take.columns, BANDS, 0, wave + gap, end,
                      height - wave - gap);
    // The picture is a mask, which is filled with colour.
    context.globalCompositeOperation = 'source-in';
    context.fillStyle = bright;
    context.fillRect(0, wave, width, height - wave);
    context.globalCompositeOperation = 'source-over';
    this.drawWave(context, take, {width, wave, span, split, bright, rest, scale});
    if (heard > 0 && split < end - 1) {
      context.fillStyle = bright;
      context.fillRect(split, 0, Math.max(1, scale), height);
    }
  }

  drawWave(context, take, {width, wave, span, split, bright, rest, scale}) {
    const middle = wave / 2;
    const tall = middle / Math.max(QUIET, take.peak);  // the loudest sample fills the height
    const perPixel = (span * take.rate) / take.hop / width;  // columns
    const step = Math.max(2, Math.round(3 * scale)), bar = Math.max(1, Math.round(2 * scale));
    for (let x = 0; x < width; x += step) {
      const first = Math.floor(x * perPixel);
      const last = Math.max(first + 1, Math.floor((x + step) * perPixel));
      let low = 0, high = 0;
      for (let c = first; c < last && c < take.columns; ++c) {
        low = Math.min(low, take.low[c]);
        high = Math.max(high, take.high[c]);
      }
      context.fillStyle = x < split && first < take.columns ? bright : rest;
      const top = high * tall, bottom = -low * tall;
      context.fillRect(x, middle - Math.max(top, scale / 2), bar,
                       Math.max(top, scale / 2) + Math.max(bottom, scale / 2));
    }
  }

  /** Draws new columns of the spectrum, as opacity. */
  paint(take) {
    if (this.hop !== take.hop || this.take !== take) {
      this.hop = take.hop;
      this.take = take;
      this.painted = 0;
    }
    const fresh = take.columns - this.painted;
    if (fresh <= 0) return;
    if (this.image.width < take.columns || this.painted === 0) {
      // Growing a canvas clears it.
      this.image.width = Math.min(4096, Math.max(512, 2 * take.columns));
      this.painted = 0;
    }
    const first = this.painted, count = take.columns - first;
    const pixels = new ImageData(count, BANDS);
    for (let c = 0; c < count; ++c) {
      for (let b = 0; b < BANDS; ++b) {
        const loud = take.bands[(first + c) * BANDS + b] / 255;
        pixels.data[((BANDS - 1 - b) * count + c) * 4 + 3] = 255 * loud ** 1.7;
      }
    }
    this.image.getContext('2d').putImageData(pixels, first, 0);
    this.painted = take.columns;
  }
}

/** Returns the seconds of the whole width: expected or present audio; at the end the real length. */
export function axis(take) {
  if (take.done) return Math.max(0.1, take.seconds);
  let span = Math.max(2, take.expected);
  while (span < take.seconds) span *= 1.5;
  return span;
}
