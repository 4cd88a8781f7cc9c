// The same request as code for programs.

/** Formats that OpenAI's API names, in the order in which they are offered. */
export const FORMATS = ['wav', 'pcm', 'mp3', 'opus', 'aac', 'flac'];

const EXTRA = ['seed', 'temperature', 'language'];  // not OpenAI's fields

const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
const literal = (value) => JSON.stringify(value);

function without(body, names) {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

export function curl(base, body, key) {
  const lines = [`curl ${shell(`${base}v1/audio/speech`)}`];
  if (key) lines.push('  -H "Authorization: Bearer $SYRINX_API_KEY"');
  lines.push(`  -H 'Content-Type: application/json'`);
  lines.push(`  -d ${shell(literal(body))}`);
  lines.push(`  -o speech.${body.response_format}`);
  return lines.join(' \\\n') + '\n';
}

export function python(base, body, key) {
  const extra = Object.entries(body).filter(([name]) => EXTRA.includes(name));
  // which OpenAI's client requires
  const known = Object.entries({voice: 'alloy', ...without(body, EXTRA)});
  // JSON's strings and numbers are valid Python, except characters beyond 16 bits.
  const value = (v) => literal(v).replace(/[\ud800-\udbff][\udc00-\udfff]/g, (pair) =>
      `\\U${pair.codePointAt(0).toString(16).padStart(8, '0')}`);
  const lines = ['# pip install openai', ...(key ? ['import os'] : []),
    'from openai import OpenAI', '',
    `client = OpenAI(base_url=${literal(`${base}v1`)}, ` +
        `api_key=${key ? 'os.environ["SYRINX_API_KEY"]' : '"none"'})`,
    'with client.audio.speech.with_streaming_response.create(',
    ...known.map(([name, v]) => `    ${name}=${value(v)},`)];
  if (extra.length > 0) {
    lines.push(`    extra_body={${extra.map(([n, v]) => `${literal(n)}: ${value(v)}`).join(', ')}},`);
  }
  lines.push(') as speech:', `    speech.stream_to_file("speech.${body.response_format}")`);
  return lines.join('\n') + '\n';
}

export function node(base, body, key) {
  const headers = ["'Content-Type': 'application/json'"];
  if (key) headers.push('Authorization: `Bearer ${process.env.SYRINX_API_KEY}`');
  return [
    "import {createWriteStream} from 'node:fs';",
    "import {pipeline} from 'node:stream/promises';", '',
    `const speech = await fetch(${literal(`${base}v1/audio/speech`)}, {`,
    "  method: 'POST',",
    `  headers: {${headers.join(', ')}},`,
    `  body: JSON.stringify(${literal(body)}),`,
    '});',
    'if (!speech.ok) throw new Error((await speech.json()).error.message);',
    `await pipeline(speech.body, createWriteStream('speech.${body.response_format}'));`,
  ].join('\n') + '\n';
}
