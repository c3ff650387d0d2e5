// The program dies under the page and returns; pages and processes that have no right to the runs.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { payBack, welcome } from './plans.mjs';
import { Browser, World, finish, go, until } from './world.mjs';

const world = new World();
let browser;

before(async () => {
  await world.start();
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

test('the page says that the program was killed, and continues where it was after a restart', async () => {
  const run = (await world.run(payBack)).run;
  const page = await browser.open(world, { route: `#/run/${run}/graph` });
  await page.locator('.node.s-waiting').waitFor();
  const { seq } = await page.evaluate(async (id) => {
    const headers = { 'planwright-session': localStorage.getItem('planwright-session') };
    return (await fetch(`/api/runs/${id}`, { headers })).json();
  }, run);
  const streams = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === '/api/events' && searchParams.get('run') === run) streams.push(Number(searchParams.get('after')));
  });
  await world.kill();
  await page.getByRole('alert').getByText('The connection to Planwright is lost').waitFor();
  await page.locator('.connection').getByText('not connected').waitFor();
  // What happens meanwhile must not be missed.
  await world.command('reject', run, '--because', 'decided elsewhere');
  await world.command('resume', run);
  await world.start();
  await page.getByRole('alert').getByText('this session has ended').waitFor();
  // The new address, opened in the same tab: only the fragment differs, so the page stays.
  await page.evaluate(() => { window.isSame = true; });
  await page.goto(world.address);
  await page.locator('.run-header').getByText('failed').waitFor();
  await page.locator('.node.s-failed', { hasText: 'back' }).waitFor();
  assert.match(page.url(), new RegExp(`#/run/${run}/graph`));
  assert.equal(await page.evaluate(() => window.isSame), true);
  // Every attempt to connect again continues after the last entry that the page had.
  assert.ok(streams.length > 0);
  assert.deepEqual([...new Set(streams)], [seq]);
  await page.getByRole('alert').waitFor({ state: 'detached' });
  const next = (await world.run({ ...welcome, name: 'after-the-restart' })).run;
  await go(page, '#/runs');
  await page.getByRole('row').filter({ hasText: 'after-the-restart' }).waitFor();
  assert.ok(next);
  await finish(page);
});

test('while the program is down, an error stands once, and what failed is done again afterwards', async () => {
  const run = (await world.run(payBack)).run;
  const page = await browser.open(world, { route: `#/inbox?run=${run}` });
  const approve = page.locator('[data-decide=approve]');
  const errors = page.getByText('the page cannot reach its server');
  await approve.waitFor();
  await world.kill();
  await page.getByRole('alert').getByText('The connection to Planwright is lost').waitFor();
  await go(page, '#/workbench');
  await page.getByLabel('Plan', { exact: true }).fill(JSON.stringify(welcome));
  await errors.waitFor();
  await go(page, '#/inbox');
  await approve.waitFor();
  await page.getByRole('alert').getByText('The connection to Planwright is lost').waitFor();
  assert.equal(await errors.count(), 0);
  await approve.click();
  await errors.waitFor();
  assert.equal(await errors.count(), 1);
  await world.start();
  await page.goto(world.address);
  await page.locator('.connection').getByText('live').waitFor();
  await approve.click();
  await page.getByText('Approved: refund.').first().waitFor();
  assert.equal(await errors.count(), 0);
  await go(page, '#/workbench');
  await page.getByText('The plan is sound.').waitFor();
  assert.equal(await errors.count(), 0);
  await finish(page);
});

test('an inbox that could not be read appears once it can', async () => {
  await world.run({ ...payBack, name: 'unread' });
  const page = await browser.open(world);
  const names = ['**/api/inbox', '**/api/events*'];
  for (const name of names) await page.route(name, (route) => route.abort());
  await page.reload();
  await go(page, '#/inbox');
  await page.getByText('the page cannot reach its server').waitFor();
  assert.equal(await page.locator('[data-decide]').count(), 0);
  for (const name of names) await page.unroute(name);
  await page.getByRole('button', { name: 'Connect now' }).click();
  await page.locator('[data-decide=approve]').waitFor();
  assert.equal(await page.getByText('the page cannot reach its server').count(), 0);
  await finish(page);
});

test('the way back closes a dialog with the screen under it', async () => {
  const { run } = await world.run(welcome, '--var', 'who=Bob');
  const page = await browser.open(world, { route: '#/runs' });
  await page.getByRole('link', { name: 'welcome' }).first().click();
  await page.getByRole('button', { name: 'Resume…' }).click();
  await page.getByRole('dialog').waitFor();
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  await page.goForward();
  await page.getByRole('button', { name: 'Resume…' }).waitFor();
  assert.ok(page.url().includes(run));
  assert.equal(await page.getByRole('dialog').count(), 0);
  await finish(page);
});

test('a tab without a session gets nothing, and another tab can bring one', async () => {
  const page = await browser.open(world);
  const context = await browser.chromium.newContext();
  const stranger = await context.newPage();
  await stranger.goto(new URL('/', world.address).href);
  await stranger.getByRole('heading', { name: 'No access' }).waitFor();
  await stranger.goto(`${new URL('/', world.address).href}#token=${'x'.repeat(43)}`);
  await stranger.getByRole('heading', { name: 'No access' }).waitFor();
  assert.equal(await stranger.getByRole('table').count(), 0);
  await context.close();
  await finish(page);
});

test('the cookie alone opens nothing, and all tabs of the page share the key', async () => {
  const page = await browser.open(world);
  const status = await page.evaluate(async () => (await fetch('/api/runs')).status);
  assert.equal(status, 401);
  const second = await page.context().newPage();
  await second.goto(new URL('/', world.address).href);
  await second.getByRole('heading', { name: 'Runs' }).waitFor();
  await finish(page);
});

test('a page of another port gets the cookie sent, and reads, decides and frames nothing with it', async () => {
  const { run } = await world.run(payBack);
  const page = await browser.open(world);
  const { origin } = new URL(world.address);
  const { calls } = JSON.parse(await world.command('waiting', '--format', 'json'));
  const { address: at, digest } = calls.find((call) => call.run === run);
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title>'));
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  // A test that fails does not wait for the server.
  server.unref();
  const other = await page.context().newPage();
  await other.goto(`http://127.0.0.1:${server.address().port}/`);
  const cookies = [];
  other.on('response', async (response) => cookies.push([response.status(), (await response.request().allHeaders()).cookie]));
  const body = JSON.stringify({ run, decisions: [{ at, digest }], decision: 'approve' });
  const outcomes = await other.evaluate(async ([to, decision]) => {
    const attempt = (path, options) => fetch(`${to}/api/${path}`, { credentials: 'include', ...options }).then((response) => response.status, (error) => error.name);
    return [await attempt('inbox'), await attempt('decisions', { method: 'POST', headers: { 'content-type': 'application/json' }, body: decision }),
      await attempt('decisions', { method: 'POST', mode: 'no-cors', body: decision })];
  }, [origin, body]);
  assert.deepEqual(outcomes, ['TypeError', 'TypeError', 'TypeError']);
  const framed = other.waitForEvent('requestfailed');
  await other.evaluate((to) => { document.body.append(Object.assign(document.createElement('iframe'), { src: to })); }, origin);
  assert.match((await framed).failure().errorText, /BLOCKED/);
  const answered = other.waitForResponse(`${origin}/api/decisions`);
  await other.evaluate(([to, decision]) => {
    const form = Object.assign(document.createElement('form'), { action: `${to}/api/decisions`, method: 'post', enctype: 'text/plain' });
    form.append(Object.assign(document.createElement('input'), { name: decision }));
    document.body.append(form);
    form.submit();
  }, [origin, body]);
  assert.equal((await answered).status(), 403);
  await other.getByText('the request comes from another page').waitFor();
  assert.ok(cookies.some(([status, cookie]) => status === 403 && cookie?.includes('planwright-')));
  assert.ok((await world.command('waiting', '--format', 'json')).includes(digest));
  server.close();
  await finish(page);
});

test('the token leaves the address at once', async () => {
  const page = await browser.open(world);
  assert.ok(!page.url().includes('token'));
  await page.goBack().catch(() => null);
  assert.ok(!page.url().includes('token'));
  await finish(page);
});

test('a link with a token that opens nothing leaves the session as it is', async () => {
  const page = await browser.open(world, { route: '#/inbox' });
  for (const token of ['abc', '%']) {
    await go(page, `#token=${token}`);
    await until(page, () => !location.hash.startsWith('#token'));
    await page.getByRole('status').getByText('live').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  }
  await finish(page);
});
