// The reference of the API, with forms to try it. Made from the server's own description, without
// other requests.
import {Api} from './api.js';

const MAX_SHOWN = 20_000;  // characters of an answer
const api = new Api();
const $ = (id) => document.getElementById(id);
let document_ = {};

/** Returns the target of a "$ref". */
function resolve(part) {
  while (part?.$ref) {
    part = part.$ref.slice(2).split('/').reduce((at, name) => at?.[name], document_);
  }
  return part ?? {};
}

/** Returns a body to start from: required fields, and the example if there is one. */
function example(schema) {
  const {properties = {}, required = [], example: given} = resolve(schema);
  if (given !== undefined) return given;
  const out = {};
  for (const name of required) {
    const field = resolve(properties[name]);
    out[name] = field.example ?? field.default ?? field.enum?.[0] ??
        {string: 'Good morning.', array: [], object: {}, boolean: false}[field.type] ?? 0;
  }
  return out;
}

function field(label, input) {
  const row = document.createElement('div');
  row.className = input.tagName === 'TEXTAREA' ? 'field wide' : 'field';
  const words = document.createElement('label');
  words.textContent = label;
  words.htmlFor = input.id;
  row.append(words, input);
  return row;
}

function input(id, {type = 'text', required = false} = {}) {
  const element = document.createElement('input');
  Object.assign(element, {id, required});
  if (type !== 'text') element.type = type;
  return element;
}

/** Returns an element for one operation of the document. */
function operation(method, path, facts, index) {
  const root = $('operation').content.cloneNode(true).firstElementChild;
  const find = (selector) => root.querySelector(selector);
  find('code').textContent = `${method.toUpperCase()} ${path}`;
  find('summary span').textContent = facts.summary ?? '';
  find('.about').textContent = facts.description ?? '';
  const fields = find('.fields');
  const parameters = (facts.parameters ?? []).map(resolve).map((parameter, i) => {
    const element = input(`f${index}-${i}`, {required: parameter.in === 'path'});
    fields.append(field(parameter.name, element));
    return {...parameter, element};
  });
  const content = resolve(facts.requestBody).content ?? {};
  const json = content['application/json'], form = content['multipart/form-data'];
  let body = null;
  if (json) {
    body = Object.assign(document.createElement('textarea'), {
      id: `f${index}-body`, rows: 4, spellcheck: false, className: 'code',
      value: JSON.stringify(example(json.schema), null, 2)});
    fields.append(field('Body', body));
  }
  const parts = form ? Object.entries(resolve(form.schema).properties ?? {}).map(
      ([name, schema], i) => {
        const file = resolve(schema).format === 'binary' || 'contentMediaType' in resolve(schema);
        const element = input(`f${index}-p${i}`, {type: file ? 'file' : 'text'});
        fields.append(field(name, element));
        return {name, element};
      }) : [];
  find('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    let address = path.slice(1);
    const query = new URLSearchParams();
    for (const {name, element, in: place} of parameters) {
      if (place === 'path') address = address.replace(`{${name}}`, encodeURIComponent(element.value));
      else if (element.value) query.set(name, element.value);
    }
    const options = {method: method.toUpperCase()};
    if (body) {
      options.body = body.value;
      options.headers = {'Content-Type': 'application/json'};
    } else if (parts.length > 0) {
      options.body = new FormData();
      for (const {name, element} of parts) {
        const value = element.files?.[0] ?? element.value;
        if (value) options.body.append(name, value);
      }
    }
    await send(`${address}${query.size > 0 ? `?${query}` : ''}`, options,
               find('[role=status]'), find('pre'));
  });
  return root;
}

async function send(address, options, status, shown) {
  status.textContent = '…';
  shown.hidden = true;
  const began = performance.now();
  try {
    const response = await api.request(address, options);
    const kind = response.headers.get('Content-Type') ?? '';
    const data = await response.blob();
    status.textContent = `${response.status} · ${kind} · ${data.size} bytes · ` +
        `${Math.round(performance.now() - began)} ms`;
    if (/json|text/.test(kind)) {
      const text = await data.text();
      shown.textContent = kind.includes('json') ? pretty(text) : text.slice(0, MAX_SHOWN);
      shown.hidden = false;
    } else {
      const link = document.createElement('a');
      link.href = URL.createObjectURL(data);
      link.download = `answer.${kind.split(/[/;]/)[1] ?? 'bin'}`;
      link.textContent = link.download;
      status.append(' · ', link);
    }
  } catch (error) {
    status.textContent = `${error.status || ''} ${error.message}`.trim();
  }
}

function pretty(text) {
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
  } catch {  // shows the text unchanged
  }
  return text.slice(0, MAX_SHOWN);
}

async function open() {
  $('trouble').textContent = '';
  try {
    document_ = await api.json('openapi.json');
    const rows = Object.entries(document_.paths).flatMap(([path, methods]) =>
        Object.entries(methods).filter(([, facts]) => facts.responses)
            .map(([method, facts]) => [method, path, facts]));
    $('operations').replaceChildren(...rows.map((row, i) => operation(...row, i)));
  } catch (error) {
    $('trouble').textContent = error.message;
  }
}

$('key').addEventListener('change', () => {
  api.key = $('key').value.trim();
});
open();
