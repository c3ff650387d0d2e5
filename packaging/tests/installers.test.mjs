// The installers: checked, and one used with a server of releases.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { folder, home, linters, output, pack, program, require, root, run, target } from "./support.mjs";

const installer = join(root, "packaging/installers/install.sh");

/** A server of the files of a folder. */
async function releases(context, path) {
  const server = createServer((request, response) => {
    const file = join(path, request.url);
    if (existsSync(file)) {
      response.end(readFileSync(file));
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

test("a release is installed if its checksum is right, and replaces nothing if it is wrong", async (context) => {
  const path = folder(context);
  await pack("archive", "--binary", program, "--target", target, "--out", path);
  await pack("checksums", path);
  const sums = readFileSync(join(path, "SHA256SUMS"), "utf8");
  const from = await releases(context, path);
  const prefix = join(path, "prefix");
  const env = { ...home(path), TMPDIR: path };
  const install = (...more) => run("sh", [installer, "--from", from, "--target", target, "--prefix", prefix, ...more], { env });
  const before = readdirSync(path);

  writeFileSync(join(path, "SHA256SUMS"), sums.replace(/^./, (digit) => (digit === "0" ? "1" : "0")));
  const wrong = await install();
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /has the checksum .* so nothing was installed/);
  assert.ok(!existsSync(prefix));

  writeFileSync(join(path, "SHA256SUMS"), sums);
  for (const attempt of ["first", "again"]) {
    const { status, stdout, stderr } = await install();
    assert.equal(status, 0, `${attempt}: ${stderr}`);
    assert.match(stdout, /^planwright \d[^]*installed as .*prefix\/bin\/planwright\n  hint: add/);
  }
  assert.match(await output(join(prefix, "bin/planwright"), ["--version"]), /^planwright \d/);

  writeFileSync(join(path, "SHA256SUMS"), sums.replace(target, "other"));
  assert.match((await install()).stderr, /the release has no `planwright-/);
  assert.deepEqual(readdirSync(join(prefix, "bin")), ["planwright"]);
  assert.deepEqual(readdirSync(path), [...before, "prefix"].sort());
});

test("the options of the installer are checked", async () => {
  const help = await run("sh", [installer, "--help"]);
  assert.equal(help.status, 0);
  assert.match(help.stdout, /--prefix FOLDER/);
  for (const [args, message] of [
    [["--no"], /there is no option `--no`/],
    [["--prefix"], /`--prefix` needs a value/],
  ]) {
    const { status, stderr } = await run("sh", [installer, ...args]);
    assert.equal(status, 1, args.join());
    assert.match(stderr, message);
  }
  await output(join(linters, "shellcheck"), [installer]);
});

test("the installer for Windows can be read", async () => {
  const { Parser, Language } = require("web-tree-sitter");
  await Parser.init();
  const grammar = join(dirname(require.resolve("tree-sitter-powershell/package.json")), "tree-sitter-powershell.wasm");
  const parser = new Parser();
  parser.setLanguage(await Language.load(grammar));
  const read = (text) => parser.parse(text).rootNode.hasError;
  const text = readFileSync(join(root, "packaging/installers/install.ps1"), "utf8");
  assert.equal(read(text), false);
  assert.equal(read(text.replace("} finally {", "finally {{")), true);
});
