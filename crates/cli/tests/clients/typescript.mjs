// The official TypeScript SDK, of both major versions: the first argument is `sdk` or `client`. The second is the folder in
// which the packages are installed; the others are those of `steps.py`, and so is what is printed.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [which, folder] = process.argv.slice(2, 4);
const [gateway, steps] = process.argv.slice(4).map((text) => JSON.parse(text));
const require = createRequire(pathToFileURL(`${folder}/`));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)));

async function parts() {
  if (which === 'client') {
    const { Client, StreamableHTTPClientTransport } = await load('client');
    const { StdioClientTransport } = await load('client/stdio');
    return { Client, StreamableHTTPClientTransport, StdioClientTransport, elicitation: 'elicitation/create' };
  }
  const { Client } = await load('sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await load('sdk/client/streamableHttp.js');
  const { StdioClientTransport } = await load('sdk/client/stdio.js');
  const { ElicitRequestSchema } = await load('sdk/types.js');
  return { Client, StreamableHTTPClientTransport, StdioClientTransport, elicitation: ElicitRequestSchema };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport, elicitation } = await parts();
const [command, ...args] = gateway.command ?? [];
const transport = gateway.url
  ? new StreamableHTTPClientTransport(new URL(gateway.url))
  : new StdioClientTransport({ command, args, env: gateway.env, stderr: 'ignore' });
const client = new Client({ name: 'typescript', version: '1' }, { capabilities: { elicitation: { form: {} } } });
let questions = [];
client.setRequestHandler(elicitation, async (request) => {
  questions.push(request.params.message);
  return { action: 'accept', content: { decision: 'approve' } };
});
await client.connect(transport);

const seen = { calls: [], tools: (await client.listTools()).tools };
let run = '';
for (const step of steps) {
  const progress = [];
  questions = [];
  const giveUp = new AbortController();
  const onprogress = (update) => {
    progress.push([update.progress, update.total ?? null, update.message ?? null]);
    if (step.cancel) giveUp.abort('enough');
  };
  const parameters = { name: step.tool, arguments: JSON.parse(JSON.stringify(step.arguments).replaceAll('$RUN', run)) };
  const options = { onprogress, signal: giveUp.signal };
  const came = {};
  try {
    came.result = await (which === 'client'
      ? client.callTool(parameters, options)
      : client.callTool(parameters, undefined, options));
    run = came.result.structuredContent?.run ?? run;
  } catch (error) {
    if (!step.cancel) throw error;
    came.cancelled = true;
  }
  seen.calls.push({ ...came, progress, questions });
}
await client.close();
console.log(JSON.stringify(seen));
