// The requests of this page to the server. They use only the public HTTP API.
import {t} from './words.js';

/** A failure with a message for people. `status` is 0 when no answer came. */
export class ApiError extends Error {
  constructor(status, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;  // seconds; 0: unknown
  }
}

// Relative, so that the page also works behind a proxy that serves it under a path.
const address = (path) => new URL(path, document.baseURI).href;

async function failure(response) {
  let words = '';
  const body = await response.text().catch(() => '');
  try {
    words = JSON.parse(body).error.message;
  } catch {
    words = t('The server answered {status}.', {status: response.status});
  }
  const wait = Number(response.headers.get('Retry-After')) || 0;
  if (wait > 0) words += ` ${t('Try again in {s} s.', {s: wait})}`;
  return new ApiError(response.status, words, wait);
}

export class Api {
  key = '';

  headers() {
    return this.key ? {Authorization: `Bearer ${this.key}`} : {};
  }

  async request(path, options = {}) {
    let response;
    try {
      response = await fetch(address(path), {
        cache: 'no-store', ...options, headers: {...this.headers(), ...options.headers}});
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(0, t('The server cannot be reached. Is it still running?'));
    }
    if (!response.ok) throw await failure(response);
    return response;
  }

  async json(path) {
    return (await this.request(path)).json();
  }

  async text(path) {
    return (await this.request(path)).text();
  }

  /** Resolves when the first audio exists: the server sends its status line only then. */
  speech(body, signal) {
    return this.request('v1/audio/speech', {
      method: 'POST', signal, body: JSON.stringify(body),
      headers: {'Content-Type': 'application/json'}});
  }

  /**
   * Speaks in 16-bit PCM. Calls start(rate in Hz) at the first audio and audio(Int16Array) for
   * every piece; resolves at the end. A body that is cut off is an ApiError of status 200.
   */
  async stream(body, {signal, start, audio}) {
    const response = await this.speech({...body, response_format: 'pcm'}, signal);
    start(Number(response.headers.get('X-Sample-Rate')) || 24000);
    const reader = response.body.getReader();
    let odd = new Uint8Array(0);  // the first byte of an incomplete sample
    try {
      for (;;) {
        const {done, value} = await reader.read();
        if (done) return;
        const bytes = new Uint8Array(odd.length + value.length);
        bytes.set(odd);
        bytes.set(value, odd.length);
        const whole = bytes.length & ~1;
        odd = bytes.slice(whole);
        if (whole > 0) audio(new Int16Array(bytes.buffer, 0, whole / 2));
      }
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(200, t('The server stopped before the end of the text.'));
    }
  }
}

/**
 * Converts Prometheus text to a map from names to the sums over their series, and from "name/stage"
 * to those of a stage. Buckets of histograms are left out: their sum has no meaning.
 */
export function parseMetrics(text) {
  const sums = new Map();
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(\{.*\})?\s+(\S+)/.exec(line);
    if (!match || match[1].endsWith('_bucket')) continue;
    const value = Number(match[3]);
    if (!Number.isFinite(value)) continue;
    const stage = /[{,]stage="([^"]*)"/.exec(match[2] ?? '')?.[1];
    for (const name of stage ? [match[1], `${match[1]}/${stage}`] : [match[1]]) {
      sums.set(name, (sums.get(name) ?? 0) + value);
    }
  }
  return sums;
}
