// The workbench, the catalog of tools and the saved plans.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { payBack, welcome } from './plans.mjs';
import { Browser, World, checkAccess, countIs, finish, go, press, screenshot, until } from './world.mjs';

const world = new World();
let browser;

before(async () => {
  world.write('welcome.json', welcome);
  await world.command('save', 'welcome.json');
  world.write('welcome.json', { ...welcome, title: 'Welcome a customer' });
  await world.command('save', 'welcome.json');
  await world.start();
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

const open = () => browser.open(world, { route: '#/workbench' });
const text = (plan) => JSON.stringify(plan, null, 2);
const wrong = text(welcome).replace('get_customer', 'get_custmer');

test('diagnostics appear in place while a person types, and F8 goes to them', async () => {
  const page = await open();
  await page.getByLabel('Plan', { exact: true }).fill(wrong);
  await page.locator('mark.error').waitFor();
  assert.equal(await page.locator('mark.error').first().innerText(), '"get_custmer"'.slice(...(await page.locator('mark.error').first().innerText()).startsWith('"') ? [0] : [1, -1]));
  await page.getByRole('status').filter({ hasText: /1 error/ }).waitFor();
  await page.getByRole('region', { name: 'Diagnostics' }).getByText('get_custmer').first().waitFor();
  await page.getByRole('region', { name: 'Diagnostics' }).getByText('What PW0201 means').click();
  await page.getByRole('region', { name: 'Diagnostics' }).getByText('# PW0201').waitFor();
  await checkAccess(page, 'the workbench');
  await screenshot(page, 'workbench');
  await page.getByLabel('Plan', { exact: true }).focus();
  await press(page, 'Home', 'F8');
  const selection = await page.evaluate(() => { const area = document.activeElement; return area.value.slice(area.selectionStart, area.selectionEnd); });
  assert.match(selection, /get_custmer/);
  await page.keyboard.type(selection.replace('get_custmer', 'get_customer'));
  await page.getByText('The plan is sound.').waitFor();
  await page.locator('.node').nth(2).waitFor();
  await finish(page);
});

test('a graph that grows is shown whole, as the one before', async () => {
  const page = await open();
  await page.getByLabel('Plan', { exact: true }).fill(text({ steps: payBack.steps.slice(0, 1) }));
  await countIs(page, '.node', 1);
  await page.getByLabel('Plan', { exact: true }).fill(text(payBack));
  await countIs(page, '.node', payBack.steps.length);
  assert.ok(await page.evaluate(() => {
    const box = document.querySelector('.graph').getBoundingClientRect();
    return [...document.querySelectorAll('.node .box')].every((node) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
    });
  }));
  await finish(page);
});

test('the ways of untrusted and private values are marked up to the guarded parameter, before the run and in it', async () => {
  const own = new World();
  try {
    own.write('config/planwright/planwright.toml', '[flow]\ntrusted = ["contacts.*", "absent.*"]\nprivate = ["inbox.*"]\n');
    own.write('tools.json', { tools: { 'inbox.read': { returns: { body: 'Hi', reply_to: 'x@example.com' } }, 'contacts.find': { returns: 'ann@example.com' }, 'mail.send': {} } });
    const reply = { steps: [
      { id: 'mail', tool: 'inbox.read' },
      { id: 'ann', tool: 'contacts.find' },
      { id: 'fine', tool: 'mail.send', args: { to: '${ann}', text: '${mail.body}' } },
      { id: 'odd', tool: 'mail.send', args: { to: '${mail.reply_to}', text: 'Hello' } },
    ] };
    const { run } = await own.run(reply);
    await own.start();
    const page = await browser.open(own, { route: '#/workbench' });
    await page.getByLabel('Plan', { exact: true }).fill(text(reply));
    for (const route of [null, `#/run/${run}/graph`]) {
      if (route) await go(page, route);
      const odd = page.locator('.node.flow-violation');
      await odd.getByText('to: untrusted (PW1001)').waitFor();
      assert.equal(await odd.count(), 1);
      assert.match(await odd.textContent(), /^odd/);
      await page.locator('.node.flow-both', { hasText: /^mail/ }).waitFor();
      for (const edges of ['.flow-both', ':not(.flow)']) await page.locator(`.lines .edge${edges}`).first().waitFor({ state: 'attached' });
      await page.getByRole('list', { name: 'Marks of the data flow' }).getByText('untrusted, private values').waitFor();
      if (route) continue;
      // A diagnostic about the configuration marks nothing in the text.
      const rule = page.getByRole('region', { name: 'Diagnostics' }).getByRole('button', { name: /absent/ });
      assert.match(await rule.innerText(), /^warning:\s*PW1004 the rule/);
      assert.ok(await rule.isDisabled());
      assert.deepEqual(await page.locator('.under mark').allInnerTexts(), ['"${mail.reply_to}"']);
    }
    await finish(page);
  } finally {
    await own.close();
  }
});

test('a plan is converted, estimated, and tried without a call', async () => {
  const page = await open();
  await page.getByLabel('Plan', { exact: true }).fill(text(welcome));
  await page.getByText('The plan is sound.').waitFor();
  await page.getByRole('link', { name: 'Estimate' }).click();
  await page.locator('.pane dl').waitFor();
  await press(page, '3');
  await page.getByLabel('Convert to').selectOption('lines');
  await page.getByLabel('Converted plan').getByText('get_customer(').first().waitFor();
  await checkAccess(page, 'the conversion');
  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await page.getByLabel('Inputs, as a JSON object').fill('{"who": ');
  await page.getByText('the inputs are not JSON').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Dry run' }).isDisabled());
  await page.getByLabel('Inputs, as a JSON object').fill('{"who": "Grace"}');
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByText('Dry run: no tool was called').waitFor();
  await page.getByText('get_customer').last().waitFor();
  await checkAccess(page, 'the dry run');
  await finish(page);
});

test('a plan runs with simulated tools, is watched and cancelled or decided', async () => {
  const page = await open();
  // The example of a customer has no address.
  const steps = payBack.steps.filter(({ id }) => id !== 'ada').map((step) => (step.id === 'tell' ? { ...step, args: { ...step.args, to: 'ada@example.com' } } : step));
  await page.getByLabel('Plan', { exact: true }).fill(text({ ...payBack, steps, output: '${back}' }));
  await page.getByText(/The plan is sound\.|warning|note/).first().waitFor();
  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await page.getByRole('button', { name: 'Run with simulated tools' }).click();
  await page.locator('.run-header').waitFor();
  await page.locator('.node.s-waiting').waitFor();
  await page.getByRole('link', { name: 'Decide 1 call' }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('Nothing waits for you').waitFor();
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('row').filter({ hasText: 'pay-back' }).getByText('succeeded').waitFor();
  await finish(page);
});

test('a plan is saved, and runs with the tools of the program, with the keyboard alone', async () => {
  const page = await open();
  await page.getByLabel('Plan', { exact: true }).focus();
  await page.keyboard.insertText(text({ ...welcome, name: 'typed' }));
  await page.getByText('The plan is sound.').waitFor();
  await page.getByRole('button', { name: 'Save…' }).press('Enter');
  await page.getByRole('dialog', { name: 'Save the plan' }).getByLabel('Name').waitFor();
  await page.keyboard.type('typed');
  await press(page, 'Enter');
  await page.getByRole('dialog').getByText('typed is saved as version 1.').waitFor();
  await press(page, 'Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Run', exact: true }).press('Enter');
  await page.getByRole('button', { name: 'Run with real tools…' }).press('Enter');
  await page.getByRole('dialog', { name: 'Run with real tools?' }).getByRole('button', { name: 'Run the plan' }).press('Enter');
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await press(page, 'g', 'p');
  await page.getByRole('option').filter({ hasText: 'typed' }).waitFor();
  await finish(page);
});

test('a run of the page is cancelled', async () => {
  const page = await open();
  await page.getByLabel('Plan', { exact: true }).fill(text({ ...payBack, name: 'never' }));
  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await page.getByRole('button', { name: 'Run with simulated tools' }).click();
  await page.locator('.node.s-waiting').waitFor();
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
  await page.locator('.run-header').getByText('cancelled').waitFor();
  await finish(page);
});

test('the catalog has the tools with their schemas and an example', async () => {
  const page = await browser.open(world, { route: '#/tools' });
  await page.getByLabel('Search tools').fill('refund');
  await page.getByRole('option').filter({ hasText: 'refund' }).click();
  const side = page.getByRole('complementary', { name: 'The tool' });
  await side.getByRole('row').filter({ hasText: 'amount' }).getByText('number').waitFor();
  await side.getByText('may destroy something').waitFor();
  await checkAccess(page, 'the tools');
  await screenshot(page, 'tools');
  await side.getByRole('button', { name: 'Open in the workbench' }).click();
  await until(page, () => document.querySelector('[data-editor]')?.value.includes('refund'));
  await finish(page);
});

test('the tools are listed again on request', async () => {
  const page = await browser.open(world, { route: '#/tools' });
  await page.getByRole('option').filter({ hasText: 'refund' }).waitFor();
  const tools = JSON.parse(readFileSync(world.path('tools.json'), 'utf8'));
  world.write('tools.json', { tools: { ...tools.tools, brand_new: {} } });
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('option').filter({ hasText: 'brand_new' }).waitFor();
  await finish(page);
});

test('a saved plan has its versions, and two of them can be compared', async () => {
  const page = await browser.open(world, { route: '#/plans' });
  await page.getByRole('option').filter({ hasText: 'welcome' }).click();
  const side = page.getByRole('complementary', { name: 'The plan' });
  await side.getByLabel('Plan', { exact: true }).waitFor();
  await side.getByLabel('compared with').selectOption('1');
  await side.locator('.line.added').filter({ hasText: 'Welcome a customer' }).waitFor();
  await checkAccess(page, 'the plans');
  await screenshot(page, 'plans');
  await side.getByRole('button', { name: 'Open in the workbench' }).click();
  await page.getByText('The plan is sound.').waitFor();
  await finish(page);
});

test('a converted plan is edited in its own dialect', async () => {
  const page = await open();
  await page.getByLabel('Plan', { exact: true }).fill(text({ steps: [{ id: 'a', tool: 'list_orders' }, { id: 'b', tool: 'list_orders' }] }));
  await page.getByRole('link', { name: 'Convert' }).click();
  await page.getByLabel('Convert to').selectOption('concierge');
  await page.getByRole('button', { name: 'Edit this one' }).click();
  await until(page, () => document.querySelector('#dialect').value === 'concierge');
  await until(page, () => document.activeElement.matches('[data-editor]'));
  await finish(page);
});

test('an invisible character in the inputs is named', async () => {
  const page = await open();
  await page.getByLabel('Plan', { exact: true }).fill(text(welcome));
  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await page.getByLabel('Inputs, as a JSON object').fill('{"who":\n"A\u200bda"}');
  await page.getByText('line 2: the text has an invisible character, ⟨U+200B⟩').waitFor();
  await finish(page);
});

test('the catalog says the types of parts of a schema that refer to others', async () => {
  const own = new World();
  try {
    own.write('tools.json', { tools: { book: { input_schema: {
      type: 'object', required: ['room'],
      properties: { room: { $ref: '#/$defs/room' }, guests: { anyOf: [{ type: 'array', items: { $ref: '#/$defs/guest' } }, { type: 'null' }] }, more: { $ref: '#/$defs/more' } },
      $defs: { room: { enum: ['sea', 'yard'] }, guest: { type: 'string' }, more: { $ref: '#/$defs/more' } },
    } } } });
    await own.start();
    const page = await browser.open(own, { route: '#/tools' });
    await page.getByRole('option').filter({ hasText: 'book' }).click();
    const side = page.getByRole('complementary', { name: 'The tool' });
    await side.getByRole('row').filter({ hasText: 'room' }).getByText('"sea" | "yard"').waitFor();
    await side.getByRole('row').filter({ hasText: 'guests' }).getByText('list of string | null').waitFor();
    await side.getByRole('row').filter({ hasText: 'more' }).getByText('any').waitFor();
    await finish(page);
  } finally {
    await own.close();
  }
});
