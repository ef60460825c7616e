// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// Tells checkpoint what happens in a session. Whatever goes wrong here, the
// session goes on: nothing throws, and each call ends after a time of its own.
import { spawn } from "node:child_process";

const program = "PROGRAM";

function tell(event: Record<string, unknown>, first = false): Promise<void> {
  return new Promise((done) => {
    try {
      const words = ["hook", "--agent", "amp"];
      if (first) words.push("--first");
      const child = spawn(program, words, {
        stdio: ["pipe", "ignore", "ignore"],
        windowsHide: true,
      });
      const seconds = first ? 25 : 5;
      const timer = setTimeout(() => {
        child.kill();
        done();
      }, seconds * 1000);
      const end = () => {
        clearTimeout(timer);
        done();
      };
      child.on("error", end);
      child.on("close", end);
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify({ cwd: process.cwd(), ...event }));
    } catch {
      done();
    }
  });
}

export default function (amp: any) {
  const on = (name: string, tool: (event: any, session: unknown) => Promise<unknown>) => {
    try {
      amp.on(name, async (event: any, context: any) => {
        try {
          return await tool(event, context?.thread?.id ?? event?.thread?.id);
        } catch {
          return undefined;
        }
      });
    } catch {}
  };
  on("session.start", async (_event, session_id) => {
    await tell({ hook_event_name: "SessionStart", session_id });
    void tell({ hook_event_name: "SessionStart", session_id }, true);
  });
  on("agent.start", async (event, session_id) => {
    const prompt = typeof event?.message === "string" ? event.message : undefined;
    await tell({ hook_event_name: "UserPromptSubmit", session_id, prompt, prompt_id: event?.id });
  });
  try {
    amp.on("tool.call", async (event: any, context: any) => {
      try {
        const shell = amp.helpers?.shellCommandFromToolCall?.(event);
        if (shell || /bash|shell/i.test(event?.tool ?? "")) {
          await tell({
            hook_event_name: "PreToolUse",
            session_id: context?.thread?.id ?? event?.thread?.id,
            tool_name: "Bash",
            tool_use_id: event?.toolUseID,
            tool_input: { command: shell?.command ?? event?.input?.cmd },
          });
        }
      } catch {}
      return { action: "allow" };
    });
  } catch {}
  on("agent.end", async (event, session_id) => {
    const failed = event?.status === "error";
    await tell({ hook_event_name: failed ? "StopFailure" : "Stop", session_id });
  });
}
