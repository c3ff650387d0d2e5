// Light and dark, 400 to 2560 pixels, reduced motion; and the focus of the keyboard, which is never lost.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { payBack, stockTaking, welcome } from './plans.mjs';
import { Browser, World, checkAccess, checkWidth, finish, go, press, screenshot, until } from './world.mjs';

const world = new World();
let browser;
let screens;
let failed;
let waiting;

before(async () => {
  const stock = (await world.run(stockTaking)).run;
  waiting = (await world.run(payBack)).run;
  failed = (await world.run(welcome, '--var', 'who=Bob')).run;
  world.write('welcome.json', welcome);
  await world.command('save', 'welcome.json');
  await world.start();
  browser = await Browser.launch();
  screens = [
    ['runs', '#/runs', '[data-row]'],
    ['graph', `#/run/${waiting}/graph`, '.node'],
    ['step', `#/run/${failed}/graph?at=customer`, '.step-panel dl'],
    ['timeline', `#/run/${stock}/timeline`, '.time-row'],
    ['steps', `#/run/${stock}/steps`, '.step-row'],
    ['report', `#/run/${failed}/report`, '.failures'],
    ['inbox', `#/inbox?run=${waiting}`, '.question'],
    ['workbench', '#/workbench', '[data-editor]'],
    ['tools', '#/tools', '.tool-row'],
    ['plans', '#/plans?plan=welcome', '.code-block'],
    ['diff', `#/diff/${failed}/${stock}`, '.diff-table'],
  ];
});

after(async () => {
  await browser?.close();
  await world.close();
});

for (const scheme of ['light', 'dark']) {
  for (const [width, height] of [[400, 800], [2560, 1300]]) {
    test(`all screens in ${scheme} at ${width} pixels`, async () => {
      const page = await browser.open(world, { width, height, scheme });
      for (const [name, route, content] of screens) {
        await go(page, route);
        await page.locator(content).first().waitFor();
        await checkWidth(page, `${name} at ${width}`);
        await checkAccess(page, `${name} in ${scheme} at ${width}`);
        await screenshot(page, `${name}-${scheme}-${width}`);
      }
      await finish(page);
    });
  }
}

test('a list is printed whole', async () => {
  const steps = Array.from({ length: 300 }, (_, index) => ({ id: `step_${index}`, tool: 'list_orders' }));
  const { run } = await world.run({ name: 'long', steps });
  const page = await browser.open(world, { route: `#/run/${run}/steps` });
  await page.locator('.step-row').first().waitFor();
  const before = await page.locator('.step-row').count();
  assert.ok(before < 100, `${before}`);
  const printed = (await page.pdf()).toString('latin1');
  const pages = printed.match(/\/Type\s*\/Page\b/g).length;
  assert.ok(pages > 4, `${pages} pages`);
  await until(page, (count) => document.querySelectorAll('.step-row').length === count, before);
  const output = Object.fromEntries(steps.map(({ id }) => [id, `\${${id}}`]));
  const report = (await world.run({ name: 'long-report', steps, output })).run;
  await go(page, `#/run/${report}/report`);
  await page.locator('.report').getByText('step_0', { exact: true }).first().waitFor();
  const pagesOf = async () => (await page.pdf()).toString('latin1').match(/\/Type\s*\/Page\b/g).length;
  assert.ok(await pagesOf() > 1);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('button:not(.twist):visible, .tabs:visible').count(), 0);
  await finish(page);
});

test('forced colours leave the place, the selection and the marks to be seen', async () => {
  const page = await browser.open(world, { route: `#/run/${failed}/steps?at=customer` });
  await page.emulateMedia({ forcedColors: 'active' });
  await page.locator('.row.selected').waitFor();
  const differs = async (selector, of, property) => {
    const values = await page.locator(selector).evaluateAll((nodes, name) => nodes.map((node) => getComputedStyle(node)[name]), property);
    const rest = await page.locator(of).evaluateAll((nodes, name) => nodes.map((node) => getComputedStyle(node)[name]), property);
    assert.ok(values.length > 0 && rest.length > 0 && values.every((value) => !rest.includes(value)), `${selector}: ${values} beside ${rest}`);
  };
  await differs('.top nav a[aria-current]', '.top nav a:not([aria-current])', 'outlineStyle');
  await differs('.tabs a[aria-current]', '.tabs a:not([aria-current])', 'outlineStyle');
  await differs('.row.selected', '.row:not(.selected, .head)', 'outlineStyle');
  await differs('.progress .fill', '.progress .track', 'backgroundColor');
  await go(page, '#/workbench');
  await page.getByLabel('Plan', { exact: true }).fill('{"steps": [{"id": "a", "tool": "nothing"}]}');
  await page.locator('mark').first().waitFor();
  await differs('mark', '.under', 'textDecorationLine');
  await finish(page);
});

test('every screen can be reached at 320 pixels, and a step shows its time beside its details', async () => {
  const page = await browser.open(world, { width: 320 });
  for (const [name, route, content] of screens) {
    await go(page, route);
    await page.locator(content).first().waitFor();
    await checkWidth(page, `${name} at 320`);
    const ends = await page.locator('.top nav a').evaluateAll((links) => links.map((link) => link.getBoundingClientRect().right));
    assert.ok(Math.max(...ends) <= 320, `${name}: the screens end at ${ends}`);
  }
  await page.setViewportSize({ width: 794, height: 800 });
  await go(page, `#/run/${failed}/steps?at=customer`);
  await page.locator('.side-pane').waitFor();
  const { x } = await page.locator('.side-pane').boundingBox();
  const times = await page.locator('.step-row .c-number').evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().right));
  assert.ok(times.length > 0 && Math.max(...times) <= x, `${times} beside ${x}`);
  await finish(page);
});

test('dialogs and both sides of a comparison fit a narrow window', async () => {
  const { run } = await world.run({ ...welcome, name: `a-long-name-${'of-a-plan-'.repeat(12)}` });
  const page = await browser.open(world, { width: 400, route: `#/run/${failed}/graph` });
  for (const name of ['Resume…', 'Compare…']) {
    await page.getByRole('button', { name }).click();
    await page.getByRole('dialog').locator('li').first().waitFor();
    await checkWidth(page, name);
    await page.getByRole('button', { name: 'Close', exact: true }).first().click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await go(page, `#/diff/${failed}/${run}`);
  await page.locator('.after').first().waitFor();
  const widths = await page.locator('.before, .after').evaluateAll((list) => list.map((node) => node.getBoundingClientRect().width));
  assert.ok(Math.min(...widths) > 140, `${widths}`);
  await finish(page);
});

test('dark screens for the book', async () => {
  const page = await browser.open(world, { scheme: 'dark' });
  for (const [name, route, content] of screens) {
    await go(page, route);
    await page.locator(content).first().waitFor();
    await checkAccess(page, `${name} in dark`);
    await screenshot(page, `${name}-dark`);
  }
  await finish(page);
});

test('nothing moves by itself if a person wants no motion', async () => {
  // What is in progress pulses, unless a person wants no motion.
  world.write('endless.json', { tools: { wait: { sleep_ms: 600000, returns: 1 } } });
  world.write('moving.json', { name: 'moving', steps: [{ id: 'a', tool: 'wait' }] });
  world.begin('run', 'moving.json', '--simulate', 'endless.json');
  for (const motion of ['no-preference', 'reduce']) {
    const page = await browser.open(world, { motion });
    await page.getByRole('row').filter({ hasText: 'moving' }).getByText('running').waitFor();
    assert.equal(await page.evaluate(() => document.getAnimations().length > 0), motion !== 'reduce');
    await finish(page);
  }
  const page = await browser.open(world, { motion: 'reduce' });
  for (const [, route, content] of screens) {
    await go(page, route);
    await page.locator(content).first().waitFor();
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  }
  await finish(page);
});

/** Waits until an element that matches has the focus. */
const focusIs = (page, selector) => until(page, (of) => document.activeElement?.matches(of), selector);

test('details close with Escape, from the list or from inside, and the list has the focus', async () => {
  const page = await browser.open(world);
  for (const route of [`#/run/${failed}/steps`, `#/run/${failed}/timeline`, '#/tools', '#/plans']) {
    await go(page, route);
    await page.getByRole('option').first().waitFor();
    await page.locator('[data-list]').focus();
    await press(page, 'ArrowDown');
    const side = page.getByRole('complementary');
    await side.waitFor();
    await press(page, 'Escape');
    await side.waitFor({ state: 'detached' });
    await focusIs(page, '[data-list]');
    await press(page, 'ArrowDown');
    await side.waitFor();
    await press(page, 'Enter');
    await focusIs(page, '[data-detail]');
    await press(page, 'Tab', 'Enter');
    await side.waitFor({ state: 'detached' });
    await focusIs(page, '[data-list]');
  }
  await finish(page);
});

test('in a narrow window, the focus is in the details that cover the list', async () => {
  const page = await browser.open(world, { width: 400 });
  for (const route of [`#/run/${failed}/graph`, `#/run/${failed}/steps`, `#/run/${failed}/timeline`, '#/inbox', '#/tools', '#/plans']) {
    await go(page, route);
    await page.locator('[data-list], [data-graph]').waitFor();
    await page.locator('[data-list], [data-graph]').focus();
    await press(page, 'ArrowDown');
    await focusIs(page, '[data-detail]');
    await press(page, 'Shift+Tab');
    assert.ok(await page.evaluate(() => !document.activeElement.closest('.main-pane')), `${route}: the focus is behind the details`);
    await page.locator('[data-detail]').focus();
    await press(page, 'Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await focusIs(page, '[data-list], [data-graph]');
  }
  await finish(page);
});

test('a wide inbox always shows a call, a narrow one goes back to the list', async () => {
  const wide = await browser.open(world, { route: '#/inbox' });
  await wide.getByRole('complementary', { name: 'The call' }).getByRole('button', { name: 'Approve' }).waitFor();
  assert.equal(await wide.getByRole('button', { name: 'Close details' }).count(), 0);
  await finish(wide);
  const narrow = await browser.open(world, { width: 400, route: `#/inbox?run=${waiting}` });
  await narrow.getByRole('button', { name: 'Close details' }).press('Enter');
  await narrow.getByRole('complementary').waitFor({ state: 'detached' });
  await focusIs(narrow, '[data-list]');
  await finish(narrow);
});

test('the way back from a change or a rejection leads to its button', async () => {
  const page = await browser.open(world, { route: `#/inbox?run=${waiting}` });
  for (const [key, name] of [['c', 'change'], ['x', 'reject']]) {
    await page.locator(`[data-decide=${name}]`).waitFor();
    await press(page, key, 'Enter');
    await focusIs(page, 'textarea');
    await page.getByRole('button', { name: 'Back' }).press('Enter');
    await focusIs(page, `[data-decide=${name}]`);
  }
  await finish(page);
});

test('a dialog returns the focus to its button, or to the details if the button is gone', async () => {
  const page = await browser.open(world, { route: '#/workbench' });
  await page.getByLabel('Plan', { exact: true }).fill(JSON.stringify(welcome));
  await page.getByRole('button', { name: 'Save…' }).press('Enter');
  await page.getByRole('dialog').waitFor();
  await press(page, 'Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await until(page, () => document.activeElement.innerText === 'Save…');
  const { run } = await world.run(welcome, '--var', 'who=Dan');
  await go(page, `#/run/${run}/steps?at=customer`);
  await page.getByRole('button', { name: 'Skip…' }).press('Enter');
  await page.getByRole('button', { name: 'Resume the run' }).press('Enter');
  await page.getByRole('button', { name: 'Skip…' }).waitFor({ state: 'detached' });
  await focusIs(page, '[data-detail]');
  await finish(page);
});

test('a request that fails leaves the focus on its button', async () => {
  const page = await browser.open(world, { route: `#/inbox?run=${waiting}` });
  let answer;
  const held = new Promise((resolve) => { answer = resolve; });
  await page.route('**/api/decisions', async (request) => {
    await held;
    await request.fulfill({ status: 500, json: { error: { message: 'the disk is full' } } });
  });
  await page.locator('[data-decide=approve]').waitFor();
  await press(page, 'a', 'Enter');
  await page.locator('[data-decide=approve]:disabled').waitFor();
  // The browser takes the focus of a disabled button away when it draws.
  await until(page, () => document.activeElement === document.body);
  answer();
  await page.getByRole('alert').getByText('the disk is full').waitFor();
  await focusIs(page, '[data-decide=approve]');
  await finish(page);
});

test('the decision about the last call leaves the focus to the content', async () => {
  const page = await browser.open(world, { route: `#/inbox?run=${waiting}` });
  await page.locator('[data-decide=approve]').waitFor();
  await press(page, 'a', 'Enter');
  await page.getByText('Nothing waits for you').waitFor();
  await focusIs(page, 'main');
  await finish(page);
});

test('in a narrow window, the keyboard goes on from the last step of the graph', async () => {
  const { run: id } = await world.run(payBack);
  const page = await browser.open(world, { width: 400, route: `#/run/${id}/graph` });
  await page.locator('[data-graph]').focus();
  const seen = new Set();
  for (let step = 0; step < 3; step += 1) {
    await press(page, 'ArrowDown');
    await until(page, () => document.activeElement.matches('[data-detail]'));
    seen.add(new URLSearchParams(page.url().split('?')[1]).get('at'));
    await press(page, 'Escape');
    await until(page, () => document.activeElement.matches('[data-graph]'));
  }
  assert.equal(seen.size, 3);
  await finish(page);
});
