// Each agent runs its plan through a real gateway and prints what its last lines, which begin with an arrow, say. The page shows its code.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const examples = join(dirname(fileURLToPath(import.meta.url)), "..");
const root = join(examples, "../..");

function variable(name) {
  if (!process.env[name]) {
    throw new Error(`${name} is not set: run \`cargo xtask test frameworks\``);
  }
  return process.env[name];
}

const program = variable("PLANWRIGHT");
const judges = variable("PLANWRIGHT_JUDGES");
const path = [dirname(program), variable("PLANWRIGHT_SERVERS"), process.env.PATH].join(delimiter);

const python = (environment) => ({ file: "agent.py", command: [join(judges, environment, "bin/python"), "agent.py"] });

/** The agents: the file of each, and the command that runs it in its folder. */
const AGENTS = {
  "claude-agent-sdk": python("frameworks"),
  fastmcp: python("frameworks"),
  langgraph: python("frameworks-mcp-1"),
  "openai-agents": python("frameworks-mcp-1"),
  "pydantic-ai": python("frameworks"),
  rmcp: { file: "../../../crates/mcp/examples/rmcp_client.rs", command: [join(dirname(program), "examples/rmcp_client")] },
  "vercel-ai": { file: "agent.mjs", command: [process.execPath, "agent.mjs"] },
};

/** A tool of the server takes seven seconds, longer than the shortest limit of the clients. */
const LONG = {
  steps: [
    { id: "slow", tool: "trigger-long-running-operation", args: { duration: 7, steps: 7 } },
    { id: "said", tool: "echo", args: { message: "${slow}" } },
  ],
  output: ["said"],
};
const COMPLETED = /Echo: Long running operation completed/;

const source = (name) => readFileSync(join(examples, name, AGENTS[name].file), "utf8");

/** Creates a folder with the files of an agent, and another plan if there is one; it is removed after the test. */
function prepare(context, name, plan) {
  const folder = mkdtempSync(join(tmpdir(), "planwright-frameworks-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  if (AGENTS[name].command.length > 1) {
    cpSync(join(examples, name), folder, { recursive: true });
  }
  cpSync(join(examples, "mcp.json"), join(folder, "mcp.json"));
  cpSync(join(examples, "plan.json"), join(folder, "plan.json"));
  if (plan) {
    writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
  }
  symlinkSync(join(judges, "frameworks-node/node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Changes the program in the folder of an agent. */
function change(folder, pattern, text) {
  const program = join(folder, "agent.py");
  const before = readFileSync(program, "utf8");
  const after = before.replace(pattern, text);
  assert.notEqual(after, before, `the program has no ${pattern}`);
  writeFileSync(program, after);
}

/** Runs a program in the folder of an agent, with nothing of the user's environment. */
function run(folder, [command, ...args]) {
  const env = { HOME: folder, PATH: path, PYTHONDONTWRITEBYTECODE: "1" };
  return new Promise((resolve) => {
    execFile(command, args, { cwd: folder, env, timeout: 60_000 }, (error, stdout, stderr) => resolve({ error, stdout, stderr }));
  });
}

/** Runs the agent in this folder, and returns what it prints and the states of its runs. */
async function ask(folder, name) {
  const { error, stdout, stderr } = await run(folder, AGENTS[name].command);
  assert.equal(error, null, `${stdout}${stderr}`);
  const listed = await run(folder, [program, "runs", "--format", "json"]);
  return { printed: stdout, states: JSON.parse(listed.stdout).runs.map(({ status }) => status) };
}

/** A pattern for a line, in which an ellipsis stands for any text. */
function pattern(line) {
  const parts = line.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

test("agents", { concurrency: 4 }, async (context) => {
  const tests = Object.keys(AGENTS).flatMap((name) => [
    context.test(`${name} prints what it says`, async (context) => {
      const expected = [...source(name).matchAll(/^(?:#|\/\/) → (.*)$/gm)].map(([, line]) => line);
      assert.ok(expected.length > 0, "the program does not say what it prints");
      const { printed, states } = await ask(prepare(context, name), name);
      const lines = printed.trimEnd().split("\n");
      assert.equal(lines.length, expected.length, printed);
      expected.forEach((line, index) => assert.match(lines[index], pattern(line)));
      assert.deepEqual(states, ["succeeded"]);
    }),
    context.test(`${name} waits for a plan that takes seven seconds`, async (context) => {
      const { printed, states } = await ask(prepare(context, name, LONG), name);
      assert.match(printed, COMPLETED);
      assert.deepEqual(states, ["succeeded"]);
    }),
  ]);
  await Promise.all(tests);
});

// After the others, since a limit of five seconds is soon exceeded while they keep the processors busy.
test("limits", { concurrency: 2 }, async (context) => {
  await Promise.all([
    context.test("without a longer limit, the OpenAI Agents SDK gives up after five seconds", async (context) => {
      const folder = prepare(context, "openai-agents", LONG);
      change(folder, /^ *client_session_timeout_seconds=.*\n/m, "");
      const { printed, states } = await ask(folder, "openai-agents");
      assert.match(printed, /An error occurred while running the tool/);
      // The agent ends, and with it the gateway: its input ends, or, if the SDK cannot wait for it, it is killed.
      assert.equal(states.length, 1);
      assert.match(states[0], /^(cancelled|interrupted)$/);
    }),
    context.test("a limit of FastMCP ends the waiting for a task", async (context) => {
      const folder = prepare(context, "fastmcp", LONG);
      change(folder, "Client(servers)", "Client(servers, timeout=4)");
      const { error, stderr } = await run(folder, AGENTS.fastmcp.command);
      assert.notEqual(error, null);
      assert.match(stderr, /Task [0-9a-f]{16} did not finish within 4/);
    }),
  ]);
});

test("the page shows parts of the agents, and their files", () => {
  const page = readFileSync(join(root, "docs/guide/frameworks.md"), "utf8");
  const blocks = [...page.matchAll(/^```\w+(?: (\S+))?\n([^]*?)^```$/gm)];
  const shown = new Set();
  for (const [, name, content] of blocks) {
    if (name) {
      assert.equal(content, readFileSync(join(examples, name), "utf8"), name);
    } else {
      const found = Object.keys(AGENTS).filter((name) => source(name).includes(content));
      assert.equal(found.length, 1, `no single agent has\n${content}`);
      shown.add(found[0]);
    }
  }
  assert.deepEqual([...shown].sort(), Object.keys(AGENTS).sort());
});
