// The voices of a model, each with a button that plays one short sentence.
import {Samples} from './samples.js';
import {t} from './words.js';

const $ = (id) => document.getElementById(id);

/** A sentence for each language of voices; English for other languages. */
const SENTENCES = {
  en: 'Hello, this is how I sound.',
  de: 'Hallo, so höre ich mich an.',
  fr: 'Bonjour, voici comment je parle.',
  es: 'Hola, así es como sueno.',
  it: 'Ciao, questa è la mia voce.',
  pt: 'Olá, é assim que eu falo.',
  nl: 'Hallo, zo klink ik.',
  pl: 'Dzień dobry, tak brzmi mój głos.',
  ru: 'Здравствуйте, вот как я говорю.',
  hi: 'नमस्ते, मेरी आवाज़ ऐसी है।',
  ja: 'こんにちは、これが私の声です。',
  zh: '你好，这就是我的声音。',
  ko: '안녕하세요, 제 목소리입니다.',
};

/** Returns the sentence of a voice, and the model's name of its language: English if the model has it. */
export function previewFor(languages) {
  const codeOf = (language) => language.toLowerCase().startsWith('en') ? 'en' : language.toLowerCase().split(/[-_]/)[0];
  const language = languages.find((each) => codeOf(each) === 'en') ?? languages.find((each) => codeOf(each) in SENTENCES);
  return {input: SENTENCES[language ? codeOf(language) : 'en'], ...(language && {language})};
}

export class PreviewsView {
  /** began() stops every sound of the page; explain(error) gives the text of an error. */
  constructor(api, {player, explain, began}) {
    Object.assign(this, {api, player, explain, began});
    this.running = null;
  }

  /** `model` as of GET /v1/models, `voices` those of GET /v1/audio/voices. */
  fill(model, voices) {
    this.model = model;
    $('previews').hidden = voices.length === 0;
    $('voice-list').replaceChildren(...voices.map((voice) => this.row(voice)));
  }

  row({id, name, description}) {
    const row = document.createElement('li');
    const label = document.createElement('span');
    const called = name ?? id;
    label.textContent = description && description !== called ? `${called} · ${description}` : called;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = t('Play');
    button.setAttribute('aria-label', t('Hear {name}', {name: called}));
    button.addEventListener('click', () => this.hear(id, button));
    row.append(label, button);
    return row;
  }

  async hear(voice, button) {
    this.began();
    $('preview-trouble').textContent = '';
    this.player.prepare(this.model.sample_rate);
    const mine = this.running = new AbortController();
    button.setAttribute('aria-busy', 'true');
    try {
      let sound = null;
      const body = {model: this.model.id, voice, ...previewFor(this.model.languages ?? []), seed: 1,
                    sample_rate: this.model.sample_rate};
      await this.api.stream(body, {
        signal: mine.signal,
        start: (rate) => this.player.play(sound = new Samples(rate)),
        audio: (samples) => {
          sound.append(samples);
          if (this.player.take === sound) this.player.pump();
        },
      });
      sound.finish();
      if (this.player.take === sound) this.player.pump();
    } catch (error) {
      if (error.name !== 'AbortError') $('preview-trouble').textContent = this.explain(error);
    } finally {
      button.removeAttribute('aria-busy');
      if (this.running === mine) this.running = null;
    }
  }

  /** Ends the request; audio that has arrived stays in the player. */
  stop() {
    this.running?.abort();
    this.running = null;
  }
}
