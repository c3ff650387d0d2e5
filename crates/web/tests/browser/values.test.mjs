// Values that a person writes, and values that are too long for lists.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, World, finish, go, until } from './world.mjs';

const world = new World();
let browser;
let headers;

before(async () => {
  const tools = {
    make: { returns: { text: 'x'.repeat(5_000_000) } },
    pay: { input_schema: { type: 'object', properties: { note: { type: 'string' } } }, annotations: { destructiveHint: true }, returns: { paid: true } },
    count: { fails: { code: 'none', message: 'no' }, output_schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
    sleep: { sleep_ms: 600_000, returns: 1 },
    use: { input_schema: { type: 'object', properties: { n: { type: 'number' } } }, echo: true },
  };
  world.write('tools.json', { tools });
  await world.start();
  browser = await Browser.launch();
  headers = await world.session();
});

after(async () => {
  await browser?.close();
  await world.close();
});

const side = (page) => page.getByRole('complementary', { name: 'The call' });
const api = async (path) => (await fetch(`${new URL(world.address).origin}/api/${path}`, { headers })).json();

test('long arguments are loaded when their call is opened, and can be changed', async () => {
  const { run } = await world.run({ name: 'long', steps: [{ id: 'a', tool: 'make' }, { id: 'pay', tool: 'pay', args: { note: '${a.text}' } }] });
  const began = performance.now();
  const first = JSON.stringify(await api(`runs/${run}`));
  console.log(`# first look: ${Math.round(performance.now() - began)} ms, ${first.length} bytes`);
  assert.ok(first.length < 64 * 1024, `${first.length} bytes`);
  const page = await browser.open(world, { route: `#/inbox?run=${run}` });
  const call = side(page);
  await call.getByText('The arguments take 5,000,011 characters.').waitFor();
  await call.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await call.getByRole('button', { name: 'Change…' }).click();
  const editor = call.getByLabel('Arguments, as JSON');
  // The last characters differ, so that all of them have to arrive.
  await editor.evaluate((area) => {
    area.setRangeText('end', area.value.length - 6, area.value.length - 3);
    area.dispatchEvent(new InputEvent('input', { bubbles: true }));
  });
  await call.getByText("The arguments fit the tool's schema.").waitFor();
  await call.getByRole('button', { name: 'Approve with changes' }).click();
  await call.getByText('Approved with changes: pay.').waitFor();
  const { questions } = await api('inbox');
  assert.equal(questions.find((one) => one.run === run).decision, 'change');
  await finish(page);
});

test('a set value is checked against the schema of the output', async () => {
  const { run } = await world.run({ name: 'counting', steps: [{ id: 'c', tool: 'count' }, { id: 'u', tool: 'use', args: { n: '${c.n}' } }] });
  const page = await browser.open(world, { route: `#/run/${run}/graph` });
  await page.getByRole('button', { name: 'Resume…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('group', { name: 'What happens to c', exact: true }).getByLabel('Set a value').check();
  const value = dialog.getByLabel('Output of the step, as JSON');
  const resume = dialog.getByRole('button', { name: 'Resume the run' });
  for (const wrong of ['"text"', 'null', '[1]', '{"n": "x"}', '{"n": 1, "n": 2}', '{"n\u200b": 1']) {
    await value.fill(wrong);
    await dialog.locator('.findings .s-failed').first().waitFor();
    assert.ok(await resume.isDisabled(), wrong);
  }
  await value.fill('{"n": "\u200b"}');
  await dialog.getByText('the text has an invisible character, ⟨U+200B⟩').waitFor();
  await value.fill('{"n": 7}');
  await dialog.getByText("The output fits the tool's schema.").waitFor();
  await resume.click();
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await finish(page);
});

test('the service refuses a set value that no tool returns', async () => {
  const { run } = await world.run({ name: 'refused', steps: [{ id: 'c', tool: 'count' }] });
  const response = await fetch(`${new URL(world.address).origin}/api/runs/${run}/resume`, { method: 'POST', headers: { ...headers, origin: new URL(world.address).origin, 'content-type': 'application/json' }, body: '{"set": {"c": {"n": "x"}}}' });
  assert.equal(response.status, 422);
  assert.match((await response.json()).error.message, /output of `c` does not fit the schema of its tool: `\/n`/);
});

test('a run that waits and that no process drives is cancelled from the page', async () => {
  const { run } = await world.run({ name: 'idle', steps: [{ id: 'pay', tool: 'pay', args: { note: 'x' } }] });
  const page = await browser.open(world, { route: `#/run/${run}/graph` });
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
  await page.locator('.run-header').getByText('cancelled').waitFor();
  // The page asks what can be done with the run once it has the status, and again once the process that cancelled it has left it.
  await page.getByRole('button', { name: 'Cancel…' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Resume…' }).waitFor();
  await go(page, `#/inbox?run=${run}`);
  await side(page).getByText('No call of this run waits for a decision.').waitFor();
  const other = await world.run({ name: 'idle', steps: [{ id: 'pay', tool: 'pay', args: { note: 'x' } }] });
  await world.command('cancel', other.run);
  assert.equal((await api(`runs/${other.run}`)).run.status, 'cancelled');
  await finish(page);
});

test('a run that was interrupted is cancelled from the page', async () => {
  const child = world.beginPlan({ name: 'killed', steps: [{ id: 'a', tool: 'sleep' }, { id: 'pay', tool: 'pay', args: { note: '${a}' } }] });
  const page = await browser.open(world, { route: '#/runs' });
  await page.getByRole('row').filter({ hasText: 'killed' }).getByRole('link', { name: 'killed' }).click();
  await page.locator('.node.s-running').waitFor();
  child.kill('SIGKILL');
  const facts = page.locator('.run-header');
  await facts.getByText('interrupted').waitFor();
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('dialog').getByText('Nothing more is called').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
  await facts.getByText('cancelled').waitFor();
  await page.getByRole('button', { name: 'Cancel…' }).waitFor({ state: 'detached' });
  await finish(page);
});
