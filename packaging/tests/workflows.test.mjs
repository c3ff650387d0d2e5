// The workflows of CI and of releases.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { linters, output, root } from "./support.mjs";

const folder = join(root, ".github/workflows");

test("the workflows have no known faults", async () => {
  const files = readdirSync(folder).map((file) => join(folder, file));
  await output(join(linters, "actionlint"), ["-shellcheck", join(linters, "shellcheck"), "-pyflakes", "", ...files]);
});

test("a release builds every target, and each action is a commit", () => {
  const release = readFileSync(join(folder, "release.yml"), "utf8");
  const targets = readFileSync(join(root, "packaging/pack/targets.py"), "utf8").matchAll(/Target\("(\S+?)"/g);
  const built = [...release.matchAll(/target: (\S+),/g)].map(([, target]) => target);
  assert.deepEqual(built.sort(), [...targets].map(([, target]) => target).sort());
  for (const [, action] of release.matchAll(/uses: (\S+)/g)) {
    assert.match(action, /@[0-9a-f]{40}$/);
  }
});
