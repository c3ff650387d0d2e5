// A client as those of others are: the reference host of the extension (`AppBridge` of `@modelcontextprotocol/ext-apps`) and the official MCP
// client, both in the browser, over `planwright serve`. The view is in two frames, as hosts in the web have to do it: the outer one, of
// another origin, writes the view into the inner one, and passes messages on.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { PATIENCE, packages } from './world.mjs';

const HOST = 'https://host.test';
const SANDBOX = 'https://sandbox.test';

/** What a host allows a view that declares no domains. */
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'";

/** The packages that the page of the host imports, as an import map: `exports` of each, as browsers resolve them. */
async function importMap() {
  const imports = {};
  const target = (value) => (typeof value === 'string' || !value ? value : target(value.browser ?? value.import ?? value.default));
  for (const name of ['@modelcontextprotocol/ext-apps', '@modelcontextprotocol/client', '@modelcontextprotocol/core', 'zod', 'eventsource', 'eventsource-parser', 'pkce-challenge']) {
    const folder = join(packages, 'node_modules', name);
    const { exports } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const entries = Object.hasOwn(exports, '.') ? exports : { '.': exports };
    for (const [path, value] of Object.entries(entries)) {
      const file = target(value);
      if (file && !path.includes('*')) imports[join(name, path)] = `/modules/${join(name, file)}`;
    }
  }
  return { imports };
}

const hostDocument = async () => `<!doctype html><html lang="en"><title>host</title>
<style>html, body { margin: 0; height: 100% } iframe { border: 0; width: 100%; height: 150px }</style>
<script type="importmap">${JSON.stringify(await importMap())}</script>
<script type="module">
import { Client } from '@modelcontextprotocol/client';
import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri } from '@modelcontextprotocol/ext-apps/app-bridge';

const transport = {
  start: async () => {},
  close: async () => {},
  send: async (message) => window.toGateway(JSON.stringify(message)),
};
window.fromGateway = (line) => transport.onmessage(JSON.parse(line));

const client = new Client({ name: 'reference-host', version: '1' }, {
  capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } },
});
const frame = document.createElement('iframe');
frame.title = 'Planwright';
frame.sandbox = 'allow-scripts allow-same-origin allow-forms';

/** Shows the view of a tool, and gives it the arguments of a call, in the order in which hosts do it. */
async function showView(name, given, hostContext) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const uri = getToolUiResourceUri(tools.find((tool) => tool.name === name));
  const { contents: [content] } = await client.readResource({ uri });
  if (content.mimeType !== RESOURCE_MIME_TYPE) throw new Error(content.mimeType);
  const ready = new Promise((resolve) => {
    addEventListener('message', ({ source, data }) => source === frame.contentWindow && data?.method === 'ui/notifications/sandbox-proxy-ready' && resolve());
  });
  frame.src = '${SANDBOX}/';
  document.body.append(frame);
  await ready;
  const { tools: serverTools, resources: serverResources } = client.getServerCapabilities();
  const bridge = new AppBridge(client, { name: 'reference-host', version: '1' }, { openLinks: {}, serverTools, serverResources }, { hostContext });
  window.bridge = bridge;
  window.messages = [];
  window.heights = [];
  bridge.onmessage = async (message) => { window.messages.push(message); return {}; };
  bridge.addEventListener('sizechange', ({ height }) => {
    window.heights.push(height);
    frame.style.height = height + 'px';
  });
  const initialized = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  const { csp, permissions } = content._meta?.ui ?? {};
  await bridge.sendSandboxResourceReady({ html: content.text, csp, permissions });
  await initialized;
  await bridge.sendToolInput({ arguments: given });
  return bridge;
}

window.callAndShow = async (name, given, hostContext) => {
  const bridge = await showView(name, given, hostContext);
  const result = await client.callTool({ name, arguments: given });
  await bridge.sendToolResult(result);
  return result.structuredContent;
};
window.showCancelled = async (name, given) => (await showView(name, given)).sendToolCancelled({ reason: 'stopped' });
window.callTool = async (name, given) => (await client.callTool({ name, arguments: given })).structuredContent;
window.isReady = true;
</script>`;

const sandboxDocument = `<!doctype html><html lang="en"><title>sandbox</title>
<style>html, body { margin: 0; height: 100% } iframe { display: block; border: 0; width: 100%; height: 100% }</style><body><script>
const inner = document.createElement('iframe');
inner.sandbox = 'allow-scripts allow-same-origin allow-forms';
inner.title = 'view';
document.body.append(inner);
addEventListener('message', ({ source, origin, data }) => {
  if (source === parent && origin === '${HOST}') {
    if (data?.method !== 'ui/notifications/sandbox-resource-ready') return inner.contentWindow.postMessage(data, '*');
    inner.contentDocument.open();
    inner.contentDocument.write(data.params.html);
    inner.contentDocument.close();
  } else if (source === inner.contentWindow) parent.postMessage(data, '${HOST}');
});
parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }, '${HOST}');
</script>`;

/** Opens the page of a host over a gateway, a process of `planwright serve`. Returns the page and its view. */
export async function openHost(browser, gateway, { scheme = 'light' } = {}) {
  const context = await browser.chromium.newContext({ viewport: { width: 900, height: 800 }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.unwanted = [];
  page.on('pageerror', (error) => page.unwanted.push(`error: ${error.stack ?? error}`));
  page.on('console', (message) => {
    if (/Content Security Policy|MCP Apps/i.test(message.text())) page.unwanted.push(message.text());
  });
  await page.route('**', async (route) => {
    const { origin, pathname } = new URL(route.request().url());
    const html = (body, headers = {}) => route.fulfill({ body, contentType: 'text/html', headers });
    if (origin === HOST && pathname === '/') return html(await hostDocument());
    if (origin === SANDBOX && pathname === '/') return html(sandboxDocument, { 'content-security-policy': POLICY });
    if (origin === HOST && pathname.startsWith('/modules/')) return route.fulfill({ path: join(packages, 'node_modules', pathname.slice(9)), contentType: 'text/javascript' });
    page.unwanted.push(`request: ${route.request().url()}`);
    return route.abort();
  });
  await page.exposeFunction('toGateway', (line) => { gateway.stdin.write(`${line}\n`); });
  let rest = '';
  gateway.stdout.on('data', (data) => {
    const lines = (rest + data).split('\n');
    rest = lines.pop();
    for (const line of lines) page.evaluate((text) => window.fromGateway(text), line).catch(() => page.unwanted.push(`lost: ${line.slice(0, 200)}`));
  });
  await page.goto(HOST);
  await page.waitForFunction(() => window.isReady, null, { timeout: PATIENCE });
  return { page, view: page.frameLocator('iframe').frameLocator('iframe') };
}
