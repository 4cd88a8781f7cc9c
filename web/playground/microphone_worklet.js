// Runs on the browser's audio thread: converts the microphone's samples to the rate and the pieces
// that the server gets.
import {Resampler} from './resampler.js';

class MicrophoneWorklet extends AudioWorkletProcessor {
  constructor({processorOptions: {rate, piece}}) {
    super();
    this.resampler = new Resampler(sampleRate, rate);
    this.piece = new Int16Array(piece);
    this.filled = 0;
  }

  process([[channel]]) {
    if (!channel) return true;  // not connected yet
    for (const sample of this.resampler.push(channel)) {
      this.piece[this.filled++] = Math.max(-32768, Math.min(32767, Math.round(sample * 32768)));
      if (this.filled < this.piece.length) continue;
      this.port.postMessage(this.piece);
      this.filled = 0;
    }
    return true;
  }
}

registerProcessor('microphone', MicrophoneWorklet);
