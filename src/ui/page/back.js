// Going back: what to restore, the plan as it will be done, then the button. Undo and redo go the same way.

import { ask } from './api.js';
import { add, count, fill, h, longList, modal, moment, named, quoted, say, shown, spelled } from './dom.js';
import { CHANGE, broken, change, failed } from './at.js';
import { patchView } from './diff.js';
import { refresh, store } from './store.js';

/** A path as an argument: a word that begins with @ would name a list of paths. */
const word = (path) => (/^@/.test(path) ? `./${path}` : path);

export function backView(main, id, path) {
  const view = { id, path, whole: null, how: path ? 'some' : 'all', chosen: new Set(), hunks: null, asked: 0 };
  start(main, view).catch((why) => broken(main, why));
  return { stop: () => (view.list?.stop(), view.patch?.stop()), keys: {} };
}

async function start(main, view) {
  const whole = await ask(['restore', view.id, '--dry-run']);
  view.whole = whole.changes.map((it) => ({ ...it, text: spelled(it) })).sort((a, b) => a.text.includes('/') - b.text.includes('/'));
  view.chosen = new Set(view.whole.map((it) => it.text).filter((text) => view.path && `${text}/`.startsWith(`${spelled(view)}/`)));
  const [choice, plan] = [h('div.choice'), h('section.card.plan', { 'aria-label': 'Plan', 'aria-live': 'polite' })];
  const kinds = [['all', 'Everything', `${count(view.whole.length, 'path')} differ`], ['some', 'Some files', 'choose files and folders'], ['hunks', 'Some changes', 'choose changes inside files']];
  const set = (how) => ((view.how = how), choose(view, choice, plan), look(view, plan));
  fill(main, h('div.narrow',
    h('h1', 'Go back to “', h('span.name', named(whole.restored_from)), '”'), h('p.dim.meta', h('span.mono', whole.restored_from.short), ` · ${moment(whole.restored_from.time)} · the present is kept first, in a safety checkpoint`),
    h('fieldset.kinds', h('legend.hidden', 'What to restore'), kinds.map(([value, title, text]) =>
      h('label.kind', h('input', { type: 'radio', name: 'how', value, checked: view.how === value, onchange: () => set(value) }), h('span', h('b', title), h('span.dim', text))))),
    choice, plan));
  set(view.how);
}

function choose(view, box, plan) {
  view.list?.stop();
  view.patch?.stop();
  if (view.how === 'all') return fill(box);
  if (view.how === 'hunks') return hunks(view, box, plan).catch((why) => fill(box, failed(why)));
  const lines = outline(view.whole);
  const inner = h('div.pick-list', { role: 'group', 'aria-label': 'Files and folders' });
  fill(box, h('div.card', h('p.dim.meta', 'Ticked paths become as they were.'), inner));
  const on = (it) => it.below.filter((text) => view.chosen.has(text)).length;
  view.list = longList(inner, lines.length, () => 32, (i) => {
    const it = lines[i];
    const tick = h('input', { type: 'checkbox', checked: on(it) === it.below.length, disabled: it.path === undefined, onchange: () => {
      for (const text of it.below) view.chosen[tick.checked ? 'add' : 'delete'](text);
      view.list.redraw();
      view.list.row(i)?.querySelector('input').focus({ preventScroll: true });
      look(view, plan);
    } });
    tick.indeterminate = on(it) > 0 && on(it) < it.below.length;
    const [mark, text] = it.folder ? ['', ''] : OPPOSITE[it.change] ?? ['?', it.change];
    return h('label.pick-line', { style: { 'padding-left': `${8 + it.depth * 18}px` } }, tick, mark && h(`span.badge.${it.change}`, { 'aria-hidden': 'true' }, mark), h('span.name.path', quoted(it.name)), h('span.dim', it.path === undefined ? 'not UTF-8: goes back with its folder, or with everything' : it.folder ? count(it.below.length, 'change') : text));
  });
}

const OPPOSITE = { added: ['+', 'comes back'], modified: ['●', 'becomes as it was'], deleted: ['−', 'is deleted'], mode: ['m', 'mode'], directory_added: ['+', 'empty directory comes back'], directory_deleted: ['−', 'empty directory is deleted'] };

/** Changes as lines of an outline, each folder with what is below it. */
function outline(changes) {
  const lines = [];
  const folders = new Map();
  for (const it of changes) {
    const [parts, raw] = [it.text.split('/'), it.path.split('/')];
    const isFolder = it.change.startsWith('directory_');
    for (let depth = 0; depth < parts.length - (isFolder ? 0 : 1); depth++) {
      const text = parts.slice(0, depth + 1).join('/');
      const folder = folders.get(text) ?? { folder: true, text, name: `${parts[depth]}/`, depth, below: [] };
      if (!folders.has(text)) lines.push(folder);
      folders.set(text, folder).get(text).below.push(it.text);
      // What is escaped cannot be told from its spelling.
      if (!it.path_hex || !text.includes('\\')) folder.path ??= raw.slice(0, depth + 1).join('/');
    }
    if (!isFolder) lines.push({ ...it, path: it.path_hex ? undefined : it.path, name: parts.at(-1), depth: parts.length - 1, below: [it.text] });
  }
  return lines;
}

/** The fewest paths that mean what is chosen: a folder where all of it is. */
function fewest(view) {
  let whole = null;
  return outline(view.whole).filter((it) => {
    if (whole !== null && it.text.startsWith(whole)) return false;
    const taken = it.path !== undefined && it.below.every((text) => view.chosen.has(text));
    if (taken && it.folder) whole = `${it.text}/`;
    return taken;
  }).map((it) => word(it.path));
}

/** Single changes inside files: the patch of those that are ticked. */
async function hunks(view, box, plan) {
  const body = h('div.file-body.wrap');
  [view.hunks, view.ticks] = [new Map(), new Map()];
  fill(box, h('p.empty', 'Loading …'));
  const { changes } = await ask(['diff', view.id, '--stat']);
  if (view.how !== 'hunks') return;
  // Only lines within a file can be chosen: not that it is there, nor what kind it is.
  const isFile = (side) => side?.mode.startsWith('100');
  const files = changes.filter((it) => it.change === 'modified' && !it.path_hex && !it.binary && isFile(it.before) && isFile(it.after));
  const others = changes.length - files.length;
  const select = h('select', { 'aria-label': 'File', onchange: () => show(select.value).catch((why) => fill(body, failed(why))) }, files.map((it) => h('option', { value: it.path, selected: it.path === view.path }, shown(it))));
  fill(box, h('div.card', h('label.field', 'File with the changes', select), body, others > 0 && h('p.note', `${count(others, 'other path')} can only go back whole: new, gone, binary, or of another kind or mode.`)));
  async function show(path) {
    view.patch?.stop();
    const { patch } = await ask(['diff', '-U', '3', view.id, '--', path]);
    if (path !== select.value) return;
    if (!patch?.includes('\n@@ ')) return fill(body, h('p.empty', 'No lines to choose: its content is too large.'));
    const turned = reversed(patch);
    if (!view.ticks.has(path)) view.ticks.set(path, new Set());
    view.patch = await patchView(turned, { chosen: view.ticks.get(path), choose: (chosen) => {
      if (chosen.length) view.hunks.set(path, turned.slice(0, turned.indexOf('\n@@ ') + 1) + chosen.map((it) => turned.slice(it.start, it.end)).join(''));
      else view.hunks.delete(path);
      look(view, plan);
    } });
    fill(body, view.patch.node);
    look(view, plan);
  }
  files.length ? await show(select.value) : fill(body, h('p.empty', 'No text file differs.'));
}

/** The patch that leads from the directory to the checkpoint: that of the other direction, turned. */
function reversed(patch) {
  const at = patch.indexOf('\n@@ ') + 1;
  const head = patch.slice(0, at).replace(/^(old|new) mode .*\n/gm, '').replace(/^(index )(\w+)\.\.(\w+)/m, '$1$3..$2');
  const out = [];
  let plus = [];
  const flush = () => (out.push(...plus), (plus = []));
  let last = null;
  for (const line of patch.slice(at).replace(/\n$/, '').split('\n')) {
    if (line[0] === '-') plus.push(`+${line.slice(1)}`);
    else if (line[0] === '+') out.push(`-${line.slice(1)}`);
    else if (line[0] === '\\') (last === '-' ? plus : out).push(line);
    else {
      flush();
      out.push(line.replace(/^@@ -(\S+) \+(\S+) @@/, '@@ -$2 +$1 @@'));
    }
    if (line[0] !== '\\') last = line[0];
  }
  flush();
  return `${head}${out.join('\n')}\n`;
}

function command(view) {
  if (view.how === 'hunks') return view.hunks?.size ? [['restore', '--patch', '-'], { input: [...view.hunks.values()].join('') }] : null;
  if (view.how === 'all') return [['restore', view.id], {}, []];
  const paths = fewest(view);
  return paths.length ? [['restore', view.id], {}, ['--', ...paths]] : null;
}

/** Shows the plan of what is chosen, and the button that does it. */
async function look(view, box) {
  const turn = ++view.asked;
  const what = command(view);
  if (!what) return fill(box, h('p.empty', 'Nothing is chosen yet.'));
  const [args, more, paths = []] = what;
  box.setAttribute('aria-busy', 'true');
  try {
    const plan = await ask([...args, '--dry-run', ...paths], more);
    if (turn !== view.asked) return;
    const doit = () => act([...args, '--plan', plan.plan_digest, '--yes', ...paths], more, box, () => look(view, box));
    fill(box, planOf(plan), h('div.actions', h('a.button.quiet', { href: `#/at/${view.id}` }, 'Cancel'),
      h('button.primary.danger', { type: 'button', id: 'go', disabled: plan.nothing_to_do || store.readOnly, onclick: doit }, plan.nothing_to_do ? 'Nothing to do' : `Go back: ${inWords(plan.counts)}`)));
  } catch (why) {
    if (turn === view.asked) fill(box, failed(why), h('div.actions', h('button.quiet', { onclick: () => look(view, box) }, 'Look again')));
  }
  box.removeAttribute('aria-busy');
}

function inWords(counts) {
  const parts = [[counts.added + counts.modified, 'write'], [counts.deleted, 'delete'], [counts.modes, 'set modes of']];
  const folders = counts.directories_added + counts.directories_deleted;
  return [...parts.filter(([n]) => n).map(([n, verb]) => `${verb} ${n.toLocaleString('en')}`), ...(folders ? [count(folders, 'directory', 'directories')] : [])].join(', ') || 'nothing';
}

/** A plan as it will be done. */
export function planOf(plan) {
  const groups = [['Written', ['added', 'modified', 'type']], ['Deleted', ['deleted']], ['Modes and directories', ['mode', 'directory_added', 'directory_deleted']]];
  const list = (items, line) => {
    const ul = h('ul.plan-list', items.slice(0, 60).map(line));
    if (items.length > 60) ul.append(h('li', h('button.link', { type: 'button', onclick: (event) => (event.target.parentNode.remove(), add(ul, items.slice(60, 5060).map(line)), items.length > 5060 && add(ul, [h('li.dim', `and ${items.length - 5060} more`)])) }, `${count(items.length - 60, 'more')} …`)));
    return ul;
  };
  const part = (title, items, line, kind) => items.length > 0 && h('details.plan-part', { open: items.length <= 40 }, h(`summary${kind ? `.${kind}` : ''}`, `${title} (${items.length.toLocaleString('en')})`), list(items, line));
  const path = (it) => h('li', h(`span.badge.${it.change}`, { 'aria-hidden': 'true' }, (CHANGE[it.change] ?? ['·'])[0]), h('span.name.path', shown(it)), h('span.hidden', ` ${(CHANGE[it.change] ?? ['', ''])[1]}`));
  const reason = (it) => h('li', h('span.name.path', shown(it)), h('span.dim', ` ${it.why}${it.detail ? `: ${it.detail}` : ''}`));
  return h('div', h('h2', 'The plan'),
    plan.nothing_to_do && h('p.empty', 'The directory is so already.'),
    groups.map(([title, kinds]) => part(title, plan.changes.filter((it) => kinds.includes(it.change)), path)),
    part('Left alone', plan.left_alone, reason), part('Cannot be read, and stays', plan.unreadable, reason, 'warn-text'),
    part('Changed since then, and taken back too', plan.since ?? [], (it) => h('li', h('span.name.path', shown(it))), 'warn-text'),
    plan.databases.length > 0 && h('p', `Databases: ${plan.databases.map((it) => (it.path ? shown(it) : it.name)).join(', ')}`),
    plan.warnings.map((it) => h('p.warn-text', it.message)),
    plan.counts.unchanged > 0 && h('p.dim', `${count(plan.counts.unchanged, 'file is as it was', 'files are as they were')} already.`));
}

/** Does what a plan said, and reports how it went. */
async function act(args, more, box, look) {
  fill(box, h('p.empty', 'Restoring …'));
  try {
    const done = await ask(args, more);
    const text = done.nothing_to_do ? 'Nothing had to be done' : `Done: ${inWords(done.counts).replace('write', 'wrote').replace('delete', 'deleted')}`;
    say(text);
    fill(box, h('div.done', h('h2', text), done.safety && h('p', 'What was there before is kept in ', h('a', { href: `#/at/${done.safety.id}` }, h('span.mono', done.safety.short)), '; ', h('b', 'Undo'), ' brings it back.'), done.warnings.map((it) => h('p.warn-text', it.message)),
      h('div.actions', h('button.quiet', { onclick: () => takeBack('undo') }, 'Undo …'), h('a.button.primary', { href: '#/' }, 'To the timeline'))));
  } catch (why) {
    fill(box, failed(why), h('div.actions', h('button.quiet', { onclick: look }, 'Look at the plan again')));
  }
  refresh().catch(() => {});
}

/** Shows what will be done, and does it once that is wanted. */
async function confirmed(title, done, look) {
  try {
    const [shown, button, args] = await look();
    const known = store.status?.pending?.safety.id;
    if (!(await modal(title, shown, [['Cancel', null], ...(store.readOnly ? [] : [[button, true, 'primary']])]))) return;
    say('Restoring …');
    const { verb, safety } = (await change(done, args)) ?? {};
    if (verb === 'resume' && safety && safety.id !== known) await modal(done, h('p', 'What was edited meanwhile is kept in ', h('a', { href: `#/at/${safety.id}` }, h('span.mono', safety.short)), '. ', h('b', 'Undo'), ' brings it back, and once more what was there before the restore.'), [['Close', null]]);
  } catch (why) {
    await modal(title, failed(why), [['Close', null]]);
  }
}

/** Undo or redo: the plan, then the button. */
export const takeBack = (verb) => confirmed(verb === 'undo' ? 'Undo the last restore' : 'Redo what was undone', verb === 'undo' ? 'Undone' : 'Redone', async () => {
  const plan = await ask([verb, '--dry-run']);
  const step = store[verb][0];
  return [h('div', step && h('p', 'Takes back: to ', h('b.name', named(step.restored_from)), h('span.dim', ` · ${moment(step.safety?.time)}`)), planOf(plan)),
    `${verb === 'undo' ? 'Undo' : 'Redo'}: ${inWords(plan.counts)}`, [verb, '--plan', plan.plan_digest, '--yes']];
});

/** Finishes a restore that was interrupted: the plan, then the button. */
export const resume = () => confirmed('Finish the restore', 'The restore is finished.', async () => {
  const plan = await ask(['restore', '--resume', '--dry-run']);
  return [h('div', h('p', 'Goes on to ', h('b.name', named(store.status.pending.target)), '. What is here now is kept first, in a safety checkpoint.'), planOf(plan)),
    `Finish it: ${inWords(plan.counts)}`, ['restore', '--resume', '--plan', plan.plan_digest, '--yes']];
});
