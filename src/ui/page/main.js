// The page: which view is shown, the bar above it, keys, and what is news.

import { hasToken, isReport, listen, takeToken } from './api.js';
import { $, fill, h, kept, modal, named, quoted, safe, say, spelled } from './dom.js';
import { broken, checkpointView, saveNow } from './at.js';
import { backView, resume, takeBack } from './back.js';
import { fileView, filesView } from './file.js';
import { roomView } from './room.js';
import { onChange, refresh, store } from './store.js';
import { timeline } from './timeline.js';

const main = $('main');
// Until a view shows something, what is there is the view before.
new MutationObserver(() => main.removeAttribute('aria-busy')).observe(main, { childList: true });
let [view, shown] = [null, null];
fill(main, h('p.empty', 'Loading …'));
if (isReport) for (const it of document.querySelectorAll('nav a:not([data-view=timeline]), #undo, #redo')) it.hidden = true;

function route() {
  if (takeToken() && shown !== null) return location.reload();
  const [, name = '', ...rest] = location.hash.replace(/^#/, '').split('/');
  const [first, second] = rest.map(decodeURIComponent);
  const changed = shown !== location.hash;
  const place = document.documentElement.scrollTop;
  shown = location.hash;
  view?.stop();
  if (changed && $('dialog').open) $('dialog').close();
  const key = { files: 'files', file: 'files', room: 'room' }[name] ?? 'timeline';
  for (const link of document.querySelectorAll('nav a')) link.dataset.view === key ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current');
  main.dataset.view = name || 'timeline';
  main.setAttribute('aria-busy', 'true');
  view =
    isReport && (name === 'at' ? [first, second].includes('here') : name) ? notHeld()
    : name === 'at' && first ? checkpointView(main, first, second ?? null)
    : name === 'back' && first ? backView(main, first, second ?? null)
    : name === 'file' && first ? fileView(main, first, second ?? null)
    : name === 'files' ? filesView(main)
    : name === 'room' ? roomView(main)
    : timeline(main);
  scrollTo(0, changed ? (places.get(shown) ?? 0) : place);
  if (changed) main.focus({ preventScroll: true });
}

const notHeld = () => (fill(main, h('div.narrow', h('h1', 'Not in this report'), h('p', 'It holds the ', h('a', { href: '#/' }, 'timeline'), ' and what each checkpoint changed. ', h('code', 'checkpoint ui'), ' shows the rest, where the checkpoints are.'))), { stop() {}, keys: {} });

// A view that is opened again is where it was.
const places = new Map();
addEventListener('scroll', () => shown !== null && places.set(shown, document.documentElement.scrollTop), { passive: true });

const KEYS = [
  ['j  k', 'next, previous'], ['g  G', 'first, last'], ['Enter', 'open'], ['Esc', 'back'], ['/', 'search'], ['n  p', 'next, previous change'], ['[  ]', 'older, newer'], ['s  w', 'side by side, wrap'], ['t', 'timeline'], ['?', 'these keys'],
  ...(isReport ? [] : [['x', 'pick two checkpoints to compare'], ['b', 'go back to this one'], ['c', 'save a checkpoint; of a file, content or changes'], ['u  r', 'undo, redo'], ['f  o', 'files, room']]),
];

const help = () => modal('Keys', h('dl.keys', KEYS.map(([key, text]) => [h('dt', key.split('  ').map((one) => h('kbd', one))), h('dd', text)])), [['Close', null, 'primary']]);
const GLOBAL = {
  '?': help, u: () => store.undo.length && takeBack('undo'), r: () => store.redo.length && takeBack('redo'), c: () => !store.readOnly && saveNow(),
  t: () => (location.hash = '#/'), f: () => !isReport && (location.hash = '#/files'), o: () => !isReport && (location.hash = '#/room'), '/': () => (location.hash = isReport ? '#/' : '#/files'),
  Escape: () => (main.dataset.view === 'timeline' ? null : history.length > 1 ? history.back() : (location.hash = '#/')),
};

addEventListener('keydown', (event) => {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || $('dialog').open || at.matches?.('input:not([type=checkbox], [type=radio], [type=range]), textarea, select')) return;
  if (at.matches?.('[type=range], [type=radio], [role=group]') && event.key.startsWith('Arrow')) return;
  const like = at.closest?.('.files > [role=presentation]') && { ArrowDown: 'j', ArrowUp: 'k', Home: 'g', End: 'G' }[event.key];
  const action = view?.keys[like || event.key] ?? GLOBAL[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

function bar() {
  const { status, undo, redo } = store;
  if (status) {
    const name = quoted(spelled({ path: status.root.split('/').filter(Boolean).pop() ?? status.root }));
    fill($('root'), name);
    $('root').title = safe(status.root);
    document.title = `${name} · checkpoint`;
  }
  for (const [id, steps, text] of [['undo', undo, 'Undo: back from'], ['redo', redo, 'Redo: to']]) {
    $(id).disabled = store.readOnly || !steps.length;
    $(id).title = steps.length ? safe(`${text} ${named(steps[0].restored_from)}`) : `Nothing to ${id}`;
  }
  const pending = status?.pending;
  banner('pending', pending && [h('b', 'A restore was interrupted'), ' on the way to ', h('span.name', named(pending.target)), '. ', h('button.quiet', { onclick: resume }, 'Finish it …'), ' ', h('button.quiet', { onclick: () => takeBack('undo') }, 'Take it back …')]);
}

const banners = new Map();
function banner(key, content) {
  if (!content && !banners.has(key)) return;
  content ? banners.set(key, content) : banners.delete(key);
  fill($('banner'), [...banners.values()].map((it) => h('p', it)));
}

function theme() {
  const dark = (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  kept.setItem('theme', (document.documentElement.dataset.theme = dark ? 'light' : 'dark'));
}

if (kept.getItem('theme')) document.documentElement.dataset.theme = kept.getItem('theme');
const CLICKS = { undo: () => takeBack('undo'), redo: () => takeBack('redo'), theme, help, skip: (event) => (event.preventDefault(), main.focus()) };
for (const [id, does] of Object.entries(CLICKS)) $(id).addEventListener('click', does);
addEventListener('hashchange', route);
addEventListener('focus', () => hasToken() && news());
onChange(bar);

function away(why) {
  banner('away', [h('b', `${why.message}.`), ' ', why.hint ?? '']);
  say(why.message);
  if (shown === null) broken(main, why);
}
const failing = (why) => (['gone', 'token'].includes(why.code) ? away(why) : store.rows.length || broken(main, why));
function news(event) {
  if (event) store.readOnly = !event.may_change;
  if (shown === null) route();
  refresh().then(() => banner('away', null), failing);
}
takeToken();
if (hasToken()) {
  listen(news, (up, why) => (up ? banner('away', null) : why && away(why)));
} else {
  fill(main, h('div.narrow', h('h1', 'This page has no key'), h('p', 'Open the address that ', h('code', 'checkpoint ui'), ' printed, with all that follows its #.')));
}
