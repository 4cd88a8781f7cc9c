// Converts a transcript to files: SubRip, WebVTT, lines of text. The cues are those of the server's
// srt and vtt (src/ears/transcript_text.cc), without another transcription.

// A cue has at most two lines of a screen, and the time to read them.
const CUE_BYTES = 84, CUE_S = 7;

const bytes = (text) => new TextEncoder().encode(text).length;

/** Returns each word of a segment with the characters up to the next; empty if they do not match. */
function wordsOf({text}, words) {
  const out = [];
  let at = 0;
  for (const {word, start, end} of words) {
    const found = word ? text.indexOf(word, at) : -1;
    if (found < 0) return [];
    if (out.length > 0) out.at(-1).text += text.slice(at, found);
    out.push({start, end, text: word});
    at = found + word.length;
  }
  if (out.length > 0) out.at(-1).text += text.slice(at);
  return out;
}

/** `transcript` as verbose_json, with words or without. */
function cues({segments, words = []}) {
  const out = [];
  let next = 0;
  for (const segment of segments) {
    const first = next;
    while (next < words.length && words[next].start < segment.end) ++next;
    const {start, end, text} = segment;
    const long = bytes(text) > CUE_BYTES || end - start > CUE_S;
    const parts = long ? wordsOf(segment, words.slice(first, next)) : [];
    if (parts.length === 0) parts.push({start, end, text});
    let cue = null;
    for (const part of parts) {
      if (!cue || bytes(cue.text) + bytes(part.text) > CUE_BYTES || part.end - cue.start > CUE_S) {
        out.push(cue = {...part});
      } else {
        cue.text += part.text;
        cue.end = part.end;
      }
    }
  }
  return out.map((cue) => ({...cue, text: cue.text.trim().replaceAll('\n', ' ')}))
      .filter((cue) => cue.text !== '');
}

/** 1:02:03, or 2:03. */
export function clock(seconds) {
  const whole = Math.floor(seconds);
  const two = (n) => String(n).padStart(2, '0');
  const minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}

function cueTime(seconds, point) {
  const ms = Math.round(seconds * 1000);
  const padded = (n, size = 2) => String(n).padStart(size, '0');
  return `${padded(Math.floor(ms / 3_600_000))}:${padded(Math.floor(ms / 60_000) % 60)}:` +
      `${padded(Math.floor(ms / 1000) % 60)}${point}${padded(ms % 1000, 3)}`;
}

const span = (cue, point) => `${cueTime(cue.start, point)} --> ${cueTime(cue.end, point)}`;

export function srt(transcript) {
  return cues(transcript).map((cue, i) => `${i + 1}\n${span(cue, ',')}\n${cue.text}\n\n`).join('');
}

export function vtt(transcript) {
  const marks = {'<': '&lt;', '>': '&gt;', '&': '&amp;'};
  return 'WEBVTT\n\n' + cues(transcript).map((cue) =>
      `${span(cue, '.')}\n${cue.text.replace(/[<>&]/g, (c) => marks[c])}\n\n`).join('');
}

/** Returns a line for each segment. */
export function txt({segments}) {
  return segments.map(({text}) => `${text.trim()}\n`).join('');
}
