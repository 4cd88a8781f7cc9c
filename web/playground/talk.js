// A conversation by voice over the server's Realtime API: sends the microphone's samples, plays answers while
// they arrive, and stops them when the user speaks. It does not use the page.
import {Microphone} from './microphone.js';
import {Player} from './player.js';
import {Samples} from './samples.js';
import {t} from './words.js';

const RATE = 24000;  // Hz, of the API's audio/pcm
const EVENT = 'conversation.item.input_audio_transcription.';

/** One side's turn. `text` grows; `heardS` is set if an answer was interrupted. */
class Turn {
  done = false;
  text = '';

  constructor(id, mine) {
    this.id = id;
    this.mine = mine;
    if (!mine) this.audio = new Samples(RATE);
  }
}

export class Talk {
  turns = [];
  /** '': over; 'connecting', 'listening', 'hearing' (the user speaks), 'thinking', 'answering' */
  state = 'connecting';
  /** Whether answers are heard, not only read. */
  aloud = true;
  /** Called after a change, with the turn that changed, if any. */
  changed = () => {};
  /** Called with the loudness of the microphone's last piece, from 0 to 1. */
  level = () => {};
  /** Called after an error; the conversation may continue. */
  trouble = () => {};

  /**
   * Call it in a click or key press. `session` as in session.update; `key` may be ''. Connects to the page's
   * server.
   */
  constructor({model, key, session}) {
    this.session = session;
    this.microphone = new Microphone();
    this.microphone.lost = () => this.fail(t('The microphone is gone.'));
    this.player = new Player();
    this.player.changed = () => this.played();
    this.player.prepare(RATE);
    this.waiting = [];  // answers that are played after this one
    this.begin(model, key);
  }

  begin(model, key) {
    const address = new URL(`v1/realtime?model=${encodeURIComponent(model)}`, document.baseURI);
    address.protocol = address.protocol.replace('http', 'ws');
    const protocols = ['realtime'];
    // A browser's WebSocket cannot set headers, and a subprotocol allows only some characters.
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(key)) protocols.push(`openai-insecure-api-key.${key}`);
    else if (key) address.searchParams.set('api_key', key);
    this.socket = new WebSocket(address, protocols);
    this.socket.onmessage = ({data}) => this.take(JSON.parse(data));
    this.socket.onclose = () => this.fail(t(this.state === 'connecting' ?
        'The conversation could not begin. The reason is in the log of the server.' : 'The server has ended the conversation.'));
  }

  get over() {
    return this.state === '';
  }

  end() {
    if (this.over) return;
    this.state = '';
    this.socket.onclose = null;
    this.socket.close();
    this.microphone.close();
    this.player.close();
    for (const turn of this.turns) turn.done = true;
    this.changed();
  }

  fail(message) {
    if (this.over) return;
    this.end();
    this.trouble(message);
  }

  send(type, fields = {}) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({type, ...fields}));
  }

  become(state) {
    if (!this.over) this.state = state;
    this.changed();
  }

  // -------------------------------------------------------------------------- what is said

  async listen() {
    try {
      await this.microphone.open(RATE, (samples) => this.say(samples));
    } catch (error) {
      this.fail(error.message);
    }
    if (this.over) this.microphone.close();  // the conversation was closed meanwhile
    else this.become('listening');
  }

  say(samples) {
    if (this.over) return;
    const bytes = new Uint8Array(samples.buffer);
    let power = 0;
    for (const sample of samples) power += (sample / 32768) ** 2;
    this.level(Math.max(0, 1 + Math.log10(power / samples.length + 1e-9) / 6));  // 60 dB
    this.send('input_audio_buffer.append', {audio: btoa(String.fromCharCode(...bytes))});
  }

  // -------------------------------------------------------------------------- what comes

  take(event) {
    if (this.over) return;
    const {type} = event;
    if (type === 'session.created') {
      this.send('session.update', {session: {type: 'realtime', ...this.session}});
    } else if (type === 'session.updated') {
      this.aloud = event.session.output_modalities.includes('audio');
      this.listen();
    } else if (type === 'input_audio_buffer.speech_started') {
      this.interrupt();
      this.turns.push(new Turn(event.item_id, true));
      this.become('hearing');
    } else if (type === 'input_audio_buffer.speech_stopped') {
      this.become('thinking');
    } else if (type.startsWith(EVENT)) {
      this.takeTranscript(type.slice(EVENT.length), event);
    } else if (type.startsWith('response.')) {
      this.takeAnswer(type.slice('response.'.length), event);
    } else if (type === 'conversation.item.truncated') {
      this.send('conversation.item.retrieve', {item_id: event.item_id});
    } else if (type === 'conversation.item.retrieved') {
      this.takeHeard(event.item);
    } else if (type === 'error') {
      this.takeError(event.error.message);
    }
  }

  takeError(message) {
    if (this.state === 'connecting') return this.fail(message);  // the session has not the requested settings
    this.trouble(message);
    if (this.state === 'thinking') this.become('listening');  // the error ends the answer
  }

  find(id) {
    return this.turns.findLast((turn) => turn.id === id);
  }

  takeTranscript(what, event) {
    const turn = this.find(event.item_id);
    if (!turn) return;
    if (what === 'delta') {
      turn.text += event.delta;
    } else {
      if (what === 'completed') turn.text = event.transcript.trim();
      else this.trouble(event.error.message);
      turn.done = true;
      // No words were recognised, e.g. in a cough: the previous question is answered now.
      if (this.state === 'thinking' && turn.text === '') this.state = 'listening';
    }
    this.changed(turn);
  }

  takeAnswer(what, event) {
    if (what === 'content_part.added') {
      this.turns.push(new Turn(event.item_id, false));
      this.become('answering');
      return;
    }
    if (what === 'done') {
      const {status, status_details: details} = event.response;
      if (status === 'failed') this.trouble(details.error.message);
      if (!this.player.take && this.state !== 'hearing') this.become('listening');
      return;
    }
    const turn = this.find(event.item_id ?? event.item?.id);
    if (!turn) return;
    if (what === 'output_audio_transcript.delta' || what === 'output_text.delta') {
      turn.text += event.delta;
    } else if (what === 'output_audio.delta' && turn.heardS === undefined) {
      const bytes = Uint8Array.from(atob(event.delta), (c) => c.charCodeAt(0));
      if (turn.audio.length === 0) this.waiting.push(turn);
      turn.audio.append(new Int16Array(bytes.buffer));
      if (turn === this.playing) this.player.pump();
      else this.playNext();
    } else if (what === 'output_item.done') {
      turn.done = true;
      turn.audio.finish();
    } else {
      return;
    }
    this.changed(turn);
  }

  // -------------------------------------------------------------------------- what is heard

  playNext() {
    if (this.player.take || this.waiting.length === 0) return;
    this.playing = this.waiting.shift();
    this.player.play(this.playing.audio);
  }

  /** Called when playing began, ran out of samples, or ended. */
  played() {
    if (this.over || this.player.take) return;
    this.playing?.audio.forget();
    this.playing = null;
    this.playNext();
    if (!this.playing && this.state === 'answering') this.become('listening');
  }

  /** Stops the sound at once; the server and its model forget the part that was not heard. */
  interrupt() {
    const {playing, player} = this;
    const heardS = playing ? player.position() / RATE : 0;
    const silent = this.turns.filter((turn) => this.aloud && !turn.mine && !turn.done &&
                                               turn.audio.length === 0);
    const cut = [...(playing ? [playing] : []), ...this.waiting, ...silent];
    this.waiting = [];
    this.playing = null;
    player.stop();
    for (const turn of cut) {
      turn.heardS = turn === playing ? heardS : 0;
      turn.audio.forget();
      this.send('conversation.item.truncate', {
        item_id: turn.id, content_index: 0, audio_end_ms: Math.floor(1000 * turn.heardS)});
    }
  }

  /** Handles the server's report of the heard part of an interrupted answer. */
  takeHeard(item) {
    const turn = this.find(item.id);
    if (!turn) return;
    turn.text = item.content[0].transcript;
    this.changed(turn);
  }
}
