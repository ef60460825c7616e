// A file through time: its versions on a slider, what changed in each, and since which checkpoint each line is there.

import { LARGEST, ask, recall, tooLarge } from './api.js';
import { bytes, count, fill, h, modal, moment, named, shown } from './dom.js';
import { branch, broken, contentView, failed, notText, sized, taste } from './at.js';
import { patchView } from './diff.js';
import { parents, store } from './store.js';
import { fileHash, findPaths, pathList } from './timeline.js';

const MOST_STEPS = 60;
let shownPart = 'content';

/** A path as a pattern that means only itself: without marks it is none. */
const pattern = (path) => `./${/[*?[]/.test(path) ? path.replace(/[\\*?[\]]/g, '\\$&') : path}`;

export function fileView(main, path, id) {
  const view = { path, versions: [], at: 0, asked: 0 };
  open(main, view, id).catch((why) => broken(main, why, shown({ path })));
  const step = (by) => view.go?.(view.at + by);
  return {
    stop: () => view.patch?.stop(),
    keys: {
      k: () => step(1), j: () => step(-1), '[': () => step(-1), ']': () => step(1), c: () => view.part?.(shownPart === 'content' ? 'changes' : 'content'),
      b: () => view.versions[view.at] && (location.hash = backTo(view)),
    },
  };
}

const backTo = (view) => `#/back/${view.versions[view.at].checkpoint.id}/${encodeURIComponent(view.path)}`;

async function open(main, view, id) {
  const answer = await ask(['find', '--', pattern(view.path)]);
  const found = answer.paths.find((it) => it.path === view.path) ?? answer.paths[0];
  view.versions = [...found.events].reverse();
  const sequence = (it) => store.byId.get(it)?.sequence ?? Infinity;
  const last = view.versions.length - 1;
  const wanted = id ? view.versions.findLastIndex((it) => it.checkpoint.id === id || sequence(it.checkpoint.id) <= sequence(id)) : last;
  const slider = h('input', { type: 'range', id: 'version', min: 0, max: last, value: String(last), 'aria-label': 'Version', oninput: () => view.go(+slider.value) });
  const [title, body] = [h('div.version', { 'aria-live': 'polite' }), h('div.file-body', { class: `file-body ${taste.wrap ? 'wrap' : 'nowrap'}` })];
  const parts = { content: 'Content', changes: 'What changed' };
  const tabs = Object.entries(parts).map(([key, text]) => h('button.tab', { type: 'button', 'aria-pressed': 'false', onclick: () => view.part(key) }, text));
  const back = h('a.button.primary', { hidden: store.readOnly }, 'Go back to this version …');
  const turn = (by, text, label) => h('button.quiet.icon', { type: 'button', 'aria-label': label, onclick: () => view.go(view.at + by) }, h('span', { 'aria-hidden': 'true' }, text));
  view.go = (i) => {
    if (!view.versions[i]) return;
    view.at = i;
    slider.value = String(i);
    const it = view.versions[i];
    slider.setAttribute('aria-valuetext', `${i + 1} of ${last + 1}: ${named(it.checkpoint)}`);
    fill(title, h('a.name', { href: `#/at/${it.checkpoint.id}` }, named(it.checkpoint)), h('span.dim', ` · ${moment(it.checkpoint.time)} · ${it.change}${it.size_bytes === null ? '' : ` · ${bytes(it.size_bytes)}`}`));
    back.href = backTo(view);
    show(view, body);
  };
  view.part = (key) => {
    shownPart = key;
    tabs.forEach((tab, i) => tab.setAttribute('aria-pressed', String(Object.keys(parts)[i] === key)));
    show(view, body);
  };
  fill(main, h('div.wide-view',
    h('div.head', h('div', h('h1.name.path', shown(view)), h('p.dim.meta', `${count(last + 1, 'version')}${found.in_directory ? '' : ' · not in the directory now'}`)),
      h('div.actions', back)),
    h('div.slider', turn(-1, '‹', 'Older'), slider, turn(1, '›', 'Newer'), h('div.ticks', { 'aria-hidden': 'true' }, view.versions.slice(-200).map((it) => h(`span.tick.${it.change}`)))),
    h('div.bar-line', title, h('div.tabs', { role: 'group', 'aria-label': 'What to show' }, tabs)), body));
  view.at = wanted < 0 ? last : wanted;
  tabs[shownPart === 'content' ? 0 : 1].setAttribute('aria-pressed', 'true');
  view.go(view.at);
}

async function show(view, body) {
  const turn = ++view.asked;
  const it = view.versions[view.at];
  const shown = await (shownPart === 'content' ? withOrigins(view, it) : changes(view)).catch(failed);
  if (turn === view.asked) fill(body, shown);
}

async function changes(view) {
  const before = ancestry(view, view.at).at(-2);
  if ([before, view.at].some((i) => view.versions[i]?.size_bytes > LARGEST)) throw tooLarge('show', view.versions[view.at].checkpoint.id, '-p', '--', view.path);
  const patch = await step(view, before, view.at, '3');
  if (!patch?.includes('\n@@ ')) return h('p.empty', 'No lines to show.');
  view.patch?.stop();
  view.patch = await patchView(patch, { split: taste.split });
  return view.patch.node;
}

/** The patch from one version to another. */
async function step(view, before, i, lines) {
  const id = view.versions[i].checkpoint.id;
  if (before === undefined) return (await recall(['show', id, '-p', '--', view.path])).patch;
  return (await recall(['diff', view.versions[before].checkpoint.id, id, '-U', lines, '--', view.path])).patch;
}

async function withOrigins(view, it) {
  if (it.change === 'deleted') return h('p.empty', 'The file was deleted here.');
  if (it.size_bytes > LARGEST) throw tooLarge('cat', it.checkpoint.id, '--', view.path);
  const from = await origins(view, view.at).catch(() => null);
  let last = null;
  const since = from && ((i) => {
    const version = from[i] ?? 0;
    const first = i === 0 || from[i - 1] !== version;
    last = view.versions[version].checkpoint;
    const age = view.at === 0 ? 1 : version / view.at;
    return h('span.since', { class: `since age${Math.round(age * 4)}`, title: `since ${named(last)}, ${moment(last.time)}`, onclick: () => view.go(version) }, first && h('span.name', named(last).slice(0, 60)));
  });
  return contentView(it.checkpoint.id, view.path, since);
}

/** The versions that led to version `to`: not those of another branch. */
function ancestry(view, to) {
  const parent = parents(store.rows);
  const line = new Set();
  for (let id = view.versions[to].checkpoint.id; id && !line.has(id); id = parent.get(id)) line.add(id);
  return view.versions.flatMap((it, i) => (i === to || (i < to && line.has(it.checkpoint.id)) ? [i] : []));
}

/** For each line of version `to`, the version in which it came. */
async function origins(view, to) {
  const line = ancestry(view, to);
  if (line.length > MOST_STEPS || line.some((i) => view.versions[i].size_bytes > 2e6)) return null;
  let lines = [];
  let before;
  for (const i of line) {
    const patch = await step(view, before, i, '0');
    const next = [...lines];
    before = i;
    let moved = 0;
    for (const [, old, gone, came] of (patch ?? '').matchAll(/^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/gm)) {
      const [out, into] = [+(gone ?? 1), +(came ?? 1)];
      next.splice((out ? +old - 1 : +old) + moved, out, ...new Array(into).fill(i));
      moved += into - out;
    }
    lines = next;
  }
  return lines;
}

/** Fills in all files where the directory stands, below what `head` says of them; one opens, or it is said why it cannot. */
export const standing = (box, head) => ask(['ls', '@', '-l', '-R']).then(({ entries, checkpoint }) => {
  const tree = sized(entries);
  fill(box, head?.(tree, checkpoint), branch(tree, tree.size, (it) => void (it.path_hex ? modal(shown(it), notText(), [['Close', null]]) : (location.hash = fileHash(it)))));
}).catch((why) => fill(box, failed(why)));

/** All files where the directory stands, and a field to find a path of any time. */
export function filesView(main) {
  const hits = h('div.results');
  const input = h('input', { id: 'search', type: 'search', placeholder: 'Find a path of any time: lib.rs, src/**', 'aria-label': 'Find a path', spellcheck: 'false', autocomplete: 'off', oninput: () => (clearTimeout(timer), (timer = setTimeout(look, 250))) });
  const box = h('div.card', h('p.empty', 'Loading …'));
  let timer;
  async function look() {
    const words = input.value.trim();
    box.hidden = Boolean(words);
    if (!words) return fill(hits);
    const found = await findPaths(words).then((paths) => pathList(paths.slice(0, 200)), (why) => h('p.note', why.code === 'nothing_found' ? 'No checkpoint holds it.' : why.message));
    if (words === input.value.trim()) fill(hits, found);
  }
  standing(box, (tree, checkpoint) => h('p.dim.meta', `${count(tree.count, 'file')}, ${bytes(tree.size)} in `, h('a.name', { href: `#/at/${checkpoint.id}` }, named(checkpoint))));
  fill(main, h('div.narrow', h('h1', 'Files'), h('div.search', { role: 'search' }, input), hits, box));
  return { stop() {}, keys: { '/': () => input.focus() } };
}
