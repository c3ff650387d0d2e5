// Figures for 10,000 steps, which are printed and not asserted: machines differ.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { Browser, PATIENCE, World, finish, go, until } from './world.mjs';

const STEPS = 10000;
const LIVE_STEPS = 1000;
const WATCHED_STEPS = 500;
const PAIRS = Number(process.env.PLANWRIGHT_PAIRS ?? 2);

const world = new World();
let browser;
let run;

/** Layers of 100 steps; each step takes the outputs of two steps of the layer before. */
function plan(name, count, tool) {
  const steps = Array.from({ length: count }, (_, index) => {
    const step = { id: `s${index}`, tool };
    if (index >= 100) step.args = { a: `\${s${index - 100}}`, b: `\${s${index - (index % 100 === 0 ? 1 : 101)}}` };
    return step;
  });
  return { name, steps };
}

before(async () => {
  world.write('quick.json', { tools: { quick: { returns: 1 }, short: { sleep_ms: 25, returns: 1 }, brief: { sleep_ms: 5, returns: 1 } } });
  world.write('large.json', plan('large', STEPS, 'quick'));
  run = JSON.parse(await world.command('run', 'large.json', '--simulate', 'quick.json', '--format', 'json')).run;
  await world.start();
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

/** The frames that the browser drew while `act` ran in the page: `{rate, median, slow}`, the last one the 95th percentile in ms. */
async function frames(page, name, act, argument) {
  await page.evaluate(() => {
    window.frameTimes = [];
    window.isRecording = true;
    let last = performance.now();
    const tick = (time) => {
      window.frameTimes.push(time - last);
      last = time;
      if (window.isRecording) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await page.evaluate(act, argument);
  const times = await page.evaluate(() => {
    window.isRecording = false;
    return window.frameTimes.slice(2);
  });
  times.sort((a, b) => a - b);
  const total = times.reduce((sum, time) => sum + time, 0);
  console.log(`${name}: ${(1000 * times.length / total).toFixed(0)} frames a second, median ${median(times).toFixed(1)} ms, 95 % within ${times[Math.floor(times.length * 0.95)].toFixed(1)} ms`);
}

/** The memory of the page, as it is and after a garbage collection. */
async function memory(page, what) {
  const session = await page.context().newCDPSession(page);
  const now = await browser.rendererMemory();
  await session.send('HeapProfiler.collectGarbage');
  const scripts = await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6));
  console.log(`memory, ${what}: ${now} MB of the process that shows the page, ${await browser.rendererMemory()} MB after a forced garbage collection, of that ${scripts} MB of scripts`);
}

test('figures for the responses', async () => {
  const html = await (await fetch(new URL('/', world.address))).text();
  console.log(`document: ${gzipSync(html, { level: 9 }).length} bytes, compressed`);
  const headers = await world.session();
  const times = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const began = [performance.now(), world.processorTime()];
    const text = await (await fetch(new URL(`/api/runs/${run}`, world.address), { headers })).text();
    times.push(`${(performance.now() - began[0]).toFixed(0)} ms (${world.processorTime() - began[1]} ms of processor time, ${(text.length / 1e6).toFixed(1)} MB)`);
  }
  console.log(`run of ${STEPS} steps, first and further responses: ${times.join(', ')}`);
});

test('figures for 10,000 steps', async () => {
  const page = await browser.open(world);
  await page.locator('[data-row]').first().waitFor();
  // The time from the arrival of the data to the first frame that shows it.
  await page.evaluate(() => {
    const { text } = Response.prototype;
    Response.prototype.text = async function timed() {
      const result = await text.call(this);
      if (/\/api\/runs\/\w+$/.test(this.url)) window.arrived = performance.now();
      return result;
    };
    const look = () => {
      if (document.querySelector('.drawing .node, .layer > canvas:not(.away)')) requestAnimationFrame(() => { window.painted = performance.now(); });
      else requestAnimationFrame(look);
    };
    look();
  });
  await go(page, `#/run/${run}/graph`);
  await until(page, () => window.painted);
  console.log(`graph of ${STEPS} steps: first frame ${(await page.evaluate(() => window.painted - window.arrived)).toFixed(0)} ms after the data`);

  const wheel = async ({ selector, x, y, count, isZoom }) => {
    const node = document.querySelector(selector);
    for (let index = 0; index < count; index += 1) {
      node.dispatchEvent(new WheelEvent('wheel', { deltaX: x, deltaY: y, ctrlKey: Boolean(isZoom), clientX: 600, clientY: 400, bubbles: true, cancelable: true }));
      await new Promise((resolve) => { requestAnimationFrame(resolve); });
    }
  };
  const scroll = async ({ selector, y, count }) => {
    const node = document.querySelector(selector);
    for (let index = 0; index < count; index += 1) {
      node.scrollTop += y;
      await new Promise((resolve) => { requestAnimationFrame(resolve); });
    }
  };
  await until(page, () => document.querySelector('.drawing .node') && document.querySelector('.layer > canvas.away'));
  await memory(page, 'the graph');
  await frames(page, 'graph, moving', wheel, { selector: '[data-graph]', x: 8, y: 16, count: 180 });
  await frames(page, 'graph, zooming out', wheel, { selector: '[data-graph]', x: 0, y: 40, count: 60, isZoom: true });
  await page.getByRole('button', { name: 'Fit' }).click();
  await frames(page, 'overview, moving', wheel, { selector: '[data-graph]', x: 2, y: 4, count: 120 });
  await go(page, `#/run/${run}/steps`);
  await page.locator('.step-row').first().waitFor();
  await frames(page, 'steps, scrolling', scroll, { selector: '.list', y: 120, count: 180 });
  await go(page, `#/run/${run}/timeline`);
  await page.locator('.time-row').first().waitFor();
  await frames(page, 'timeline, scrolling', scroll, { selector: '.list', y: 104, count: 180 });
  await memory(page, 'after all views');
  await finish(page);
});

test('figures for live updates', async () => {
  world.write('live.json', plan('live', LIVE_STEPS, 'short'));
  const page = await browser.open(world);
  const child = world.begin('run', 'live.json', '--simulate', 'quick.json', '--max-parallel', '1');
  const row = page.getByRole('row').filter({ hasText: 'live' });
  await row.getByRole('link').first().click();
  await page.locator('.node').first().waitFor();
  // The time at the end of each frame in which the number of ended steps is another one: a message that is sent in a frame arrives after it.
  await page.evaluate(() => {
    window.seen = [];
    let last = 0;
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = () => {
      const ended = Number(document.querySelector('.run-header .figure')?.firstChild?.data.replaceAll(',', '') ?? 0);
      if (ended !== last) window.seen.push([ended, Date.now()]);
      last = ended;
    };
    const look = () => {
      port1.postMessage(null);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await frames(page, 'graph, live', async () => {
    const done = () => /succeeded|failed/.test(document.querySelector('.run-header .status')?.innerText ?? '');
    while (!done()) await new Promise((resolve) => { requestAnimationFrame(resolve); });
  });
  await child.ended;
  const id = /#\/run\/(\w+)/.exec(page.url())[1];
  const { started, ended } = await page.evaluate(async (run) => {
    const headers = { 'planwright-session': localStorage.getItem('planwright-session') };
    const data = await (await fetch(`/api/runs/${run}`, { headers })).json();
    return { started: Date.parse(data.run.started), ended: Object.values(data.states).map((state) => state.ended_ms).sort((a, b) => a - b) };
  }, id);
  const seen = await page.evaluate(() => window.seen);
  assert.ok(seen.length > 10, 'the page saw the run while it was running');
  // The delay of each end of a step: up to the end of the first frame that counts it.
  const delays = ended.map((time, index) => seen.find(([count]) => count > index)[1] - started - time);
  assert.equal(delays.length, LIVE_STEPS);
  console.log(`event to pixel: median ${median(delays).toFixed(0)} ms over ${delays.length} events, which ${seen.length} frames showed`);
  await finish(page);
});

test('figures for watchers of a run', async () => {
  world.write('watched.json', plan('watched', WATCHED_STEPS, 'brief'));
  const headers = await world.session();
  const events = (query, signal) => fetch(new URL(`/api/events${query}`, world.address), { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]) });

  /** Runs the plan under `count` streams of events; each has to see every step and the end. Returns the duration in ms. */
  async function watched(count) {
    const began = world.processorTime();
    const abort = new AbortController();
    const streams = await Promise.all(Array.from({ length: count }, () => events('', abort.signal)));
    const ends = streams.map((response) => seesEnd(response, (id) => events(`?run=${id}&after=0`, abort.signal)));
    const report = JSON.parse(await world.command('run', 'watched.json', '--simulate', 'quick.json', '--max-parallel', '4', '--format', 'json'));
    assert.equal(report.status, 'succeeded');
    await Promise.all(ends);
    abort.abort();
    return { duration: report.duration_ms, processor: world.processorTime() - began };
  }

  await watched(0);
  for (const count of [1, 50]) {
    const ratios = [];
    const processor = [];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      // The order changes, so that a machine that becomes slower does not look like a cost.
      const durations = {};
      for (const watchers of pair % 2 ? [0, count] : [count, 0]) {
        durations[watchers] = await watched(watchers);
      }
      ratios.push(durations[count].duration / durations[0].duration);
      processor.push(durations[count].processor);
    }
    ratios.sort((a, b) => a - b);
    const percent = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`;
    console.log(`${count} watching: the run takes ${percent(median(ratios))} longer (median of ${PAIRS} pairs, ${percent(ratios[0])} to ${percent(ratios.at(-1))}); `
      + `the program that they watch uses ${median(processor).toFixed(0)} ms of processor time`);
  }
});

/** Follows the runs until one begins, and then that run until every step and the run itself have succeeded. */
async function seesEnd(response, follow) {
  let id = null;
  for await (const { name, data } of eventsOf(response)) {
    id = name === 'runs' && data.changed.find((row) => row.plan === 'watched' && row.status === 'running')?.id;
    if (id) break;
  }
  const ended = new Set();
  for await (const { name, data } of eventsOf(await follow(id))) {
    if (name !== 'run') continue;
    for (const [at, state] of Object.entries(data.states)) if (state.status === 'succeeded') ended.add(at);
    if (data.run.status === 'succeeded' && ended.size === WATCHED_STEPS) return;
  }
  assert.fail(`the stream ended after ${ended.size} steps`);
}

/** The events of a stream. */
async function* eventsOf(response) {
  let text = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const field = (key) => block.split('\n').find((line) => line.startsWith(`${key}:`))?.slice(key.length + 1).trim();
      if (field('data')) yield { name: field('event'), data: JSON.parse(field('data')) };
    }
  }
}
