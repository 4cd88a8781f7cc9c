// Voices from recordings: lists stored voices, stores the voice of a file or of the microphone, and
// deletes voices. Shown if the model can clone a voice.
import {wav} from './wav.js';
import {t} from './words.js';

const RATE = 24000;  // Hz, of recordings made here
const $ = (id) => document.getElementById(id);

export class VoicesView {
  recorded = null;  // a WAV file
  recorder = null;

  /** explain(error) in words; announce(message) for screen readers; changed() after a change. */
  constructor(api, {explain, announce, changed}) {
    Object.assign(this, {api, explain, announce, changed});
    // not available on plain http from other machines
    $('record').hidden = !navigator.mediaDevices || !window.MediaRecorder;
    $('record').addEventListener('click', () => this.record());
    $('voice-file').addEventListener('change', () => {
      this.recorded = null;
      this.show();
    });
    $('voice-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.attempt(() => this.keep());
    });
  }

  /** `model` as of GET /v1/models, `kept` the uploaded_voices of GET /v1/audio/voices. */
  fill(model, kept) {
    this.model = model;
    const cloning = model.voice_cloning ?? {};
    $('voices').hidden = !cloning.supported;
    if (!cloning.supported) return;
    $('voices-note').textContent = t('Between {min} and {max} s of one speaker.',
                                     {min: cloning.min_seconds, max: cloning.max_seconds});
    const modes = cloning.modes ?? [];
    $('voice-text').required = modes.length > 0 && modes.every((mode) => mode.needs_text);
    $('own-voices').replaceChildren(...kept.map((voice) => this.row(voice)));
  }

  row({id, name, seconds}) {
    const row = document.createElement('li');
    const label = document.createElement('span');
    label.textContent = seconds ? `${name} · ${seconds.toFixed(1)} s` : name;
    const button = document.createElement('button');
    button.type = 'button';
    const calm = () => {
      button.textContent = t('Delete');
      button.setAttribute('aria-label', t('Delete {name}', {name}));
      button.dataset.sure = '';
    };
    calm();
    button.addEventListener('blur', calm);
    button.addEventListener('click', () => {
      if (!button.dataset.sure) {  // the second press deletes
        button.dataset.sure = 'yes';
        button.textContent = t('Delete {name} for good?', {name});
        button.removeAttribute('aria-label');
        return;
      }
      this.attempt(async () => {
        await this.api.request(`v1/audio/voices/${encodeURIComponent(id)}`, {method: 'DELETE'});
        this.announce(t('Deleted {name}', {name}));
        $('voice-name').focus();  // the button is gone
      });
    });
    row.append(label, button);
    return row;
  }

  /** Runs something that the server may refuse; first removes the message of the last try. */
  async attempt(task) {
    this.trouble('');
    $('keep').disabled = true;
    try {
      await task();
      this.changed();
    } catch (error) {
      this.trouble(this.explain(error));
    } finally {
      $('keep').disabled = false;
    }
  }

  trouble(message) {
    $('voice-trouble').textContent = message;
  }

  async keep() {
    const audio = this.recorded ?? $('voice-file').files[0];
    if (!audio) throw new Error(t('Choose a file or record something first.'));
    if (!$('voice-consent').checked) {
      throw new Error(t('The speaker must agree: tick the box.'));
    }
    const form = new FormData();
    const name = $('voice-name').value.trim();
    form.append('name', name);
    form.append('model', this.model.id);
    form.append('consent', 'the speaker agrees, as said on the page');
    if ($('voice-text').value.trim()) form.append('ref_text', $('voice-text').value.trim());
    form.append('audio_sample', audio, audio.name ?? 'recording.wav');
    const answer = await (await this.api.request('v1/audio/voices', {method: 'POST', body: form}))
        .json();
    $('voice-form').reset();
    this.recorded = null;
    this.show((answer.remarks ?? []).join(' '));
    this.announce(t('Kept {name}', {name}));
  }

  async record() {
    if (this.recorder) {
      this.recorder.stop();
      return;
    }
    this.trouble('');
    $('record').disabled = true;  // while the browser asks the user
    try {
      const stream = await navigator.mediaDevices.getUserMedia(
          {audio: {echoCancellation: false, noiseSuppression: false, autoGainControl: false}});
      const pieces = [];
      this.recorder = new MediaRecorder(stream);
      this.recorder.ondataavailable = (event) => pieces.push(event.data);
      this.recorder.onstop = async () => {
        clearTimeout(this.limit);
        for (const track of stream.getTracks()) track.stop();
        this.recorder = this.recorded = null;
        $('voice-file').value = '';
        try {
          this.recorded = await toWav(new Blob(pieces));
        } catch (error) {
          this.trouble(t('The microphone cannot be used: {why}', {why: error.message}));
        }
        this.show();
      };
      this.recorder.start();
      this.limit = setTimeout(() => this.recorder?.stop(),
                              1000 * (this.model.voice_cloning.max_seconds ?? 30));
    } catch (error) {
      this.recorder = null;
      this.trouble(t('The microphone cannot be used: {why}', {why: error.message}));
    } finally {
      $('record').disabled = false;
    }
    this.show();
  }

  show(remark = '') {
    $('record').textContent = t(this.recorder ? 'Stop recording' : 'Record');
    const seconds = this.recorded ? (this.recorded.size - 44) / 2 / RATE : 0;
    $('voice-said').textContent =
        this.recorded ? t('Recorded: {s} s', {s: seconds.toFixed(1)}) : remark;
  }
}

/** Converts a browser's recording, in any format, to WAV. */
async function toWav(blob) {
  const context = new OfflineAudioContext(1, 1, RATE);
  const audio = await context.decodeAudioData(await blob.arrayBuffer());
  const left = audio.getChannelData(0);
  return wav(Int16Array.from(left, (x) => Math.max(-1, Math.min(1, x)) * 32767), RATE);
}
