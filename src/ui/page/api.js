// What the server answers: the documents of `--json`, contents of files, and news of the store.

const [KEY, BEFORE] = ['checkpoint-token', 'checkpoint-token-before'];
const key = () => sessionStorage.getItem(KEY) ?? '';

/** Takes the token out of the address. Returns whether there was one. */
export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (!found) return false;
  // One to which nothing was answered yet takes the place of none.
  if (!sessionStorage.getItem(BEFORE)) sessionStorage.setItem(BEFORE, key());
  sessionStorage.setItem(KEY, found[1]);
  history.replaceState(null, '', `${location.pathname}#/`);
  return true;
}

// A report has its data inside, and no server.
const held = JSON.parse(document.getElementById('data')?.textContent ?? 'null');

/** Whether this page is a report: a file, with nothing but checkpoints and what changed in each. */
export const isReport = held !== null;
export const hasToken = () => isReport || sessionStorage.getItem(KEY) !== null;

/** What one does in the page, where the hint is for a terminal. */
const IN_PAGE = { consent_needed: 'Look at the plan again.', root_missing: "Run 'checkpoint ui' where the directory is now." };
/** A command that failed, with what its document says. */
export class Failure extends Error {
  constructor(error) {
    super(error.message.replace(/, and the plan is now \w+$/, '').replace(/^[a-z](?=[a-z]* )/, (c) => c.toUpperCase()));
    [this.code, this.hint, this.paths] = [error.code, IN_PAGE[error.code] ?? error.hint, error.paths ?? []];
  }
}

const post = async (where, body) => {
  const used = key();
  const options = { method: body ? 'POST' : 'GET', headers: { 'X-Token': used }, cache: 'no-store' };
  if (body) [options.headers['Content-Type'], options.body] = ['application/json', JSON.stringify(body)];
  let answer;
  try {
    answer = await fetch(where, options);
  } catch {
    throw new Failure({ code: 'gone', message: 'the server does not answer', hint: "run 'checkpoint ui' again, and open the address that it prints" });
  }
  // A key that is not known does not take the place of one that is, and each answer is one about the key of its call.
  if (used === key() && (answer.ok || answer.status === 401)) {
    const before = sessionStorage.getItem(BEFORE);
    sessionStorage.removeItem(BEFORE);
    if (answer.status === 401 && before) sessionStorage.setItem(KEY, before);
  }
  if (answer.status === 401 && used !== key()) return post(where, body);
  if (answer.status === 401 || (answer.status === 403 && !body)) throw new Failure({ code: 'token', message: 'the server does not know this page', hint: "open the address that 'checkpoint ui' printed" });
  if (!answer.ok) throw new Failure({ code: `http_${answer.status}`, message: (await answer.text()).trim().slice(0, 300) || `the server refused (${answer.status})` });
  return answer;
};

/** What a report holds of the answer to a command. */
function recorded(args) {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const [words, path] = [args.slice(1, end), args[end + 1]];
  const ids = words.filter((word) => /^[0-9a-f]{40}$/.test(word));
  const shown = held.answers[`show ${ids.at(-1)}`];
  const data = path === undefined
    ? words.every((word) => ids.includes(word) || /^(-n|--stat|--list|--all|\d+|show|list)$/.test(word) || args[0] === 'workflow') && held.answers[[args[0], ...words.filter((word) => !/^-|^\d+$/.test(word))].join(' ')]
    : [undefined, shown?.before?.id].includes(ids.at(-2)) && shown && path in held.patches[ids.at(-1)] && { patch: held.patches[ids.at(-1)][path] };
  if (!data) throw new Failure({ code: 'not_held', message: 'this report does not hold that', hint: "'checkpoint ui' shows it, where the checkpoints are" });
  return { ...structuredClone(data), warnings: [] };
}

/** Runs a command, and returns its data. What it warned of is in `warnings`. */
export async function ask(args, more = {}) {
  if (held) return recorded(args);
  const document = await (await post('/api/run', { args, ...more })).json();
  if (document.data === null) throw new Failure(document.error ?? { message: 'the command gave no answer' });
  return Object.assign(document.data, { warnings: document.warnings });
}

/** The largest file whose content or difference is shown. */
export const LARGEST = 8 << 20;
const typed = (it) => /^[0-9a-f]{40}$/.test(it) ? it.slice(0, 8) : /^[\w./@:~-]+$/.test(it) ? it : `'${it.replaceAll("'", "'\\''")}'`;
/** That a file is too large, with the command that shows it. */
export const tooLarge = (...args) => new Failure({ code: 'too_large', message: 'this file is too large to be shown here', hint: `in a terminal: checkpoint ${args.map(typed).join(' ')}` });

/** The content of a file in a checkpoint. */
export async function content(id, path) {
  const asked = ['cat', id, '--', path];
  return (await post('/api/content', { args: asked }).catch((why) => Promise.reject(why.code === 'http_413' ? tooLarge(...asked) : why))).blob();
}

const kept = new Map();
/** As `ask`, for what never changes: an answer about checkpoints alone is kept. */
export function recall(args) {
  const key = args.join('\0');
  if (!kept.has(key)) {
    if (kept.size > 400) kept.delete(kept.keys().next().value);
    kept.set(key, ask(args).catch((why) => (kept.delete(key), Promise.reject(why))));
  }
  return kept.get(key);
}

/** Calls `changed` with the event of each change of the store, and `up(false)` while the server is away. */
export async function listen(changed, up) {
  if (held) return changed({ may_change: false });
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const reader = (await post('/api/events')).body.pipeThrough(new TextDecoderStream()).getReader();
      up(true);
      for (wait = 500; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        for (const [, event] of value.matchAll(/^data: (\{.*\})$/gm)) changed(JSON.parse(event));
      }
    } catch (why) {
      up(false, why);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    up(false);
  }
}
