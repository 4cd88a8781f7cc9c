// The part of the page that transcribes recordings: a recording is chosen or dropped, and sent to the
// server. Its segments are shown, can be played, and saved as a file.
import {NEEDS_EARS, showNeeds} from './needs.js';
import {clock, srt, txt, vtt} from './subtitles.js';
import {t} from './words.js';

const FILES = {srt, vtt, txt};
const $ = (id) => document.getElementById(id);
const holdsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');

export class RecordingView {
  running = null;  // AbortController of the running transcription
  transcript = null;
  stem = '';
  ears = [];

  /** explain(error) in words; announce(message) for screen readers. */
  constructor(api, {explain, announce}) {
    Object.assign(this, {api, explain, announce});
    $('recording').addEventListener('change', () => this.take($('recording').files[0]));
    $('hear-stop').addEventListener('click', () => this.stop());
    for (const name of Object.keys(FILES)) {
      $(`save-${name}`).textContent = t('Download {format}', {format: name});
      $(`save-${name}`).addEventListener('click', () => this.save(name));
    }
    $('segments').addEventListener('click', (event) => this.play(event.target.closest('button')));
    $('segments').addEventListener('keydown', (event) => this.move(event));
    $('sound').addEventListener('timeupdate', () => this.follow());
    $('sound').addEventListener('error', () => this.silence());
    this.acceptDrops();
  }

  /** Accepts files anywhere on the page, except on fields that take files themselves. */
  acceptDrops() {
    const ours = (event) => holdsFiles(event) && !event.target.closest?.('input[type=file]');
    const lit = (on) => document.body.classList.toggle('dropping', on);
    document.addEventListener('dragover', (event) => {
      if (!ours(event)) return;
      event.preventDefault();
      lit(true);
    });
    document.addEventListener('dragleave', (event) => {
      if (!event.relatedTarget) lit(false);
    });
    document.addEventListener('drop', (event) => {
      lit(false);
      if (!ours(event)) return;
      event.preventDefault();
      this.take(event.dataTransfer.files[0]);
    });
  }

  /** `models` as of GET /v1/models. */
  fill(models) {
    this.ears = models.filter((m) => m.hears || m.transcribes);
    const chosen = $('recogniser').value;
    $('recogniser').replaceChildren(...this.ears.map((m) => new Option(m.id, m.id)));
    if (this.ears.some((m) => m.id === chosen)) $('recogniser').value = chosen;
    $('recogniser').closest('.field').hidden = this.ears.length < 2;
    showNeeds($('hear-needs'), this.ears.length > 0 ? [] : NEEDS_EARS);
    $('recording').disabled = this.ears.length === 0;
  }

  trouble(message) {
    $('hear-trouble').textContent = message;
  }

  async take(file) {
    if (!file) return;
    this.stop();
    this.trouble('');
    $('sound').pause();
    $('transcript').hidden = true;
    if (this.ears.length === 0) {
      $('hear-needs').scrollIntoView({block: 'center'});
      this.trouble(t('There is no recogniser here.'));
      return;
    }
    const mine = this.running = new AbortController();
    this.showRunning(t('Transcribing {name} …', {name: file.name}));
    $('hear-title').scrollIntoView({block: 'nearest'});
    try {
      const transcript = await this.send(file, mine.signal);
      if (this.running === mine) this.show(file, transcript);
    } catch (error) {
      if (error.name !== 'AbortError' && this.running === mine) this.trouble(this.explain(error));
    }
    if (this.running !== mine) return;
    this.running = null;
    this.showRunning('');
  }

  async send(file, signal) {
    const recogniser = this.ears.find((m) => m.id === $('recogniser').value);
    const form = new FormData();
    form.append('model', recogniser.id);
    form.append('response_format', 'verbose_json');
    form.append('timestamp_granularities[]', 'segment');
    if (recogniser.hears && recogniser.word_times) form.append('timestamp_granularities[]', 'word');
    form.append('file', file);
    const answer = await this.api.request('v1/audio/transcriptions', {method: 'POST', body: form, signal});
    return answer.json();
  }

  stop() {
    this.running?.abort();
    this.running = null;
    $('recording').value = '';  // the same file may be chosen again
    this.showRunning('');
  }

  showRunning(words) {
    $('hear-state').textContent = words;
    $('hear-stop').parentElement.hidden = !this.running;
    $('hear').setAttribute('aria-busy', String(Boolean(this.running)));
  }

  show(file, transcript) {
    this.transcript = transcript;
    this.stem = file.name.replace(/\.[^.]*$/, '') || 'recording';
    URL.revokeObjectURL(this.address);
    this.address = URL.createObjectURL(file);
    $('sound').src = this.address;
    $('sound').hidden = false;
    $('heard-name').textContent = file.name;
    const {segments} = transcript;
    const parts = [clock(transcript.duration), transcript.language];
    if (segments.length === 0) parts.push(t('no speech found'));
    $('heard-note').textContent = parts.filter(Boolean).join(' · ');
    $('segments').hidden = segments.length === 0;
    $('segments').replaceChildren(...segments.map((segment, i) => this.row(segment, i)));
    $('transcript').hidden = false;
    this.announce(t('{name} is transcribed', {name: file.name}));
  }

  row({start, text}, index) {
    const row = $('segment').content.cloneNode(true).firstElementChild;
    const button = row.querySelector('button');
    button.dataset.start = start;
    button.tabIndex = index === 0 ? 0 : -1;  // one stop of the Tab key; arrows move from there
    row.querySelector('time').textContent = clock(start);
    row.querySelector('span').textContent = text.trim();
    return row;
  }

  buttons() {
    return [...$('segments').querySelectorAll('button')];
  }

  move(event) {
    const step = {ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = this.buttons();
    const to = all[Math.max(0, Math.min(all.length - 1, all.indexOf(event.target) + step))];
    for (const button of all) button.tabIndex = button === to ? 0 : -1;
    to.focus();
  }

  play(button) {
    if (!button) return;
    $('sound').currentTime = Number(button.dataset.start);
    $('sound').play().catch(() => {});  // sounds that cannot be played send 'error'
  }

  /** Marks the segment that is heard. */
  follow() {
    const now = $('sound').currentTime + 0.001;  // the time of a click may come back rounded
    const current = this.buttons().findLast((button) => Number(button.dataset.start) <= now);
    if (current?.hasAttribute('aria-current')) return;
    for (const button of this.buttons()) button.removeAttribute('aria-current');
    current?.setAttribute('aria-current', 'true');
    const list = $('segments'), row = current?.parentElement;  // scrolls the list, not the page
    if (!row) return;
    if (row.offsetTop < list.scrollTop) list.scrollTop = row.offsetTop;
    const below = row.offsetTop + row.offsetHeight - list.clientHeight;
    if (below > list.scrollTop) list.scrollTop = below;
  }

  silence() {
    if (!$('sound').getAttribute('src')) return;
    $('sound').hidden = true;
    this.trouble(t('This browser cannot play the recording; its text is below.'));
  }

  save(name) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([FILES[name](this.transcript)], {type: 'text/plain'}));
    link.download = `${this.stem}.${name}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
}
