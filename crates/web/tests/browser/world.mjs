// The world of the browser tests: a folder with plans and simulated tools, a store of its own, `planwright ui` over it, and a browser.
//
// Environment variables: `PLANWRIGHT` is the program, `PLANWRIGHT_BROWSER_PACKAGES` the folder with `node_modules`, `CHROMIUM` the
// browser, `PLANWRIGHT_SCREENSHOTS` the folder for screenshots, which are not made without it.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../../..');
const program = process.env.PLANWRIGHT ?? join(root, 'target/debug/planwright');
/** The folder with the packages of the tests. */
export const packages = process.env.PLANWRIGHT_BROWSER_PACKAGES ?? join(root, 'target/judges/browser');
const require = createRequire(join(packages, 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const screenshots = process.env.PLANWRIGHT_SCREENSHOTS;

/** The longest time that a test waits for a condition, in ms. */
export const PATIENCE = 60000;

/** A folder with a store, and the programs that work on it. */
export class World {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'planwright-browser-'));
    this.environment = {
      PATH: process.env.PATH, HOME: this.folder, XDG_CONFIG_HOME: join(this.folder, 'config'), XDG_DATA_HOME: join(this.folder, 'data'),
      PLANWRIGHT_STORE: join(this.folder, 'store.db'), NO_COLOR: '1', TZ: 'UTC',
    };
    this.children = new Set();
    this.port = 0;
    copyFileSync(join(root, 'docs/guide/tools.json'), join(this.folder, 'tools.json'));
  }

  path(name) {
    return join(this.folder, name);
  }

  /** Writes a value as JSON, or a text, to a file of the folder. */
  write(name, content) {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), typeof content === 'string' ? content : JSON.stringify(content));
    return name;
  }

  /** Runs `planwright` to its end, and returns its standard output, whatever its exit status. */
  async command(...args) {
    try {
      const { stdout } = await promisify(execFile)(program, args, { cwd: this.folder, env: this.environment, maxBuffer: 1 << 28 });
      return stdout;
    } catch (error) {
      if (typeof error.code !== 'number') throw error;
      return error.stdout;
    }
  }

  /** Runs a plan to its end, and returns the report. */
  async run(plan, ...args) {
    const name = this.write(`${plan.name ?? 'plan'}.json`.replace(/[^\w.]/g, '_'), plan);
    const text = await this.command('run', name, '--simulate', 'tools.json', '--format', 'json', ...args);
    return JSON.parse(text);
  }

  /** Begins a program that goes on in the background. Options may come first: `stdin`. */
  begin(...given) {
    const [options, args] = typeof given[0] === 'object' ? [given[0], given.slice(1)] : [{}, given];
    const child = spawn(program, args, { cwd: this.folder, env: this.environment, stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'] });
    this.children.add(child);
    // A pipe that is full would stop the program.
    child.stdout.resume();
    child.stderr.resume();
    child.ended = new Promise((resolve) => child.on('exit', (code, signal) => {
      this.children.delete(child);
      resolve({ code, signal });
    }));
    return child;
  }

  /** Begins the gateway, over its standard input and output. */
  beginServing() {
    return this.begin({ stdin: 'pipe' }, 'serve', '--simulate', 'tools.json');
  }

  /** Begins a plan in the background. */
  beginPlan(plan, ...args) {
    const name = this.write(`${plan.name}.json`, plan);
    return this.begin('run', name, '--simulate', 'tools.json', ...args);
  }

  /** Starts `planwright ui`, on the same port as before, and returns the address that it prints. */
  async start(...args) {
    this.ui = this.begin('ui', '--no-open', '--port', String(this.port), '--simulate', 'tools.json', ...args);
    let errors = '';
    this.ui.stderr.on('data', (data) => { errors += data; });
    const address = await new Promise((resolve, reject) => {
      let text = '';
      this.ui.stdout.on('data', (data) => {
        text += data;
        const line = /^(http:\S+)\s/m.exec(text) ?? /^(http:\S+#token=[\w-]{20,})$/m.exec(text);
        if (line) resolve(line[1]);
      });
      this.ui.on('exit', (code) => reject(new Error(`planwright ui ended with ${code}: ${errors}`)));
    });
    this.port = Number(new URL(address).port);
    this.address = address;
    return address;
  }

  /** Opens a session without a browser. Returns the headers that show it. */
  async session() {
    const { origin, hash } = new URL(this.address);
    const headers = { 'content-type': 'application/json', origin };
    const response = await fetch(`${origin}/api/session`, { method: 'POST', headers, body: JSON.stringify({ token: hash.replace('#token=', '') }) });
    const { key } = await response.json();
    return { cookie: response.headers.get('set-cookie').split(';')[0], 'planwright-session': key };
  }

  /** The processor time that `planwright ui` has used, in ms. NaN where the system does not say. */
  processorTime() {
    const path = `/proc/${this.ui.pid}/stat`;
    if (!existsSync(path)) return NaN;
    // The name of the program is in brackets; 100 ticks are a second on Linux.
    const fields = readFileSync(path, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** Kills `planwright ui` without a chance to say anything. */
  async kill() {
    this.ui.kill('SIGKILL');
    await this.ui.ended;
  }

  async close() {
    const children = [...this.children];
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.ended));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A browser whose pages note everything that a person would not want: errors, dialogs, requests to other places. */
export class Browser {
  static async launch() {
    const browser = new Browser();
    browser.chromium = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--enable-precise-memory-info'],
    });
    return browser;
  }

  /** Opens the page of a world. */
  async open(world, { width = 1280, height = 800, scheme = 'light', motion = 'no-preference', route = '' } = {}) {
    const context = await this.chromium.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: motion, locale: 'en-GB', timezoneId: 'UTC' });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(world.address).origin });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    page.unwanted = [];
    const origin = new URL(world.address).origin;
    page.on('pageerror', (error) => page.unwanted.push(`error: ${error.stack ?? error}`));
    page.on('dialog', (dialog) => { page.unwanted.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith('data:')) page.unwanted.push(`request: ${url}`);
    });
    page.on('console', (message) => {
      if (/Content Security Policy/i.test(message.text())) page.unwanted.push(message.text());
    });
    await page.goto(world.address);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    if (route) await go(page, route);
    return page;
  }

  /** The memory of the largest process that shows a page, in MB: its own and its part of what it shares. NaN where the system does not say. */
  async rendererMemory() {
    const session = await this.chromium.newBrowserCDPSession();
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => {
      const path = `/proc/${id}/smaps_rollup`;
      return existsSync(path) ? Number(/^Pss:\s+(\d+)/m.exec(readFileSync(path, 'utf8'))[1]) : NaN;
    });
    return Math.round(Math.max(...sizes) * 1024 / 1e6);
  }

  async close() {
    await this.chromium.close();
  }
}

/** Moves a page to a route of the fragment. */
export async function go(page, route) {
  await page.evaluate((hash) => { location.hash = hash; }, route);
}

/** Closes a page after it has shown nothing unwanted. */
export async function finish(page) {
  assert.deepEqual(page.unwanted, []);
  // A request that a test holds back may be in flight.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().close();
}

/** Fails if axe finds something serious. */
export async function checkAccess(page, what) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run());
  assert.ok(result.passes.length > 10, `axe looked at ${what}`);
  const found = result.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(found.map(({ id, nodes }) => `${what}: ${id}: ${nodes.map((node) => node.target.join(' ')).slice(0, 3).join(', ')}`), []);
}

/** Fails if the page, or a dialog on it, is wider than its window. */
export async function checkWidth(page, what) {
  const sizes = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll('dialog[open]')].map((node) => [node.scrollWidth, node.clientWidth]));
  for (const [inner, outer] of sizes) assert.ok(inner <= outer, `${what} is ${inner} pixels wide in a window of ${outer}`);
}

/** Makes a screenshot for the book, if a folder for it is named. */
export async function screenshot(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`) });
}

/** Presses keys one after another. */
export async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
}

/** Waits until `condition`, a function in the page, returns something true, and returns it. */
export async function until(page, condition, argument) {
  const handle = await page.waitForFunction(condition, argument, { timeout: PATIENCE });
  const value = await handle.jsonValue();
  // An element with a handle stays in the memory of the page, with all that refers to it.
  await handle.dispose();
  return value;
}

/** Waits until `count` elements match a CSS selector. A graph that moves draws its nodes when it rests. */
export const countIs = (page, selector, count) => until(page, ([of, wanted]) => document.querySelectorAll(of).length === wanted, [selector, count]);

/**
 * Clicks on a part of the graph, where it is as soon as it rests. The element above the drawing takes the click, so that Playwright would wait for
 * ever, and a graph that is read again replaces its parts.
 */
export async function clickNode(locator) {
  const place = () => locator.evaluate((node) => new Promise((resolve) => {
    requestAnimationFrame(() => {
      const { x, y, width, height } = node.getBoundingClientRect();
      resolve([x + width / 2, y + height / 2]);
    });
  }));
  let last = [];
  let next = await place();
  while (next[0] !== last[0] || next[1] !== last[1]) {
    last = next;
    next = await place();
  }
  await locator.page().mouse.click(next[0], next[1]);
}

/** The text of the element with the focus. */
export const focused = (page) => page.evaluate(() => document.activeElement?.innerText || document.activeElement?.getAttribute('aria-label') || document.activeElement?.id);
