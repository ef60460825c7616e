// What the page knows of the store, kept up to date: checkpoints newest first, the state of the directory, undo and redo.

import { ask, recall } from './api.js';

export const store = { rows: [], byId: new Map(), status: null, undo: [], redo: [], phases: new Map(), operations: new Map(), all: false, readOnly: false };
const listeners = new Set();

/** Calls `done` after each change, until what it returns is called. */
export const onChange = (done) => (listeners.add(done), () => listeners.delete(done));
export const tell = () => { for (const done of [...listeners]) done(); };

const [FIRST, MOST_AGAIN] = [80, 1000];
let [loading, next] = [null, null];

/** Reads what may have changed; calls while it runs become one more. */
export function refresh() {
  if (!loading) return (loading = load().finally(() => (loading = null)));
  return (next ??= loading.catch(() => {}).then(() => ((next = null), refresh())));
}

async function load() {
  const part = await quiet(['list', '--stat', '-n', String(FIRST)]);
  if (part) merge(part.checkpoints, part.checkpoints.length < FIRST);
  tell();
  const [status, steps] = await Promise.all([ask(['status']), quiet(['undo', '--list'])]);
  [store.status, store.undo, store.redo] = [status, steps?.undo ?? [], steps?.redo ?? []];
  tell();
  const known = status.checkpoint_count + status.safety_count;
  if (!store.all || store.rows.length !== known || (known > FIRST && known <= MOST_AGAIN)) {
    const whole = await quiet(['list']);
    if (whole) merge(whole.checkpoints, true);
  }
  await Promise.all([phases(), operations()]);
  tell();
}

const quiet = (args) => ask(args).catch((why) => {
  if (['gone', 'token'].includes(why.code)) throw why;
  return null;
});

/** Puts newer rows before those that are known, and keeps counts that were read before. */
function merge(rows, whole) {
  const oldest = rows.at(-1)?.sequence ?? Infinity;
  for (const row of rows) {
    const before = store.byId.get(row.id);
    row.counts ??= before?.counts ?? null;
    row.lines = before?.lines;
  }
  store.rows = whole ? rows : [...rows, ...store.rows.filter((row) => row.sequence < oldest)];
  store.all ||= whole;
  store.byId = new Map(store.rows.map((row) => [row.id, row]));
}

/** Which phase of a workflow began or ended with which checkpoint. */
async function phases() {
  const list = await quiet(['workflow', 'list', '--all']);
  const runs = await Promise.all((list?.workflows ?? []).slice(0, 8).map((run) => quiet(['workflow', 'show', run.id])));
  store.phases.clear();
  const note = (id, text) => id && store.phases.set(id, [...(store.phases.get(id) ?? []), text]);
  for (const phase of runs.flatMap((run) => run?.phases ?? [])) {
    note(phase.before_id, `phase ${phase.id}`);
    if (phase.after_id !== phase.before_id) note(phase.after_id, `${phase.id} done`);
  }
}

/** What each safety checkpoint was made for. */
async function operations() {
  const wanted = store.rows.filter((row) => row.kind === 'safety' && !store.operations.has(row.id)).slice(0, 120);
  for (const row of wanted) {
    const shown = await recall(['show', row.id]).catch(() => null);
    store.operations.set(row.id, shown?.checkpoint.operation ?? null);
  }
}

/** The checkpoint after which each one was made: a restore of everything goes on from where it led. */
export function parents(rows) {
  const parent = new Map();
  let last = null;
  for (let i = rows.length - 1; i >= 0; i--) {
    const row = rows[i];
    parent.set(row.id, last);
    const done = row.kind === 'safety' ? store.operations.get(row.id) : null;
    const whole = done?.target?.id && !done.paths.length && !done.glob.length && !done.exclude.length;
    last = whole && store.byId.has(done.target.id) ? done.target.id : row.id;
  }
  return parent;
}

/** Lanes of a graph, newest first: `column` of each row, and lines from above and to below. */
export function lanes(nodes) {
  const waiting = [];
  return nodes.map(({ id, parent }) => {
    const before = [...waiting];
    const column = [waiting.indexOf(id), waiting.indexOf(null), waiting.length].find((at) => at >= 0);
    const joins = [];
    waiting.forEach((wanted, i) => {
      if (wanted === id && i !== column) (joins.push(i), (waiting[i] = null));
    });
    waiting[column] = parent ?? null;
    while (waiting.length && waiting.at(-1) === null) waiting.pop();
    const through = before.map((wanted, i) => (wanted && wanted !== id ? i : -1)).filter((i) => i >= 0);
    return { column, joins, through, up: before[column] === id, down: parent !== null && parent !== undefined };
  });
}
