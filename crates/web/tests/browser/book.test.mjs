// The menu of versions of the book, over versions that `packaging/pack site` has put side by side. The pages have those parts of mdBook's that the menu uses.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Browser, checkAccess, checkWidth, finish, press, until } from './world.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..');
const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css', json: 'application/json' };
let folder;
let server;
let browser;

/** Writes a book, as mdBook would build it, with these pages. */
function writeBook(pages) {
  const book = join(folder, 'book');
  rmSync(book, { recursive: true, force: true });
  for (const page of pages) {
    const up = '../'.repeat(page.split('/').length - 1);
    mkdirSync(dirname(join(book, page)), { recursive: true });
    writeFileSync(join(book, page), `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>${page}</title>
      <meta name="viewport" content="width=device-width">
      <style>:root { --fg: #000; --bg: #fff; --icons: #555; --links: #20609f; --quote-bg: #eee } html { font-size: 62.5% }</style>
      <link rel="stylesheet" href="${up}book.css"><script>const path_to_root = "${up}";</script></head>
      <body><div class="menu-bar"><div class="right-buttons"></div></div><main><h1 id="top">${page}</h1></main>
      <script>document.addEventListener('keydown', ({ key }) => { if (key.startsWith('Arrow')) document.title = 'turned'; });</script>
      <script src="${up}versions.js"></script></body></html>`);
  }
  for (const file of ['versions.js', 'book.css']) copyFileSync(join(root, 'docs', file), join(book, file));
  return book;
}

function publish(version, pages) {
  execFileSync('python3', [join(root, 'packaging/pack'), 'site', '--book', writeBook(pages), '--version', version, '--into', join(folder, 'planwright')]);
}

/** Opens a page of the site, below the folder that a project has on a host of pages. */
async function open(path, options) {
  const origin = `http://127.0.0.1:${server.address().port}`;
  return browser.open({ address: `${origin}/planwright/${path}` }, options);
}

const pathOf = (page) => page.url().replace(/^.*\/planwright\//, '');
const arrive = (page, path) => page.waitForURL((url) => url.href.endsWith(`/planwright/${path}`));

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'planwright-book-'));
  publish('0.9.2', ['index.html', 'guide/old.html', 'guide/install.html']);
  publish('0.10.0', ['index.html', 'guide/install.html', 'guide/new.html']);
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://host');
    let path = join(folder, pathname);
    if (existsSync(path) && statSync(path).isDirectory()) path = join(path, 'index.html');
    const found = existsSync(path);
    response.writeHead(found ? 200 : 404, { 'content-type': TYPES[path.split('.').at(-1)] ?? 'text/plain' });
    response.end(found && request.method !== 'HEAD' ? readFileSync(path) : undefined);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  browser = await Browser.launch();
});

after(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

test('an old page names its version and leads to the same page of the newest', async () => {
  const page = await open('0.9/guide/install.html#top');
  const notice = page.getByRole('note');
  await notice.waitFor();
  assert.equal(await notice.textContent(), 'This page is about version 0.9. The newest is version 0.10.');
  await checkAccess(page, 'an old page');
  await notice.getByRole('link').click();
  await arrive(page, '0.10/guide/install.html#top');
  await page.getByLabel('Version').waitFor();
  assert.equal(await notice.count(), 0);
  await finish(page);
});

test('the keyboard alone changes the version', async () => {
  const page = await open('0.10/guide/new.html');
  const menu = page.getByLabel('Version');
  await menu.waitFor();
  assert.deepEqual(await menu.locator('option').allTextContents(), ['0.10', '0.9']);
  assert.equal(await menu.inputValue(), '0.10');
  await press(page, 'Tab', 'ArrowDown');
  assert.equal(await menu.inputValue(), '0.9');
  await press(page, 'ArrowUp', 'ArrowDown');
  assert.equal(pathOf(page), '0.10/guide/new.html', 'a choice alone leads nowhere');
  assert.equal(await page.title(), 'guide/new.html', 'the keys turn no page of the book');
  await press(page, 'Tab', 'Enter');
  // 0.9 has no such page.
  await arrive(page, '0.9/');
  await page.getByRole('note').waitFor();
  await finish(page);
});

test('the menu fits a narrow window', async () => {
  const page = await open('0.9/guide/old.html', { width: 320, height: 600 });
  await page.getByLabel('Version').waitFor();
  await checkWidth(page, 'the page with the menu');
  await finish(page);
});

test('a page without a version leads to the newest version that has it', async () => {
  for (const [from, to] of [
    ['', '0.10/index.html'],
    ['guide/install.html?a=b#top', '0.10/guide/install.html?a=b#top'],
    ['guide/old.html', '0.9/guide/old.html'],
  ]) {
    const page = await open(from);
    await arrive(page, to);
    await finish(page);
  }
});

test('a book without versions has no menu', async () => {
  rmSync(join(folder, 'planwright/versions.json'));
  const page = await open('0.10/index.html');
  await until(page, () => performance.getEntriesByType('resource').some(({ name, responseStatus }) => name.endsWith('versions.json') && responseStatus === 404));
  assert.equal(await page.locator('.versions').count(), 0);
  await finish(page);
});
