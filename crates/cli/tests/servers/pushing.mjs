// A server on the official TypeScript SDK, whose tools ask their client by requests: `sdk`, of the first major version, or `server`, of
// the second, which speaks 2026-07-28 as well, where it cannot ask so. The second argument is the folder of the packages.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [which, folder] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { z } = await load('zod');

const form = (properties) => ({ type: 'object', properties, required: [] });
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const form_answer = (answer) => `action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;

// What the suite calls: its arguments, what it asks, and what it says of the answer.
const tools = {
  test_sampling: {
    args: { prompt: z.string() },
    asks: ({ prompt }) => ['sampling/createMessage', { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 50 }],
    says: (answer) => `LLM response: ${answer.content.text}`,
  },
  test_elicitation: {
    args: { message: z.string() },
    asks: ({ message }) => [
      'elicitation/create',
      { message, requestedSchema: { ...form({ username: { type: 'string' }, email: { type: 'string' } }), required: ['username', 'email'] } },
    ],
    says: (answer) => `User response: ${form_answer(answer)}`,
  },
  test_elicitation_sep1034_defaults: {
    args: {},
    asks: () => [
      'elicitation/create',
      {
        message: 'anything else?',
        requestedSchema: form({
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        }),
      },
    ],
    says: (answer) => `Elicitation completed: ${form_answer(answer)}`,
  },
};

async function sdk() {
  const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
  const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const ask = ({ sendRequest }, method, params) => sendRequest({ method, params }, z.any());
  return { McpServer, Transport: StreamableHTTPServerTransport, input: (args) => args, ask };
}

async function server() {
  const { McpServer, createMcpHandler, classifyInboundRequest } = await load('@modelcontextprotocol/server');
  const { NodeStreamableHTTPServerTransport, toNodeHandler } = await load('@modelcontextprotocol/node');
  const ask = ({ mcpReq }, method, params) => mcpReq.send({ method, params });
  const newest = toNodeHandler(createMcpHandler(() => made(), { legacy: 'reject' }));
  const is_newest = ({ method, headers }, body) => {
    const header = (name) => headers[name];
    const request = { httpMethod: method, protocolVersionHeader: header('mcp-protocol-version'), mcpMethodHeader: header('mcp-method'), body };
    return method === 'POST' && classifyInboundRequest(request).kind !== 'legacy';
  };
  return { McpServer, Transport: NodeStreamableHTTPServerTransport, input: (args) => z.object(args), ask, newest, is_newest };
}

const { McpServer, Transport, input, ask, newest, is_newest } = await (which === 'sdk' ? sdk() : server());

function made() {
  const server = new McpServer({ name: 'pushing', version: '1' }, { capabilities: { tools: {} } });
  for (const [name, { args, asks, says }] of Object.entries(tools)) {
    const answer = async (given, context) => text(says(await ask(context, ...asks(given))));
    server.registerTool(name, { description: name, inputSchema: input(args) }, answer);
  }
  return server;
}

const sessions = new Map();

async function of_session(request) {
  const known = request.headers['mcp-session-id'];
  if (known) {
    return sessions.get(known);
  }
  const transport = new Transport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) });
  await made().connect(transport);
  return transport;
}

const http = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : undefined;
  if (is_newest?.(request, body)) {
    return newest(request, response, body);
  }
  const transport = await of_session(request);
  return transport ? transport.handleRequest(request, response, body) : response.writeHead(404).end();
});
http.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${http.address().port}/mcp`));
