// The timeline: days, sessions and prompts as chapters, branches, safety checkpoints folded, search.

import { ask, isReport, recall } from './api.js';
import { $, brief, bytes, clock, count, day, fill, h, longList, moment, named, safe, say, shown } from './dom.js';
import { lanes, onChange, parents, store, tell } from './store.js';

const HEIGHT = { now: 74, day: 44, session: 36, prompt: 36, row: 58, fold: 34 };
const [LANE, MOST_LANES] = [16, 5];
// On a phone, a reason has up to four lines.
const heightOf = (it) => HEIGHT[it.is] + (it.row && innerWidth <= 760 ? 21 * Math.min(3, Math.floor((named(it.row).length + (it.row.is_current ? 16 : it.row.pinned ? 8 : 0)) / 22)) : 0);
const memory = { at: 'now', search: '', mode: 'reason', found: null, open: new Set(), pick: null };

export function timeline(main) {
  let list = null;
  let entries = [];
  const results = h('div.results');
  const box = h('div.timeline', { role: 'list', 'aria-label': 'Checkpoints, newest first' });
  fill(main, h('div.narrow', h('h1.hidden', 'Timeline'), searchBar(search), h('div', { id: 'picked' }), results, box));
  const draw = () => {
    const focused = box.contains(document.activeElement);
    list?.stop();
    entries = compose();
    box.replaceChildren();
    list = longList(box, entries.length, (i) => heightOf(entries[i]), (i) => drawn(entries[i], i, entries, pick, position()), { size: 20 });
    if (focused) focus(position());
    if (!entries.length) fill(box, h('p.empty', { role: 'listitem' }, !store.all ? 'Loading …' : memory.search ? 'Nothing matches.' : [h('b', 'Nothing is saved yet.'), ' The first checkpoint appears here by itself.']));
    picked();
  };
  const position = () => [entries.findIndex((it) => it.key === memory.at && isChoice(it)), entries.findIndex(isChoice)].find((i) => i >= 0);
  const focus = (i) => {
    const node = list?.row(i)?.querySelector('a, button');
    if (!node) return;
    for (const other of box.querySelectorAll('a, button')) other.tabIndex = node.parentNode === other.parentNode ? 0 : -1;
    memory.at = entries[i].key;
    node.focus({ preventScroll: true });
    node.closest('[role=listitem]').scrollIntoView({ block: 'nearest' });
  };
  function move(step) {
    let i = position();
    if (!box.contains(document.activeElement)) return focus(i);
    do i += step; while (entries[i] && !isChoice(entries[i]));
    if (entries[i]) focus(i);
  }
  function pick(row) {
    if (memory.pick && memory.pick !== row.id) {
      const [older, newer] = [store.byId.get(memory.pick), row].sort((a, b) => a.sequence - b.sequence);
      memory.pick = null;
      return void (location.hash = `#/at/${newer.id}/${older.id}`);
    }
    memory.pick = memory.pick ? null : row.id;
    say(memory.pick ? 'Picked. Pick another one to compare it with.' : 'No longer picked.');
    draw();
  }
  const picked = (row = store.byId.get(memory.pick)) =>
    fill($('picked'), row && h('p.note', 'Comparing ', h('b.name', named(row)), ' with … choose another one. ', h('button.link', { onclick: () => pick(row) }, 'Stop')));
  async function search(mode, words) {
    [memory.mode, memory.search, memory.found] = [mode, words, null];
    fill(results);
    if (words && mode !== 'reason') await lookUp(mode, words, results);
    if (words === memory.search) draw();
  }
  draw();
  if (memory.search && memory.mode !== 'reason') search(memory.mode, memory.search);
  let soon = null;
  const off = onChange(() => (soon ??= requestAnimationFrame(() => ((soon = null), draw()))));
  return {
    stop: () => (off(), cancelAnimationFrame(soon), list?.stop()),
    keys: {
      j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1),
      '/': () => $('search').focus(),
      g: () => focus(entries.findIndex(isChoice)), G: () => focus(entries.length - 1), Home: () => focus(entries.findIndex(isChoice)), End: () => focus(entries.length - 1),
      x: () => entries[position()]?.row && !isReport && pick(entries[position()].row),
      b: () => entries[position()]?.row && !isReport && (location.hash = `#/back/${entries[position()].row.id}`),
    },
  };
}

const isChoice = (it) => it.row || it.is === 'now' || it.is === 'fold';

function searchBar(search) {
  const modes = isReport ? { reason: 'Reasons' } : { reason: 'Reasons', path: 'Paths', text: 'Contents' };
  const key = (event) => {
    if (event.key === 'Escape') (input.value = ''), later(0), input.blur();
    if (event.key === 'Enter' || event.key === 'ArrowDown') (event.preventDefault(), document.querySelector('.timeline a')?.focus());
  };
  const input = h('input', { id: 'search', type: 'search', placeholder: 'Search', 'aria-label': 'Search checkpoints', value: memory.search, spellcheck: 'false', autocomplete: 'off', oninput: () => later(mode.value === 'reason' ? 80 : 350), onkeydown: key });
  const mode = h('select', { 'aria-label': 'Search in', onchange: () => later(0) }, Object.entries(modes).map(([key, text]) => h('option', { value: key, selected: key === memory.mode }, text)));
  let timer;
  const later = (wait) => (clearTimeout(timer), (timer = setTimeout(() => search(mode.value, input.value.trim()), wait)));
  return h('div.search', { role: 'search' }, input, mode);
}

async function lookUp(mode, words, results) {
  fill(results, h('p.note', 'Searching …'));
  try {
    if (mode === 'path') {
      const paths = await findPaths(words);
      if (words === memory.search) memory.found = new Set(paths.flatMap((it) => it.events.map((event) => event.checkpoint.id)));
      return words === memory.search && fill(results, h('p.note', `${count(paths.length, 'path')} in ${count(memory.found.size, 'checkpoint')}`), pathList(paths.slice(0, 30)));
    }
    const answer = await ask(['find', `--text=${words}`]);
    if (words !== memory.search) return;
    memory.found = new Set(answer.matches.flatMap((it) => [it.first_in.id, it.last_in.id]));
    fill(results, h('p.note', `${count(answer.matches.length, 'version')} of files${answer.more ? `, and ${answer.more} more` : ''}`), h('ul.hits', answer.matches.slice(0, 50).map((it) =>
      h('li', fileLink(it, it.first_in.id), ' ', h('span.dim', 'since ', h('span.name', named(it.first_in)), ' · ', moment(it.first_in.time)),
        it.lines.slice(0, 3).map((line) => h('code.hit', h('span.dim', `${line.number} `), line.text.slice(0, 300)))))));
  } catch (why) {
    memory.found = new Set();
    fill(results, h('p.note', why.code === 'nothing_found' ? 'Nothing matches.' : why.message));
  }
}

/** Paths of any time that have these words in them, or match them as a pattern. */
export const findPaths = async (words) => (await ask(['find', '--', /[*?/]/.test(words) ? words : `*${words}*`])).paths;
export const pathList = (paths) => h('ul.hits', paths.map((it) => h('li', fileLink(it), h('span.dim', ` · ${count(it.events.length, 'version')}${it.in_directory ? '' : ' · not there now'}`))));
export const fileHash = (it, id) => `#/file/${encodeURIComponent(it.path)}${id ? `/${id}` : ''}`;
const fileLink = (it, id) => (it.path_hex ? h('span', h('span.name.path', shown(it)), ' · not UTF-8: cannot be opened here') : h('a.name.path', { href: fileHash(it, id) }, shown(it)));

/** Rows with the chapters between them. */
function compose() {
  const words = memory.search.toLowerCase();
  const matches = !words ? null : memory.mode === 'reason' ? (row) => `${row.reason} ${row.short} ${row.source}`.toLowerCase().includes(words) : (row) => memory.found?.has(row.id);
  const entries = [];
  const parent = parents(store.rows);
  const here = store.status?.baseline?.id ?? store.rows.find((row) => row.is_current)?.id ?? null;
  if (!matches && store.rows.length && !isReport) entries.push({ is: 'now', key: 'now', id: 'now', parent: here });
  let [date, session, prompt, fold] = [null, null, null, null];
  for (const row of store.rows) {
    if (matches && !matches(row)) continue;
    const today = new Date(row.time).toDateString();
    const of = row.provenance?.session ?? null;
    const asked = of && row.provenance.prompt_id ? `${of} ${row.provenance.prompt_id}` : null;
    if (today !== date) entries.push({ is: 'day', key: `day ${today}`, text: day(row.time) });
    if (of && (of !== session || today !== date)) entries.push({ is: 'session', key: `session ${row.id}`, provenance: row.provenance });
    if (asked && asked !== prompt && !matches) entries.push({ is: 'prompt', key: `prompt ${row.id}`, asked, number: row.provenance.prompt_id });
    if (row.kind === 'safety' && !memory.open.has(row.id) && !matches) {
      if (fold && today === date) fold.rows.push(row);
      else entries.push((fold = { is: 'fold', key: row.id, rows: [row] }));
    } else {
      fold = null;
      entries.push({ is: 'row', key: row.id, row, of, asked });
    }
    [date, session, prompt] = [today, of, asked];
  }
  for (const it of entries) if (it.rows) [it.id, it.parent, it.ids] = [it.rows[0].id, parent.get(it.rows.at(-1).id), new Set(it.rows.map((row) => row.id))];
  graph(entries, parent, matches);
  return entries;
}

/** Gives each entry its lines. A folded group stands for all of its checkpoints. */
function graph(entries, parent, matches) {
  const stands = new Map();
  for (const it of entries) for (const id of it.ids ?? []) stands.set(id, it.id);
  const nodes = entries.filter((it) => it.row || it.rows || it.is === 'now');
  const drawn = lanes(nodes.map((it) => {
    const to = it.row ? parent.get(it.row.id) : it.parent;
    return { id: it.id ?? it.row.id, parent: matches ? null : (stands.get(to) ?? to) };
  }));
  nodes.forEach((it, i) => (it.lines = drawn[i]));
  let through = [];
  for (const it of [...entries].reverse()) {
    if (it.lines) through = [...it.lines.through, ...it.lines.joins, ...(it.lines.up ? [it.lines.column] : [])];
    else it.lines = { through, joins: [], column: null };
  }
  const prompts = new Map(entries.filter((it) => it.row?.provenance?.moment === 'prompt').map((it) => [it.asked, it.row.reason.replace(/^before: /, '')]));
  for (const it of entries) if (it.is === 'prompt') it.text = prompts.get(it.asked);
}

function rail({ column, joins, through, up, down }, height, kind) {
  const x = (lane) => 12 + Math.min(lane, MOST_LANES) * LANE;
  const middle = height / 2;
  const svg = h('svg.rail', { width: String(24 + MOST_LANES * LANE), height: String(height), 'aria-hidden': 'true' });
  const line = (d, lane) => svg.append(h(`path.lane${lane % 4}`, { d }));
  for (const lane of through) line(`M${x(lane)} 0V${height}`, lane);
  for (const lane of joins) line(`M${x(lane)} 0C${x(lane)} ${middle} ${x(column)} ${middle * 0.6} ${x(column)} ${middle}`, lane);
  if (column === null) return svg;
  if (up || down) line(`M${x(column)} ${up ? 0 : middle}V${down ? height : middle}`, column);
  svg.append(h(`circle.dot.${kind}.lane${column % 4}`, { cx: String(x(column)), cy: String(middle), r: kind === 'fold' ? '3' : kind === 'here' ? '6.5' : '5' }));
  return svg;
}

function drawn(it, i, entries, pick, at) {
  const item = (...inside) => h(`div.entry.${it.is}`, { role: 'listitem', 'aria-setsize': String(entries.length), 'aria-posinset': String(i + 1), style: { height: `${heightOf(it)}px` } },
    rail(it.lines, heightOf(it), it.is === 'now' ? 'now' : it.is === 'fold' ? 'fold' : it.row?.is_current ? 'here' : it.row?.pinned ? 'pinned' : 'plain'), inside);
  const tab = { tabindex: i === at ? 0 : -1, onfocus: () => (memory.at = it.key) };
  if (it.is === 'day') return item(h('h2', it.text));
  if (it.is === 'session') return item(h('h3', h('span.agent', it.provenance.agent_name ?? 'agent'), ' session ', h('span.mono', it.provenance.session.slice(0, 8))));
  if (it.is === 'prompt') return item(h('p.prompt-text', h('span.quote', { 'aria-hidden': 'true' }, '❝'), h('span.name', it.text ?? `Prompt ${it.number}`)));
  if (it.is === 'now') return item(h('a.now-link', { href: '#/at/here', ...tab }, h('b', 'Now'), h('span.dim', drift()), store.status?.watcher && h('span.tag', { title: `${store.status.watcher} saves by itself` }, 'watched')));
  if (it.is === 'fold') return item(folded(it, tab));
  return item(...checkpoint(it, tab, pick));
}

function drift() {
  const drift = store.status?.drift;
  if (!drift) return store.status ? 'Changes since are not known' : '…';
  const total = drift.added + drift.modified + drift.deleted;
  return total ? `${count(total, 'file')} changed since the last checkpoint, not saved yet` : 'Nothing changed since the last checkpoint';
}

function folded(it, tab) {
  const [first] = it.rows;
  const done = store.operations.get(first.id);
  const verb = { undo: 'Undone: back to', redo: 'Redone: back to', restore: 'Went back to' }[done?.verb] ?? 'Went back to';
  const where = done?.paths.length ? ` (${count(done.paths.length, 'path')})` : '';
  const open = () => (it.rows.forEach((row) => memory.open.add(row.id)), (memory.at = first.id), tell());
  return h('button.fold-button', { ...tab, 'aria-expanded': 'false', onclick: open, title: 'Show the safety checkpoints' },
    h('span', { 'aria-hidden': 'true' }, '↩ '), done?.target ? [verb, ' ', done.target.kind === 'safety' ? 'what was there before' : h('span.name', named(done.target)), where] : 'Went back', h('span.dim', ` · ${clock(first.time)} · ${count(it.rows.length, 'safety checkpoint')}`));
}

function checkpoint(it, tab, pick) {
  const { row } = it;
  const tags = [
    row.is_current && h('span.tag.here', 'you are here'), row.pinned && h('span.tag.pin', 'pinned'), row.kind === 'safety' && h('span.tag', 'safety'),
    row.scope && h('span.tag', 'scoped'), row.coverage === 'partial' && h('span.tag.warn', 'partial'), (store.phases.get(row.id) ?? []).map((text) => h('span.tag.phase.name', text)),
  ];
  const title = row.provenance?.moment === 'prompt' ? h('span.dim', 'before the prompt') : (row.reason ?? 'cannot be read');
  const effect = h('span.effect');
  measure(row, effect);
  return [
    h('a.row-link', { href: `#/at/${row.id}`, ...tab },
      h('span.line', h('span.reason.name', title), tags),
      h('span.line.small', h('time', { datetime: row.time }, clock(row.time)), h('span.mono', row.short), row.source && h('span.name', row.source), h('span.wide', count(row.file_count, 'file')), h('span.wide', bytes(row.content_bytes)))),
    effect,
    !isReport && h('button.quiet.pick', { ...tab, 'aria-pressed': String(memory.pick === row.id), 'aria-label': `Compare ${safe(named(row))}`, title: 'Compare with another (x)', onclick: () => pick(row) }, '⇄'),
  ];
}

/** Bars for what changed: files at once, lines as soon as they are counted. */
function measure(row, box) {
  const { added = 0, modified = 0, deleted = 0 } = row.counts ?? {};
  const draw = () => {
    const [plus, minus] = row.lines ?? [0, 0];
    const files = added + modified + deleted;
    const lines = [plus > 0 && h('span.plus', `+${brief(plus)}`), ' ', minus > 0 && h('span.minus', `−${brief(minus)}`)];
    const text = plus + minus ? lines : h('span.dim', files ? count(files, 'file') : 'no change');
    fill(box, (row.counts || row.lines) && [h('span.numbers', text), bar(plus + minus ? [plus, 0, minus] : [added, modified, deleted])]);
  };
  draw();
  if (row.lines || added + modified + deleted > 400) return;
  unmeasured.set(box, async () => {
    const shown = await recall(['show', row.id, '--stat']).catch(() => null);
    if (!shown?.file_changes) return;
    row.lines = shown.file_changes.reduce(([plus, minus], it) => [plus + (it.insertions ?? 0), minus + (it.deletions ?? 0)], [0, 0]);
    draw();
  });
  measureSoon();
}

// Lines are counted only for what is in view when the scrolling rests.
const unmeasured = new Map();
let resting;
function measureSoon() {
  clearTimeout(resting);
  resting = setTimeout(async () => {
    for (const [box, work] of [...unmeasured]) {
      const near = box.getBoundingClientRect();
      if (!box.isConnected) unmeasured.delete(box);
      else if (near.bottom > 0 && near.top < innerHeight) (unmeasured.delete(box), await work());
    }
  }, 200);
}
addEventListener('scroll', measureSoon, { passive: true });

function bar(parts) {
  const width = Math.min(100, Math.log2(1 + parts[0] + parts[1] + parts[2]) * 10);
  return h('span.bar', { 'aria-hidden': 'true' }, h('span.bar-in', { style: { width: `${width}%` } }, ['added', 'modified', 'deleted'].map((kind, i) =>
    parts[i] > 0 && h(`span.${kind}`, { style: { 'flex-grow': String(parts[i]) } }))));
}
