// The microphone as a stream of 16-bit samples. Worklets and microphones are available only if the page
// is from this machine or came over TLS.
import {t} from './words.js';

const PIECE_S = 0.04;

/** Returns whether a browser can give a microphone to this page. */
export const mayHaveMicrophone = () => Boolean(navigator.mediaDevices && window.AudioWorklet);

const WHY = {
  NotAllowedError: 'The browser does not let this page use the microphone. Allow it beside the address.',
  NotFoundError: 'There is no microphone.',
  NotReadableError: 'Another program uses the microphone.',
};

export class Microphone {
  /** Called when it was unplugged, or the permission was withdrawn. */
  lost = () => {};

  /**
   * Requests it, and calls heard(Int16Array at `rate` Hz) until close(). Rejects with a message. The
   * browser removes the sound that the page itself plays, so that an answer does not interrupt itself.
   */
  async open(rate, heard) {
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({audio: {
        channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true}});
      this.context = new AudioContext({latencyHint: 'interactive'});
      await this.context.audioWorklet.addModule(new URL('microphone_worklet.js', import.meta.url));
    } catch (error) {
      this.close();
      const why = WHY[error.name];
      throw new Error(why ? t(why) : t('The microphone cannot be used: {why}', {why: error.message}));
    }
    this.stream.getTracks().forEach((track) => (track.onended = () => this.lost()));
    const worklet = new AudioWorkletNode(this.context, 'microphone', {
      channelCount: 1, channelCountMode: 'explicit',
      processorOptions: {rate, piece: Math.round(rate * PIECE_S)}});
    worklet.port.onmessage = ({data}) => heard(data);
    // Browsers run only nodes that lead to the loudspeaker; the worklet's own output is silence.
    this.context.createMediaStreamSource(this.stream).connect(worklet).connect(this.context.destination);
    await this.context.resume();
  }

  close() {
    for (const track of this.stream?.getTracks() ?? []) {
      track.onended = null;
      track.stop();
    }
    this.context?.close();
    this.stream = this.context = null;
  }
}
