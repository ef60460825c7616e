// A patch of one file as rows: unified or side by side, words marked inside lines, made only where they are looked at.

import { count, h, longList } from './dom.js';

const LINE_SHOWN = 2000;

/** Hunks of a patch of one file: `{head, from, to, lines: [start, end, sign]}` with lines as places in the text. */
export function parsePatch(text) {
  const hunks = [];
  let hunk = null;
  for (let at = 0; at < text.length; ) {
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    const sign = text[at];
    if (sign === '@' && text.startsWith('@@ ', at)) {
      const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)/.exec(text.slice(at, Math.min(end, at + 400)));
      hunk = { start: at, end: text.length, head: found[5], old: +found[1], new: +found[3], lines: [] };
      hunks.push(hunk);
    } else if (hunk && (sign === ' ' || sign === '+' || sign === '-' || sign === '\\')) {
      hunk.lines.push({ sign, text, from: at + 1, to: end });
    } else hunk = null;
    if (hunk) hunk.end = Math.min(end + 1, text.length);
    at = end + 1;
  }
  return hunks;
}

/** Rows to show: the heads of hunks, and pairs of lines. */
function rowsOf(hunks, split) {
  const rows = [];
  hunks.forEach((hunk, index) => {
    rows.push({ hunk, index });
    let [old, now] = [hunk.old, hunk.new];
    for (let i = 0; i < hunk.lines.length; ) {
      const line = hunk.lines[i];
      if (line.sign === '\\') (rows.push({ note: true }), i++);
      else if (line.sign === ' ') (rows.push({ left: line, right: line, old: old++, new: now++ }), i++);
      else {
        const [minus, plus] = [[], []];
        for (; hunk.lines[i] && hunk.lines[i].sign !== ' '; i++) if (hunk.lines[i].sign !== '\\') (hunk.lines[i].sign === '-' ? minus : plus).push(hunk.lines[i]);
        const both = Math.min(minus.length, plus.length);
        for (let n = 0; n < both; n++) (minus[n].other = plus[n], plus[n].other = minus[n]);
        if (split) for (let n = 0; n < Math.max(minus.length, plus.length); n++) rows.push({ left: minus[n], right: plus[n], old: minus[n] && old++, new: plus[n] && now++ });
        else {
          for (const left of minus) rows.push({ left, old: old++ });
          for (const right of plus) rows.push({ right, new: now++ });
        }
      }
    }
  });
  return rows;
}

/** A table of the patch. `choose`, if given, is called with the hunks that are ticked; `chosen` are their places. */
export async function patchView(text, { split = false, choose = null, chosen = null } = {}) {
  const pause = () => text.length > 5e5 && new Promise((done) => setTimeout(done));
  const hunks = parsePatch(text);
  await pause();
  const rows = rowsOf(hunks, split);
  await pause();
  const box = h('div.diff', { role: 'group', 'aria-label': 'Changes', tabindex: '0', class: `diff ${split ? 'split' : 'unified'}` });
  const list = longList(box, rows.length, (i) => (rows[i].hunk ? 30 : 20), (i) => (rows[i].hunk ? head(rows[i], hunks.length, choose && tick, chosen) : rows[i].note ? h('div.code-row.dim', h('span.code', 'no newline at the end')) : split ? pair(rows[i]) : single(rows[i])), { size: 60 });
  function tick(index, on) {
    chosen[on ? 'add' : 'delete'](index);
    choose(hunks.filter((_, i) => chosen.has(i)));
  }
  return { node: box, stop: list.stop, heads: rows.flatMap((row, i) => (row.hunk ? [i] : [])), row: list.row };
}

function head({ hunk, index }, total, tick, chosen) {
  const label = `Change ${index + 1} of ${total}`;
  const place = h('span.place', `line ${hunk.new || hunk.old}`, hunk.head && h('span.name', ` · ${hunk.head}`));
  if (!tick) return h('div.hunk', h('span.hidden', `${label}, `), place);
  // What is not UTF-8 came as a mark: as bytes it is not known here.
  if (hunk.lines.some((it) => it.text.slice(it.from, it.to).includes('\ufffd'))) return h('div.hunk', label, place, 'not UTF-8: goes back with its file only');
  return h('label.hunk', h('input', { type: 'checkbox', checked: chosen.has(index), onchange: (event) => tick(index, event.target.checked) }), h('span', label), place);
}

const number = (n) => h('span.no', { 'aria-hidden': 'true' }, n ? String(n) : '');
const SIGN = { '-': 'removed', '+': 'added' };


function single(row) {
  const line = row.left ?? row.right;
  const kind = row.left && row.right ? '' : SIGN[line.sign];
  return h(`div.code-row${kind && `.${kind}`}`, number(row.old), number(row.new), h('span.sign', { 'aria-hidden': 'true' }, kind ? line.sign.replace('-', '−') : ''), kind && h('span.hidden', `${kind}: `), code(line));
}

function pair(row) {
  const side = (line, n, changed) => h(`div.side${line ? (changed ? `.${SIGN[line.sign]}` : '') : '.none'}`, number(n), line && changed && h('span.hidden', `${SIGN[line.sign]}: `), line ? code(line) : h('span.code'));
  const same = row.left === row.right;
  return h('div.code-row', side(row.left, row.old, !same), side(row.right, row.new, !same));
}

/** The text of a line, its words marked against the line that it replaces; a long one is cut until it is asked for. */
function code(line) {
  const node = h('span.code');
  const length = line.to - line.from;
  const text = line.text.slice(line.from, Math.min(line.to, line.from + LINE_SHOWN));
  if (line.other && length <= LINE_SHOWN && line.other.to - line.other.from <= LINE_SHOWN) marked(node, text, line.other.text.slice(line.other.from, line.other.to));
  else node.append(...h('i', text).childNodes);
  if (length > LINE_SHOWN) {
    let shown = LINE_SHOWN;
    const more = h('button.link.more', { type: 'button', onclick: () => {
      more.before(...h('i', line.text.slice(line.from + shown, Math.min(line.to, line.from + (shown += 20000)))).childNodes);
      if (line.from + shown >= line.to) more.remove();
      else more.textContent = `… ${count(length - shown, 'more character')}`;
    } }, `… ${count(length - shown, 'more character')}`);
    node.append(more);
  }
  return node;
}

const words = (text) => text.match(/[\p{L}\p{M}\p{N}_]+|\s+|[^\p{L}\p{M}\p{N}_\s]/gu) ?? [];

/** Marks the words of `text` that `other` lacks. */
function marked(node, text, other) {
  const [a, b] = [words(text), words(other)];
  let [start, end] = [0, 0];
  while (start < a.length && a[start] === b[start]) start++;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const own = a.slice(start, a.length - end);
  const keep = common(own, b.slice(start, b.length - end));
  const plain = (list) => node.append(...h('i', list.join('')).childNodes);
  const solid = own.filter((word) => word.trim()).length;
  const shared = keep.filter((kept, i) => kept && own[i].trim()).length;
  // Lines that have little in common are different lines: nothing is marked in them.
  if (!own.length || solid > 0.7 * a.filter((word) => word.trim()).length && shared < solid * 0.3) return plain(a);
  plain(a.slice(0, start));
  for (let i = 0; i < own.length; ) {
    let to = i;
    while (to < own.length && keep[to] === keep[i]) to++;
    if (keep[i]) plain(own.slice(i, to));
    else node.append(h('mark', own.slice(i, to).join('')));
    i = to;
  }
  plain(a.slice(a.length - end));
}

/** Which words of `a` are in the longest sequence that it has in common with `b`. */
function common(a, b) {
  const keep = new Array(a.length).fill(false);
  if (a.length * b.length > 40000) return keep;
  const wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) best[i * wide + j] = a[i] === b[j] ? best[(i + 1) * wide + j + 1] + 1 : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) (keep[i++] = true, j++);
    else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) i++;
    else j++;
  }
  return keep;
}
