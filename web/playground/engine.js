// Shows the running engine: figures of all models together, a curve of the last minute, and a table
// if there are several models. Reads /health and, if the server has it, /metrics, only while the
// page is visible.
import {parseMetrics} from './api.js';
import {t} from './words.js';

const EVERY_MS = 1000, MINUTE = 60, UNKNOWN = '–';

export class EngineView {
  /** returned() is called when the server answers again after an outage. */
  constructor(api, {figures, table, canvas, note, state, returned}) {
    Object.assign(this, {api, figures, table, canvas, note, state, returned});
    this.rates = [];  // seconds of audio made per second, oldest first
    this.metrics = true;  // false once the server has none
    this.last = null;
    document.addEventListener('visibilitychange', () => this.schedule(0));
    this.schedule(0);
  }

  schedule(ms) {
    clearTimeout(this.timer);
    if (!document.hidden) this.timer = setTimeout(() => this.look(), ms);
  }

  async look() {
    try {
      const began = performance.now();
      const health = await this.api.json('health');
      if (this.metrics) await this.readMetrics();
      if (this.state.dataset.state === 'gone') this.returned();
      this.show(health, began / 1000);
      this.schedule(EVERY_MS);
    } catch {
      this.state.textContent = t('The server cannot be reached');
      this.state.dataset.state = 'gone';
      this.note.textContent = '';
      this.last = null;
      this.fade(true);
      this.schedule(3 * EVERY_MS);
    }
  }

  async readMetrics() {
    try {
      this.sums = parseMetrics(await this.api.text('metrics'));
    } catch (error) {
      // 401: metrics need another key.
      if ([401, 403, 404].includes(error.status)) this.metrics = false;
      this.sums = null;
    }
  }

  /** Marks the figures as old while the server does not answer. */
  fade(old) {
    for (const part of [this.figures, this.table, this.canvas]) part.classList.toggle('old', old);
  }

  show(health, now) {
    this.fade(false);
    const words = {ready: 'ready', loading: 'loading the model …', draining: 'stopping'};
    this.state.dataset.state = health.state;
    const model = this.model ? `${this.model} · ` : '';
    const text = model + t(words[health.state] ?? health.state);
    if (this.state.textContent !== text) this.state.textContent = text;
    if (!health.engine) return;
    const models = health.models ?? [{id: '', loaded: true, engine: health.engine}];
    const engine = total(models);
    const before = this.last;
    this.last = {now, engine, models: new Map(models.map((m) => [m.id, m.engine]))};
    // An unloaded model's counts disappear with it.
    const per = (name, is, was) =>
        was && is[name] >= was[name] ? (is[name] - was[name]) / (now - before.now) : 0;
    if (before) this.rates = [...this.rates, per('audio_s', engine, before.engine)].slice(-MINUTE);
    this.fill(health, engine, (name) => per(name, engine, before?.engine));
    this.fillTable(models, (name, m) => per(name, m.engine, before?.models.get(m.id)));
    this.drawPulse();
  }

  /** Shows a row for each model if there are several. */
  fillTable(models, per) {
    this.table.hidden = models.length < 2;
    if (this.table.hidden) return;
    const rows = models.map((m) => m.engine ?
        [m.id, m.engine.running, `${per('audio_s', m).toFixed(1)} s`,
         Math.round(per('ar_steps', m)), cacheInUse(m.engine)] :
        [m.id, t('not loaded'), '', '', '']);
    const heads = ['Model', 'streams', 'audio per second', 'steps per second', 'cache in use'];
    writeTable(this.table, heads, rows);
  }

  fill(health, engine, per) {
    const sums = this.sums ?? new Map();
    const batch = mean(sums, this.sumsBefore, 'syrinx_batch_size', '/ar');
    const room = sums.get('syrinx_streams_capacity');
    // Always six figures, so that they fit into one row, or three by two.
    const rows = [
      ['audio per second', `${per('audio_s').toFixed(1)} s`],
      ['streams', health.streams],
      ['waiting', sums.get('syrinx_requests_waiting') ?? UNKNOWN],
      ['most streams at a time', room > 0 ? Math.floor(room) : UNKNOWN],
      ['steps per second', Math.round(per('ar_steps'))],
      engine.pages > 0 ? ['cache in use', cacheInUse(engine)] :
                         ['streams per step', batch?.toFixed(1) ?? UNKNOWN],
    ];
    this.sumsBefore = this.sums;
    write(this.figures, rows);
    this.note.textContent = t('up {time}, {n} spoken, {audio} of audio', {
      time: duration(health.uptime_s), n: engine.finished, audio: duration(engine.audio_s)});
  }

  drawPulse() {
    const {canvas} = this;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(canvas.clientHeight * scale);
    const context = canvas.getContext('2d');
    const style = getComputedStyle(canvas);
    const top = Math.max(1, ...this.rates);
    const width = canvas.width / MINUTE, gap = Math.min(width / 2, scale);
    this.rates.forEach((rate, i) => {
      const high = Math.max(scale, (canvas.height - scale) * (rate / top));
      context.fillStyle = rate > 0.01 ? style.color : style.getPropertyValue('--faint');
      const x = (MINUTE - this.rates.length + i) * width;
      context.fillRect(x, canvas.height - high, width - gap, high);
    });
    canvas.setAttribute('aria-label', t(
        'Audio made per second in the last minute, at most {s} seconds', {s: top.toFixed(1)}));
  }
}

/** Returns the sums of all counts over the loaded models. */
function total(models) {
  const sum = {};
  for (const {engine} of models) {
    for (const [name, value] of Object.entries(engine ?? {})) sum[name] = (sum[name] ?? 0) + value;
  }
  return sum;
}

function cacheInUse(engine) {
  if (!engine.pages) return '';
  return `${((100 * (engine.pages - engine.pages_free)) / engine.pages).toFixed(0)} %`;
}

/** Returns the mean of a histogram since the last call; undefined if it did not grow. */
function mean(sums, before, name, stage) {
  const since = (part) => {
    const key = `${name}_${part}${stage}`;
    return sums.get(key) - (before?.get(key) ?? 0);
  };
  const value = since('sum') / since('count');
  return Number.isFinite(value) ? value : undefined;
}

/** Writes rows [name, value] into a <dl>; changes only what differs. */
function write(list, rows) {
  while (list.children.length > rows.length) list.lastChild.remove();
  rows.forEach(([name, value], i) => {
    let row = list.children[i];
    if (!row) {
      row = document.createElement('div');
      row.append(document.createElement('dt'), document.createElement('dd'));
      list.append(row);
    }
    const [dt, dd] = row.children;
    if (dt.textContent !== t(name)) dt.textContent = t(name);
    if (dd.textContent !== String(value)) dd.textContent = value;
  });
}

/** Writes heads and rows into a <table>; changes only what differs. */
function writeTable(table, heads, rows) {
  const lines = [heads.map((head) => t(head)), ...rows];
  while (table.rows.length > lines.length) table.deleteRow(-1);
  lines.forEach((cells, i) => {
    const row = table.rows[i] ?? table.insertRow();
    cells.forEach((text, j) => {
      const cell = row.cells[j] ?? row.appendChild(document.createElement(i && j ? 'td' : 'th'));
      if (!cell.scope && cell.tagName === 'TH') cell.scope = i ? 'row' : 'col';
      if (cell.textContent !== String(text)) cell.textContent = text;
    });
  });
}

export function duration(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  const hours = seconds / 3600;
  return hours < 48 ? `${hours.toFixed(1)} h` : t('{n} days', {n: Math.round(hours / 24)});
}
