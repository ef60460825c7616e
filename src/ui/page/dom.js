// Elements from words. Every text that is shown goes through `safe`, and no text ever becomes HTML.

const escaped = (c) => (c < '\x80' ? `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}` : `\\u{${c.codePointAt(0).toString(16)}}`);
const HIDDEN = /(?<![\u203c-\u3299\u{1f000}-\u{1faff}])\ufe0f|(?!\ufe0f)[\0-\x08\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]/gu;
const composed = (it) => (it === it.normalize() ? it : [...it].map((c, i) => (i || c !== c.normalize() ? escaped(c) : c)).join(''));
/** Control characters, odd blanks, and marks that are not seen, turn the direction of text or belong into the letter before, made visible. */
export const safe = (text) => ((it) => (it === it.normalize() ? it : it.replace(/\P{M}\p{M}+|[\u1100-\u11ff]+|./gsu, composed)))(String(text).replace(HIDDEN, escaped));
/** The path of a file as the command line spells it, on one line; one that is not UTF-8 comes so. */
export const spelled = (it) => (it.path_hex || /^[ -[\]-~]*$/.test(it.path) ? it.path : safe(it.path.replaceAll('\\', '\\\\')).replace(/[\t\n]/g, escaped));
/** As `spelled`, and quoted where its ends would not be seen: different names never look the same. */
export const shown = (it) => quoted(spelled(it));
export const quoted = (text) => (/^['\s]|\s$/.test(text) ? `'${text}'` : text);

const SVG = 'http://www.w3.org/2000/svg';
const SHAPES = new Set(['svg', 'path', 'circle', 'line', 'rect', 'text', 'g']);

/** h('div.row', {title, onclick, hidden}, ...children): a child is text, an element, a list, or nothing. */
export function h(word, ...rest) {
  const [tag, ...classes] = word.split('.');
  const node = SHAPES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag || 'div');
  if (classes.length) node.setAttribute('class', classes.join(' '));
  if (Object.getPrototypeOf(rest[0] ?? '') === Object.prototype) setAll(node, rest.shift());
  add(node, rest);
  return node;
}

function setAll(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if ((value ?? false) === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, to] of Object.entries(value)) node.style.setProperty(key, to);
    else if (name in { checked: 0, value: 0, disabled: 0, selected: 0 }) node[name] = value;
    else node.setAttribute(name, value === true ? '' : safe(value));
  }
}

export function add(node, children) {
  for (const child of children.flat(9)) if ((child ?? false) !== false) node.append(child instanceof Node ? child : safe(child));
  return node;
}

export const fill = (node, ...children) => add((node.replaceChildren(), node), children);
/** What the browser keeps for the page: nothing where it may not. */
export const kept = (() => { try { return localStorage; } catch { return { getItem: () => null, setItem: () => {} }; } })();
export const $ = (id) => document.getElementById(id);

/** Says it to those who listen. */
export function say(text) {
  $('status').textContent = '';
  setTimeout(() => ($('status').textContent = safe(text)), 30);
}

/** A number that fits where there is little room. */
export const brief = (n) => (n < 10000 ? n.toLocaleString('en') : new Intl.NumberFormat('en', { notation: 'compact' }).format(n));
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export function bytes(n) {
  if (n === null || n === undefined) return '';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let i = 0;
  for (; Math.abs(n) >= 1000 && i < 4; i++) n /= 1000;
  return `${i && Math.abs(n) < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const SHORT = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
export const clock = (time) => (time ? CLOCK.format(new Date(time)) : '');
export const moment = (time) => (time ? SHORT.format(new Date(time)) : 'unknown time');

export function day(time) {
  const ago = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(time).setHours(0, 0, 0, 0)) / 864e5);
  return `${ago === 0 ? 'Today · ' : ago === 1 ? 'Yesterday · ' : ''}${DAY.format(new Date(time))}${new Date(time).getFullYear() === new Date().getFullYear() ? '' : ` ${new Date(time).getFullYear()}`}`;
}

/** The short name of a checkpoint as people read it. */
export const named = (it) => it?.reason ?? it?.short ?? 'a checkpoint';

/** A modal with a title; resolves to what the chosen button stands for, or null. */
export function modal(title, body, buttons) {
  const dialog = $('dialog');
  return new Promise((resolve) => {
    let answer = null;
    const close = (value) => ((answer = value), dialog.close());
    fill(dialog, h('h2', { id: 'dialog-title' }, title), h('div.dialog-body', { tabindex: 0, role: 'group', 'aria-label': 'Details' }, body),
      h('div.dialog-buttons', buttons.map(([label, value, kind]) => h(`button.${kind ?? 'quiet'}`, { type: 'button', onclick: () => close(typeof value === 'function' ? value() : value) }, label))));
    dialog.setAttribute('aria-labelledby', 'dialog-title');
    dialog.addEventListener('close', () => resolve(answer), { once: true });
    if (dialog.open) dialog.close();
    dialog.showModal();
    (dialog.querySelector('[autofocus], .primary, button') ?? dialog).focus();
  });
}

/**
 * A long list: chunks of rows that are made only while they are near the view.
 * `height(i)` is what row i takes before it is made; `make(i)` makes it.
 */
export function longList(box, length, height, make, { size = 60, root = null } = {}) {
  const chunks = [];
  const set = (chunk, on, tall) => {
    if (on === chunk.made) return;
    chunk.made = on;
    chunk.node.style.height = on ? '' : `${tall ?? chunk.node.offsetHeight}px`;
    if (!on) return chunk.node.replaceChildren();
    const rows = document.createDocumentFragment();
    for (let i = chunk.from; i < chunk.to; i++) rows.append(make(i));
    chunk.node.append(rows);
  };
  const seen = (all) => all.forEach((it) => set(chunks[it.target.dataset.at], it.isIntersecting, it.boundingClientRect.height));
  const watch = new IntersectionObserver(seen, { root, rootMargin: '700px 0px' });
  for (let from = 0; from < length; from += size) {
    const to = Math.min(from + size, length);
    let total = 0;
    for (let i = from; i < to; i++) total += height(i);
    const node = h('div', { role: 'presentation', 'data-at': String(chunks.length), style: { height: `${total}px` } });
    chunks.push({ from, to, node, made: false });
    box.append(node);
    watch.observe(node);
  }
  return {
    /** The element of row i, made if it was not. */
    row(i) {
      const chunk = chunks[Math.floor(i / size)];
      if (!chunk) return null;
      set(chunk, true);
      return chunk.node.children[i - chunk.from] ?? null;
    },
    redraw() { for (const chunk of chunks) if (chunk.made) { set(chunk, false); set(chunk, true); } },
    stop: () => watch.disconnect(),
  };
}
