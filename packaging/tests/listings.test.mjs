// What directories of servers and package managers read: the bundle, the entry in the registry, the formula, the image.

import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { folder, linters, output, pack, packages, program, require, root, run, serve, staticTarget } from "./support.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");

test("the bundle is valid, and its program serves the tools that it names", async (context) => {
  const path = folder(context);
  const bundle = await pack("bundle", "--binary", program, "--target", staticTarget, "--out", path);
  const mcpb = join(packages, "node_modules/.bin/mcpb");
  await output(mcpb, ["unpack", bundle, join(path, "bundle")]);
  await output(mcpb, ["validate", join(path, "bundle/manifest.json")]);
  const manifest = JSON.parse(readFileSync(join(path, "bundle/manifest.json"), "utf8"));
  assert.equal(manifest.server.mcp_config.command, `\${__dirname}/${manifest.server.entry_point}`);
  const { url } = await serve(context, { command: [join(path, "bundle", manifest.server.entry_point)] });
  const revision = "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
  const accept = "application/json, text/event-stream";
  const headers = { "content-type": "application/json", accept, "mcp-protocol-version": revision, "mcp-method": "tools/list" };
  const answer = await (await fetch(url, { method: "POST", headers, body })).text();
  const { result } = JSON.parse(answer.slice(answer.indexOf("{")));
  const names = (tools) => tools.map(({ name }) => name).sort();
  assert.deepEqual(names(manifest.tools), names(result.tools));
});

test("the entry in the registry fits its schema, and every package says whose it is", async (context) => {
  const path = folder(context);
  const entry = await pack("registry", "--out", path);
  // The linter brings the schema that the entry names, and wants the packages beside it.
  copyFileSync(join(root, "packaging/npm/planwright/package.json"), join(path, "package.json"));
  copyFileSync(join(root, "README.md"), join(path, "README.md"));
  const rule = ["lint", "--strict", "--rule", "mcp-registry-server-json-valid", "--rule", "mcp-registry-npm-name-match", path];
  await output(join(linters, "skillsaw"), rule);
  writeFileSync(entry, read("packaging/registry/server.json").replace('"title"', '"titel": 1, "version": 2, "name"'));
  assert.notEqual((await run(join(linters, "skillsaw"), rule)).status, 0);
  const { name } = JSON.parse(read("packaging/registry/server.json"));
  assert.equal(JSON.parse(read("packaging/npm/planwright/package.json")).mcpName, name);
  assert.match(read("README.md"), new RegExp(`^mcp-name: ${name}$`, "m"));
  assert.match(read("packaging/docker/Dockerfile"), new RegExp(`io.modelcontextprotocol.server.name="${name}"`));
});

test("the formula is Ruby, with the checksums of the archives", async (context) => {
  const path = folder(context);
  const targets = ["aarch64-apple-darwin", "x86_64-apple-darwin", "aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl"];
  const sums = targets.map((target, index) => `${String(index).repeat(64)}  planwright-${target}.tar.gz\n`);
  writeFileSync(join(path, "SHA256SUMS"), sums.join(""));
  const formula = readFileSync(await pack("formula", "--archives", path, "--out", path), "utf8");
  const { loadPrism } = await import(require.resolve("@ruby/prism"));
  const { errors } = (await loadPrism())(formula);
  assert.deepEqual(errors, []);
  const urls = [...formula.matchAll(/url "(\S+)"\n\s+sha256 "(\d{64})"/g)].map(([, url, sum]) => [url.split("/").at(-1), sum[0]]);
  assert.deepEqual(urls, targets.map((target, index) => [`planwright-${target}.tar.gz`, String(index)]));
  assert.doesNotMatch(formula, /VERSION|REPOSITORY|SHA256 /);
  writeFileSync(join(path, "SHA256SUMS"), sums.slice(1).join(""));
  await assert.rejects(pack("formula", "--archives", path, "--out", path), /has no `planwright-aarch64-apple-darwin.tar.gz`/);
});

test("the image has no known faults", async () => {
  await output(join(linters, "hadolint"), [join(root, "packaging/docker/Dockerfile")]);
});
