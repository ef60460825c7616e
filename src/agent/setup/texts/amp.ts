// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// Tells checkpoint what happens in a session. Whatever goes wrong here, the
// session goes on: nothing throws, and each call ends after a time of its own.
import { spawn } from "node:child_process";

const program = "PROGRAM";

function tell(event, first = false, directory = process.cwd()) {
  return new Promise((done) => {
    try {
      const words = ["hook", "--agent", "amp"];
      if (first) words.push("--first");
      const child = spawn(program, words, {
        cwd: directory,
        stdio: ["pipe", "ignore", "ignore"],
        windowsHide: true,
      });
      const seconds = first ? 25 : 5;
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        done();
      }, seconds * 1000);
      const end = () => {
        clearTimeout(timer);
        done();
      };
      child.on("error", end);
      child.on("close", end);
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify(event));
    } catch {
      done();
    }
  });
}

// Calls a handler with whatever the host gives; what it throws is dropped.
const quietly = (handler, answer) => async (...given) => {
  try {
    await handler(...given);
  } catch {}
  return answer;
};

export default function (amp) {
  const on = (name, handler, answer) => {
    try {
      amp.on(name, quietly(handler, answer));
    } catch {}
  };
  const say = (name, event, context, more = {}, first = false) => {
    const session_id = context?.thread?.id ?? event?.thread?.id;
    return tell({ hook_event_name: name, session_id, cwd: process.cwd(), ...more }, first);
  };
  on("session.start", async (event, context) => {
    await say("SessionStart", event, context);
    // The first checkpoint of a directory may take its time.
    void say("SessionStart", event, context, {}, true);
  });
  on("agent.start", async (event, context) => {
    const prompt = typeof event?.message === "string" ? event.message : undefined;
    await say("UserPromptSubmit", event, context, { prompt, prompt_id: event?.id });
  });
  const beforeTool = async (event, context) => {
    const shell = amp.helpers?.shellCommandFromToolCall?.(event);
    if (!shell && !/bash|shell/i.test(event?.tool ?? "")) return;
    await say("PreToolUse", event, context, {
      tool_name: "Bash",
      tool_use_id: event?.toolUseID,
      tool_input: { command: shell?.command ?? event?.input?.cmd },
    });
  };
  on("tool.call", beforeTool, { action: "allow" });
  on("tool.result", async (event, context) => {
    if (!/edit/i.test(event?.tool ?? "")) return;
    await say("PostToolUse", event, context, { tool_name: "Edit", tool_input: event?.input });
  });
  on("agent.end", async (event, context) => {
    const failed = event?.status === "error";
    await say(failed ? "StopFailure" : "Stop", event, context);
  });
}
