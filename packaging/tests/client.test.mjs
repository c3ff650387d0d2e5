// The client of the npm package against a real gateway.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { Planwright, PlanwrightError } from "../npm/planwright/client/index.js";
import { serve } from "./support.mjs";

const plan = (tool, args = {}) => ({ steps: [{ id: "a", tool, args }], output: ["a"] });

test("a plan is checked, with all its diagnostics", async (context) => {
  const planwright = new Planwright(await serve(context));
  assert.equal((await planwright.check(plan("echo"))).status, "sound");
  const rejected = await planwright.check({ steps: [{ id: "a", tool: "no" }, { id: "b", tool: "echo", args: { x: "${c}" } }] });
  assert.equal(rejected.status, "rejected");
  assert.deepEqual(rejected.findings.map(({ code, at }) => [code, at]).sort(), [
    ["PW0201", "/steps/0/tool"],
    ["PW0204", "/steps/1/args/x"],
  ]);
});

test("a plan runs with its inputs, and its output is returned", async (context) => {
  const planwright = new Planwright(await serve(context));
  const inputs = { word: "hello" };
  const outcome = await planwright.run({ inputs: { word: {} }, ...plan("echo", { x: "${inputs.word}" }) }, { inputs });
  assert.equal(outcome.status, "succeeded");
  assert.deepEqual(outcome.output, { a: { x: "hello" } });
  assert.deepEqual(await planwright.output(outcome.run, "a"), { x: "hello" });
  assert.equal((await planwright.show(outcome.run)).status, "succeeded");
  const lines = await planwright.run(`a = echo(x="line")\nreturn \${a}`, { dialect: "lines" });
  assert.equal(lines.status, "succeeded", JSON.stringify(lines));
  assert.deepEqual(await planwright.tools("echo"), ["simulated.echo() [read-only]"]);
});

test("a call that waits is decided", async (context) => {
  const planwright = new Planwright(await serve(context));
  const asked = [];
  const decide = (question) => {
    asked.push(question.message);
    return "approve";
  };
  const outcome = await planwright.run(plan("wipe", { what: "tmp" }), { decide });
  assert.deepEqual(outcome.output, { a: { gone: true } });
  assert.equal(asked.length, 1);
  assert.match(asked[0], /a wants to call simulated\.wipe[^]*what: "?tmp/);
  const rejected = await planwright.run(plan("wipe"), { decide: () => ({ reject: "not today" }) });
  assert.equal(rejected.status, "failed");
  assert.match(rejected.errors[0].message, /not today/);
});

test("a run is watched and decided by another client", async (context) => {
  const address = await serve(context);
  const { run, status } = await new Planwright(address).start(plan("wipe"));
  assert.ok(["working", "input_required"].includes(status), status);
  const other = new Planwright(address);
  const seen = [];
  for await (const state of other.watch(run)) {
    seen.push(state.status);
    for (const { key } of state.questions) {
      await other.decide(run, { [key]: "approve" });
    }
    if (state.outcome) {
      assert.equal(state.outcome.status, "succeeded");
    }
  }
  assert.ok(seen.includes("input_required"), seen.join());
  assert.equal(seen.at(-1), "completed");
});

test("an aborted run is cancelled", async (context) => {
  const planwright = new Planwright(await serve(context));
  const abort = new AbortController();
  let run;
  const onState = (state) => {
    run = state.run;
    abort.abort(new Error("enough"));
  };
  await assert.rejects(planwright.run(plan("slow"), { onState, signal: abort.signal }), /enough/);
  const states = [];
  for await (const state of planwright.watch(run)) {
    states.push(state);
  }
  assert.equal(states.at(-1).outcome.status, "cancelled");
});

test("a failed run is resumed with another plan", async (context) => {
  const planwright = new Planwright(await serve(context));
  const failed = await planwright.run(plan("wipe"), { decide: () => ({ reject: "" }) });
  const resumed = await planwright.resume(failed.run, { plan: plan("echo", { x: 2 }) });
  assert.deepEqual(resumed.output, { a: { x: 2 } });
});

test("what a run did is undone once a person has decided", async (context) => {
  const planwright = new Planwright(await serve(context));
  const undo = { tool: "wipe", arguments: { what: "${output.x}" } };
  const { run } = await planwright.run({ steps: [{ id: "a", tool: "echo", args: { x: "tmp" }, undo }] });
  const listed = await planwright.revert(run, { check: true });
  assert.equal(listed.status, "sound");
  assert.deepEqual(listed.undos, [{ call: "a", tool: "simulated.echo", undo: "wipe" }]);
  assert.equal(listed.undone_before, 0);
  const asked = [];
  const decide = (question) => {
    asked.push(question.message);
    return "approve";
  };
  const undone = await planwright.revert(run, { from: "a", decide });
  assert.equal(undone.status, "succeeded");
  assert.notEqual(undone.run, run);
  assert.match(asked[0], /simulated\.wipe[^]*tmp/);
  assert.equal((await planwright.revert(run)).undone_before, 1);
  const { run: unable } = await planwright.run(plan("wipe"), { decide: () => "approve" });
  const rejected = await planwright.revert(unable);
  assert.equal(rejected.status, "rejected");
  assert.deepEqual(rejected.not_undone, [{ call: "a", tool: "simulated.wipe" }]);
});

test("each client has its token", async (context) => {
  const { url, token } = await serve(context, { token: true });
  assert.equal((await new Planwright({ url, token }).check(plan("echo"))).status, "sound");
  for (const wrong of [undefined, `${token}0`]) {
    await assert.rejects(new Planwright({ url, token: wrong }).check(plan("echo")), (error) => {
      assert.ok(error instanceof PlanwrightError);
      assert.equal(error.status, 401);
      assert.match(error.message, /token/);
      return true;
    });
  }
});

test("an error of the server is an error of the client", async (context) => {
  const planwright = new Planwright(await serve(context));
  await assert.rejects(planwright.output("none"), (error) => error.code === -32602);
  assert.match((await planwright.show("none")).message, /no run `none`/);
});

/** A server that answers each request with the next of these. */
async function scripted(context, answers) {
  const server = createServer((request, response) => {
    const { status = 200, headers = {}, body } = answers.shift();
    request.resume().on("end", () => response.writeHead(status, headers).end(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/mcp`;
}

test("a request that came too soon is sent again, and a stream is read", async (context) => {
  const result = { jsonrpc: "2.0", id: 1, result: { structuredContent: { status: "sound" } } };
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: {} };
  const stream = [": ping", `data: ${JSON.stringify(progress)}`, `event: message\r\ndata: ${JSON.stringify(result)}`, ""];
  const answers = [
    { status: 429, headers: { "retry-after": "0" } },
    { headers: { "content-type": "text/event-stream" }, body: stream.join("\r\n\r\n") },
    { status: 502, body: "<html>" },
  ];
  const planwright = new Planwright({ url: await scripted(context, answers) });
  assert.deepEqual(await planwright.check(plan("echo")), { status: "sound" });
  await assert.rejects(planwright.check(plan("echo")), /without a result \(502\)/);
});
