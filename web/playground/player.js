// Plays a Take without gaps while it grows. Pieces are scheduled one after another on the audio
// clock, in a context of the take's own rate, so that pieces are not resampled. Uses scheduled
// buffers, because worklets are not available on plain http from other machines.

const AHEAD_S = 20;       // audio that the browser gets before it is due
const START_S = 0.05;     // delay from the first samples to their sound
const PIECE_S = 0.5;
const MAX_CUSHION_S = 4;

export class Player {
  /** Called when playing begins, pauses, runs out of samples, continues or ends. */
  changed = () => {};

  take = null;
  /** The last take that was played to its end, until something else plays. */
  ended = null;
  playing = false;
  gaps = 0;
  gapSeconds = 0;

  /** Call it in a click or key press: browsers allow sound to begin only there. */
  prepare(rate) {
    if (this.context && this.context.sampleRate !== rate) {
      this.context.close();
      this.context = null;
    }
    this.context ??= new AudioContext({sampleRate: rate, latencyHint: 'interactive'});
    this.context.resume();
  }

  /** Plays from sample `from`; stops any other sound. */
  play(take, from = 0) {
    this.stop();
    this.prepare(take.rate);
    this.take = take;
    this.ended = null;
    this.playing = true;
    this.next = from;      // first sample that is not scheduled
    this.due = null;       // the time of its sound; null: nothing is scheduled
    this.dry = false;      // ran out of samples before the end
    this.cushion = 0;      // seconds of audio needed to continue
    this.gaps = this.gapSeconds = 0;
    this.pieces = [];      // {at, from, count, source}, in order
    this.timer = setInterval(() => this.pump(), 40);
    this.pump();
    this.changed();
  }

  pause() {
    if (!this.take || !this.playing) return;
    this.playing = false;
    this.context.suspend();
    this.changed();
  }

  resume() {
    if (!this.take || this.playing) return;
    this.playing = true;
    this.context.resume();
    this.changed();
  }

  stop() {
    if (!this.take) return;
    clearInterval(this.timer);
    for (const piece of this.pieces) {
      piece.source.onended = null;
      piece.source.stop();
      piece.source.disconnect();
    }
    this.take = null;
    this.playing = false;
    this.changed();
  }

  /** Stops, and releases the loudspeaker; prepare() takes it again. */
  close() {
    this.stop();
    this.context?.close();
    this.context = null;
  }

  /** Schedules the samples that have arrived. */
  pump() {
    if (!this.playing) return;
    const {take} = this;
    const now = this.context.currentTime;
    this.pieces = this.pieces.filter((piece) => piece.at + piece.count / take.rate > now - 1);
    const waiting = this.due === null || this.due < now;
    const left = take.length - this.next;
    if (left === 0 && take.done) {
      if (waiting) {
        this.ended = take;
        this.stop();
      }
      return;
    }
    if (waiting && !this.begin(now, left / take.rate)) return;
    while (this.next < take.length && this.due - now < AHEAD_S) this.schedule();
  }

  /** Starts, or continues after a lack of samples; false while more samples should arrive first. */
  begin(now, seconds) {
    if (this.due !== null && !this.dry) {
      this.dry = true;
      ++this.gaps;
      this.cushion = Math.min(MAX_CUSHION_S, Math.max(0.25, 2 * this.cushion));
      this.changed();
    }
    if (seconds === 0 || (seconds < this.cushion && !this.take.done)) return false;
    const due = this.onGrid(now + START_S);
    if (this.dry) this.gapSeconds += due - this.due;
    this.dry = false;
    this.due = due;
    this.changed();
    return true;
  }

  /** Times are whole samples, so that pieces meet exactly. */
  onGrid(seconds) {
    return Math.ceil(seconds * this.take.rate) / this.take.rate;
  }

  schedule() {
    const {context, take} = this;
    const count = Math.min(take.length - this.next, Math.round(PIECE_S * take.rate));
    const buffer = context.createBuffer(1, count, take.rate);
    buffer.copyToChannel(take.read(this.next, count), 0);
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    source.start(this.due);
    this.pieces.push({at: this.due, from: this.next, count, source});
    this.next += count;
    this.due = Math.round(this.due * take.rate + count) / take.rate;
  }

  /** Returns the position that is heard now, in samples of the take. */
  position() {
    if (!this.take) return 0;
    const latency = this.context.outputLatency || 0;
    const now = this.context.currentTime - latency;
    let at = this.pieces.length > 0 ? this.pieces[0].from : this.next;
    for (const piece of this.pieces) {
      if (piece.at > now) break;
      at = piece.from + Math.min(piece.count, (now - piece.at) * this.take.rate);
    }
    return Math.floor(at);
  }
}
