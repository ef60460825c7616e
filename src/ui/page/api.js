// What the server answers: the documents of `--json`, contents of files, and news of the store.

const KEY = 'checkpoint-token';

/** Takes the token out of the address. Returns whether there was one. */
export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (!found) return false;
  sessionStorage.setItem(KEY, found[1]);
  history.replaceState(null, '', `${location.pathname}#/`);
  return true;
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

/** A command that failed, with what its document says. */
export class Failure extends Error {
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.hint = error.hint;
    this.paths = error.paths ?? [];
  }
}

const post = async (where, body) => {
  const options = { method: body ? 'POST' : 'GET', headers: { 'X-Token': sessionStorage.getItem(KEY) ?? '' }, cache: 'no-store' };
  if (body) [options.headers['Content-Type'], options.body] = ['application/json', JSON.stringify(body)];
  let answer;
  try {
    answer = await fetch(where, options);
  } catch {
    throw new Failure({ code: 'gone', message: 'the server does not answer', hint: "run 'checkpoint ui' again, and open the address that it prints" });
  }
  if (answer.status === 401 || (answer.status === 403 && !body)) throw new Failure({ code: 'token', message: 'the server does not know this page', hint: "open the address that 'checkpoint ui' printed" });
  if (!answer.ok) throw new Failure(await refusal(answer));
  return answer;
};

async function refusal(answer) {
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text);
    if (error.message) return error;
  } catch { /* not a document */ }
  return { code: `http_${answer.status}`, message: text.trim().slice(0, 300) || `the server refused (${answer.status})`, hint: null };
}

/** Runs a command, and returns its data. What it warned of is in `warnings`. */
export async function ask(args, more = {}) {
  const document = await (await post('/api/run', { args, ...more })).json();
  if (document.data === null) throw new Failure(document.error ?? { message: 'the command gave no answer' });
  return Object.assign(document.data, { warnings: document.warnings });
}

/** The content of a file in a checkpoint. */
export const content = async (id, path) => (await post('/api/content', { args: ['cat', id, '--', path] })).blob();

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

/** Calls `changed` with what is told of each change of the store, and `up(false)` while the server is away. */
export async function listen(changed, up) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const reader = (await post('/api/events')).body.pipeThrough(new TextDecoderStream()).getReader();
      up(true);
      for (wait = 500; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        for (const [, told] of value.matchAll(/^data: (\{.*\})$/gm)) changed(JSON.parse(told));
      }
    } catch (why) {
      up(false, why);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    up(false);
  }
}
