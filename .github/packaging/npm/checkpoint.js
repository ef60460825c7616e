#!/usr/bin/env node
// Runs the program for this system. `require("{{SCOPE}}/checkpoint")` is its path, for those who start it themselves.
"use strict";
const platform = `${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`{{SCOPE}}/checkpoint-${platform}/checkpoint${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  throw new Error(`{{SCOPE}}/checkpoint-${platform} is not installed: there is no program for ${platform}, or npm left out optional dependencies`);
}
module.exports = program;

if (require.main === module) {
  const child = require("node:child_process").spawn(program, process.argv.slice(2), { stdio: "inherit" });
  // The program ends in its own time, with nothing half done. On Windows the console tells it, and kill would not wait.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.platform === "win32" || child.kill(signal));
  child.on("error", (error) => {
    console.error(`${program}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
