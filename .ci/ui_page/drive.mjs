// node drive.mjs PROGRAM BROWSER [pictures FOLDER]: the page in a real browser.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { execFileSync } from 'node:child_process';
import { ALIKE, ODD, Project, odd, png, sample } from './project.mjs';

const [program, executablePath, task, folder] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const LENGTH = Number(process.env.UI_CHECKPOINTS ?? 600);

/** The tabs of the present check. */
let opened = [];

/** A tab at an address; what goes wrong in it is in `faults`. */
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.faults = [];
  opened.push(page);
  page.on('pageerror', (why) => page.faults.push(String(why.stack)));
  page.on('console', (line) => line.type() === 'error' && !/ERR_(CONNECTION|INCOMPLETE|EMPTY)|Failed to fetch/.test(line.text()) && page.faults.push(line.text()));
  page.on('dialog', (dialog) => (page.faults.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on('request', (asked) => !asked.url().startsWith(url.replace(/[^/]*$/, '')) && !/^(blob|data):/.test(asked.url()) && page.faults.push(`asks ${asked.url()}`));
  await page.goto(url);
  await page.waitForSelector('.entry.row, .empty');
  return page;
}

/** Goes to a view, and waits until it is whole. */
async function go(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await settled(page);
}

/** Does what the plan of the view says. */
async function carryOut(page) {
  await page.click('#go:not(:disabled)');
  await page.waitForSelector('.done');
}

async function undo(page) {
  await page.click('#undo:not(:disabled)');
  await page.click('#dialog .primary');
  await page.waitForSelector('#redo:not(:disabled)');
}

async function settled(page) {
  await page.waitForFunction(() => !/Loading …|Searching …/.test(document.getElementById('main').textContent) && document.querySelector('h1') && !document.querySelector('[aria-busy]'));
  await page.waitForTimeout(120);
}

const views = (ids) => ['#/', '#/at/here', `#/at/${ids.before}`, `#/at/${ids.logo}`, `#/at/${ids.small}/${ids.first}`, '#/files', '#/file/src%2Flib.rs', `#/file/src%2Flib.rs/${ids.tokens}`, `#/back/${ids.before}`, `#/back/${ids.before}/src`, '#/room'];

const checks = {
  async 'from the timeline to a diff, back, and undone'(project, ids) {
    project.write('README.md', 'changed by hand\n');
    project.write('scratch/new.txt', 'new\n');
    const naive = project.content();
    const page = await open(await project.serve());
    await page.click('.row-link:has-text("before refactor")');
    await page.waitForSelector('.diff mark');
    assert.match(await page.textContent('h1'), /before refactor/);
    await page.selectOption('.against select', 'here');
    await page.waitForSelector('.file:has-text("new.txt")');
    await page.click('a:has-text("Go back to this")');
    await page.waitForSelector('#go');
    assert.match(await page.textContent('.plan'), /scratch\/new\.txt/);
    await carryOut(page);
    assert.equal(JSON.parse(project.run('diff', ids.before, '--json')).data.changes.length, 0, 'the directory is as the checkpoint');
    assert.equal(fs.existsSync(path.join(project.root, 'scratch')), false);
    await undo(page);
    assert.equal(project.content(), naive, 'the undo brings back what a naive copy holds');
    await page.click('#redo');
    await page.click('#dialog .primary');
    await page.waitForSelector('#redo:disabled');
    assert.equal(JSON.parse(project.run('diff', ids.before, '--json')).data.changes.length, 0);
    project.run('undo', '--yes');
    assert.equal(project.content(), naive);
  },

  async 'one file, and one folder'(project, ids) {
    project.write('README.md', 'changed\n');
    project.write('src/a/new.txt', 'new\n');
    project.write('src/lib.rs', 'changed\n');
    const page = await open(await project.serve());
    await go(page, `#/back/${ids.small}/README.md`);
    await carryOut(page);
    assert.match(project.read('README.md'), /small language/);
    assert.equal(project.read('src/lib.rs'), 'changed\n', 'nothing else is touched');
    await go(page, `#/back/${ids.small}`);
    await page.check('input[value=some]');
    await page.check('.pick-line:has-text("src/") >> nth=0 >> input');
    await carryOut(page);
    assert.equal(JSON.parse(project.run('diff', ids.small, '--json')).data.changes.length, 0);
  },

  async 'one change inside a file'(project, ids) {
    fs.rmSync(path.join(project.root, 'README.md'));
    fs.symlinkSync('notes.md', path.join(project.root, 'README.md'));
    const lines = project.read('src/main.rs').split('\n');
    [lines[1], lines[31]] = ['    let words = 1;', '    let words = 2;'];
    project.write('src/main.rs', lines.join('\n'));
    const page = await open(await project.serve());
    await go(page, `#/back/${ids.small}/src%2Fmain.rs`);
    await page.check('input[value=hunks]');
    await page.waitForSelector('.choice select');
    assert.deepEqual(await page.locator('.choice option').allTextContents(), ['src/main.rs'], 'only files with changes that can be chosen');
    await page.check('.hunk input >> nth=1');
    await carryOut(page);
    lines[31] = '    let words = text.split_ascii_whitespace().count();';
    assert.equal(project.read('src/main.rs'), lines.join('\n'), 'the first change stays, the second is gone');
  },

  async 'a change in a name that ends in a blank goes back, one that is not UTF-8 is not offered'(project) {
    const text = (odd, last) => Buffer.from(`one\ncaf\xe9 ${odd}\n${'.\n'.repeat(20)}${last}\nold mode 1\n`, 'latin1');
    for (const name of ['blank ', 'latin']) project.write(name, text(1, 'two'));
    const many = (last) => Array.from({ length: 900 }, (_, i) => `${i} ${i % 10 ? '' : last}\n`).join('');
    project.write('many', many('a'));
    const id = project.save('names and bytes');
    project.write('blank ', text(1, 'three'));
    project.write('latin', text(2, 'three'));
    project.write('many', many('b'));
    const page = await open(await project.serve());
    await go(page, `#/back/${id}`);
    await page.check('input[value=hunks]');
    await page.selectOption('.choice select', 'many');
    await page.check('.hunk:has-text("Change 1 of 90") input');
    for (const y of [1e6, 0]) await page.evaluate((to) => scrollTo(0, to), y), await page.waitForTimeout(400);
    assert.ok(await page.isChecked('.hunk:has-text("Change 1 of 90") input'), 'it is still chosen');
    for (const name of ['blank ', 'latin']) {
      await page.selectOption('.choice select', name);
      await page.waitForSelector(name === 'latin' ? '.hunk:has-text("not UTF-8")' : '.hunk:has-text("Change 1 of 1")');
      assert.equal(await page.locator('.hunk input').count(), 1);
      await page.check('.hunk input');
    }
    await page.selectOption('.choice select', 'many');
    assert.ok(await page.isChecked('.hunk:has-text("Change 1 of 90") input'), 'it is chosen still');
    await page.uncheck('.hunk:has-text("Change 1 of 90") input');
    await page.waitForSelector('#go:has-text("write 2"):not(:disabled)');
    await carryOut(page);
    for (const [name, odd] of [['blank ', 1], ['latin', 2]]) assert.deepEqual(fs.readFileSync(path.join(project.root, name)), text(odd, 'two'));
  },

  async 'a finished restore names what was edited meanwhile, and undo brings it back'(project, ids) {
    try {
      execFileSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=renameat2', '-e', 'inject=renameat2:signal=KILL:when=2', program, 'restore', ids.first, '--yes'], { cwd: project.root, env: project.env, stdio: 'ignore' });
    } catch (why) {
      if (why.code === 'ENOENT') return console.log('  skipped: strace is not here');
    }
    project.write('README.md', 'edited meanwhile\n');
    const page = await open(await project.serve());
    await page.click('#banner button:has-text("Finish")');
    await page.click('#dialog .primary');
    await page.waitForSelector('#dialog:has-text("edited meanwhile is kept in")');
    await page.click('#dialog button');
    assert.doesNotMatch(project.read('README.md'), /edited/);
    await undo(page);
    assert.equal(project.read('README.md'), 'edited meanwhile\n');
  },

  async 'what is read stays in its place as long as it is so'(project, ids) {
    project.write('README.md', 'changed\n');
    fs.chmodSync(path.join(project.root, 'README.md'), 0o755);
    const page = await open(await project.serve());
    await go(page, '#/at/here');
    await page.waitForSelector('.file-head:has-text("mode 100644 → 100755")');
    await page.evaluate(() => (document.querySelector('.pane').dataset.known = 'yes'));
    project.run('pin', ids.first);
    await page.waitForTimeout(1500);
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.waitForTimeout(1000);
    assert.equal(await page.locator('.pane[data-known]').count(), 1);
    project.write('late.txt', 'late\n');
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.waitForSelector('.file:has-text("late.txt")');
  },

  async 'a picture that became text is shown on each side as what it is'(project) {
    const picture = png(16, [9, 9, 9]);
    project.write('a.png', picture);
    project.write('b.png', 'text of b\n');
    project.save('before');
    project.write('a.png', 'text of a\n');
    project.write('b.png', picture);
    const id = project.save('after');
    const page = await open(await project.serve());
    for (const [name, sides] of [['a.png', ['img', '.code:has-text("text of a")']], ['b.png', ['.code:has-text("text of b")', 'img']]]) {
      await go(page, `#/at/${id}`);
      await page.click(`.file:has-text("${name}")`);
      for (const [i, side] of sides.entries()) await page.waitForSelector(`.images > figure >> nth=${i} >> ${side}`);
    }
  },

  async 'on a phone, rows of files are whole and no button hides the plan'(project, ids) {
    for (let i = 0; i < 30; i++) project.write(`many/file-${i}.txt`, `${i}\n`);
    const id = project.save('many files');
    const page = await open(await project.serve(), { viewport: { width: 360, height: 740 } });
    await go(page, `#/at/${id}`);
    const cut = await page.evaluate(() => {
      const end = document.querySelector('.files').getBoundingClientRect().bottom;
      return [...document.querySelectorAll('.files [role=presentation] > *')].map((it) => it.getBoundingClientRect()).filter((it) => it.top < end - 1 && it.bottom > end).map((it) => [it.top, it.bottom, end]);
    });
    assert.deepEqual(cut, []);
    await go(page, `#/back/${ids.first}`);
    await page.waitForSelector('#go');
    const hidden = await page.evaluate(() => {
      const buttons = document.querySelector('.plan .actions').getBoundingClientRect();
      return [...document.querySelectorAll('.plan-list li')].map((it) => it.getBoundingClientRect()).filter((it) => it.bottom > buttons.top + 1 && it.top < buttons.bottom).length;
    });
    assert.equal(hidden, 0);
  },

  async 'a plan that is out of date is refused, and shown anew'(project, ids) {
    project.write('README.md', 'changed\n');
    const page = await open(await project.serve());
    await go(page, `#/back/${ids.small}`);
    await page.waitForSelector('#go');
    project.write('README.md', 'changed again, by others\n');
    project.write('late.txt', 'late\n');
    await page.click('#go');
    await page.waitForSelector('.plan .failure');
    assert.equal(project.read('late.txt'), 'late\n');
    await page.click('.plan button');
    await page.waitForSelector('#go');
    assert.match(await page.textContent('.plan'), /late\.txt/);
  },

  async 'a checkpoint by another process appears within a second, in two tabs'(project) {
    const url = await project.serve();
    const tabs = [await open(url), await open(url)];
    const times = [];
    for (const turn of ['once', 'again', 'a third time']) {
      project.write('other.txt', `by another process ${turn}\n`);
      project.save(`by another process ${turn}`);
      const began = Date.now();
      for (const tab of tabs) await tab.waitForSelector(`.row-link:has-text("by another process ${turn}")`, { timeout: 5000 });
      times.push(Date.now() - began);
    }
    // Two of three: other programs run beside this one in CI.
    assert.ok(times.sort((a, b) => a - b)[1] < 1000, `it took ${times} ms`);
    project.run('restore', 'refactor, first try', '--yes');
    for (const tab of tabs) await tab.waitForSelector('#undo:not(:disabled)');
    await tabs[0].click('#undo');
    await tabs[0].click('#dialog .primary');
    for (const tab of tabs) await tab.waitForSelector('#redo:not(:disabled)');
    assert.equal(project.read('other.txt'), 'by another process a third time\n');
  },

  async 'the server is killed in the middle of a restore, and started again'(project) {
    for (let i = 0; i < 6000; i++) project.write(`many/${i % 60}/${i}.txt`, `first ${i}\n`);
    const first = project.save('many files', '--max-files', '0');
    const before = project.content();
    for (let i = 0; i < 6000; i++) project.write(`many/${i % 60}/${i}.txt`, `second ${i}\n`);
    project.save('many other files', '--max-files', '0');
    const after = project.content();
    const begun = () => [0, 1, 2, 3, 4, 5].some((i) => project.read(`many/${i * 11}/${i * 11}.txt`).startsWith('first'));
    let pending = false;
    for (let turn = 0; !pending && turn < 6; turn++) {
      const page = await open(await project.serve());
      await go(page, `#/back/${first}`);
      await page.click('#go');
      for (const end = Date.now() + 60000; !begun() && Date.now() < end; ) await new Promise((done) => setTimeout(done, 1));
      project.server.kill('SIGKILL');
      await page.waitForFunction(() => /does not answer/.test(document.body.textContent));
      await page.context().close();
      pending = JSON.parse(project.run('status', '--json')).data.pending !== null;
      if (!pending) project.run('undo', '--yes');
    }
    assert.ok(pending, 'the server could be killed in the middle');
    const page = await open(await project.serve());
    const between = project.content();
    await page.click('#banner button:has-text("Finish it")');
    assert.match(await page.textContent('#dialog .primary'), /^Finish it: write [\d,]+/);
    assert.equal(project.content(), between, 'the plan comes first');
    await page.click('#dialog .primary');
    await page.waitForFunction(() => /is finished/.test(document.getElementById('status').textContent), null, { timeout: 60000 });
    assert.equal(project.content(), before, 'it is finished');
    await page.click('#undo:not(:disabled)');
    await page.click('#dialog .primary');
    await page.waitForFunction(() => /Undone/.test(document.getElementById('status').textContent), null, { timeout: 60000 });
    assert.equal(project.content(), after, 'and can be undone');
  },

  async 'a reload shows the same in every view'(project, ids) {
    const page = await open(await project.serve());
    assert.equal(new URL(page.url()).hash, '#/', 'the token is not in the address bar');
    for (const hash of views(ids)) {
      await go(page, hash);
      const shown = await page.evaluate(() => document.querySelector('h1').textContent);
      await page.reload();
      await settled(page);
      assert.equal(await page.evaluate(() => document.querySelector('h1').textContent), shown, hash);
    }
    await go(page, `#/at/${ids.small}`);
    await page.reload();
    await page.waitForSelector('.against optgroup option', { state: 'attached' });
    const late = project.save('soon gone', '--force');
    await go(page, '#/');
    await page.waitForSelector(`a[href="#/at/${late}"]`);
    await go(page, `#/at/${late}`);
    project.run('delete', late, '--yes');
    await page.waitForSelector('h1:has-text("Deleted")');
    // Calls with the key before, and others with the new one, are under way meanwhile.
    await page.addInitScript(() => addEventListener('DOMContentLoaded', () => dispatchEvent(new Event('focus'))));
    await page.evaluate(() => { dispatchEvent(new Event('focus')); location.hash = '#token=zzz'; });
    await page.waitForSelector('.entry.row');
    // Two addresses, one after the other, before anything is answered.
    await page.evaluate(() => { sessionStorage.setItem('checkpoint-token-before', sessionStorage.getItem('checkpoint-token')); sessionStorage.setItem('checkpoint-token', 'zzz'); location.hash = '#token=yyy'; });
    await page.waitForSelector('.entry.row');
    page.faults.splice(0, Infinity, ...page.faults.filter((it) => !it.includes('401')));
    await page.goBack();
    await settled(page);
  },

  async 'a slow view is busy, a long reason is whole on a phone, and the root comes before folders'(project, ids) {
    const reason = 'a reason that is longer than one line, and is read to its very end';
    for (const name of ['a/x.txt', 'm.txt', 'z/y.txt']) project.write(name, `${name}\n`);
    const id = project.save(reason);
    const page = await open(await project.serve(), { viewport: { width: 360, height: 740 } });
    const cut = await page.locator('.line', { hasText: reason }).evaluate((it) => it.scrollHeight - it.clientHeight + it.scrollWidth - it.clientWidth);
    assert.equal(cut, 0, 'nothing of the reason is cut');
    await page.route('**/api/run', async (route) => (await new Promise((done) => setTimeout(done, 800)), route.continue()));
    await page.evaluate((to) => { location.hash = to; }, `#/at/${id}`);
    await page.waitForSelector('main[aria-busy=true] .timeline');
    await page.waitForSelector('main:not([aria-busy]) .file');
    assert.deepEqual(await page.locator('.files .file .name').allTextContents(), ['m.txt', 'x.txt', 'y.txt']);
    await go(page, `#/at/here/${ids.first}`);
    assert.equal(await page.locator('.tab').count(), 0);
    await go(page, '#/room');
    const heights = (await page.getAttribute('.curve', 'd')).match(/(?<=V|M0 )[\d.]+/g).map(Number);
    assert.ok(Math.max(...heights) - Math.min(...heights) > 100, `the chart uses its height: ${heights}`);
  },

  async 'names and contents are text, whatever they are made of'(project, ids) {
    ids.odd = odd(project);
    const page = await open(await project.serve());
    const has = async (hash, ...texts) => {
      await go(page, hash);
      const shown = await page.textContent('main');
      for (const text of texts) assert.ok(shown.includes(text), `${hash} shows ${text}: ${shown.slice(0, 400)}`);
      assert.doesNotMatch(shown, /[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/, hash);
    };
    const names = [...Object.values(ALIKE), ODD.markup, 'a\\u{202e}gnp.exe', 'esc\\x1b[31m.txt', 'bad\\xff.txt', 'bad\\\\xff.txt', "'bad '", 'bad\\x0a', 'bad\\u{e0041}'];
    await has('#/', ODD.markup, 'a\\u{202e}gnp.exe', 'esc\\x1b[31m.txt');
    await has(`#/at/${ids.odd}`, ...names, 'evil.svg');
    for (const file of await page.locator('.file').all()) await file.click(), await settled(page);
    await has(`#/back/${ids.small}`, ...names);
    await page.check('input[value=some]');
    await page.waitForSelector(`.pick-line:has-text("gnp.exe")`);
    await has(`#/file/${encodeURIComponent(`src/${ODD.markup}.txt`)}`, ODD.markup, '<script>window.ran=2</script>', '\\x1b[31mred', '\\u{202e}abc');
    await has(`#/file/evil.svg`, 'evil.svg');
    await has(`#/file/${encodeURIComponent(`src/${ODD.bidi}`)}`, 'a\\u{202e}gnp.exe');
    await go(page, `#/at/${ids.odd}`);
    await page.click('.file:has-text("evil.svg")');
    await page.waitForSelector('.pane .code:has-text("parent.ran")');
    await has(`#/file/${encodeURIComponent('bad\\xff.txt')}`, 'bad\\\\xff.txt', '1 version');
    await has('#/files', ...names.filter((name) => name !== ODD.markup && !name.includes('gnp')));
    await page.click('.tree .name:text-matches("^bad.xff.txt")');
    await page.waitForSelector('#dialog:has-text("is not UTF-8")');
    await has('#/room', 'esc\\x1b[31m.txt');
    assert.equal(await page.evaluate(() => window.ran), undefined, 'nothing ran');
  },

  async 'axe-core finds nothing, in both themes and on a phone'(project, ids) {
    project.write('README.md', 'changed\n');
    const url = await project.serve();
    const found = [];
    const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    // Another theme has other colours, and nothing else.
    for (const [options, runOnly] of [[{ colorScheme: 'light' }, rules], [{ colorScheme: 'dark' }, ['color-contrast']], [{ colorScheme: 'dark', viewport: { width: 360, height: 740 } }, rules]]) {
      // The rules come from outside of the page, which its policy forbids.
      const page = await open(url, { ...options, bypassCSP: true });
      for (const where of [...views(ids), '#undo', '#help', '#/at/nothing']) {
        const isButton = !where.startsWith('#/');
        await go(page, isButton ? '#/' : where);
        if (isButton) await page.click(where);
        if (isButton) await page.waitForSelector('dialog[open]');
        await page.evaluate(axe);
        const { violations } = await page.evaluate((only) => axe.run(document, { runOnly: only }), runOnly);
        for (const it of violations) found.push(`${JSON.stringify(options)} ${where}: ${it.id} ${it.nodes[0].html.slice(0, 200)}`);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wider > 0) found.push(`${JSON.stringify(options)} ${where}: is ${wider} pixels too wide`);
        if (isButton) await page.keyboard.press('Escape');
      }
      await page.context().close();
    }
    assert.deepEqual(found, []);
  },

  async 'all by keyboard'(project, ids) {
    project.write('README.md', 'changed\n');
    const page = await open(await project.serve());
    const keys = async (...all) => { for (const key of all) await page.keyboard.press(key); };
    await page.waitForSelector('.entry.now');
    await keys('j', 'j');
    assert.match(await page.evaluate(() => document.activeElement.textContent), /refactor, small steps/);
    await keys('k');
    await keys('Enter');
    await page.waitForSelector('.file:has-text("README.md")');
    await keys('Escape');
    await page.waitForSelector('.timeline');
    await keys('/');
    await page.keyboard.type('first try');
    await page.waitForFunction(() => document.querySelectorAll('.entry.row').length === 1);
    await keys('Enter', 'Enter');
    await page.waitForSelector('h1:has-text("first try")');
    await settled(page);
    const chosen = () => page.evaluate(() => [...document.querySelectorAll('.files .file')].findIndex((it) => it.matches('[aria-current]')));
    await keys('j', 'ArrowUp');
    assert.equal(await chosen(), 0);
    await keys('End');
    assert.equal(await chosen(), 1);
    await keys('j', 'n', 's', 'w', '[');
    await page.waitForSelector('h1:has-text("before refactor")');
    await settled(page);
    await keys('b');
    await page.waitForSelector('#go:not(:disabled)');
    for (let i = 0; i < 40 && (await page.evaluate(() => document.activeElement.id)) !== 'go'; i++) await keys('Tab');
    await keys('Enter');
    await page.waitForSelector('.done');
    assert.equal(JSON.parse(project.run('diff', ids.before, '--json')).data.changes.length, 0);
    await keys('u');
    await page.waitForSelector('dialog[open] .primary');
    await keys('Tab', 'Enter');
    await page.waitForSelector('#redo:not(:disabled)');
    assert.equal(project.read('README.md'), 'changed\n');
    await keys('?');
    await page.waitForSelector('dialog[open] .keys');
    await keys('Escape');
    await page.waitForSelector('dialog:not([open])', { state: 'attached' });
    await keys('o');
    await page.waitForSelector('h1:has-text("Room")');
  },

  async 'a report shows what it holds, and offers nothing else'(project, ids) {
    const file = path.join(project.base, 'report.html');
    project.write('text.jpg', 'text\n');
    project.save('text of any name');
    project.run('report', '-o', file);
    const page = await open(`file://${file}`);
    assert.equal(await page.locator('nav a:visible, .pick, .entry.now').count(), 1);
    assert.deepEqual(await page.locator('.search option').allTextContents(), ['Reasons']);
    for (const hash of [`#/at/${ids.before}`, `#/at/${ids.logo}`]) {
      await go(page, hash);
      for (const it of await page.locator('main button').all()) await it.click(), await settled(page);
      assert.equal(await page.locator('.failure, .tab').count(), 0);
    }
    await go(page, '#/');
    await page.click('.row-link:has-text("text of any name")');
    await page.waitForSelector('.pane .code:has-text("text")');
    for (const hash of ['#/files', '#/room', '#/at/here', `#/back/${ids.before}`, '#/file/README.md', '#/nothing']) {
      await go(page, hash);
      await page.waitForSelector('h1:has-text("Not in this report")');
    }
    const other = await open(`file://${file}`);
    for (const key of ['j', 'j', 'k']) await other.keyboard.press(key);
    assert.match(await other.evaluate(() => document.activeElement.textContent), /text of any name/);
    await other.keyboard.press('?');
    assert.deepEqual(await other.locator('#dialog kbd').allTextContents(), ['j', 'k', 'g', 'G', 'Enter', 'Esc', '/', 'n', 'p', '[', ']', 's', 'w', 't', '?']);
    await other.keyboard.press('Escape');
    for (const key of ['f', 'o', 'b', 'x', 'u', 'c']) await other.keyboard.press(key);
    await other.waitForSelector('.timeline');
    // A viewer of results may show it in a frame that keeps nothing.
    const frame = path.join(project.base, 'frame.html');
    fs.writeFileSync(frame, '<iframe sandbox="allow-scripts" src="report.html" width="900" height="700"></iframe>');
    const viewer = await browser.newContext();
    const framed = await viewer.newPage();
    await framed.goto(`file://${frame}`);
    await framed.frameLocator('iframe').locator('.row-link:has-text("text of any name")').waitFor({ timeout: 5000 });
    await viewer.close();
    const silent = await browser.newContext({ javaScriptEnabled: false });
    const plain = await silent.newPage();
    await plain.goto(`file://${file}`);
    assert.match(await plain.innerText('main'), /needs JavaScript/);
    await silent.close();
  },

  async 'search by reason, path and text'(project, ids) {
    const page = await open(await project.serve());
    const look = async (mode, words, hit) => {
      await page.selectOption('.search select', mode);
      await page.fill('#search', words);
      await page.waitForSelector(hit);
      await settled(page);
    };
    await look('reason', 'small', '.entry.row:has-text("small steps")');
    assert.equal(await page.locator('.entry.row').count(), 1);
    await look('path', 'tokens.rs', '.hits a:has-text("src/tokens.rs")');
    await look('text', 'wrapping_add', '.hits a:has-text("src/lib.rs")');
    await page.click('.hits a');
    await page.waitForSelector('.code:has-text("wrapping_add")');
  },

  async 'a diff of five megabytes, and a line of half a megabyte, do not stop the page'(project) {
    const big = (n) => Array.from({ length: 90000 }, (_, i) => `line ${i} ${(i * n) % 7919} ${(i * 31 * n) % 104729}\n`).join('');
    const long = (n) => `var a=[${Array.from({ length: 60000 }, (_, i) => (i * n) % 999983)}];\n`;
    project.write('big.txt', big(3));
    project.write('long.js', long(5));
    project.write('it\'s huge', 'one\n'.repeat(3 << 20));
    const first = project.save('large');
    project.write('big.txt', big(7));
    project.write('long.js', long(11));
    project.write('it\'s huge', 'two\n'.repeat(3 << 20));
    const id = project.save('large, changed');
    const page = await open(await project.serve());
    const tasks = await tasksOf(page, async () => {
      await go(page, `#/at/${id}`);
      await page.waitForSelector('.code-row.removed');
      for (let i = 0; i < 30; i++) await page.mouse.wheel(0, 4000), await page.waitForTimeout(30);
      await page.click('.file:has-text("long.js")');
      await page.waitForSelector('.more');
      await page.click('.more');
      await page.click('button:has-text("Side by side")');
      await page.waitForSelector('.split .side.added');
    });
    const worst = Math.max(...tasks);
    assert.ok(worst > 0 && worst < 400, `a task of ${worst} ms`);
    await page.click('.file:has-text("huge")');
    await page.waitForSelector(`.failure:has-text("checkpoint diff -U 3 ${first.slice(0, 8)} ${id.slice(0, 8)} -- 'it'\\\\''s huge'")`);
    await go(page, `#/file/${encodeURIComponent("it's huge")}`);
    await page.waitForSelector('.failure:has-text("too large to be shown here"):has-text("checkpoint cat")');
  },

  async 'a long timeline is there at once, and scrolls smoothly'(project) {
    for (let i = JSON.parse(project.run('status', '--json')).data.checkpoint_count; i < LENGTH; i++) {
      project.write('counter.txt', `${i}\n`);
      project.run('create', '--reason', `step ${i}`, '--keep', '100000');
    }
    const page = await open(await project.serve());
    let painted = Infinity;
    // The quickest of three looks: something else may run beside one.
    for (let look = 0; look < 3 && !(painted < 1000); look += 1) {
      await page.reload();
      painted = await page.evaluate(() => new Promise((done) => {
        const look = () => (document.querySelector('.entry.row') ? done(performance.now()) : requestAnimationFrame(look));
        look();
      }));
    }
    await page.waitForFunction((length) => Number(document.querySelector('[aria-setsize]')?.getAttribute('aria-setsize')) >= length, LENGTH, { timeout: 60000 });
    await page.waitForTimeout(1500);
    const tasks = await tasksOf(page, () => page.evaluate(() => new Promise((done) => {
      const end = performance.now() + 4000;
      const frame = (now) => {
        scrollBy(0, 400);
        now < end ? requestAnimationFrame(frame) : done();
      };
      requestAnimationFrame(frame);
    })));
    const worst = Math.max(...tasks);
    console.log(`  ${LENGTH} checkpoints: first rows after ${Math.round(painted)} ms; ${tasks.length} tasks while it scrolls, the longest ${Math.round(worst)} ms`);
    assert.ok(painted < 1000, `first rows after ${painted} ms`);
    assert.ok(worst > 0 && worst < 50, `a task of ${worst} ms`);
  },
};

/** The processor time in ms of each task of the page's own thread: what other programs do beside it does not count. */
async function tasksOf(page, work) {
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] });
  await work();
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const thread = (event) => `${event.pid} ${event.tid}`;
  const own = new Set(traceEvents.filter((event) => event.args?.name === 'CrRendererMain').map(thread));
  return traceEvents.filter((event) => event.name === 'RunTask' && own.has(thread(event))).map((event) => (event.tdur ?? 0) / 1000);
}

async function pictures() {
  fs.mkdirSync(folder, { recursive: true });
  const project = new Project(program);
  try {
    const ids = sample(project);
    project.write('README.md', '# Parser\n\nA small, quick parser for a small language.\n');
    const url = await project.serve();
    const shots = { timeline: '#/', checkpoint: `#/at/${ids.before}`, now: '#/at/here', image: `#/at/${ids.logo}`, compared: `#/at/${ids.small}/${ids.first}`, file: '#/file/src%2Flib.rs', files: '#/files', back: `#/back/${ids.before}`, some: `#/back/${ids.before}/src`, room: '#/room' };
    for (const [kind, options] of Object.entries({ light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, phone: { colorScheme: 'light', viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 } })) {
      const page = await open(url, options);
      for (const [name, hash] of Object.entries(shots)) {
        await go(page, hash);
        await page.waitForTimeout(700);
        await page.screenshot({ path: path.join(folder, `${name}-${kind}.png`) });
      }
      await page.context().close();
    }
  } finally {
    project.end();
  }
}

async function main() {
  if (task === 'pictures') return pictures();
  let [passed, failed] = [0, 0];
  for (const [name, check] of Object.entries(checks)) {
    if (task && !name.includes(task)) continue;
    const project = new Project(program);
    const began = Date.now();
    try {
      opened = [];
      await check(project, sample(project));
      assert.deepEqual(opened.flatMap((page) => page.faults), [], 'nothing went wrong in the page');
      passed++;
      console.log(`ok: ${name} (${Date.now() - began} ms)`);
    } catch (why) {
      failed++;
      console.log(`FAILED: ${name}\n${why.stack}`);
      const page = browser.contexts().at(-1)?.pages().at(-1);
      if (page) console.log(`--- what the page shows:\n${(await page.innerText(':is(#dialog[open], body:not(:has(#dialog[open])))').catch(String)).slice(0, 1000)}\n---`);
      if (process.env.UI_FAULTS && page) await page.screenshot({ path: path.join(process.env.UI_FAULTS, `${failed}.png`) });
    }
    for (const context of browser.contexts()) await context.close();
    project.end();
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

await main().finally(() => browser.close());
