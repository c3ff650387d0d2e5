// Values that try to run, to load, to hide or to be too large: they are shown as text.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { Browser, World, finish, go, until } from './world.mjs';

const HTML = '<img src=x onerror="window.broken=1"><script>window.broken=1</script><svg onload=window.broken=1>';
const LINK = 'javascript:window.broken=1';
const BIDI = 'safe\u202Egnp.exe\u2066x\u2069';
const ZERO = 'pay\u200Bpal\u00AD.com\uFEFF';
const TAGS = 'note\u{E0041}\u{E0042}';
const LONG = `${'long '.repeat(209715)}END`;
const KEYS = Object.fromEntries(Array.from({ length: 10000 }, (_, index) => [`key ${index}`, index]));

const world = new World();
let browser;
let run;
let waiting;

before(async () => {
  world.write('hostile.json', {
    tools: {
      'evil.give': { description: HTML, returns: { html: HTML, link: LINK, bidi: BIDI, zero: ZERO, tags: TAGS, [HTML]: 1, [BIDI]: 2, long: LONG, keys: KEYS, ['__proto__']: { polluted: 1 } } },
      'evil.fail': { description: BIDI, fails: { code: HTML, message: `${HTML} ${BIDI} ${LINK}` } },
      'evil.take': { description: `${HTML}\n${BIDI}`, annotations: { destructiveHint: true }, returns: 'taken' },
    },
  });
  const plan = {
    name: `${HTML} ${BIDI}`,
    title: `${HTML} ${BIDI}`,
    steps: [
      { id: 'give', title: HTML, tool: 'evil.give' },
      { id: 'fail', title: BIDI, tool: 'evil.fail', on_error: 'continue' },
      { id: 'take', title: ZERO, tool: 'evil.take', args: { html: HTML, link: LINK, bidi: BIDI, zero: ZERO, long: LONG, keys: KEYS, from: '${give.bidi}' } },
    ],
    output: { html: '${give.html}', bidi: '${give.bidi}' },
  };
  world.write('evil.json', plan);
  // The page has the same tools, and one with hostile names.
  const { tools } = JSON.parse(readFileSync(world.path('hostile.json'), 'utf8'));
  const named = { description: `${HTML} ${BIDI}`, input_schema: { type: 'object', properties: { [HTML]: { type: 'string', description: BIDI }, [BIDI]: { type: LINK } }, required: [HTML] } };
  world.write('tools.json', { tools: { ...tools, [`evil.${BIDI} ${HTML}`]: named } });
  await world.command('save', 'evil.json', '--name', 'evil');
  const report = async (...more) => JSON.parse(await world.command('run', 'evil.json', '--simulate', 'hostile.json', '--format', 'json', ...more));
  run = (await report('--approve', 'all')).run;
  waiting = (await report()).run;
  await world.start();
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

/** Fails if something ran, or if a text or attribute has a character that a person cannot see. */
async function checkText(page, what) {
  const found = await page.evaluate(() => {
    const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e01ef}]/u;
    const list = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.currentNode; node; node = walker.nextNode()) {
      if (node.nodeType === Node.TEXT_NODE) {
        if (!node.parentElement.closest('script, style, textarea, .under') && hidden.test(node.data)) list.push(`text: ${JSON.stringify(node.data.slice(0, 80))}`);
      } else {
        for (const { name, value } of node.attributes) {
          if (hidden.test(value)) list.push(`${name}: ${JSON.stringify(value.slice(0, 80))}`);
          if (/^on/i.test(name) || /^\s*javascript:/i.test(value)) list.push(`${name}: ${value.slice(0, 80)}`);
        }
        if (node.matches('img, iframe, object, embed, svg script')) list.push(node.outerHTML.slice(0, 80));
      }
    }
    return { broken: window.broken, polluted: {}.polluted, list };
  });
  assert.deepEqual(found, { broken: undefined, polluted: undefined, list: [] }, what);
}

test('names, titles, errors and values are text on every screen', async () => {
  const page = await browser.open(world);
  await page.getByText('<img src=x').first().waitFor();
  await page.locator('.escape', { hasText: '⟨U+202E⟩' }).first().waitFor();
  await checkText(page, 'the runs');
  for (const [route, content] of [
    [`#/run/${run}/graph`, '.node'], [`#/run/${run}/graph?at=give`, '.step-panel .tree'], [`#/run/${run}/graph?at=fail`, '.step-panel .note'],
    [`#/run/${run}/timeline`, '.time-row'], [`#/run/${run}/steps`, '.step-row'], [`#/run/${run}/steps?at=take`, '.step-panel .tree'],
    [`#/run/${run}/report`, '.report .tree'], [`#/inbox?run=${waiting}`, '.question .tree'], [`#/diff/${waiting}/${run}`, '.diff-table'],
  ]) {
    await go(page, route);
    await page.locator(content).first().waitFor();
    await checkText(page, route);
  }
  await finish(page);
});

test('names and values are text in dialogs, in the catalog and among the stored plans', async () => {
  const page = await browser.open(world);
  for (const [route, button, content] of [
    [`#/run/${run}/graph`, 'Compare…', 'dialog li'], [`#/run/${waiting}/graph`, 'Resume…', 'dialog li'],
    ['#/tools', null, '.tool-row .escape'], ['#/plans', null, '.tool-row'],
  ]) {
    await go(page, route);
    if (button) await page.getByRole('button', { name: button }).click();
    await page.locator(content).first().waitFor();
    await checkText(page, button ?? route);
    if (button) await page.keyboard.press('Escape');
    else {
      await page.getByRole('option').filter({ hasText: 'evil' }).last().click();
      await page.locator('.side-pane .escape').first().waitFor();
      await checkText(page, `${route}, with details`);
    }
  }
  await go(page, `#/inbox?run=${waiting}`);
  await page.getByLabel('The whole plan').check();
  await page.getByLabel('The plan that you approve').waitFor();
  await checkText(page, 'the whole plan');
  await finish(page);
});

test('the whole of a large call can be read before a decision', async () => {
  const page = await browser.open(world, { route: `#/inbox?run=${waiting}` });
  const call = page.getByRole('complementary', { name: 'The call' });
  await call.getByText(/The arguments take [\d,]+ characters/).waitFor();
  await call.getByText('⟨U+202E⟩').first().waitFor();
  await call.getByText('⟨U+200B⟩').first().waitFor();
  const more = call.getByRole('button', { name: /more of 1,048,578 characters/ });
  await more.click();
  await until(page, () => [...document.querySelectorAll('pre.v')].some((node) => node.textContent.length > 20000));
  await call.getByRole('button', { name: /more of 10,000/ }).click();
  await call.getByText('key 500', { exact: true }).waitFor();
  await checkText(page, 'the opened call');
  await finish(page);
});

test('a plan with hostile text in the workbench is text', async () => {
  const page = await browser.open(world, { route: '#/workbench' });
  const area = page.getByLabel('Plan', { exact: true });
  await area.fill(JSON.stringify({ name: HTML, steps: [{ id: BIDI, tool: HTML, args: { a: `\${${BIDI}}` } }] }));
  await page.getByRole('region', { name: 'Diagnostics' }).locator('li').first().waitFor();
  await checkText(page, 'the diagnostics');
  await area.fill(JSON.stringify({ name: HTML, inputs: { [HTML]: { type: 'string', default: BIDI } }, steps: [{ id: 'a', title: BIDI, tool: 'evil.give', args: { [HTML]: LINK, [BIDI]: ZERO } }] }));
  await page.locator('.node').waitFor();
  for (const [view, content] of [['Estimate', '.pane dl'], ['Convert', '.pane .code-block'], ['Run', '.pane .field']]) {
    await page.getByRole('link', { name: view, exact: true }).click();
    await page.locator(content).first().waitFor();
    await checkText(page, view);
  }
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByText('Dry run: no tool was called').waitFor();
  await checkText(page, 'the dry run');
  await area.fill(`{"steps": [{"id": "a", "value": "${'x'.repeat(1 << 20)}"}]}`);
  await page.getByText('The plan is sound.').waitFor();
  await finish(page);
});

test('a run that is handed on as one file is text, and loads nothing', async () => {
  const context = await browser.chromium.newContext({ viewport: { width: 400, height: 800 } });
  const page = await context.newPage();
  for (const form of ['html', 'svg']) {
    const file = world.write(`run.${form}`, await world.command('show', run, '--as', form));
    const requests = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(`file://${world.path(file)}`);
    assert.equal(await page.locator('.step').count(), 3);
    assert.ok(await page.locator('.bar').count() > 1, `the timeline is in ${form}`);
    assert.deepEqual(requests, [`file://${world.path(file)}`]);
    if (form === 'html') {
      for (const step of await page.locator('details').all()) await step.locator('summary').first().click();
      await page.getByText('onerror=').first().waitFor();
      await checkText(page, form);
    } else assert.deepEqual(await page.evaluate(() => [window.broken, document.querySelectorAll('script, foreignObject, image').length]), [undefined, 0]);
    page.removeAllListeners('request');
  }
  await context.close();
});

test('a route that names nothing says so, and hostile routes do nothing', async () => {
  const page = await browser.open(world);
  for (const route of ['#/run/nothing/graph', `#/run/${encodeURIComponent(HTML)}/graph`, '#/run/%E0%A4%A/graph', `#/diff/${encodeURIComponent(BIDI)}/x`]) {
    await go(page, route);
    await page.getByRole('alert').first().waitFor();
    await checkText(page, route);
  }
  await finish(page);
});
