#!/usr/bin/env node
// The program of this machine's platform package, with the arguments, the streams and the signals of this process.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

/** The exit status of `planwright` if its system has failed. */
const FAILURE = 70;

const platform = `${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "planwright.exe" : "planwright";

function fail(message, hint) {
  process.stderr.write(`error: ${message}\n  hint: ${hint}\n`);
  process.exit(FAILURE);
}

let path;
try {
  path = createRequire(import.meta.url).resolve(`@planwright/${platform}/bin/${program}`);
} catch {
  fail(
    `the package \`@planwright/${platform}\` is not installed`,
    "install `planwright` with optional dependencies; if your platform has no such package, build it with `cargo install planwright-cli`",
  );
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit", windowsHide: true });

// The program decides when it ends. A terminal sends its own signals to both processes, and a second Ctrl-C means more than one.
const isInTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
const ofTerminals = ["SIGINT", "SIGQUIT", "SIGHUP"];
for (const signal of [...ofTerminals, "SIGTERM", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => {
    if (!(isInTerminal && ofTerminals.includes(signal))) {
      child.kill(signal);
    }
  });
}

child.on("error", (error) => fail(`\`${path}\` cannot be started: ${error.message}`, "install the package again"));
child.on("exit", (status, signal) => {
  if (signal === null) {
    process.exit(status);
  }
  // The parent learns of the same signal as if it had started the program itself.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Some signals do not end a process of Node.js.
  process.exitCode = 128 + constants.signals[signal];
});
