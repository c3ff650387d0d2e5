// Starts the Worker of `worker.js` on a free port, prints the port, and serves until standard input ends.
//
// `codemode.mjs FOLDER`: FOLDER stores the Durable Object.

import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";
import process from "node:process";

// The packages are installed elsewhere, so imports are resolved from there.
const require = createRequire(`${process.env.YARDSTICK_PACKAGES}/package.json`);
const esbuild = require("esbuild");
const { Miniflare } = require("miniflare");

const bundle = await esbuild.build({
  entryPoints: [fileURLToPath(new URL("worker.js", import.meta.url))],
  bundle: true,
  write: false,
  format: "esm",
  conditions: ["workerd", "worker", "import"],
  external: ["cloudflare:*", "node:*"],
  nodePaths: [`${process.env.YARDSTICK_PACKAGES}/node_modules`],
  logLevel: "error",
});
const miniflare = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.js", contents: bundle.outputFiles[0].text }],
  compatibilityDate: "2026-04-01",
  compatibilityFlags: ["nodejs_compat"],
  durableObjects: { HOST: { className: "Host", useSQLite: true } },
  durableObjectsPersist: process.argv[2],
  workerLoaders: { LOADER: {} },
  port: 0,
});
const url = await miniflare.ready;
console.log(url.href);
process.stdin.resume();
process.stdin.on("end", async () => {
  await miniflare.dispose();
  process.exit(0);
});
