// Shows what a user must start before a part of the page works: a sentence and a command.
import {t} from './words.js';

/** Writes rows [sentence, command] into a <ul>. */
export function showNeeds(list, rows) {
  list.hidden = rows.length === 0;
  list.replaceChildren(...rows.map(([words, command]) => {
    const row = document.createElement('li');
    const code = document.createElement('code');
    code.textContent = command;
    row.append(t(words), ' ', code);
    return row;
  }));
}

export const NEEDS_EARS = [
  ['To understand speech, the server needs a recogniser. Install one and restart the server:',
   'apt install libpocketsphinx3 pocketsphinx-en-us'],
  ['Or start it with a Whisper:', 'syrinx serve --ears DIR'],
];
