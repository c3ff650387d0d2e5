// The Worker that serves Cloudflare's code mode, in both forms of the package.
//
// As the package's guides say: `createCodeTool` describes all tools by types; the durable runtime, which a Durable Object
// owns, describes how to search them, logs each call, and waits for approvals. `DynamicWorkerExecutor` runs the program in
// an isolate of its own; an `McpConnector` derives the methods from the list of tools.

import { createCodemodeRuntime, DynamicWorkerExecutor, McpConnector } from "@cloudflare/codemode";
import { createCodeTool } from "@cloudflare/codemode/ai";
import { asSchema, jsonSchema } from "ai";
import { DurableObject } from "cloudflare:workers";
import { isDeepStrictEqual } from "node:util";

export { CodemodeRuntime } from "@cloudflare/codemode";

class Tools extends McpConnector {
  constructor(ctx, env, settings) {
    super(ctx, env);
    this.settings = settings;
  }

  name() {
    return this.settings.name;
  }

  createConnection() {
    const request = async (method, params) => {
      const response = await fetch(this.settings.url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      const { result, error } = await response.json();
      if (error) throw new Error(error.message);
      return result;
    };
    const { tools } = this.settings;
    return {
      tools,
      client: {
        callTool: (params) => request("tools/call", params),
        listTools: async () => ({ tools }),
      },
    };
  }

  tool(name, tool) {
    const decorated = this.settings.approve?.includes(name) ? { ...tool, requiresApproval: true } : tool;
    return this.settings.ledger ? { ...decorated, execute: this.fromLedger(name, tool.execute) } : decorated;
  }

  /** Answers a call with the result that the ledger of a host has for it, so that it is not made again. */
  fromLedger(name, execute) {
    return async (args, ...rest) => {
      const { ledger } = this.settings;
      const at = ledger.findIndex((entry) => entry.method === name && isDeepStrictEqual(entry.args, args ?? {}));
      return at < 0 ? execute(args, ...rest) : ledger.splice(at, 1)[0].result;
    };
  }
}

export class Host extends DurableObject {
  get executor() {
    return new DynamicWorkerExecutor({ loader: this.env.LOADER, timeout: 120_000 });
  }

  runtime(settings) {
    return createCodemodeRuntime({
      ctx: this.ctx,
      executor: this.executor,
      connectors: [new Tools(this.ctx, this.env, settings)],
    });
  }

  /** The tool of `createCodeTool`, with the tools of the server as the AI SDK has them. */
  async codeTool(settings) {
    const tools = Object.entries(await new Tools(this.ctx, this.env, settings).tools()).map(([name, tool]) => [
      name,
      {
        ...tool,
        inputSchema: jsonSchema(tool.inputSchema),
        ...(tool.outputSchema ? { outputSchema: jsonSchema(tool.outputSchema) } : {}),
      },
    ]);
    const provider = { name: settings.name, tools: Object.fromEntries(tools) };
    return createCodeTool({ tools: [provider], executor: this.executor });
  }

  async fetch(request) {
    const { action, settings, argument } = await request.json();
    const runtime = this.runtime(settings);
    const actions = {
      run: async () => ({ status: "completed", output: await (await this.codeTool(settings)).execute({ code: argument }) }),
      execute: () => runtime.execute({ code: argument }),
      approve: () => runtime.approve({ executionId: argument }),
      executions: () => runtime.executions(),
      definition: async () => definition(argument === "types" ? await this.codeTool(settings) : runtime.tool()),
    };
    try {
      return Response.json((await actions[action]()) ?? null);
    } catch (error) {
      return Response.json({ status: "error", error: String(error?.message ?? error) });
    }
  }
}

/** The definition of a tool of the package, as the AI SDK hands it to a model. */
async function definition(tool) {
  return { name: "codemode", description: tool.description, parameters: await asSchema(tool.inputSchema).jsonSchema };
}

export default {
  fetch(request, env) {
    return env.HOST.get(env.HOST.idFromName("host")).fetch(request);
  },
};
