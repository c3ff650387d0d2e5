// Light and dark, 400 to 2560 pixels, reduced motion.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { payBack, stockTaking, welcome } from './plans.mjs';
import { Browser, World, checkAccess, checkWidth, finish, go, screenshot } from './world.mjs';

const world = new World();
let browser;
let screens;

before(async () => {
  const stock = (await world.run(stockTaking)).run;
  const waiting = (await world.run(payBack)).run;
  const failed = (await world.run(welcome, '--var', 'who=Bob')).run;
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
