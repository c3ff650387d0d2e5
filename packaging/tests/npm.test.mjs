// The packages for npm: packed, installed into an empty folder, and used from there.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { generate } from "../npm/generate.mjs";
import { folder, output, pack, program, require, root, run, serve, staticTarget } from "./support.mjs";

/** A folder in which the packages are installed. */
const installed = mkdtempSync(join(tmpdir(), "planwright-npm-"));

after(() => rmSync(installed, { recursive: true }));

before(async () => {
  const [main, platform] = await Promise.all([
    pack("npm", "--out", installed),
    pack("npm-platform", "--binary", program, "--target", staticTarget, "--out", installed),
  ]);
  writeFileSync(join(installed, "package.json"), JSON.stringify({ type: "module" }));
  // The packages of other platforms are on no registry yet, and npm skips them as it skips those that do not fit.
  const line = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", main, platform];
  await output("npm", line, { cwd: installed });
});

test("the program runs with the arguments and the status of the launcher", async () => {
  const { version } = JSON.parse(readFileSync(join(installed, "node_modules/planwright/package.json"), "utf8"));
  assert.equal(await output("npx", ["--offline", "planwright", "--version"], { cwd: installed }), `planwright ${version}\n`);
  const launcher = join(installed, "node_modules/.bin/planwright");
  assert.equal((await run(launcher, ["--no-such-flag"])).status, 2);
});

test("signals reach the program, and its status the caller", async (context) => {
  const launcher = join(installed, "node_modules/.bin/planwright");
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
    const { child, ended, url } = await serve(context, { command: [launcher] });
    child.kill(signal);
    assert.deepEqual(await ended, { status: 0, signal: null }, signal);
    await assert.rejects(fetch(url), signal);
  }
});

test("the signal that ended the program ends the launcher", async (context) => {
  const path = folder(context);
  const packages = join(path, "node_modules");
  cpSync(join(installed, "node_modules/planwright"), join(packages, "planwright"), { recursive: true });
  const platform = `@planwright/${process.platform}-${process.arch}`;
  const bin = join(packages, platform, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(packages, platform, "package.json"), "{}");
  writeFileSync(join(bin, "planwright"), "#!/bin/sh\nkill -KILL $$\n", { mode: 0o755 });
  await assert.rejects(run(process.execPath, [join(packages, "planwright/bin/planwright.js")]), { signal: "SIGKILL" });
});

test("a missing platform package is reported with the way out", async (context) => {
  const path = folder(context);
  cpSync(join(installed, "node_modules/planwright"), join(path, "planwright"), { recursive: true });
  const { status, stderr } = await run(process.execPath, [join(path, "planwright/bin/planwright.js"), "--version"]);
  assert.equal(status, 70);
  assert.match(stderr, /^error: the package `@planwright\/\S+` is not installed\n  hint: .*cargo install planwright-cli/);
});

test("the client of the package runs a plan, with its types", async (context) => {
  const { url } = await serve(context);
  writeFileSync(
    join(installed, "program.ts"),
    `import { Planwright, type Outcome, type Plan } from "planwright/client";
import type { EventV1 } from "planwright/client/schema/event.js";

const plan: Plan = { steps: [{ id: "a", tool: "echo", args: { x: 1 } }], output: ["a"] };
// @ts-expect-error A step has an id.
const wrong: Plan = { steps: [{ tool: "echo" }] };
const kind: EventV1["schema"] = "planwright.event/1";
const planwright = new Planwright({ url: process.argv[2]! });
const outcome: Outcome = await planwright.run(plan, { decide: () => "approve" });
console.log(JSON.stringify([outcome.output, kind, wrong.steps.length]));
`,
  );
  const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
  writeFileSync(join(installed, "globals.d.ts"), "declare const process: { argv: string[] };\n");
  // The example of the guide, with the function that its reader writes.
  const [, example] = readFileSync(join(root, "docs/guide/client.md"), "utf8").match(/^```js\n([^]*?)^```$/m);
  const given = 'declare const process: { env: Record<string, string | undefined> };\ndeclare function ask(message: string): Promise<boolean>;\n';
  writeFileSync(join(installed, "example.ts"), `${example}${given}`);
  const flags = ["--ignoreConfig", "--strict", "--types", "", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom"];
  await output(process.execPath, [tsc, ...flags, "globals.d.ts", "program.ts"], { cwd: installed });
  await output(process.execPath, [tsc, ...flags, "--noEmit", "example.ts"], { cwd: installed });
  const printed = await output(process.execPath, ["program.js", url], { cwd: installed });
  assert.deepEqual(JSON.parse(printed), [{ a: { x: 1 } }, "planwright.event/1", 1]);
});

test("the types of the client are those of its source and of docs/schema", async (context) => {
  const path = folder(context);
  await generate(path);
  const client = join(root, "packaging/npm/planwright/client");
  const types = (parent) => readdirSync(parent, { recursive: true }).filter((file) => file.endsWith(".d.ts")).sort();
  assert.deepEqual(types(client), types(path));
  for (const file of types(path)) {
    const hint = "run `cargo xtask generate`";
    assert.equal(readFileSync(join(client, file), "utf8"), readFileSync(join(path, file), "utf8"), `${file} is stale: ${hint}`);
  }
});
