// The page: reads the form, speaks, shows the results.
import {Api} from './api.js';
import {EngineView} from './engine.js';
import {Player} from './player.js';
import {PreviewsView} from './previews.js';
import {RecordingView} from './recording_view.js';
import {axis, Scope} from './scope.js';
import {curl, FORMATS, node, python} from './snippets.js';
import {Take} from './take.js';
import {TalkView} from './talk_view.js';
import {VoicesView} from './voices.js';
import {LANGUAGE, t, translate} from './words.js';

const $ = (id) => document.getElementById(id);
translate(document);
document.documentElement.lang = LANGUAGE;
const api = new Api();
const player = new Player();
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const KEY = 'syrinx-key';  // in sessionStorage: gone with the tab
const CHARS_PER_SECOND = 15;

let models = [];
let model = {id: '', sample_rate: 24000};
let voices = [];
let running = null;  // AbortController of the running speech
let views = [];

// ---------------------------------------------------------------------------- words

function trouble(message) {
  $('trouble').textContent = message;
}

/** For screen readers. */
function announce(message) {
  $('news').textContent = message;
}

function explain(error) {
  if (error.status === 401) {
    askForKey();
    return t(api.key ? 'The server does not know this key.' : 'This server requires an API key.');
  }
  return error.message;
}

// ---------------------------------------------------------------------------- the form

function side(letter) {
  const temperature = $(`temperature-${letter}`).value.trim();
  return {
    letter,
    voice: $(`voice-${letter}`).value,
    temperature: temperature === '' ? undefined : Number(temperature),
    seed: $(`seed-${letter}`).value.trim(),
  };
}

const sides = () => ($('compare').checked ? ['a', 'b'] : ['a']).map(side);

/** Returns the request of a side; without a seed if none was chosen. */
function bodyOf({voice, temperature, seed}, format) {
  const body = {model: model.id, input: $('text').value, response_format: format};
  if (voice) body.voice = voice;
  for (const name of ['instructions', 'language']) {
    const value = $(name).value.trim();
    if (value && takes(name)) body[name] = value;
  }
  if (temperature !== undefined) body.temperature = temperature;
  const speed = $('speed').value.trim();
  if (speed !== '' && Number(speed) !== 1) body.speed = Number(speed);
  if (seed !== '') body.seed = Number(seed);
  return body;
}

/** Returns whether the model supports a field that not every model has. */
const takes = (name) => (name === 'language' ? (model.languages ?? []).length > 1 : model[name]);

function offerFields() {
  for (const name of ['instructions', 'language']) {
    $(name).closest('.field').hidden = !takes(name);
  }
}

/** Draws a seed here, so that the same request can be made again in another format. */
const anySeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

function fill(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

function describeVoices() {
  for (const letter of ['a', 'b']) {
    const voice = voices.find((v) => v.id === $(`voice-${letter}`).value);
    $(`about-${letter}`).textContent = voice?.description ?? '';
  }
}

function showSnippet() {
  const make = {curl, python, node}[document.querySelector('[name=snippet]:checked').value];
  const base = new URL('.', document.baseURI).href;
  $('snippet').textContent = make(base, bodyOf(side('a'), $('format').value), Boolean(api.key));
}

async function copySnippet() {
  const text = $('snippet').textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // not available on plain http from other machines
    getSelection().selectAllChildren($('snippet'));
    document.execCommand('copy');
  }
  $('copy').textContent = t('Copied');
  announce(t('Copied'));
  setTimeout(() => ($('copy').textContent = t('Copy')), 1500);
}

// ---------------------------------------------------------------------------- a take on the page

class TakeView {
  constructor(settings, body, count) {
    const article = $('take').content.cloneNode(true).firstElementChild;
    const find = (selector) => article.querySelector(selector);
    this.settings = settings;
    this.body = body;
    this.article = article;
    article.classList.add(settings.letter);
    const name = settings.voice || t('default voice');
    this.name = count > 1 ? `${settings.letter.toUpperCase()} · ${name}` : name;
    find('h3').textContent = this.name;
    this.said = find('.said');
    this.button = find('.play');
    this.save = find('.save');
    this.seek = find('.seek');
    this.seek.setAttribute('aria-label', t('Position in {name}, seconds', {name: this.name}));
    this.canvas = find('canvas');
    this.canvas.setAttribute('aria-label', t('Waveform and spectrum of {name}', {name: this.name}));
    this.scope = new Scope(this.canvas);
    this.button.addEventListener('click', () => this.toggle());
    this.save.addEventListener('click', () => this.download());
    this.seek.addEventListener('input', () => this.play(Number(this.seek.value)));
    this.began = performance.now();
    this.gaps = this.gapSeconds = 0;
    this.heard = 0;
    this.show();
  }

  get mine() {
    return player.take !== null && player.take === this.take;
  }

  async speak(signal) {
    // Request the model's own rate, so that the samples are not resampled by the server.
    await api.stream({...this.body, sample_rate: model.sample_rate}, {
      signal,
      start: (rate) => {
        this.firstMs = performance.now() - this.began;
        this.take = new Take(rate, this.body.input.length / CHARS_PER_SECOND / (this.body.speed ?? 1));
        this.take.changed = () => this.show();
        this.ready(this);
      },
      audio: (samples) => {
        this.take.append(samples);
        if (this.mine) player.pump();
      },
    });
  }

  /** Called at the end of a take, whatever the reason. */
  end(cut) {
    this.cut = cut;
    this.spentMs = performance.now() - this.began;
    if (!this.take) {  // there is nothing to show
      this.article.remove();
      return;
    }
    this.take.finish();
    this.show();
  }

  play(seconds = 0) {
    if (!this.take) return;
    const from = Math.round(seconds * this.take.rate);
    const {length, done} = this.take;
    player.play(this.take, from < length ? from : done ? 0 : length);
  }

  toggle() {
    if (!this.mine) {
      this.play();
    } else if (player.playing) {
      player.pause();
    } else {
      player.resume();
    }
  }

  /** wav and pcm are already here; other formats need the same request once more. */
  async download() {
    const format = $('format').value;
    this.save.disabled = true;
    trouble('');
    try {
      let blob;
      if (format === 'wav') {
        blob = this.take.wav();
      } else if (format === 'pcm') {
        blob = new Blob([this.take.pcm.subarray(0, this.take.length)]);
      } else {
        blob = await (await api.speech({...this.body, response_format: format})).blob();
      }
      const link = document.createElement('a');
      link.href = URL.createObjectURL(blob);
      link.download = `${this.settings.voice || 'speech'}-${this.body.seed}.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      trouble(explain(error));
    } finally {
      this.save.disabled = false;
    }
  }

  show() {
    if (!this.pending) {
      this.pending = true;
      requestAnimationFrame(() => {
        this.pending = false;
        this.draw();
      });
    }
  }

  draw() {
    const {take} = this;
    this.button.disabled = !take || take.length === 0;
    // an incomplete take cannot be saved
    this.save.disabled = this.button.disabled || !take.done || Boolean(this.cut);
    this.button.textContent = t(this.mine && player.playing ? 'Pause' : 'Play');
    this.button.setAttribute('aria-label', `${this.button.textContent} ${this.name}`);
    this.save.textContent = t('Download {format}', {format: $('format').value});
    this.said.textContent = this.figures();
    if (!take) return;
    if (this.mine) {
      this.heard = player.position();
      this.gaps = player.gaps;
      this.gapSeconds = player.gapSeconds;
    }
    this.seek.max = axis(take).toFixed(1);
    this.seek.value = (this.heard / take.rate).toFixed(1);
    this.scope.draw(take, this.heard);
  }

  figures() {
    const {take} = this;
    if (!take) return t('waiting for the first audio …');
    const parts = [t('first audio {ms} ms', {ms: Math.round(this.firstMs)}),
                   `${take.seconds.toFixed(1)} s`];
    const spent = ((this.spentMs ?? performance.now() - this.began) - this.firstMs) / 1000;
    if (take.done && spent > 0.05 && take.seconds > 0) {
      parts.push(t('{x} × real time', {x: (take.seconds / spent).toFixed(1)}));
    }
    const gaps = ['no gap', '1 gap, {s} s in all'][this.gaps] ?? '{n} gaps, {s} s in all';
    parts.push(t(gaps, {n: this.gaps, s: this.gapSeconds.toFixed(1)}));
    parts.push(t('seed {n}', {n: this.body.seed}));
    if (this.cut) parts.push(t(this.cut));
    return parts.join(' · ');
  }
}

// ---------------------------------------------------------------------------- speaking

/** The one button: stops a running speech, otherwise starts one. */
const stoppable = () => running !== null || player.playing;

function showRunning() {
  const button = $('speak');
  button.textContent = t(stoppable() ? 'Stop' : 'Speak');
  button.setAttribute('aria-keyshortcuts', stoppable() ? 'Escape' : 'Control+Enter');
  $('form').setAttribute('aria-busy', String(running !== null));
}

async function speak() {
  trouble('');
  $('sound').pause();
  previews.stop();
  talk.stop();  // two voices must not speak at once
  if ($('text').value.trim() === '') {
    trouble(t('There is no text to speak yet.'));
    $('text').focus();
    return;
  }
  player.stop();
  player.prepare(model.sample_rate);
  const mine = running = new AbortController();
  showRunning();
  announce(t('Speaking'));
  const chosen = sides();
  views = chosen.map((settings) => {
    const body = {seed: anySeed(), ...bodyOf(settings, 'pcm')};
    const view = new TakeView(settings, body, chosen.length);
    view.ready = () => {
      if (view === views[0] || isNext(view)) view.play();
      if (voices.length === 0) connect();  // the model was loaded for this
    };
    return view;
  });
  $('takes').replaceChildren(...views.map((view) => view.article));
  await Promise.all(views.map((view) => speakOne(view, mine)));
  if (running !== mine) return;
  running = null;
  showRunning();
}

/** Returns whether A was played to its end, so that B may begin. */
function isNext(view) {
  const [a, b] = views;
  return view === b && (a.take ? player.ended === a.take : Boolean(a.cut));
}

async function speakOne(view, controller) {
  try {
    await view.speak(controller.signal);
    view.end('');
    announce(`${view.name}: ${view.figures()}`);
  } catch (error) {
    if (error.name === 'AbortError') {
      view.end('stopped');
      announce(t('Stopped'));
      return;
    }
    view.end(error.status === 200 ? 'cut off' : 'failed');
    const [a, b] = views;
    if (view === a && !a.take && b?.take) b.play();
    trouble(explain(error));
  }
}

function stop() {
  $('sound').pause();  // stops a transcribed recording
  previews.stop();
  running?.abort();
  running = null;
  player.stop();
  showRunning();
}

player.changed = () => {
  for (const view of views) view.show();
  showRunning();
  requestAnimationFrame(follow);
  // Play the second take after the first, if both were asked for.
  const [a, b] = views;
  if (b?.take && player.ended === a.take) {
    player.ended = null;
    b.play();
  }
};

/** Moves the line along with the sound; rarely if the user prefers reduced motion. */
function follow() {
  if (!player.playing) return;
  views.find((view) => view.mine)?.draw();
  clearTimeout(follow.timer);
  follow.timer = setTimeout(() => requestAnimationFrame(follow), calm.matches ? 500 : 0);
}

// ---------------------------------------------------------------------------- the server

function askForKey() {
  $('key-row').hidden = false;
  $('key').focus();
}

async function formats() {
  try {
    const text = JSON.stringify(await api.json('openapi.json'));
    const known = /"response_format":\{[^{}]*?"enum":(\[[^\]]*\])/.exec(text);
    const names = JSON.parse(known[1]);
    return FORMATS.filter((name) => names.includes(name));
  } catch {
    return ['wav', 'pcm'];  // formats that every server has
  }
}

async function connect() {
  try {
    const list = await api.json('v1/models');
    models = list.data;
    fill($('model'), models.filter((m) => m.speaks !== false).map((m) => [m.id, m.id]));
    talk.fill(models);
    recordings.fill(models);
    model = {sample_rate: 24000, ...models.find((m) => m.id === $('model').value)};
    const known = await api.json(`v1/audio/voices?model=${encodeURIComponent(model.id)}`);
    voices = known.voices;
    previews.fill(model, voices);
    own.fill(model, known.uploaded_voices ?? []);
    const first = voices.find((v) => v.default)?.id;
    const fresh = $('voice-a').options.length === 0;
    for (const letter of ['a', 'b']) {
      fill($(`voice-${letter}`), voices.map((v) => [v.id, v.name ?? v.id]));
    }
    if (fresh && first) {
      $('voice-a').value = first;
      $('voice-b').value = voices.find((v) => v.id !== first)?.id ?? first;
    }
    fill($('format'), (await formats()).map((name) => [name, name]));
    $('languages').replaceChildren(...(model.languages ?? []).map((l) => new Option(l)));
    engine.model = model.id;
    offerFields();
    describeVoices();
    showSnippet();
  } catch (error) {
    if (error.status === 401) {
      trouble(explain(error));
    } else {  // the server is still loading, or briefly unavailable
      setTimeout(connect, 1000);
    }
  }
}

/** Returns the voice for conversations: the form's if it belongs to the speaking model; '': the default. */
function talkVoice() {
  const writer = models.find((m) => m.id === $('writer').value);
  if (!writer?.loaded) return '';
  // the model speaks its answers itself
  if (writer.speaks) return writer.id === model.id ? $('voice-a').value : '';
  const first = models.find((m) => m.loaded && m.speaks && !m.writes);
  return first?.id === model.id ? $('voice-a').value : '';
}

const talk = new TalkView({announce, key: () => api.key, voice: talkVoice, began: stop, ended: connect});
const recordings = new RecordingView(api, {explain, announce});
const previews = new PreviewsView(api, {player, explain, began: () => { stop(); talk.stop(); }});
const own = new VoicesView(api, {explain, announce, changed: connect});
api.key = sessionStorage.getItem(KEY) ?? '';
$('key').addEventListener('change', () => {
  api.key = $('key').value.trim();
  sessionStorage.setItem(KEY, api.key);
  trouble('');
  connect();
});
$('form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (stoppable()) stop();
  else speak();
});
$('form').addEventListener('input', () => {
  describeVoices();
  showSnippet();
});
$('model').addEventListener('change', () => {
  trouble('');  // the message was about another model
  connect();
});
$('compare').addEventListener('change', () => {
  $('side-b').hidden = !$('compare').checked;
  document.body.classList.toggle('comparing', $('compare').checked);
});
for (const radio of document.querySelectorAll('[name=snippet]')) {
  radio.addEventListener('change', showSnippet);
}
$('format').addEventListener('change', () => views.forEach((view) => view.show()));
$('copy').addEventListener('click', copySnippet);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    stop();
    $('form').requestSubmit();
  } else if (event.key === 'Escape') {
    stop();
    talk.stop();
  }
});

const engine = new EngineView(api, {
  figures: $('engine'), table: $('engine-models'), canvas: $('pulse'), note: $('engine-note'), state: $('state'),
  returned: connect,
});
connect();
