// A project with a store, and the server on it.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';

/** Names of which some look like another one, as they are shown. */
export const ALIKE = { 'nb\u00a0sp': 'nb\\u{a0}sp', 'nb sp': 'nb sp', 'caf\u00e9': 'caf\u00e9', 'cafe\u0301': 'cafe\\u{301}', 'vs\ufe0f': 'vs\\u{fe0f}', 'vs': 'vs', '\u2764\ufe0f': '\u2764\ufe0f', '\u212b': '\\u{212b}', '\u1100\u1161': '\u1100\\u{1161}', 'fill\u3164': 'fill\\u{3164}' };
export const ODD = { markup: '<img src=x onerror="window.ran=1"> & <b>', bidi: 'a\u202egnp.exe', escape: 'esc\x1b[31m.txt' };

/** A square of one colour. */
export function png(size, colour) {
  const rows = Buffer.concat(Array.from({ length: size }, () => Buffer.from([0, ...Array(size).fill(colour).flat()])));
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(zlib.crc32 ? zlib.crc32(body) : crc(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', zlib.deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let i = 0; i < 8; i++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

export class Project {
  constructor(program, name = 'parser') {
    this.program = program;
    this.base = fs.mkdtempSync(path.join(os.tmpdir(), 'ui-'));
    this.root = path.join(this.base, name);
    fs.mkdirSync(this.root);
    fs.mkdirSync(path.join(this.base, 'home'));
    this.env = { ...process.env, HOME: path.join(this.base, 'home'), NO_COLOR: '1', CLAUDE_PROJECT_DIR: this.root };
  }

  write(name, content) {
    const file = path.join(this.root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }

  read(name) {
    return fs.readFileSync(path.join(this.root, name), 'utf8');
  }

  run(...args) {
    return execFileSync(this.program, args, { cwd: this.root, env: this.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });
  }

  /** Saves the directory; returns the id. */
  save(reason, ...more) {
    return JSON.parse(this.run('create', '--reason', reason, ...more, '--json')).data.checkpoint?.id ?? this.id('latest');
  }

  id(selector) {
    return JSON.parse(this.run('show', selector, '--json')).data.checkpoint.id;
  }

  hook(event, more) {
    const input = JSON.stringify({ session_id: '5f0c2a9e-1111-4222-8333-944455556666', cwd: this.root, hook_event_name: event, transcript_path: '/dev/null', ...more });
    execFileSync(this.program, ['hook', '--agent', 'claude'], { cwd: this.root, env: this.env, input });
  }

  /** Every file and its content, as one text. */
  content() {
    const all = [];
    const walk = (at) => {
      for (const it of fs.readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const file = path.join(at, it.name);
        if (it.isDirectory()) all.push(`${path.relative(this.root, file)}/`), walk(file);
        else all.push(`${path.relative(this.root, file)} ${(fs.statSync(file).mode & 0o777).toString(8)} ${fs.readFileSync(file).toString('base64')}`);
      }
    };
    walk(this.root);
    return all.join('\n');
  }

  /** Starts the server; returns its address. */
  async serve(...args) {
    const server = spawn(this.program, ['ui', '--no-open', ...args], { cwd: this.root, env: this.env });
    this.server = server;
    let said = '';
    return new Promise((resolve, reject) => {
      const look = (part) => {
        said += part;
        const found = /http:\/\/\S+#token=[\w-]+/.exec(said);
        if (found) resolve(found[0]);
      };
      server.stdout.on('data', look);
      server.stderr.on('data', look);
      server.on('exit', () => reject(new Error(`the server ended: ${said}`)));
    });
  }

  end() {
    this.server?.kill('SIGKILL');
    fs.rmSync(this.base, { recursive: true, force: true, maxRetries: 5 });
  }
}

const steps = (input, how) => Array.from({ length: 14 }, (_, i) => `fn step_${i}(${input}: &str) -> usize {\n    let words = ${input}.${how}().count();\n    words + ${i}\n}\n`).join('\n');

/** A project with what a few days with an agent leave behind; names of what can be chosen are returned. */
export function sample(project) {
  const ids = {};
  project.write('src/main.rs', steps('input', 'split_whitespace'));
  project.write('src/lib.rs', 'pub mod parser;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n');
  project.write('README.md', '# Parser\n\nA small parser for a small language.\n\n## Use\n\n    parser FILE\n');
  project.write('docs/logo.png', png(64, [40, 90, 200]));
  project.write('src/parser/lexer.rs', Array.from({ length: 60 }, (_, i) => `// line ${i}\n`).join(''));
  ids.first = project.save('the project as it came');
  project.write('src/lib.rs', 'pub mod parser;\npub mod tokens;\n\n/// Adds.\npub fn add(left: i32, right: i32) -> i32 {\n    left + right\n}\n');
  project.write('src/tokens.rs', 'pub enum Token { Word, Number }\n');
  ids.tokens = project.save('add tokens');
  project.hook('SessionStart', { source: 'startup' });
  project.write('notes.md', 'Rename, then test.\n');
  project.hook('UserPromptSubmit', { prompt: 'Rename the parameters of the step functions, and write a test for the lexer.' });
  project.write('src/main.rs', steps('text', 'split_whitespace').replace('words + 7', 'words * 7'));
  project.hook('PreToolUse', { tool_name: 'Bash', tool_use_id: 't1', tool_input: { command: 'cargo fmt' } });
  project.write('tests/lexer.rs', Array.from({ length: 20 }, (_, i) => `#[test]\nfn lexes_${i}() {\n    assert_eq!(lex("${i}"), ${i});\n}\n`).join('\n'));
  project.hook('PreToolUse', { tool_name: 'Bash', tool_use_id: 't2', tool_input: { command: 'cargo test' } });
  project.write('docs/logo.png', png(96, [200, 60, 60]));
  project.write('src/parser/lexer.rs', Array.from({ length: 64 }, (_, i) => `// line ${i}${i % 9 ? '' : ' of the lexer'}\n`).join(''));
  project.hook('UserPromptSubmit', { prompt: 'Now make the logo red.' });
  ids.logo = project.id('latest');
  project.write('src/main.rs', steps('text', 'split_ascii_whitespace'));
  fs.rmSync(path.join(project.root, 'src/tokens.rs'));
  ids.before = project.save('before refactor');
  project.run('pin', ids.before);
  project.write('src/lib.rs', 'broken\n');
  project.write('src/new.rs', 'fn main() {}\n');
  project.save('refactor, first try');
  project.write('src/new.rs', 'fn main() { panic!() }\n');
  ids.second = project.save('refactor, second try');
  project.run('restore', ids.before, '--yes');
  project.write('src/lib.rs', 'pub mod parser;\n\n/// Adds two numbers.\npub fn add(left: i32, right: i32) -> i32 {\n    left.wrapping_add(right)\n}\n');
  ids.small = project.save('refactor, small steps');
  return ids;
}

/** Adds names and contents that try to act on who shows them. */
export function odd(project) {
  project.write(`src/${ODD.markup.replaceAll('/', '_')}.txt`, '<script>window.ran=2</script>\n\x1b[31mred\x1b[0m \u202eabc\n');
  project.write(`src/${ODD.bidi}`, 'one\n');
  project.write(ODD.escape, 'two\n');
  for (const name of [...Object.keys(ALIKE), 'bad\\xff.txt', 'bad ', 'bad', 'bad\n', 'bad\u{e0041}']) project.write(name, 'odd\n');
  project.write('evil.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>parent.ran=3</script></svg>\n');
  fs.writeFileSync(Buffer.concat([Buffer.from(`${project.root}/bad`), Buffer.from([0xff]), Buffer.from('.txt')]), 'three\n');
  return project.save(`${ODD.markup} ${ODD.bidi} ${ODD.escape}`);
}
