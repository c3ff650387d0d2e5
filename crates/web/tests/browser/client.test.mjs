// The page as a view of an MCP client: a client of the gateway that shows views in a frame without an origin, as the extension asks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, PATIENCE, World, finish, screenshot, until } from './world.mjs';

/** Waits for an approval: its second call moves money. */
const payBack = {
  name: 'pay-back',
  steps: [
    { id: 'list', tool: 'list_orders' },
    { id: 'back', tool: 'refund', args: { order: 'o-1', amount: 20 }, after: ['list'] },
  ],
};

const VIEW = 'ui://planwright/run';
const world = new World();
let browser;

before(async () => {
  browser = await Browser.launch();
});

after(async () => {
  await browser?.close();
  await world.close();
});

/** An MCP client of `planwright serve` over its standard input and output. */
class Client {
  constructor(capabilities) {
    this.gateway = world.beginServing();
    this.waiting = new Map();
    let rest = '';
    this.gateway.stdout.on('data', (data) => {
      const lines = (rest + data).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        const message = JSON.parse(line);
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
      }
    });
    this.capabilities = capabilities;
  }

  async initialize() {
    await this.request('initialize', {
      protocolVersion: '2025-11-25', capabilities: this.capabilities, clientInfo: { name: 'test', version: '1' },
    });
    this.gateway.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    return this;
  }

  async request(method, params) {
    const id = this.waiting.size + Math.floor(performance.now() * 1000);
    const answered = new Promise((resolve) => this.waiting.set(id, resolve));
    this.gateway.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    const { result, error } = await answered;
    if (error) throw new Error(error.message);
    return result;
  }

  call(name, given) {
    return this.request('tools/call', { name, arguments: given });
  }
}

const client = () => new Client({ extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } }).initialize();

/** Shows the view of a result, and passes its calls on. */
async function show(of, input, result) {
  const read = await of.request('resources/read', { uri: VIEW });
  assert.equal(read.contents[0].mimeType, 'text/html;profile=mcp-app');
  const context = await browser.chromium.newContext({ viewport: { width: 900, height: 700 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.unwanted = [];
  page.on('pageerror', (error) => page.unwanted.push(`error: ${error.stack ?? error}`));
  page.on('request', (request) => {
    if (!/^(data|about):/.test(request.url())) page.unwanted.push(`request: ${request.url()}`);
  });
  page.sent = [];
  await page.exposeFunction('answer', async (method, params) => {
    page.sent.push({ method, params });
    if (method === 'ui/initialize') {
      return { protocolVersion: '2026-01-26', hostInfo: { name: 'test', version: '1' }, hostCapabilities: {}, hostContext: {} };
    }
    if (method === 'ui/message') return {};
    assert.equal(method, 'tools/call');
    return of.request(method, params);
  });
  await page.setContent('<!doctype html><title>client</title><style>html, body, iframe { margin: 0; border: 0; width: 100%; height: 100% }</style>');
  await page.evaluate(([document_, given, shown]) => {
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts';
    frame.title = 'Planwright';
    const post = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
    window.said = [];
    addEventListener('message', async ({ source, data }) => {
      if (source !== frame.contentWindow) return;
      if (data.method === 'ui/message') window.said.push(data.params.content[0].text);
      if (data.id !== undefined) {
        try {
          post({ id: data.id, result: await window.answer(data.method, data.params) });
        } catch (error) {
          post({ id: data.id, error: { code: -32000, message: error.message } });
        }
      } else if (data.method === 'ui/notifications/initialized') {
        post({ method: 'ui/notifications/tool-input', params: { arguments: given } });
        post({ method: 'ui/notifications/tool-result', params: shown });
      }
    });
    frame.srcdoc = document_;
    document.body.append(frame);
  }, [read.contents[0].text, input, result]);
  return { page, view: page.frameLocator('iframe') };
}

test('clients that show views get the page beside results, and its tools for the page alone', async () => {
  const plain = await new Client({}).initialize();
  const shows = await client();
  const names = async (one) => (await one.request('tools/list', {})).tools;
  const without = await names(plain);
  assert.ok(!without.some((tool) => tool._meta?.ui || /decide_call|read_run_view/.test(tool.name)));
  const tools = await names(shows);
  for (const name of ['execute_plan', 'check_plan', 'get_run']) {
    assert.equal(tools.find((tool) => tool.name === name)._meta.ui.resourceUri, VIEW);
  }
  for (const name of ['decide_call', 'read_run_view']) {
    assert.deepEqual(tools.find((tool) => tool.name === name)._meta.ui.visibility, ['app']);
  }
  await assert.rejects(plain.request('resources/read', { uri: VIEW }));
});

test('a person follows a run in the client and approves its call', async () => {
  const of = await client();
  const input = { plan: payBack };
  const result = await of.call('execute_plan', input);
  const { run, status } = result.structuredContent;
  assert.equal(status, 'waiting');
  const { page, view } = await show(of, input, result);
  await view.locator('.run-header').getByText('waiting').waitFor();
  await view.locator('[data-graph]').waitFor();
  await screenshot(page, 'client');
  await view.getByRole('link', { name: /Inbox/ }).click();
  const call = view.getByRole('complementary', { name: 'The call' });
  await call.getByRole('heading', { name: 'simulated.refund' }).waitFor();
  await call.getByRole('button', { name: 'Approve', exact: true }).click();
  await view.getByRole('status').getByText(/^Approved/).waitFor();
  assert.match(await until(page, () => window.said[0]), new RegExp(run));
  const done = await of.call('resume_plan', { run });
  assert.equal(done.structuredContent.status, 'succeeded');
  await view.getByRole('link', { name: 'Run', exact: true }).click();
  await view.locator('.run-header').getByText('succeeded').waitFor();
  assert.ok(page.sent.some(({ params }) => params.name === 'decide_call'));
  await finish(page);
});

test('a task is shown as the run that it is, and the view asks to resume it', async () => {
  const of = await client();
  const input = { plan: payBack };
  const result = await of.call('execute_plan', input);
  const { run } = result.structuredContent;
  const handle = { resultType: 'task', taskId: run, status: 'working', _meta: result._meta };
  const { page, view } = await show(of, input, handle);
  await view.locator('.run-header').getByText('waiting').waitFor();
  await view.getByRole('button', { name: 'Resume…' }).click();
  await view.getByRole('dialog').getByRole('button', { name: 'Resume the run' }).click();
  await view.getByRole('dialog').waitFor({ state: 'detached' });
  assert.match(await until(page, () => window.said[0]), new RegExp(`${run} with resume_plan`));
  assert.equal(await view.getByRole('button', { name: 'Cancel…' }).count(), 0);
  await finish(page);
});

test('a checked plan opens in the workbench', async () => {
  const of = await client();
  const input = { plan: { steps: [{ id: 'a', tool: 'simulated.nothing_of_the_kind' }] } };
  const { page, view } = await show(of, input, await of.call('check_plan', input));
  await view.getByRole('heading', { level: 1, name: 'Workbench' }).waitFor();
  await view.getByText('PW0201').first().waitFor();
  await finish(page);
});

test('the warnings of a sound plan are no errors, and it can be converted', async () => {
  const of = await client();
  const input = { plan: { inputs: { unused: { type: 'string', default: 'x' } }, steps: [{ id: 'a', tool: 'list_orders' }] } };
  const result = await of.call('check_plan', input);
  assert.equal(result.structuredContent.status, 'sound');
  assert.ok(result.structuredContent.findings.length > 0);
  const { page, view } = await show(of, input, result);
  const summary = view.getByRole('region', { name: 'Diagnostics' }).getByRole('status');
  await summary.getByText(/warning/).waitFor();
  assert.doesNotMatch(await summary.innerText(), /error/);
  await view.getByRole('link', { name: 'Convert' }).click();
  await view.getByLabel('Convert to').selectOption('lines');
  await view.getByLabel('Converted plan').waitFor();
  await finish(page);
});

test('a client that rounds numbers changes no call', async () => {
  const of = await client();
  // The client of this test reads messages as JavaScript does, so the plan goes as a text.
  const amount = '175928847299117063';
  const plan = JSON.stringify({ steps: [{ id: 'back', tool: 'refund', args: { order: 'o-1', amount: 1 } }] }).replace(':1}', `:${amount}}`);
  const result = await of.call('execute_plan', { plan });
  const { page, view } = await show(of, { plan }, result);
  await view.getByRole('link', { name: /Inbox/ }).click();
  const call = view.getByRole('complementary', { name: 'The call' });
  // The view shows the calls of its own run only.
  assert.equal(await view.getByRole('option').count(), 1);
  await call.getByText(`amount: ${amount}`).waitFor();
  await call.getByRole('button', { name: 'Change…' }).click();
  await call.getByLabel('Arguments, as JSON').fill(`{"order": "o-2", "amount": ${amount}}`);
  await call.getByText("The arguments fit the tool's schema.").waitFor();
  await call.getByRole('button', { name: 'Approve with changes' }).click();
  await view.getByRole('status').getByText(/^Approved/).waitFor();
  const done = await of.call('resume_plan', { run: result.structuredContent.run });
  assert.equal(done.structuredContent.status, 'succeeded');
  const log = await world.command('logs', result.structuredContent.run, '--format', 'json');
  assert.ok(log.includes(amount), log);
  await finish(page);
});

test('a model decides nothing: it has no token, and a token is used once', async () => {
  const of = await client();
  const { structuredContent: { run } } = await of.call('execute_plan', { plan: payBack });
  const refused = async (name, given) => {
    const result = await of.call(name, given);
    assert.ok(result.isError, JSON.stringify(result));
    assert.match(result.content[0].text, /only the view of the run/);
  };
  const path = `runs/${run}`;
  await refused('read_run_view', { run, path, token: '' });
  await refused('read_run_view', { run, path, token: '0'.repeat(64) });
  const found = await of.call('get_run', { run });
  const { run: own, token } = found._meta['planwright/view'];
  assert.equal(own, run);
  assert.ok(!JSON.stringify([found.content, found.structuredContent]).includes(token));
  const inbox = await of.call('read_run_view', { run, path, token });
  const { at, digest } = JSON.parse(inbox.structuredContent.text).questions.find((question) => question.run === run);
  const one = inbox._meta['planwright/decide'][digest];
  assert.ok(!JSON.stringify([inbox.content, inbox.structuredContent]).includes(one));
  const decision = { run, decisions: [{ at, digest }], decision: 'approve' };
  await refused('decide_call', { ...decision, tokens: {} });
  await refused('decide_call', { ...decision, tokens: { [digest]: token } });
  // A view that writes by way of reading is refused as well.
  const written = await of.call('read_run_view', { run, path: 'decisions', token, body: JSON.stringify(decision) });
  assert.equal(written.structuredContent.status, 403);
  // The token belongs to this call: the arguments cannot be another's.
  await refused('decide_call', { ...decision, decisions: [{ at, digest }, { at, digest: '0' }], tokens: { [digest]: one } });
  // A decision that is refused uses no token up: the person tries again.
  const wrong = { ...decision, decision: 'change', arguments: '{"order": 1}' };
  assert.equal((await of.call('decide_call', { ...wrong, tokens: { [digest]: one } })).structuredContent.status, 422);
  const unread = await of.call('decide_call', { ...wrong, arguments: '{', tokens: { [digest]: one } });
  assert.match(unread.content[0].text, /`arguments` is not JSON/);
  // The approval of the whole plan has a token of its own.
  const { plan_digest: plan } = JSON.parse(inbox.structuredContent.text).questions.find((question) => question.run === run);
  assert.ok(inbox._meta['planwright/decide'][plan]);
  await refused('decide_call', { ...decision, plan_digest: plan, tokens: { [digest]: one } });
  await refused('decide_call', { ...decision, plan_digest: plan, tokens: { [digest]: one, [plan]: one } });
  const decided = await of.call('decide_call', { ...decision, tokens: { [digest]: one } });
  assert.equal(decided.structuredContent.status, 200);
  await refused('decide_call', { ...decision, tokens: { [digest]: one } });
});

test('the key of a view reads and decides its own run, in its own process', async () => {
  const [of, other] = [await client(), await client()];
  const begin = async () => (await of.call('execute_plan', { plan: payBack }))._meta['planwright/view'];
  const [first, second] = [await begin(), await begin()];
  const check = (await of.call('check_plan', { plan: payBack }))._meta['planwright/view'];
  const read = async (from, key, path) => {
    const result = await from.call('read_run_view', { ...key, path });
    return result.isError ? 'refused' : result.structuredContent.status;
  };
  const path = `runs/${first.run}`;
  assert.equal(await read(of, first, path), 200);
  assert.equal(await read(of, first, `${path}/timeline`), 200);
  for (const elsewhere of ['runs', 'inbox', `runs/${second.run}`, `diff?a=${first.run}&b=${second.run}`, 'plans', 'tools']) {
    assert.equal(await read(of, first, elsewhere), 403, elsewhere);
  }
  assert.equal(await read(of, second, path), 403);
  assert.equal(await read(of, { ...second, run: first.run }, path), 'refused');
  assert.equal(await read(of, check, path), 403);
  assert.equal(await read(of, { token: first.token }, path), 'refused');
  // Another process of the same user.
  assert.equal(await read(other, first, path), 'refused');
  // The token of a decision is of one run, although both calls have the same arguments.
  const shown = await of.call('read_run_view', { ...first, path });
  const [{ at, digest }] = JSON.parse(shown.structuredContent.text).questions;
  const tokens = shown._meta['planwright/decide'];
  const decide = (from, run) => from.call('decide_call', { run, decisions: [{ at, digest }], decision: 'approve', tokens });
  assert.ok((await decide(of, second.run)).isError);
  assert.ok((await decide(other, first.run)).isError);
  assert.equal((await decide(of, first.run)).structuredContent.status, 200);
});

test('a result without the key of the view, or a cancelled call, does not end the view', async () => {
  const of = await client();
  const input = { plan: payBack };
  const result = await of.call('execute_plan', input);
  const { page, view } = await show(of, input, { ...result, _meta: {} });
  await view.getByRole('alert').getByText('without its `_meta`'.replaceAll('`', '')).first().waitFor();
  await page.evaluate((params) => {
    const { contentWindow } = document.querySelector('iframe');
    for (const [method, given] of [['tool-cancelled', {}], ['tool-result', params]]) {
      contentWindow.postMessage({ jsonrpc: '2.0', method: `ui/notifications/${method}`, params: given }, '*');
    }
  }, result);
  await view.locator('.run-header').getByText('waiting').waitFor();
  await finish(page);
});
