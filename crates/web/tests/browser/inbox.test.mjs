// Decisions: one call, a loop, a run; approved, changed and rejected; and what must be refused.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { payAll, payBack } from './plans.mjs';
import { Browser, World, checkAccess, clickNode, finish, go, press, screenshot, until } from './world.mjs';

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

const begin = async (plan) => (await world.run(plan)).run;
const open = (run) => browser.open(world, { route: `#/inbox?run=${run}` });
const side = (page) => page.getByRole('complementary', { name: 'The call' });

test('a person approves a call and resumes the run', async () => {
  const run = await begin(payBack);
  const page = await open(run);
  const call = side(page);
  await call.getByRole('heading', { name: 'simulated.refund' }).waitFor();
  const text = await call.innerText();
  assert.match(text, /order\s*o-1/);
  assert.match(text, /amount\s*20/);
  assert.match(text, /\$\{list\.orders\[0\]\.id\}/);
  assert.match(text, /What the tool says of itself/);
  assert.match(text, /may destroy something/);
  await checkAccess(page, 'the inbox');
  await screenshot(page, 'inbox');
  await call.getByRole('button', { name: 'Approve', exact: true }).click();
  const stored = page.getByRole('region', { name: 'Stored decisions' }).getByRole('listitem').filter({ hasText: run.slice(0, 8) });
  await stored.getByRole('button', { name: 'Resume the run' }).click();
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await finish(page);
});

test('a call is changed in an editor that knows the schema of the tool', async () => {
  const run = await begin(payBack);
  const page = await open(run);
  const call = side(page);
  await call.getByRole('button', { name: 'Change…' }).click();
  const editor = call.getByLabel('Arguments, as JSON');
  const approve = call.getByRole('button', { name: 'Approve with changes' });
  await editor.fill('{"order": "o-1", "amount": "much"}');
  await call.getByText('/amount').waitFor();
  assert.ok(await approve.isDisabled());
  await editor.fill('{"order": "o-1", "amount"');
  await call.getByText('the text is not JSON').waitFor();
  assert.ok(await approve.isDisabled());
  await editor.fill('{"order": "o-1", "amount": 7}');
  await call.getByText("The arguments fit the tool's schema.").waitFor();
  await screenshot(page, 'inbox-change');
  // A further edit takes the approval away before the browser draws: nothing is approved that is not on the screen.
  const isOff = await editor.evaluate(async (area) => {
    area.value = '{"order": "o-1", "amount": 8}';
    area.dispatchEvent(new Event('input', { bubbles: true }));
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    return area.closest('.decide').querySelector('.primary').disabled;
  });
  assert.ok(isOff);
  await call.getByRole('button', { name: 'Back' }).click();
  await call.getByRole('button', { name: 'Change…' }).click();
  assert.match(await editor.inputValue(), /20/);
  await editor.fill('{"order": "o-1", "amount": 7}');
  await approve.click();
  await page.getByRole('button', { name: 'Resume the run' }).first().click();
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await clickNode(page.locator('.node', { hasText: 'back' }).first());
  await page.getByRole('complementary').locator('.leaf', { hasText: /^amount\s*7/ }).waitFor();
  await finish(page);
});

test('long numbers stay as they are: on the screen, in the editor, and in the call', async () => {
  const plan = { name: 'long', steps: [{ id: 'back', tool: 'refund', args: { order: 'o-1', amount: 1 } }] };
  const amount = '175928847299117063';
  world.write('long.json', JSON.stringify(plan).replace(':1}', `:${amount}}`));
  const { run } = JSON.parse(await world.command('run', 'long.json', '--simulate', 'tools.json', '--format', 'json'));
  const page = await open(run);
  const call = side(page);
  await call.getByText(`amount: ${amount}`).waitFor();
  await call.getByRole('button', { name: 'Change…' }).click();
  const editor = call.getByLabel('Arguments, as JSON');
  assert.ok((await editor.inputValue()).includes(amount));
  await editor.fill(`{"order": "o-2", "amount": ${amount}}`);
  await call.getByText("The arguments fit the tool's schema.").waitFor();
  const sent = page.waitForRequest('**/api/decisions');
  await call.getByRole('button', { name: 'Approve with changes' }).click();
  assert.ok((await sent).postData().includes(`"amount":${amount}`));
  await page.getByRole('button', { name: 'Resume the run' }).first().click();
  await page.locator('.run-header').getByText('succeeded').waitFor();
  assert.ok((await world.command('logs', run, '--format', 'json')).includes(amount));
  await finish(page);
});

test('the arguments of a call in the list are written as in the plan', async () => {
  const page = await open(await begin(payBack));
  await page.locator('.q-args').filter({ hasText: '{order: "o-1", amount: 20}' }).first().waitFor();
  await finish(page);
});

test('the editor says what a reader of the arguments could take for another value', async () => {
  const page = await open(await begin(payBack));
  const call = side(page);
  await call.getByRole('button', { name: 'Change…' }).click();
  const editor = call.getByLabel('Arguments, as JSON');
  const approve = call.getByRole('button', { name: 'Approve with changes' });
  for (const [amount, finding] of [['1, "amount": 1000', 'the key amount is there twice'], ['1e400', 'number out of range'], ['0.10000000000000000001', '64 bits cannot represent the number 0.10000000000000000001']]) {
    await editor.fill(`{"order": "o-1", "amount": ${amount}}`);
    await call.locator('.decide').getByText(finding).first().waitFor();
    assert.equal(await call.getByText("The arguments fit the tool's schema.").count(), 0, amount);
    assert.ok(await approve.isDisabled(), amount);
  }
  await finish(page);
});

test('a call is rejected with a reason', async () => {
  const run = await begin(payBack);
  const page = await open(run);
  await side(page).getByRole('button', { name: 'Reject…' }).click();
  await page.getByLabel('Reason').fill('we call her instead');
  await side(page).getByRole('button', { name: 'Reject', exact: true }).click();
  await page.getByRole('button', { name: 'Resume the run' }).first().click();
  await page.locator('.run-header').getByText('failed').waitFor();
  await clickNode(page.locator('.node', { hasText: 'back' }).first());
  await page.getByRole('complementary').getByText('we call her instead').first().waitFor();
  await finish(page);
});

test('a rejection asks for the passphrase, too', async () => {
  const run = await begin(payBack);
  const page = await browser.open(world);
  await page.route('**/api/config', async (request) => {
    const response = await request.fetch();
    await request.fulfill({ response, json: { ...await response.json(), passphrase: true } });
  });
  await page.reload();
  await go(page, `#/inbox?run=${run}`);
  await side(page).getByRole('button', { name: 'Reject…' }).click();
  const reject = side(page).getByRole('button', { name: 'Reject', exact: true });
  assert.ok(await reject.isDisabled());
  await page.getByLabel('Passphrase').fill('correct horse');
  const answered = page.waitForResponse('**/api/decisions');
  await reject.click();
  const response = await answered;
  assert.equal(JSON.parse(response.request().postData()).passphrase, 'correct horse');
  // Calls that still waited would be in the inbox of the next tests.
  assert.ok(response.ok());
  await finish(page);
});

test('all calls of a loop are decided together, and then all of a run', async () => {
  const run = await begin(payAll);
  const page = await open(run);
  const call = side(page);
  await page.getByRole('option').filter({ hasText: 'each[1]' }).click();
  await call.getByLabel('All 3 of this loop').check();
  await call.getByRole('heading', { name: '3 calls' }).waitFor();
  const shown = await call.locator('.calls').innerText();
  for (const order of ['o-1', 'o-2', 'o-3']) assert.ok(shown.includes(order), `${order} is shown`);
  await screenshot(page, 'inbox-loop');
  await call.getByRole('button', { name: 'Approve 3 calls' }).click();
  await until(page, (id) => [...document.querySelectorAll('[role=option]')].filter((row) => row.innerText.includes(id)).length === 1, run.slice(0, 8));
  const second = await begin(payAll);
  await page.getByRole('option').filter({ hasText: second.slice(0, 8) }).first().click();
  await call.getByLabel('All 4 of this run').check();
  await call.getByRole('button', { name: 'Reject 4 calls…' }).click();
  await call.getByRole('button', { name: 'Reject 4 calls', exact: true }).click();
  await page.getByRole('option').filter({ hasText: second.slice(0, 8) }).first().waitFor({ state: 'detached' });
  await finish(page);
});

test('a call that comes after the choice of several is not decided with them', async () => {
  const refund = (id, after) => ({ id, tool: 'refund', args: { order: id, amount: 1 }, after });
  const process = world.beginPlan({ name: 'growing', steps: [refund('o-1', []), refund('o-2', []), refund('o-3', ['o-1'])] }, '--approve', 'wait');
  const page = await browser.open(world, { route: '#/inbox' });
  await page.getByRole('option').filter({ hasText: 'growing' }).filter({ hasText: 'o-2' }).last().click();
  const call = side(page);
  await call.getByRole('radio', { name: 'All 2 of this run' }).check();
  await call.getByRole('button', { name: 'Approve 2 calls' }).waitFor();
  const run = /run=(\w+)/.exec(page.url())[1];
  const { calls } = JSON.parse(await world.command('waiting', '--format', 'json'));
  const { digest } = calls.find((one) => one.run.startsWith(run) && one.address === 'o-1');
  await world.command('approve', run, 'o-1', '--digest', digest);
  await call.getByRole('alert').getByText('1 further call of the run waits since you chose').waitFor();
  await call.getByRole('button', { name: 'Show all' }).click();
  await call.locator('.calls').getByText('o-3').first().waitFor();
  await call.getByRole('button', { name: 'Approve 2 calls' }).click();
  await page.getByRole('status').getByText('Approved: 2 calls.').waitFor({ state: 'attached' });
  assert.equal((await process.ended).code, 0);
  await finish(page);
});

test('a whole plan is approved with what it is bound to, and asks no more', async () => {
  const plan = { ...payBack, name: 'twice', steps: [...payBack.steps, { id: 'again', tool: 'refund', args: { order: 'o-2', amount: 1 }, after: ['back'] }] };
  const run = await begin(plan);
  const page = await open(run);
  const call = side(page);
  await call.getByLabel('The whole plan').check();
  await call.getByText('and every later call of this plan').waitFor();
  await call.getByLabel('The plan that you approve').waitFor();
  assert.equal(await call.getByRole('button', { name: 'Reject…' }).count(), 0);
  await checkAccess(page, 'the whole plan');
  await screenshot(page, 'inbox-plan');
  await call.getByRole('button', { name: 'Approve the whole plan' }).click();
  await page.getByRole('status').filter({ hasText: 'Approved: the whole plan.' }).waitFor();
  const stored = page.getByRole('region', { name: 'Stored decisions' }).getByRole('listitem').filter({ hasText: run.slice(0, 8) });
  await stored.getByRole('button', { name: 'Resume the run' }).click();
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await finish(page);
});

test('the keyboard alone suffices for a decision', async () => {
  const run = await begin(payBack);
  const page = await browser.open(world);
  await press(page, 'g', 'i');
  await page.getByRole('listbox', { name: 'Calls that wait for a decision' }).waitFor();
  for (;;) {
    const heading = await side(page).innerText().catch(() => '');
    if (heading.includes(run.slice(0, 8))) break;
    await press(page, 'j');
    await until(page, (before) => document.querySelector('.side-pane')?.innerText !== before, heading);
  }
  await press(page, 'x', 'Enter');
  await until(page, () => document.activeElement?.tagName === 'TEXTAREA');
  await page.keyboard.type('not today');
  await press(page, 'Tab', 'Enter');
  await page.getByRole('status').filter({ hasText: 'Rejected: refund.' }).waitFor();
  await finish(page);
});

test('a decision about a call that another person has decided meanwhile is refused', async () => {
  const run = await begin(payBack);
  const page = await open(run);
  // The other decision comes between the click and the request.
  await page.route('**/api/decisions', async (request) => {
    await world.command('reject', run, '--because', 'no');
    await request.continue();
  });
  await side(page).getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('alert').getByText('Decided elsewhere: rejected.').waitFor();
  await page.getByRole('alert').getByText('was already decided').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.matches('[data-detail]')), true);
  await finish(page);
});

test('a call that changes under the button is not decided before it is shown', async () => {
  const run = await begin(payBack);
  const page = await open(run);
  const call = side(page);
  const approve = call.getByRole('button', { name: 'Approve', exact: true });
  await approve.waitFor();
  const digest = 'f'.repeat(64);
  await page.route('**/api/inbox', async (request) => {
    const response = await request.fetch();
    const { questions } = await response.json();
    await request.fulfill({ response, json: { questions: questions.map((one) => (one.run === run ? { ...one, digest, arguments: { order: 'other', amount: 1 } } : one)) } });
  });
  const refused = [];
  await page.route('**/api/decisions', async (request) => {
    refused.push(JSON.parse(request.request().postData()).decisions[0].digest);
    await request.fulfill({ status: 409, json: { error: { message: 'not now' } } });
  });
  await approve.click();
  await call.getByRole('alert').getByText('The call has changed since you opened it').waitFor();
  assert.equal(await approve.count(), 0);
  await call.getByRole('button', { name: 'Show it' }).click();
  await call.getByText('other').first().waitFor();
  await approve.click();
  await until(page, () => document.querySelectorAll('[role=alert]').length > 0);
  assert.equal(refused.length, 2);
  assert.notEqual(refused[0], digest);
  assert.equal(refused[1], digest);
  await finish(page);
});

test('several calls are approved after all of them were shown, each with its server and its reason', async () => {
  const items = Array.from({ length: 101 }, (_, index) => `o-${index}`);
  const run = await begin({ name: 'many', steps: [{ id: 'each', for_each: items, tool: 'refund', args: { order: '${item}', amount: 1 } }] });
  const page = await open(run);
  const call = side(page);
  await call.getByLabel('All 101 of this loop').check();
  await call.getByText('Show all calls before you approve them.').waitFor();
  assert.equal(await call.getByRole('button', { name: /^Approve/ }).count(), 0);
  assert.equal(await call.locator('.calls summary').filter({ hasText: 'simulated.refund' }).count(), 100);
  assert.equal(await call.locator('.calls .why').count(), 100);
  await call.getByRole('button', { name: 'Show more of 101 calls' }).click();
  await call.getByRole('button', { name: 'Approve 101 calls' }).click();
  await page.getByRole('status').getByText('Approved: 101 calls.').waitFor({ state: 'attached' });
  await finish(page);
});

test('a late response about a run that was resumed hides no later events', async () => {
  const run = await begin(payBack);
  await world.command('reject', run, '--because', 'no');
  const page = await browser.open(world);
  let before = null;
  await page.route(`**/api/runs/${run}`, async (request) => {
    if (!before) {
      const response = await request.fetch();
      before = await response.json();
      await request.fulfill({ response });
      return;
    }
    await page.locator('.run-header').getByText('failed').waitFor();
    await request.fulfill({ json: before });
  });
  await go(page, `#/run/${run}/graph`);
  await page.getByRole('button', { name: 'Resume…' }).click();
  const restarted = page.waitForRequest('**/api/events*');
  await page.getByRole('button', { name: 'Resume the run' }).click();
  await restarted;
  await page.locator('.run-header').getByText('failed').waitFor();
  await finish(page);
});

test('the decisions that a run waits for are one click away from the list of runs', async () => {
  await begin(payBack);
  const run = await begin(payBack);
  await begin(payBack);
  const page = await browser.open(world, { route: '#/runs' });
  await page.getByRole('row').filter({ hasText: run.slice(0, 8) }).getByRole('link', { name: '1 decision' }).click();
  await side(page).getByText(run.slice(0, 8)).waitFor();
  await finish(page);
});
