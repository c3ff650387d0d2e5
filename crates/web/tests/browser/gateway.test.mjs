// The page on the port of a gateway: each client logs in with its token.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, World, checkAccess, finish } from './world.mjs';

const world = new World();
let browser;
let token;
let other;
let serving;

before(async () => {
  token = (await world.command('token', 'create', 'ada')).trim();
  other = (await world.command('token', 'create', 'bob')).trim();
  serving = world.begin('serve', '--listen', '0', '--ui', '--simulate', 'tools.json');
  world.address = await new Promise((resolve) => {
    let text = '';
    serving.stderr.on('data', (data) => {
      text += data;
      const line = /the page of runs: (http:\S+\/), where/.exec(text);
      if (line) resolve(line[1]);
    });
  });
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

test('a client logs in with its token, and sees what it may do', async () => {
  const page = await browser.open(world);
  await page.getByText('This browser has no session').waitFor();
  await checkAccess(page, 'the log in');
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('the token is wrong').waitFor();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
  const screens = page.getByRole('navigation', { name: 'Screens' });
  assert.equal(await screens.getByRole('link', { name: 'Tools' }).count(), 0);
  await screens.getByRole('link', { name: 'Workbench' }).click();
  await page.getByLabel('Plan', { exact: true }).fill('{"steps": [{"id": "a", "tool": "t"}]}');
  await page.getByRole('link', { name: 'Convert' }).click();
  await page.getByText('a = t()').waitFor();
  await finish(page);
});

test('the token in the address opens the page, and leaves the address', async () => {
  const page = await browser.open({ address: `${world.address}#token=${token}` });
  await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
  assert.ok(!page.url().includes('token'));
  await finish(page);
});

test('a tab names its client, and follows when another one logs in', async () => {
  const page = await browser.open({ address: `${world.address}#token=${token}` });
  await page.getByRole('status').getByText('live as token:ada').waitFor();
  const second = await page.context().newPage();
  await second.goto(`${world.address}#token=${other}`);
  for (const tab of [second, page]) await tab.getByRole('status').getByText('live as token:bob').waitFor();
  await second.close();
  await finish(page);
});

test('the gateway ends although a page is open', async () => {
  const page = await browser.open({ address: `${world.address}#token=${token}` });
  await page.getByText('live').waitFor();
  serving.kill('SIGTERM');
  assert.equal((await serving.ended).code, 0);
  await page.close();
});
