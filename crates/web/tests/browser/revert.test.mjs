// The dialog that undoes what a run did.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { payBack } from './plans.mjs';
import { Browser, World, checkAccess, checkWidth, finish, go } from './world.mjs';

const mail = (id, to, more) => ({ id, tool: 'send_mail', args: { to, text: 'Hello' }, ...more });
const sorry = { tool: 'send_mail', arguments: { to: '${output.to}', text: 'Sorry' } };

/** Has a call without an undo, one whose undo asks, and a failure behind them. */
const booked = {
  name: 'booked',
  steps: [
    mail('sent', 'ada@example.com'),
    mail('paid', 'shop@example.com', { after: ['sent'], undo: { tool: 'refund', arguments: { order: 'o-1', amount: 12.5 } } }),
    { id: 'failed', tool: 'get_customer', args: { name: 'Bob' }, after: ['paid'] },
  ],
};

/** Has undos that ask nothing. */
const invited = { name: 'invited', steps: [mail('first', 'ada@example.com', { undo: sorry }), mail('second', 'kurt@example.com', { after: ['first'], undo: sorry })] };

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

/** Opens the dialog for a run. */
async function openDialog(run, options) {
  const page = await browser.open(world, { route: `#/run/${run}/graph`, ...options });
  await page.getByRole('button', { name: 'Revert…' }).click();
  return { page, dialog: page.getByRole('dialog', { name: 'Undo what this run did?' }) };
}

test('a person reads each call before it is undone, and follows the run that undoes it', async () => {
  const id = (await world.run(booked)).run;
  const runs = async () => JSON.parse(await world.command('runs', '--format', 'json')).runs;
  const known = (await runs()).length;
  const { page, dialog } = await openDialog(id, { width: 360 });
  await dialog.getByText('it has no undo').waitFor();
  const undo = dialog.getByRole('listitem').filter({ hasText: 'undo: refund' });
  for (const shown of ['paid', 'simulated.send_mail', 'o-1', 'amount']) await undo.getByText(shown).first().waitFor();
  await checkAccess(page, 'the dialog that reverts');
  await checkWidth(page, 'the dialog that reverts');
  // Nothing has begun, and the run belongs to none.
  assert.equal((await runs()).length, known);
  await dialog.getByRole('button', { name: 'Undo 1 call' }).click();
  await page.waitForURL((url) => !url.href.includes(id));
  const route = new URL(page.url()).hash;
  await page.getByRole('link', { name: 'Decide 1 call' }).click();
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await go(page, route);
  await page.locator('.run-header').getByText('succeeded').waitFor();
  await finish(page);
});

test('only what was shown is undone', async () => {
  const id = (await world.run(invited)).run;
  const { page, dialog } = await openDialog(id);
  await dialog.getByRole('button', { name: 'Undo 2 calls' }).waitFor();
  await world.command('revert', id, '--from', 'second');
  await dialog.getByRole('button', { name: 'Undo 2 calls' }).click();
  await dialog.getByText('no longer those that were shown').waitFor();
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await dialog.getByText('1 call undone before').waitFor();
  await dialog.getByRole('button', { name: 'Undo 1 call' }).click();
  await page.waitForURL((url) => !url.href.includes(id));
  await page.locator('.run-header').getByText('succeeded').waitFor();
  // A revert is not reverted itself.
  assert.equal(await page.getByRole('button', { name: 'Revert…' }).count(), 0);
  await finish(page);
  const again = await openDialog(id);
  await again.dialog.getByText('There is nothing to undo').waitFor();
  assert.ok(await again.dialog.getByRole('button', { name: 'Undo 0 calls' }).isDisabled());
  await finish(again.page);
});

test('a run that waits is not offered', async () => {
  const id = (await world.run(payBack)).run;
  const page = await browser.open(world, { route: `#/run/${id}/graph` });
  await page.getByRole('button', { name: 'Resume…' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Revert…' }).count(), 0);
  await finish(page);
});
