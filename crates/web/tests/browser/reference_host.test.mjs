// The view in the reference host of the extension for views, over the gateway.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { openHost } from './client_host.mjs';
import { Browser, World, checkAccess, finish, screenshot, until } from './world.mjs';

/** Waits for an approval: its call moves money. */
const payBack = { name: 'pay-back', steps: [{ id: 'back', tool: 'refund', args: { order: 'o-1', amount: 20 } }] };

const world = new World();
let browser;

before(async () => {
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

test('a person decides a call in the reference host', async () => {
  const { page, view } = await openHost(browser, world.beginServing());
  const { run, status } = await page.evaluate((plan) => window.callAndShow('execute_plan', { plan }, { theme: 'dark', containerDimensions: { maxHeight: 700 } }), payBack);
  assert.equal(status, 'waiting');
  await view.locator('.run-header').getByText('waiting').waitFor();
  assert.equal(await page.locator('iframe').evaluate((frame) => frame.clientHeight), 640);
  const background = () => view.locator('html').evaluate((root) => getComputedStyle(root).backgroundColor);
  const dark = await background();
  await screenshot(page, 'reference-host');
  await view.getByRole('link', { name: /Inbox/ }).click();
  const call = view.getByRole('complementary', { name: 'The call' });
  await call.getByRole('heading', { name: 'simulated.refund' }).waitFor();
  await call.getByRole('button', { name: 'Approve', exact: true }).click();
  await view.getByRole('status').getByText(/^Approved/).waitFor();
  const [message] = await until(page, () => window.messages.length && window.messages);
  assert.match(message.content[0].text, new RegExp(run));
  const done = await page.evaluate((id) => window.callTool('resume_plan', { run: id }), run);
  assert.equal(done.status, 'succeeded');
  await view.getByRole('link', { name: 'Run', exact: true }).click();
  await view.locator('.run-header').getByText('succeeded').waitFor();
  // The client changes its theme, and shows the view in all of its window: the view follows, and asks for no height any more.
  await page.evaluate(() => window.bridge.setHostContext({ theme: 'dark', containerDimensions: { height: 800 } }));
  await page.evaluate(() => window.bridge.setHostContext({ theme: 'light', containerDimensions: { height: 800 } }));
  await view.locator('html').and(view.locator('[style*="light"]')).waitFor();
  assert.notEqual(await background(), dark);
  assert.deepEqual(await page.evaluate(() => window.heights), [640]);
  await page.evaluate(() => window.bridge.teardownResource({}));
  await finish(page);
});

test('a call that the client cancels leaves a message in the view', async () => {
  const { page, view } = await openHost(browser, world.beginServing());
  await page.evaluate((plan) => window.showCancelled('execute_plan', { plan }), payBack);
  await view.getByRole('alert').getByText('the client cancelled the call').waitFor();
  await finish(page);
});
