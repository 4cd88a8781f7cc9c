// The part of the page for conversations with a text model: its models, missing models, the button, the level
// of the microphone, and the turns of both sides.
import {mayHaveMicrophone} from './microphone.js';
import {NEEDS_EARS, showNeeds} from './needs.js';
import {Talk} from './talk.js';
import {t} from './words.js';

const MANNER = 'You are talking with a person by voice. Answer in one or two short sentences of plain words.';
const STATES = {
  '': '', connecting: 'Connecting …', listening: 'Listening', hearing: 'You are speaking',
  thinking: 'Thinking …', answering: 'Answering',
};
const $ = (id) => document.getElementById(id);

export class TalkView {
  talk = null;
  rows = new Map();  // maps a turn to its paragraph

  /**
   * announce(message) for screen readers; key() of the API, voice() to answer with or '';
   * began() before a conversation, ended() after it.
   */
  constructor({announce, key, voice, began, ended}) {
    Object.assign(this, {announce, key, voice, began, ended});
    $('manner').placeholder = t(MANNER);
    $('talk-button').addEventListener('click', () => (this.talk ? this.stop() : this.start()));
  }

  /** `models` as of GET /v1/models. */
  fill(models) {
    this.models = models;
    this.ears = models.find((m) => m.hears);
    // The abilities of a model are known only after it was loaded.
    const writers = models.filter((m) => m.writes || m.loaded === false);
    const chosen = $('writer').value;
    $('writer').replaceChildren(...writers.map((m) => new Option(m.id, m.id)));
    if (writers.some((m) => m.id === chosen)) $('writer').value = chosen;
    $('writer').closest('.field').hidden = writers.length < 2;
    const needs = [];
    if (!mayHaveMicrophone()) {
      const port = location.port || '80';
      needs.push(['Browsers allow the microphone only on pages of the same machine, or over TLS:',
                  'syrinx serve --tls-cert FILE --tls-key FILE'],
                 ['Or open the page through a tunnel, as one of your own machine:',
                  `ssh -L ${port}:localhost:${port} ${location.hostname}`]);
    }
    if (writers.length === 0) {
      needs.push(['To get answers, start the server with a text model as well:',
                  'syrinx serve --model finch --model DIR']);
    }
    if (!this.ears && !writers.some((m) => m.audio_input_s > 0 || m.loaded === false)) {
      needs.push(...NEEDS_EARS);
    }
    showNeeds($('talk-needs'), needs);
    $('talk-more').hidden = needs.length > 0;
    $('talk-button').disabled = needs.length > 0 && !this.talk;
  }

  start() {
    this.began();
    this.trouble('');
    this.rows.clear();
    $('turns').replaceChildren();
    const session = {
      instructions: $('manner').value.trim() || t(MANNER),
      audio: {input: {transcription: this.ears ? {model: this.ears.id} : {}}},
    };
    const voice = this.voice();
    if (voice) session.audio.output = {voice};
    const talk = new Talk({model: $('writer').value, key: this.key(), session});
    this.talk = talk;
    this.loads = !this.models.find((m) => m.id === $('writer').value)?.loaded;
    talk.changed = (turn) => this.show(turn);
    talk.level = (level) => this.showLevel(level);
    talk.trouble = (message) => this.trouble(message);
    this.show();
  }

  stop() {
    this.talk?.end();
  }

  trouble(message) {
    $('talk-trouble').textContent = message;
  }

  show(turn) {
    const {talk} = this;
    const words = t(talk.state === 'connecting' && this.loads ? 'loading the model …' : STATES[talk.state]);
    if ($('talk-state').textContent !== words) $('talk-state').textContent = words;
    // Announced once: the microphone would hear a screen reader's voice, too.
    if (talk.state === 'listening' && !this.announced) this.announce(words);
    this.announced = this.announced || talk.state === 'listening';
    $('talk').dataset.state = talk.state;
    $('talk-word').textContent = t(talk.over ? 'Talk' : 'End');
    // For the same reason the transcript is read aloud only if the answers are not.
    $('turns').setAttribute('aria-live', talk.aloud ? 'off' : 'polite');
    for (const each of turn ? [turn] : talk.turns) this.showTurn(each);
    if (talk.over) this.close();
  }

  showTurn(turn) {
    const {talk} = this;
    const nothing = turn.mine && turn.done && turn.text === '';
    let row = this.rows.get(turn);
    if (nothing) {  // no words were recognised, e.g. a cough
      row?.remove();
      return;
    }
    const log = $('turns');
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    if (!row) {
      row = $('turn').content.cloneNode(true).firstElementChild;
      row.classList.add(turn.mine ? 'mine' : 'theirs');
      row.querySelector('b').textContent = turn.mine ? t('You') : $('writer').value;
      this.rows.set(turn, row);
      log.append(row);
    }
    row.setAttribute('aria-busy', String(!turn.done));
    row.querySelector('span').textContent = turn.text || '…';
    row.querySelector('.note').textContent = turn.heardS === undefined ? '' :
        t('interrupted after {s} s', {s: turn.heardS.toFixed(1)});
    if (atEnd) log.scrollTop = log.scrollHeight;
  }

  showLevel(level) {
    $('level').setAttribute('aria-valuenow', Math.round(100 * level));
    $('level').firstElementChild.style.transform = `scaleX(${level.toFixed(2)})`;
  }

  close() {
    this.talk = null;
    this.announced = false;
    this.showLevel(0);
    this.announce(t('The conversation is over'));
    this.ended();
  }
}
