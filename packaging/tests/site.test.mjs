// The versions of the book, as the pages of the project.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { folder, pack } from "./support.mjs";

/** Writes a book of these pages, each with its text. */
function book(path, pages) {
  for (const [page, text] of Object.entries(pages)) {
    mkdirSync(dirname(join(path, page)), { recursive: true });
    writeFileSync(join(path, page), text);
  }
  return path;
}

/** The texts of all files of a folder, by their paths. */
function files(path) {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = entries.map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1)).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(path, name), "utf8")]));
}

const target = (redirect) => redirect.match(/rel="canonical" href="([^"]+)"/)[1];

test("the versions of the book stand side by side, and the root leads to the newest", async (context) => {
  const path = folder(context);
  const old = book(join(path, "old"), { "index.html": "old", "404.html": "", "guide/gone.html": "old", "guide/same.html": "old" });
  const renewed = book(join(path, "renewed"), { "index.html": "renewed", "guide/gone.html": "renewed", "guide/same.html": "renewed" });
  const recent = book(join(path, "recent"), { "index.html": "recent", "guide/same.html": "recent", "mark.js": "1" });
  const site = join(path, "site");
  const add = (from, version) => pack("site", "--book", from, "--version", version, "--into", site);
  await add(old, "0.9.0");
  book(site, { ".git/HEAD": "ref", CNAME: "planwright.example" });
  assert.equal(await add(recent, "0.10.0"), join(site, "0.10"));
  // The root still leads to the version with the greatest number, and the folder has no page of the release before.
  await add(renewed, "0.9.1");
  const made = files(site);
  assert.deepEqual(JSON.parse(made["versions.json"]), ["0.10", "0.9"]);
  const redirects = Object.entries(made).filter(([, text]) => text.includes("canonical"));
  assert.deepEqual(Object.fromEntries(redirects.map(([name, text]) => [name, target(text)])), {
    "index.html": "0.10/index.html",
    "guide/gone.html": "../0.9/guide/gone.html",
    "guide/same.html": "../0.10/guide/same.html",
  });
  for (const name of redirects.map(([name]) => name)) {
    delete made[name];
  }
  assert.deepEqual(made, {
    ".git/HEAD": "ref",
    ".nojekyll": "",
    CNAME: "planwright.example",
    "versions.json": made["versions.json"],
    "0.9/index.html": "renewed",
    "0.9/guide/gone.html": "renewed",
    "0.9/guide/same.html": "renewed",
    "0.10/index.html": "recent",
    "0.10/guide/same.html": "recent",
    "0.10/mark.js": "1",
  });
});

test("the site depends on the versions alone, not on the order of their releases", async (context) => {
  const path = folder(context);
  const one = book(join(path, "one"), { "index.html": "1", "a/b.html": "1" });
  const two = book(join(path, "two"), { "index.html": "2", "c.html": "2" });
  const made = [];
  for (const order of [[[one, "1.0.0"], [two, "1.1.0"]], [[two, "1.1.0"], [two, "1.0.0"], [one, "1.0.0"], [one, "1.0.0"]]]) {
    const site = join(path, "site");
    for (const [from, version] of order) {
      await pack("site", "--book", from, "--version", version, "--into", site);
    }
    made.push(files(site));
    rmSync(site, { recursive: true });
  }
  assert.ok(made[0]["a/b.html"]);
  assert.deepEqual(made[0], made[1]);
});

test("only a release of a book becomes a version", async (context) => {
  const path = folder(context);
  const from = book(join(path, "book"), { "index.html": "" });
  for (const version of ["1.0", "v1.0.0", "1.0.0-rc.1", "1.0.0\n", "../1.0.0"]) {
    await assert.rejects(pack("site", "--book", from, "--version", version, "--into", join(path, "site")), /is not the version of a release/);
  }
  const empty = book(join(path, "empty"), { "a.html": "" });
  await assert.rejects(pack("site", "--book", empty, "--version", "1.0.0", "--into", join(path, "site")), /is no book/);
  assert.throws(() => readdirSync(join(path, "site")), /ENOENT/);
});
