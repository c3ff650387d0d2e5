// The wheel with the program, installed into an empty environment.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";

import { folder, home, linters, output, pack, program, script, serve, target } from "./support.mjs";

test("the program of a wheel runs from an empty environment, and by uvx", async (context) => {
  const path = folder(context);
  const wheel = await pack("wheel", "--binary", program, "--target", target, "--out", path);
  await output(join(linters, "wheel"), ["unpack", "--dest", join(path, "unpacked"), wheel]);
  await output("python3", ["-m", "venv", join(path, "venv")]);
  const offline = ["--no-index", "--find-links", path];
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...offline, "planwright-mcp"];
  await output(join(path, "venv/bin/python"), pip);
  const installed = join(path, "venv/bin/planwright-mcp");
  assert.match(await output(installed, ["--version"]), /^planwright \d/);
  const { url } = await serve(context, { command: [installed] });
  assert.equal(await (await fetch(new URL("/healthz", url))).text(), "ok\n");
  const env = { ...home(path), UV_CACHE_DIR: join(path, "cache") };
  const uvx = ["tool", "run", "--offline", ...offline, "planwright-mcp", "--version"];
  assert.match(await output(join(linters, "uv"), uvx, { env }), /^planwright \d/);
});

test("the program joins the library in its wheel", async (context) => {
  const path = folder(context);
  const small = script(join(path, "small"), "#!/bin/sh\necho small\n");
  const library = join(path, "library");
  mkdirSync(library);
  // A wheel of the library differs from one of the program by its files; what counts here is that all stay, with valid hashes.
  const wheel = await pack("wheel", "--binary", small, "--target", target, "--out", library);
  const joined = await pack("wheel", "--binary", small, "--target", target, "--into", wheel, "--out", path);
  assert.equal(basename(joined), basename(wheel));
  await output(join(linters, "wheel"), ["unpack", "--dest", join(path, "unpacked"), joined]);
  const other = join(library, "other-1-py3-none-any.whl");
  await output("python3", ["-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').close()", other]);
  const refused = pack("wheel", "--binary", small, "--target", target, "--into", other, "--out", path);
  await assert.rejects(refused, /is not a wheel of `planwright-mcp`/);
});
