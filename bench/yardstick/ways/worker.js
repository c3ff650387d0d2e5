// The Worker that serves Cloudflare's code mode: the durable runtime, with one connector over the tool server.
//
// As the package's guides say: a Durable Object owns the runtime, whose facet logs each call; `DynamicWorkerExecutor`
// runs the program in an isolate of its own; an `McpConnector` derives the methods from the list of tools.

import { createCodemodeRuntime, DynamicWorkerExecutor, generateTypesFromJsonSchema, McpConnector } from "@cloudflare/codemode";
import { DurableObject } from "cloudflare:workers";

export { CodemodeRuntime } from "@cloudflare/codemode";

class Tools extends McpConnector {
  constructor(ctx, env, settings) {
    super(ctx, env);
    this.settings = settings;
  }

  name() {
    return "tools";
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
    return this.settings.approve?.includes(name) ? { ...tool, requiresApproval: true } : tool;
  }
}

export class Host extends DurableObject {
  runtime(settings) {
    return createCodemodeRuntime({
      ctx: this.ctx,
      executor: new DynamicWorkerExecutor({ loader: this.env.LOADER, timeout: 120_000 }),
      connectors: [new Tools(this.ctx, this.env, settings)],
    });
  }

  async fetch(request) {
    const { action, settings, argument } = await request.json();
    const runtime = this.runtime(settings);
    const actions = {
      execute: () => runtime.execute({ code: argument }),
      approve: () => runtime.approve({ executionId: argument }),
      executions: () => runtime.executions(),
      definition: () => {
        const { description, inputSchema } = runtime.tool();
        const tools = Object.fromEntries(settings.tools.map((tool) => [tool.name, tool]));
        return { description, inputSchema, types: generateTypesFromJsonSchema(tools) };
      },
    };
    try {
      return Response.json((await actions[action]()) ?? null);
    } catch (error) {
      return Response.json({ status: "error", error: String(error?.stack ?? error) });
    }
  }
}

export default {
  fetch(request, env) {
    return env.HOST.get(env.HOST.idFromName("host")).fetch(request);
  },
};
