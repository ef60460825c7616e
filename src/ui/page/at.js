// A checkpoint: what changed against another one or the directory, all its files with sizes, and one file at a time.

import { LARGEST, ask, content, isReport, recall, tooLarge } from './api.js';
import { bytes, count, fill, h, kept, longList, modal, moment, named, quoted, safe, say, shown, spelled } from './dom.js';
import { patchView } from './diff.js';
import { onChange, refresh, store } from './store.js';
import { fileHash } from './timeline.js';

export const taste = { split: kept.getItem('split') === 'yes' && innerWidth > 900, wrap: kept.getItem('wrap') !== 'no' };
export const CHANGE = { added: ['+', 'added'], modified: ['●', 'modified'], deleted: ['−', 'deleted'], mode: ['m', 'mode'], type: ['t', 'type'], directory_added: ['+', 'directory added'], directory_deleted: ['−', 'directory deleted'] };

/** `id` is a checkpoint or `here`; `other` is what it is compared with: a checkpoint, `here`, or nothing for the one before. */
export function checkpointView(main, id, other) {
  const view = { id, other, known: store.byId.has(id), files: null, at: -1, part: 'changes', patch: null, asked: 0 };
  (view.load = (path) => load(main, view, path).catch((why) => view.gone || ((view.key = null), broken(main, why))))();
  const off = onChange(() => {
    view.known ||= store.byId.has(id);
    if (view.known && store.all && !store.byId.has(id)) return broken(main, new Error('This checkpoint is gone'), 'Deleted');
    if (view.against && !view.against.contains(document.activeElement)) view.against.replaceWith((view.against = against(view)));
    if ((id === 'here' || other === 'here') && view.files) view.load(view.files[view.at]?.text);
  });
  const neighbour = (step) => {
    const rows = store.rows.filter((row) => row.kind !== 'safety' || row.id === id);
    const to = id === 'here' ? (step > 0 ? rows[0] : null) : rows[rows.findIndex((row) => row.id === id) + step];
    if (to) location.hash = `#/at/${to.id}`;
  };
  return {
    stop: () => (off(), (view.gone = true), view.patch?.stop(), view.list?.stop()),
    keys: {
      j: () => view.choose?.(view.at + 1), k: () => view.choose?.(view.at - 1), g: () => view.choose?.(0), G: () => view.choose?.(view.files.length - 1),
      n: () => view.next?.(1), p: () => view.next?.(-1),
      s: () => view.toggle?.('split'), w: () => view.toggle?.('wrap'),
      '[': () => neighbour(1), ']': () => neighbour(-1),
      b: () => id !== 'here' && !isReport && (location.hash = `#/back/${id}`),
    },
  };
}

export const broken = (main, why, title = 'This cannot be shown') => fill(main, h('div.narrow', h('h1.name', title), failed(why)));
export const failed = (why) => h('div.failure', { role: 'alert' }, h('b', `${why.message}.`), why.hint && h('p', why.hint), why.paths?.length ? h('ul', why.paths.slice(0, 20).map((it) => h('li.name.path', `${shown(it)}: ${it.why}`))) : null);

/** What changed, folder by folder, the files of the root first. */
const folderOf = (it) => it.text.slice(0, it.text.lastIndexOf('/') + 1);
const changesOf = (answer) => (answer.file_changes ?? answer.changes).map((it) => Object.assign(it, { text: spelled(it) })).sort((a, b) => (folderOf(a) < folderOf(b) ? -1 : folderOf(a) > folderOf(b) ? 1 : 0));

async function load(main, view, shownPath) {
  const { id, other } = view;
  const isOne = id !== 'here' && !other;
  const words = isOne ? ['show', id] : ['diff', ...(id === 'here' ? [other ?? '@'] : other === 'here' ? [id] : [other, id])];
  // Where much differs, lines take long to count: the names come first.
  const counted = () => (isOne ? recall : ask)([...words, '--stat']);
  const first = await (isOne ? recall(words) : words.length === 3 ? ask([...words, '--name-only']) : counted());
  if (view.key === (view.key = JSON.stringify(first))) return;
  view.row = id === 'here' ? null : store.byId.get(id) ?? first.checkpoint ?? (await recall(['show', id])).checkpoint;
  draw(main, view, first, shownPath);
  if (words.length === 2 && !isOne) return;
  const [before, whole] = [view.files, await counted()];
  const files = changesOf(whole);
  if (view.files !== before) return;
  if (files.length !== before.length) return draw(main, view, whole, before[view.at]?.text);
  files.forEach((it, i) => Object.assign(before[i], it).lines && effect(before[i]));
  view.totals();
  if (before[view.at]?.binary) view.reopen?.();
}

/** Shows an answer of `show` or `diff`. */
function draw(main, view, answer, shownPath) {
  if (view.gone) return;
  const { id, row } = view;
  const lost = (list, text) => list?.length && `${count(list.length, 'path')} ${text}`;
  const extra = [lost(answer.uncaptured, 'could not be captured'), answer.databases?.length && count(answer.databases.length, 'database'), answer.state && 'values of --state', lost(answer.too_large, 'too large to compare'), lost(answer.damaged, 'damaged'), ...(answer.other?.mode_changes ?? []).slice(0, 5).map((it) => `mode of ${shown(it)}`)];
  const [from, to, files] = [answer.checkpoint ? answer.before : answer.from, answer.checkpoint ?? answer.to, changesOf(answer)];
  const range = from || !to ? (path) => ['diff', '-U', '3', ...(from ? [from.id] : []), ...(to ? [to.id] : []), '--', path] : null;
  Object.assign(view, { from, to, files, range });
  const [sum, total] = [h('span.totals'), (key) => files.reduce((sum, it) => sum + (it[key] ?? 0), 0).toLocaleString('en')];
  const isCounted = () => !files.length || files.some((it) => it.binary || (it.insertions ?? null) !== null);
  view.totals = () => fill(sum, ' · ', isCounted() ? [h('span.plus', `+${total('insertions')}`), ' ', h('span.minus', `−${total('deletions')}`)] : 'counting lines …');
  view.totals();
  const left = h('div.files', { role: 'group', 'aria-label': 'Files' });
  const pane = h('section.pane', { 'aria-label': 'File' });
  const tabs = ['changes', ...(id === 'here' || isReport ? [] : ['files'])].map((part) => h('button.tab', { type: 'button', 'aria-pressed': String(part === view.part), onclick: () => {
    view.part = part;
    for (const tab of tabs) tab.setAttribute('aria-pressed', String(tab === tabs[part === 'changes' ? 0 : 1]));
    part === 'changes' ? changed(view, left, pane, shownPath) : whole(view, left, pane);
  } }, part === 'changes' ? `Changes (${files.length.toLocaleString('en')})` : `All files${row?.file_count === undefined ? '' : ` (${row.file_count.toLocaleString('en')})`}`));
  fill(main,
    h('div.wide-view',
      h('div.head', h('div', h('h1.name', id === 'here' ? 'Now, not saved yet' : named(row)),
        h('p.dim.meta', id === 'here' ? 'The directory as it is' : [h('span.mono', row.short), ` · ${moment(row.time)} · `, h('span.name', row.source ?? ''), row.provenance && [' · session ', h('span.mono', row.provenance.session?.slice(0, 8) ?? '')], row.content_bytes !== undefined && ` · ${bytes(row.content_bytes)}`, row.pinned && ' · pinned'],
          sum),
        extra.some(Boolean) && h('p.warn-text', extra.filter(Boolean).join(' · '))),
      h('div.actions', actions(view))),
      h('div.bar-line', tabs.length > 1 ? h('div.tabs', { role: 'group', 'aria-label': 'What to show' }, tabs) : h('h2', tabs[0].textContent), (view.against = against(view))),
      h('div.columns', left, pane)));
  changed(view, left, pane, shownPath);
}

function actions({ id, row }) {
  if (store.readOnly) return [];
  if (id === 'here') return [h('button.primary', { onclick: saveNow }, 'Save a checkpoint')];
  return [
    h('button.quiet', { onclick: () => change(row.pinned ? 'No longer pinned' : 'Pinned', [row.pinned ? 'unpin' : 'pin', id]) }, row.pinned ? 'Unpin' : 'Pin'),
    h('button.quiet', { onclick: () => reword(row) }, 'Reword'),
    h('a.button.primary', { href: `#/back/${id}` }, 'Go back to this …'),
  ];
}

/** Runs a command that changes the store, and shows what came of it. */
export async function change(done, args) {
  try {
    const answer = await ask(args);
    say(done);
    store.all = false;
    await refresh();
    dispatchEvent(new Event('hashchange'));
    return answer;
  } catch (why) {
    await modal('Not done', failed(why), [['Close', null]]);
  }
}

async function words(title, value, button) {
  const input = h('input', { type: 'text', value: value ?? '', autofocus: true, maxlength: '400', onkeydown: (event) => event.key === 'Enter' && (event.preventDefault(), document.querySelector('#dialog .primary').click()) });
  return modal(title, h('label.field', 'Reason', input), [['Cancel', null], [button, () => input.value.trim(), 'primary']]);
}

const reword = (row) => words('Another reason', row.reason, 'Reword').then((reason) => reason && change('Reworded', ['reword', row.id, '--', reason]));
export const saveNow = () => words('Save a checkpoint', '', 'Save').then((reason) => reason !== null && change('Saved', ['create', '--reason', reason || 'manual']));

/** What it is compared with: the one before, here, or any other. */
function against({ id, other, from }) {
  const first = `${id === 'here' ? 'where it stands' : 'the one before'}${from && !other ? `: ${named(from)}` : ''}`;
  if (isReport) return h('span.against', h('span.name', `Compared with ${first}`));
  const choices = [['before', first], ...(id === 'here' ? [] : [['here', 'the directory now: what changed since']])];
  const rows = store.rows.filter((it) => it.id !== id && (it.kind !== 'safety' || it.id === other)).slice(0, 300);
  if (other && other !== 'here' && !rows.some((it) => it.id === other) && store.byId.has(other)) rows.unshift(store.byId.get(other));
  return h('label.against', 'Compared with ', h('select', { onchange: ({ target }) => (location.hash = `#/at/${id}${target.value === 'before' ? '' : `/${target.value}`}`) },
    choices.map(([value, text]) => h('option', { value, selected: (other ?? choices[0][0]) === value }, safe(text).slice(0, 60))),
    h('optgroup', { label: 'Other checkpoints' }, rows.map((it) => h('option', { value: it.id, selected: it.id === other }, `${safe(named(it)).slice(0, 48)} · ${moment(it.time)}`)))));
}

function changed(view, left, pane, shownPath) {
  const { files } = view;
  view.list?.stop();
  fill(left);
  if (!files.length) return fill(pane, h('p.empty', 'Nothing differs.'));
  const lines = grouped(files);
  view.list = longList(left, lines.length, () => 32, (i) => lines[i].folder !== undefined ? h('div.folder-line.name.path', quoted(lines[i].folder || './')) : fileButton(view, lines[i]), { root: null });
  view.choose = (i) => {
    if (!files[i]) return;
    const line = lines.findIndex((it) => it.index === i);
    view.at = i;
    for (const button of left.querySelectorAll('[aria-current]')) button.removeAttribute('aria-current');
    const button = view.list.row(line);
    button.setAttribute('aria-current', 'true');
    button.scrollIntoView({ block: 'nearest' });
    button.focus({ preventScroll: true });
    openFile(view, files[i], pane);
  };
  view.at = Math.max(0, files.findIndex((it) => it.text === shownPath));
  openFile(view, files[view.at], pane);
}

/** Files with a line for each folder before them. */
function grouped(files) {
  let last = null;
  const lines = files.flatMap((it, index) => {
    const folder = folderOf(it);
    [it.index, it.name] = [index, quoted(it.text.slice(folder.length))];
    return folder === last ? it : [{ folder: (last = folder) }, it];
  });
  return lines.length > 1 && !lines.some((it) => it.folder) ? lines.slice(1) : lines;
}

function fileButton(view, it) {
  const [mark, word] = CHANGE[it.change] ?? ['?', it.change];
  return h('button.file', { type: 'button', onclick: () => view.choose(it.index), 'aria-current': it.index === view.at ? 'true' : null, title: shown(it) },
    h(`span.badge.${it.change}`, { 'aria-hidden': 'true' }, mark), h('span.name.path', it.name), h('span.hidden', `, ${word}`),
    effect(it).lines);
}

/** Fills in how much of a file came and went, as far as that is known. */
function effect(it) {
  const grown = (it.after?.size_bytes ?? 0) - (it.before?.size_bytes ?? 0);
  fill((it.sizes ??= h('span')), [it.before, it.after].filter((side) => (side?.size_bytes ?? null) !== null).map((side) => bytes(side.size_bytes)).join(' → '), it.before && it.after && it.before.mode !== it.after.mode && ` · mode ${it.before.mode} → ${it.after.mode}`);
  fill((it.lines ??= h('span.numbers')), it.binary ? h('span.dim', `${grown >= 0 ? '+' : '−'}${bytes(Math.abs(grown))}`) : [it.insertions > 0 && h('span.plus', `+${it.insertions.toLocaleString('en')}`), ' ', it.deletions > 0 && h('span.minus', `−${it.deletions.toLocaleString('en')}`)]);
  return it;
}

async function openFile(view, it, pane) {
  const turn = ++view.asked;
  view.patch?.stop();
  const toggle = (key, text) => h('button.quiet', { type: 'button', 'aria-pressed': String(taste[key]), onclick: () => view.toggle(key) }, text);
  view.reopen = () => openFile(view, it, pane);
  view.toggle = (key) => {
    taste[key] = !taste[key];
    kept.setItem(key, taste[key] ? 'yes' : 'no');
    view.reopen();
  };
  const body = fileHead(pane, it, effect(it).sizes, view.to?.id ?? view.from?.id, it.binary ? [] : [toggle('split', 'Side by side'), toggle('wrap', 'Wrap')]);
  const content = await bodyOf(view, it).catch(failed);
  if (turn === view.asked) fill(body, content);
}

/** The name of a file and its tools; returns where its content goes. */
function fileHead(pane, it, sizes, id, tools) {
  const body = h('div', { class: `file-body ${taste.wrap ? 'wrap' : 'nowrap'}` }, h('p.empty', 'Loading …'));
  fill(pane, h('div.file-head', h('h2.name.path', shown(it)), h('span.dim', sizes), h('div.file-tools', !it.path_hex && !isReport && h('a.button.quiet', { href: fileHash(it, id) }, 'History'), tools)), body);
  return body;
}

async function bodyOf(view, it) {
  const sides = [[it.before, view.from], [it.after, view.to]];
  view.next = null;
  const asked = view.range?.(it.path) ?? ['show', view.to.id, '-p', '--', it.path];
  if (it.binary && sides.some(([side]) => side?.size_bytes > LARGEST)) throw tooLarge(...asked);
  if (it.binary) return (!it.path_hex && !isReport && (await asTheyAre(sides, it))) || h('div.empty', 'Binary content: ', sides.map(([side]) => (side ? bytes(side.size_bytes) : 'nothing')).join(' → '));
  if (it.path_hex) return notText();
  const { patch } = await (view.to ? recall : ask)(asked);
  if (!patch?.includes('\n@@ ')) return h('p.empty', it.before?.mode !== it.after?.mode && it.before && it.after ? `Mode ${it.before.mode} → ${it.after.mode}, same content.` : 'No lines to show.');
  const turn = view.asked;
  const made = await patchView(patch, { split: taste.split });
  if (turn === view.asked) view.patch = made;
  let now = -1;
  view.next = (step) => {
    now = Math.min(made.heads.length - 1, Math.max(0, now + step));
    made.row(made.heads[now])?.scrollIntoView({ block: 'center' });
    say(`Change ${now + 1} of ${made.heads.length}`);
  };
  return made.node;
}

/** What is said of a file that cannot be asked for. */
export const notText = () => h('p.empty', 'The name of this file is not UTF-8: it cannot be opened here. In a terminal, ', h('code', 'checkpoint diff'), ' shows it.');

/** Both sides, each as what its content is, if one of them is an image or text. */
async function asTheyAre(sides, it) {
  const read = await Promise.all(sides.map(([side, of]) => side && (of ? contentView(of.id, it.path) : h('p.empty', 'Only in the directory: save a checkpoint to see it here.'))));
  return read.some((node) => node && !node.matches('.empty')) && h('div.images', sides.map(([side], i) =>
    h('figure', h('figcaption', i ? 'After' : 'Before', side && h('span.dim', ` · ${bytes(side.size_bytes)}`)), read[i] ?? h('p.empty', 'Not there'))));
}

function picture(blob, path) {
  const url = URL.createObjectURL(blob);
  const free = () => URL.revokeObjectURL(url);
  return h('figure', h('img', { src: url, alt: shown({ path }), onload: free, onerror: free }));
}

/** All files of a checkpoint as a tree with sizes. */
async function whole(view, left, pane) {
  view.list?.stop();
  fill(left, h('p.empty', 'Loading …'));
  fill(pane, h('p.empty', 'Choose a file to see it as it was.'));
  view.choose = view.reopen = view.toggle = view.next = null;
  view.asked++;
  const tree = await recall(['ls', view.id, '-l', '-R']).then(({ entries }) => sized(entries), failed);
  if (view.part === 'files') fill(left, tree.folders ? branch(tree, tree.size, (it) => showContent(view, it, pane)) : tree);
}

/** The entries of `ls -l -R` as nested folders, each with the size of what is below. */
export function sized(entries) {
  const top = { name: '', folders: new Map(), files: [], size: 0, count: 0 };
  for (const it of entries) {
    const parts = spelled(it).split('/');
    const name = parts.pop();
    let at = top;
    const way = [top];
    for (const part of it.kind === 'directory' ? [...parts, name] : parts) {
      if (!at.folders.has(part)) at.folders.set(part, { name: part, folders: new Map(), files: [], size: 0, count: 0 });
      way.push((at = at.folders.get(part)));
    }
    if (it.kind === 'directory') continue;
    at.files.push({ ...it, name });
    for (const folder of way) (folder.size += it.size_bytes ?? 0), folder.count++;
  }
  return top;
}

export function branch({ folders, files }, total, open) {
  const list = h('ul.tree');
  const share = (size) => h('span.share', { 'aria-hidden': 'true' }, h('span', { style: { width: `${total ? (100 * size) / total : 0}%` } }));
  for (const it of [...folders.values()].sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))) {
    const below = h('div', { hidden: true });
    const button = h('button.file', { type: 'button', 'aria-expanded': 'false', onclick: () => {
      below.hidden = !below.hidden;
      button.setAttribute('aria-expanded', String(!below.hidden));
      if (!below.firstChild) below.append(branch(it, total, open));
    } }, h('span.caret', { 'aria-hidden': 'true' }), h('span.name.path', quoted(`${it.name}/`)), h('span.numbers.dim', `${it.count.toLocaleString('en')} · ${bytes(it.size)}`), share(it.size));
    list.append(h('li', button, below));
  }
  const more = (from) => {
    for (const it of files.slice(from, from + 300)) list.append(h('li', h('button.file', { type: 'button', onclick: () => open(it), title: shown(it) }, h('span.caret.none'), h('span.name.path', quoted(it.name)), h('span.numbers.dim', bytes(it.size_bytes)), share(it.size_bytes ?? 0))));
    if (files.length > from + 300) list.append(h('li', h('button.link', { type: 'button', onclick: (event) => (event.target.parentNode.remove(), more(from + 300)) }, `${count(files.length - from - 300, 'more file')} …`)));
  };
  more(0);
  return list;
}

async function showContent(view, it, pane) {
  const body = fileHead(pane, it, it.kind === 'symlink' ? 'a link, to:' : bytes(it.size_bytes), view.id, []);
  fill(body, it.path_hex ? notText() : await contentView(view.id, it.path).catch(failed));
}

/** The content of a file: an image, or lines; `since(i)` may name a line's origin. */
export async function contentView(id, path, since = null) {
  const blob = await content(id, path);
  const start = await blob.slice(0, 8000).text();
  const isBinary = start.includes('\0') || start.split('\ufffd').length > 20;
  if (isBinary) return blob.type.startsWith('image/') ? picture(blob, path) : h('p.empty', `Binary content, ${bytes(blob.size)}.`);
  const lines = (await blob.text()).split('\n');
  if (lines.at(-1) === '') lines.pop();
  const box = h('div.diff.unified', { tabindex: '0', role: 'group', 'aria-label': 'Content' });
  longList(box, lines.length, () => 20, (i) => h('div.code-row', since?.(i), h('span.no', { 'aria-hidden': 'true' }, String(i + 1)), h('span.code', lines[i].length > 20000 ? `${lines[i].slice(0, 20000)} … ${count(lines[i].length - 20000, 'more character')}` : lines[i])), { size: 120 });
  return lines.length ? box : h('p.empty', 'The file is empty.');
}
