// The list of runs, and one run with its graph, timeline, steps and report.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { mailing, payBack, stockTaking, welcome } from './plans.mjs';
import { Browser, World, checkAccess, clickNode, countIs, finish, focused, go, press, screenshot, until } from './world.mjs';

const world = new World();
let browser;
const ids = {};

before(async () => {
  ids.welcome = (await world.run(welcome)).run;
  ids.failed = (await world.run(welcome, '--var', 'who=Bob')).run;
  ids.waiting = (await world.run(payBack)).run;
  ids.stock = (await world.run(stockTaking)).run;
  await world.start();
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

const planNames = (page) => page.locator('[data-row]').allInnerTexts();

test('the runs that wait for a person come first, and each says its status in words', async () => {
  const page = await browser.open(world);
  await page.getByText('4 runs').waitFor();
  assert.deepEqual(await planNames(page), ['pay-back', 'stock-taking', 'welcome', 'welcome']);
  const first = page.getByRole('row').nth(1);
  assert.match(await first.innerText(), /waiting\s*1 decision/);
  assert.equal(await page.getByRole('row').filter({ hasText: 'failed' }).count(), 1);
  await page.getByRole('link', { name: 'Inbox' }).getByText('1').waitFor();
  assert.equal(await page.title(), '(1) Planwright');
  await checkAccess(page, 'the runs');
  await screenshot(page, 'runs');
  await finish(page);
});

test('a search, a status, a plan and a phrase of time narrow the list, and the address has them', async () => {
  const page = await browser.open(world);
  await page.getByText('4 runs').waitFor();
  await page.getByLabel('Search runs').fill('stock');
  await page.getByText('1 run', { exact: true }).waitFor();
  assert.match(page.url(), /text=stock/);
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByText('4 runs').waitFor();
  await page.getByLabel('Status').selectOption('failed');
  await page.getByText('1 run', { exact: true }).waitFor();
  await page.getByLabel('Status').selectOption('');
  await page.getByLabel('Filter by plan').fill('welcome');
  await page.keyboard.press('Enter');
  await page.getByText('2 runs').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByText('4 runs').waitFor();
  await page.getByLabel('Filter by time').fill('March 2001');
  await page.keyboard.press('Enter');
  await page.getByText('No run matches').waitFor();
  await page.getByLabel('Filter by time').fill('today');
  await page.keyboard.press('Enter');
  await page.getByText('4 runs').waitFor();
  await page.getByLabel('Filter by time').fill('the day of the purple cow');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await page.reload();
  assert.equal(await page.getByLabel('Filter by time').inputValue(), 'the day of the purple cow');
  await finish(page);
});

test('a run of another process appears, runs and ends while the page is open', async () => {
  const page = await browser.open(world);
  await page.getByText('4 runs').waitFor();
  const tools = JSON.stringify({ tools: { wait: { sleep_ms: 1500, returns: 1 } } });
  world.write('slow.json', tools);
  world.write('live.json', { name: 'live', steps: [{ id: 'a', tool: 'wait' }, { id: 'b', tool: 'wait', after: ['a'] }] });
  const child = world.begin('run', 'live.json', '--simulate', 'slow.json');
  const row = page.getByRole('row').filter({ hasText: 'live' });
  await row.getByText('running').waitFor();
  await row.getByRole('link').click();
  await page.locator('.node.s-running').first().waitFor();
  await page.locator('.node.s-succeeded').nth(1).waitFor();
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await child.ended;
  await finish(page);
});

test('a text that is typed into a filter stays while runs begin and end', async () => {
  const page = await browser.open(world);
  await page.locator('[data-row]').first().waitFor();
  const plan = page.getByLabel('Filter by plan');
  await plan.fill('stock-taking');
  await world.run({ ...welcome, name: 'meanwhile' });
  await page.getByRole('row').filter({ hasText: 'meanwhile' }).waitFor();
  assert.equal(await plan.inputValue(), 'stock-taking');
  await plan.press('Enter');
  await page.getByText('1 run', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Clear' }).press('Enter');
  await until(page, () => document.activeElement?.matches('[data-search]'));
  assert.equal(await plan.inputValue(), '');
  await finish(page);
});

test('the graph shows the states, and a step shows its arguments with their origins', async () => {
  const page = await browser.open(world, { route: `#/run/${ids.waiting}/graph` });
  await page.locator('.node').nth(4).waitFor();
  await countIs(page, '.node.s-waiting', 1);
  await countIs(page, '.node:is(.s-succeeded, .s-failed)', 3);
  await clickNode(page.locator('.node', { hasText: 'back' }).first());
  const side = page.getByRole('complementary', { name: 'Details of the step' });
  await side.getByText('order', { exact: true }).waitFor();
  assert.match(await side.innerText(), /o-1/);
  assert.match(await side.innerText(), /from\s*\$\{list\.orders\[0\]\.id\}/);
  await side.getByRole('link', { name: 'Decide this call' }).waitFor();
  await checkAccess(page, 'the graph');
  await screenshot(page, 'graph');
  await page.keyboard.press('Escape');
  await side.waitFor({ state: 'detached' });
  await finish(page);
});

test('the graph is usable with the keyboard alone', async () => {
  const page = await browser.open(world, { route: `#/run/${ids.stock}/graph` });
  await page.locator('.node').nth(3).waitFor();
  await page.locator('[data-graph]').focus();
  await press(page, 'ArrowDown');
  await page.locator('.node.selected').waitFor();
  const scale = () => page.locator('.layer').evaluate((layer) => layer.style.transform);
  const first = await scale();
  await press(page, '+');
  await until(page, (before) => document.querySelector('.layer').style.transform !== before, first);
  await press(page, '0', 'Enter');
  const side = page.getByRole('complementary', { name: 'Details of the step' });
  await side.getByRole('heading', { level: 2 }).waitFor();
  await until(page, () => document.activeElement?.matches('[data-detail]'));
  await press(page, 'Escape');
  await until(page, () => document.activeElement?.matches('[data-graph]'));
  await finish(page);
});

test('a group is closed by default and opens in place', async () => {
  const page = await browser.open(world, { route: `#/run/${ids.stock}/graph` });
  await page.locator('.node.group').waitFor();
  await countIs(page, '.node', 4);
  await clickNode(page.locator('.node.group .toggle'));
  await page.locator('.node.group.open').waitFor();
  await countIs(page, '.node', 6);
  await page.locator('[data-graph]').focus();
  await clickNode(page.locator('.node.group .id').first());
  await page.locator('[data-graph]').press(' ');
  await page.locator('.node.group.open').waitFor({ state: 'detached' });
  await finish(page);
});

test('a loop opens with the keyboard, and its items are among the details', async () => {
  const id = (await world.run(mailing)).run;
  const page = await browser.open(world, { route: `#/run/${id}/graph` });
  await page.locator('.node.group').waitFor();
  await countIs(page, '.node', 2);
  await page.locator('[data-graph]').focus();
  await press(page, 'ArrowDown', 'ArrowDown');
  await page.locator('.node.group.selected').waitFor();
  await page.getByRole('complementary').getByRole('link', { name: 'each[0]' }).waitFor();
  await press(page, ' ');
  await page.locator('.node.group.open').waitFor();
  // Each item is a node with its own state, and opens as its step does.
  const items = page.locator('.node', { hasText: /^\[\d\]/ });
  await items.nth(2).waitFor();
  assert.equal(await items.count(), 3);
  await page.locator('.node.s-succeeded', { hasText: /^\[0\]/ }).first().waitFor();
  await clickNode(items.first());
  await page.locator('[data-graph]').press(' ');
  const inner = page.locator('.node.s-succeeded', { hasText: 'get_customer' });
  await inner.waitFor();
  await checkAccess(page, 'an open loop');
  await page.locator('[data-graph]').press(' ');
  await inner.waitFor({ state: 'detached' });
  await clickNode(page.locator('.node.group .id', { hasText: 'each' }));
  await page.locator('[data-graph]').press(' ');
  await page.locator('.node.group.open').waitFor({ state: 'detached' });
  await countIs(page, '.node', 2);
  await finish(page);
});

test('the timeline has a bar for each attempt and the pauses between them', async () => {
  const page = await browser.open(world, { route: `#/run/${ids.stock}/timeline` });
  const row = page.getByRole('option').filter({ hasText: 'cups' });
  await row.waitFor();
  assert.equal(await row.locator('.kind-call').count(), 3);
  assert.equal(await row.locator('.kind-call.s-failed').count(), 2);
  assert.match(await row.innerText(), /attempt 3: .* succeeded/s);
  assert.ok(await page.locator('.label.critical').count() > 0);
  const width = await row.evaluate((node) => node.getBoundingClientRect().width);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await until(page, (before) => document.querySelector('.time-row').getBoundingClientRect().width > before, width);
  await row.click();
  await page.getByRole('complementary').getByText('Attempts').waitFor();
  await checkAccess(page, 'the timeline');
  await page.getByRole('button', { name: 'Fit' }).click();
  await page.getByRole('button', { name: 'Close details' }).click();
  await screenshot(page, 'timeline');
  await finish(page);
});

test('the steps can be searched and filtered, and a failed step shows its error', async () => {
  const page = await browser.open(world, { route: `#/run/${ids.failed}/steps` });
  await page.getByRole('option').nth(2).waitFor();
  await page.getByRole('button', { name: /failed 1/ }).click();
  await until(page, () => document.querySelectorAll('[role=option]').length === 1);
  await page.getByRole('option').click();
  const side = page.getByRole('complementary');
  await side.getByText('no such customer').first().waitFor();
  await side.getByRole('button', { name: 'Retry…' }).waitFor();
  await side.getByText('What tool means').first().click();
  await side.getByText('# tool: the tool reported an error').first().waitFor();
  await checkAccess(page, 'the steps');
  await screenshot(page, 'steps');
  await page.getByLabel('Search steps').fill('nothing like it');
  await page.getByText('No step matches').waitFor();
  await finish(page);
});

test('the report has the output and the failures', async () => {
  const page = await browser.open(world, { route: `#/run/${ids.failed}/report` });
  await page.getByRole('heading', { name: '1 failed step' }).waitFor();
  await page.getByRole('link', { name: 'customer' }).click();
  await page.getByRole('complementary').getByRole('heading', { name: 'customer' }).waitFor();
  await go(page, `#/run/${ids.welcome}/report`);
  await page.getByText('About o-1.').first().waitFor();
  await checkAccess(page, 'the report');
  await finish(page);
});

test('a failed run is resumed with a value set in place of the failed step', async () => {
  const id = (await world.run(welcome, '--var', 'who=Eve')).run;
  const page = await browser.open(world, { route: `#/run/${id}/graph?at=customer` });
  await page.getByRole('button', { name: 'Set a value…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Resume this run' });
  await dialog.getByLabel('Output of the step, as JSON').fill('{"email": "eve@');
  assert.ok(await dialog.getByRole('button', { name: 'Resume the run' }).isDisabled());
  await dialog.getByLabel('Output of the step, as JSON').fill('{"name": "Eve", "email": "eve@example.com"}');
  await checkAccess(page, 'the dialog that resumes');
  await dialog.getByRole('button', { name: 'Resume the run' }).click();
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await go(page, `#/run/${id}/report`);
  await page.getByText('eve@example.com').first().waitFor();
  await finish(page);
});

test('a failed step is skipped, and a run without a change can be resumed', async () => {
  const id = (await world.run(welcome, '--var', 'who=Dan')).run;
  const page = await browser.open(world, { route: `#/run/${id}/graph?at=customer` });
  await page.getByRole('button', { name: 'Skip…' }).click();
  await page.getByRole('button', { name: 'Resume the run' }).click();
  await page.locator('.node.s-skipped').first().waitFor();
  await finish(page);
});

test('two runs stand side by side', async () => {
  const page = await browser.open(world, { route: `#/run/${ids.failed}/graph` });
  await page.getByRole('button', { name: 'Compare…' }).click();
  await page.getByRole('dialog').getByRole('link', { name: new RegExp(ids.welcome.slice(0, 8)) }).click();
  await page.getByRole('heading', { name: 'Two runs side by side' }).waitFor();
  const row = page.getByRole('row').filter({ hasText: 'customer' }).first();
  await row.getByText('succeeded').waitFor();
  await row.getByText('failed').waitFor();
  await page.getByLabel('Only differences').uncheck();
  await page.getByRole('row').filter({ hasText: 'orders' }).first().waitFor();
  await checkAccess(page, 'the comparison');
  await screenshot(page, 'diff');
  await finish(page);
});

test('the keys reach every screen and row', async () => {
  const page = await browser.open(world);
  await page.locator('[data-row]').first().waitFor();
  await press(page, '/');
  await until(page, () => document.activeElement?.matches('[data-search]'));
  await page.keyboard.type('stock');
  await until(page, () => document.querySelectorAll('[data-row]').length === 1);
  await press(page, 'Escape');
  await until(page, () => document.querySelectorAll('[data-row]').length > 1);
  await press(page, 'j', 'j');
  assert.match(await focused(page), /\w/);
  await press(page, 'k', 'Enter');
  await page.locator('.run-header').waitFor();
  await press(page, '3');
  await page.getByRole('listbox', { name: 'Steps of the run' }).waitFor();
  await press(page, 'j');
  await page.getByRole('complementary').waitFor();
  await press(page, 'g', 'i');
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  await press(page, '?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await checkAccess(page, 'the list of keys');
  await press(page, 'Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await press(page, 'g', 'w');
  await page.getByRole('heading', { name: 'Workbench' }).waitFor();
  await finish(page);
});

test('a run of another process is cancelled', async () => {
  const process = world.beginPlan({ ...payBack, name: 'elsewhere' }, '--approve', 'wait');
  const page = await browser.open(world);
  // A row that waits has a link to its call as well.
  await page.getByRole('row').filter({ hasText: 'elsewhere' }).getByRole('link', { name: 'elsewhere' }).click();
  await page.getByRole('link', { name: 'Decide 1 call' }).waitFor();
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.locator('.overlay .rule.now').waitFor({ state: 'attached' });
  const now = await page.locator('.legend').innerText();
  await until(page, (before) => document.querySelector('.legend').innerText !== before, now);
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
  await page.locator('.run-header').getByText('cancelled').waitFor();
  assert.equal((await process.ended).code, 130);
  await finish(page);
});

test('each plan of a run that a model replanned has its graph, with the states of its steps', async () => {
  const answer = { steps: [{ id: 'mail', tool: 'send_mail', args: { to: 'office@example.com', text: 'Eve is unknown: ${orders.orders[0].id}.' } }] };
  world.write('answers.json', [JSON.stringify(answer)]);
  const { run, status } = await world.run({ ...welcome, name: 'replanned' }, '--var', 'who=Eve', '--model', 'replay:answers.json', '--replan', '1');
  assert.equal(status, 'succeeded');
  const page = await browser.open(world, { route: `#/run/${run}/graph` });
  await countIs(page, '.node', 2);
  await page.getByRole('button', { name: '1 revision' }).click();
  const dialog = page.getByRole('dialog', { name: 'Revisions of the plan' });
  assert.ok(await dialog.getByRole('radio', { name: 'Plan 2' }).isChecked());
  await dialog.getByText('A model wrote further steps after customer failed: no such customer (replay:answers.json)').waitFor();
  await countIs(page, 'dialog .node.s-succeeded', 2);
  await dialog.getByRole('radio', { name: 'Plan 2' }).focus();
  await press(page, 'ArrowLeft');
  await countIs(page, 'dialog .node', 3);
  const nodes = await page.locator('dialog .node').evaluateAll((list) => list.map((node) => [node.querySelector('.id').textContent, /s-(\w+)/.exec(node.getAttribute('class'))[1]]));
  assert.deepEqual(nodes.sort(), [['customer', 'failed'], ['mail', 'skipped'], ['orders', 'succeeded']]);
  assert.equal(await dialog.getByText('A model wrote further steps').count(), 0);
  await checkAccess(page, 'the revisions of a plan');
  await screenshot(page, 'revisions');
  await finish(page);
});

test('views that were left do not stay in memory', async () => {
  const page = await browser.open(world);
  await page.evaluate(() => { window.views = []; });
  for (const [tab, selector] of [['graph', '.node'], ['steps', '.step-row'], ['timeline', '.time-row'], ['report', '.report']]) {
    await go(page, `#/run/${ids.stock}/${tab}`);
    await page.locator(selector).first().waitFor();
    await page.evaluate((of) => { window.views.push(new WeakRef(document.querySelector(of))); }, selector);
  }
  await go(page, '#/tools');
  await page.locator('.tool-row').first().waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  assert.deepEqual(await page.evaluate(() => window.views.map((view) => view.deref()?.className ?? null)), [null, null, null, null]);
  await finish(page);
});
