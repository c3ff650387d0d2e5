// Calls that are decided while a person looks at them: no other call may come under the same buttons.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { payBack } from './plans.mjs';
import { Browser, World, finish, go, press, until } from './world.mjs';

const world = new World();
let browser;
let headers;

before(async () => {
  await world.start();
  browser = await Browser.launch();
  headers = await world.session();
});

after(async () => {
  await browser?.close();
  await world.close();
});

const refund = (id, amount) => ({ id, tool: 'refund', args: { order: `o-${id}`, amount } });
const several = { name: 'several', steps: [refund('small', 1), refund('large', 1000000), refund('third', 5)] };
const begin = async (plan) => (await world.run(plan)).run;
const side = (page) => page.getByRole('complementary', { name: 'The call' });
const decide = (run, at) => world.command('reject', run, at);

/** The decisions that are stored about the calls of a run, by address. */
async function decisions(run) {
  const response = await fetch(`${new URL(world.address).origin}/api/inbox`, { headers });
  const { questions } = await response.json();
  return Object.fromEntries(questions.filter((one) => one.run === run).map(({ at, decision }) => [at, decision ?? null]));
}

for (const width of [1280, 400]) {
  test(`a call that is decided elsewhere stays in its pane without buttons, at ${width} px`, async () => {
    const run = await begin(several);
    const page = await browser.open(world, { width, route: `#/inbox?run=${run}&at=small` });
    const call = side(page);
    const approve = call.getByRole('button', { name: 'Approve', exact: true });
    const { x, y } = await approve.boundingBox();
    await decide(run, 'small');
    await call.getByRole('alert').getByText('Decided elsewhere: rejected.').waitFor();
    assert.equal(await call.locator('[data-decide]').count(), 0);
    assert.match(await call.innerText(), /o-small/);
    await page.mouse.click(x + 5, y + 5);
    assert.deepEqual(await decisions(run), { small: 'reject', large: null, third: null });
    await call.getByRole('button', { name: 'Next call' }).click();
    await call.getByText('o-large').waitFor();
    assert.match(page.url(), /at=large/);
    await approve.waitFor();
    await finish(page);
  });
}

test('the draft of a change or a rejection stays when the call is decided elsewhere', async () => {
  const run = await begin(several);
  const page = await browser.open(world, { route: `#/inbox?run=${run}&at=small` });
  const call = side(page);
  await call.getByRole('button', { name: 'Reject…' }).click();
  await call.getByLabel('Reason').fill('we call her instead');
  await decide(run, 'small');
  await call.getByRole('alert').waitFor();
  assert.equal(await call.getByLabel('Reason').inputValue(), 'we call her instead');
  assert.equal(await call.locator('.decide button').count(), 0);
  await call.getByRole('button', { name: 'Next call' }).click();
  await call.getByRole('button', { name: 'Change…' }).click();
  await call.getByLabel('Arguments, as JSON').fill('{"order": "o-7", "amount": 7}');
  await decide(run, 'large');
  await call.getByRole('alert').waitFor();
  assert.match(await call.getByLabel('Arguments, as JSON').inputValue(), /o-7/);
  assert.deepEqual(await decisions(run), { small: 'reject', large: 'reject', third: null });
  await finish(page);
});

test('the choice of the whole plan does not fall back to another call', async () => {
  const run = await begin(several);
  const page = await browser.open(world, { route: `#/inbox?run=${run}&at=small` });
  const call = side(page);
  await call.getByLabel('The whole plan').check();
  await call.getByRole('button', { name: 'Approve the whole plan' }).waitFor();
  await decide(run, 'small');
  await call.getByRole('alert').getByText('Decided elsewhere').waitFor();
  assert.equal(await call.locator('[data-decide]').count(), 0);
  await finish(page);
});

for (const gap of [0, 80, 250, 400]) {
  test(`a second click on a button, ${gap} ms after the first, decides nothing`, async () => {
    for (const kind of ['Approve', 'Reject']) {
      const run = await begin(several);
      const page = await browser.open(world, { route: `#/inbox?run=${run}&at=small` });
      const call = side(page);
      if (kind === 'Reject') await call.getByRole('button', { name: 'Reject…' }).click();
      const { x, y } = await call.getByRole('button', { name: kind, exact: true }).boundingBox();
      await page.mouse.click(x + 20, y + 8, { clickCount: 2, delay: gap / 3 });
      await call.getByText(kind === 'Approve' ? 'Approved: refund.' : 'Rejected: refund.').waitFor();
      await page.mouse.click(x + 20, y + 8);
      assert.deepEqual(await decisions(run), { small: kind.toLowerCase(), large: null, third: null });
      await finish(page);
    }
  });
}

test('with the keyboard, the next call wants a choice of its own', async () => {
  const run = await begin(several);
  const page = await browser.open(world, { route: `#/inbox?run=${run}&at=small` });
  await side(page).getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await press(page, 'a', 'Enter');
  await side(page).getByText('Approved: refund.').waitFor();
  // The focus moves after the text is on the screen.
  await until(page, () => document.activeElement.innerText === 'Next call');
  await press(page, 'Enter', 'Enter', 'Enter');
  await side(page).getByText('o-large').waitFor();
  await until(page, () => document.activeElement.matches('[data-detail]'));
  assert.deepEqual(await decisions(run), { small: 'approve', large: null, third: null });
  await press(page, 'a', 'Enter');
  await side(page).getByText('Approved: refund.').waitFor();
  assert.deepEqual(await decisions(run), { small: 'approve', large: 'approve', third: null });
  await finish(page);
});

test('a run whose calls are all decided leads to no call of another run', async () => {
  const run = await begin(payBack);
  await begin(several);
  const page = await browser.open(world, { route: `#/run/${run}/graph` });
  const link = page.getByRole('link', { name: 'Decide 1 call' });
  await link.waitFor();
  await decide(run, 'back');
  await link.waitFor({ state: 'detached' });
  await page.reload();
  await page.locator('.run-header').getByText('waiting').waitFor();
  assert.equal(await link.count(), 0);
  await go(page, `#/inbox?run=${run}`);
  await side(page).getByText('No call of this run waits for a decision.').waitFor();
  assert.equal(await page.locator('[data-decide]').count(), 0);
  await finish(page);
});

test('a search that hides the open call leaves it open', async () => {
  const run = await begin(several);
  const page = await browser.open(world, { route: `#/inbox?run=${run}&at=small` });
  await side(page).getByText('o-small').waitFor();
  await page.getByLabel('Search the inbox').fill('large');
  await page.getByRole('option', { selected: true }).waitFor({ state: 'detached' });
  assert.match(await side(page).innerText(), /o-small/);
  await finish(page);
});

test('nothing that appears late moves the calls of the list', async () => {
  const run = await begin(several);
  await decide(run, 'small');
  const page = await browser.open(world, { route: '#/runs' });
  await page.route('**/api/events*', async (route) => {
    await page.evaluate(() => new Promise((resolve) => { window.release = resolve; }));
    await route.continue();
  });
  await page.evaluate((at) => { location.hash = at; location.reload(); }, `#/inbox?run=${run}&at=large`);
  const large = await page.getByRole('option', { selected: true }).elementHandle();
  const before = [await large.innerText(), await large.boundingBox()];
  assert.match(before[0], /large/);
  assert.equal(await page.locator('.undelivered').count(), 0);
  await until(page, () => window.release && (window.release(), true));
  await page.locator('.undelivered').waitFor();
  assert.deepEqual([await large.innerText(), await large.boundingBox()], before);
  await finish(page);
});

test('calls of inner plans are decided by the loops around them', async () => {
  const inner = (steps, items, id) => ({ id, for_each: items, plan: { steps } });
  const run = await begin({ name: 'nested', steps: [inner([inner([refund('pay', 1)], [1, 2], 'rows')], [1, 2, 3], 'pages'), refund('extra', 2)] });
  const page = await browser.open(world, { route: `#/inbox?run=${run}` });
  const call = side(page);
  await page.getByRole('option').filter({ hasText: 'pages[1]/rows[0]/pay' }).click();
  await call.getByRole('link', { name: 'pages[1]/rows[0]/pay' }).waitFor();
  await call.getByLabel('All 2 of this loop').check();
  const shown = await call.locator('.calls summary').allInnerTexts();
  assert.deepEqual(shown.map((text) => /pages.*/.exec(text)[0]), ['pages[1]/rows[0]/pay', 'pages[1]/rows[1]/pay']);
  await call.getByLabel('All 6 of the loop pages').check();
  await call.getByRole('button', { name: 'Approve 6 calls' }).waitFor();
  await call.getByLabel('All 7 of this run').waitFor();
  await call.getByLabel('All 2 of this loop').check();
  await call.getByRole('button', { name: 'Approve 2 calls' }).click();
  await call.getByText('Approved: 2 calls.').waitFor();
  const stored = await decisions(run);
  assert.deepEqual(Object.keys(stored).filter((at) => stored[at]).sort(), ['pages[1]/rows[0]/pay', 'pages[1]/rows[1]/pay']);
  await finish(page);
});

test('the editor of arguments shows invisible characters, and warns of them', async () => {
  const order = 'o-1\u202e\u200b000';
  const run = await begin({ name: 'bidi', steps: [{ id: 'pay', tool: 'refund', args: { order, amount: 1 } }] });
  const page = await browser.open(world, { route: `#/inbox?run=${run}` });
  const call = side(page);
  await call.getByRole('button', { name: 'Change…' }).click();
  const editor = call.getByLabel('Arguments, as JSON');
  const text = await editor.inputValue();
  assert.ok(text.includes('o-1\\u202e\\u200b000'), text);
  assert.equal(JSON.parse(text).order, order);
  await editor.fill('{"order": "o\u200b", "amount": 1}');
  await call.getByText('the text has an invisible character, ⟨U+200B⟩').waitFor();
  await finish(page);
});

test('ids that are members of each object have the states of their steps', async () => {
  const failing = (id) => ({ id, tool: 'get_customer', args: { name: 'Zed' }, on_error: 'continue' });
  const ids = ['constructor', 'toString', 'hasOwnProperty', '__proto__'];
  const { run } = await world.run({ name: 'members', steps: [...ids.map(failing), refund('valueOf', 1)] });
  const page = await browser.open(world, { route: `#/run/${run}/graph` });
  await page.locator('[data-graph]').waitFor();
  await page.locator('.node.s-failed').nth(3).waitFor();
  await page.locator('.node.s-waiting').first().waitFor();
  await page.getByRole('button', { name: 'Resume…' }).click();
  const dialog = page.getByRole('dialog');
  for (const id of ids) {
    const choices = dialog.getByRole('group', { name: `What happens to ${id}`, exact: true });
    assert.ok(await choices.getByLabel('Leave to the run').isChecked(), id);
  }
  await dialog.getByRole('group', { name: 'What happens to __proto__' }).getByLabel('Set a value').check();
  const value = dialog.getByLabel('Output of the step, as JSON');
  assert.equal(await value.inputValue(), '');
  await value.fill('{"email": "ada@example.com"}');
  const sent = page.waitForRequest('**/resume');
  await dialog.getByRole('button', { name: 'Resume the run' }).click();
  assert.match((await sent).postData(), /"__proto__":\{"email"/);
  await finish(page);
});
