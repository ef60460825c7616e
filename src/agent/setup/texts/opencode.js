// Tells checkpoint what happens in a session. Whatever goes wrong here, the
// session goes on: nothing throws, and each call ends after a time of its own.
import { spawn } from "node:child_process";

const program = "PROGRAM";

function tell(directory, event, first) {
  return new Promise((done) => {
    try {
      const seconds = first ? 25 : 5;
      const words = ["hook", "--agent", "opencode"];
      if (first) words.push("--first");
      const child = spawn(program, words, {
        cwd: directory,
        stdio: ["pipe", "ignore", "ignore"],
        windowsHide: true,
      });
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
      child.stdin.end(JSON.stringify(event));
    } catch {
      done();
    }
  });
}

export const CheckpointPlugin = async ({ directory }) => {
  const parents = new Map();
  const say = async (name, session, more, first) => {
    try {
      const parent = parents.get(session);
      const event = {
        hook_event_name: name,
        session_id: parent ?? session,
        cwd: directory,
        ...(parent ? { agent_id: session } : {}),
        ...more,
      };
      await tell(directory, event, first);
    } catch {}
  };
  return {
    event: async ({ event }) => {
      try {
        const told = event?.properties ?? {};
        const session = told.sessionID ?? told.info?.id;
        if (event.type === "session.created") {
          if (told.info?.parentID) parents.set(session, told.info.parentID);
          await say(event.type, session);
          // The first checkpoint of a directory may take its time.
          if (!told.info?.parentID) void say(event.type, session, {}, true);
        } else if (event.type === "session.idle") {
          await say(event.type, session);
        } else if (event.type === "session.error") {
          await say(event.type, session, { error: told.error?.name });
        } else if (event.type === "session.deleted") {
          await say(event.type, session);
        }
      } catch {}
    },
    "chat.message": async (input, output) => {
      try {
        const parts = (output?.parts ?? []).filter((part) => part.type === "text");
        const prompt = parts
          .filter((part) => !part.synthetic)
          .map((part) => part.text)
          .join("\n");
        const prompt_id = output?.message?.id ?? input?.messageID;
        await say("chat.message", input?.sessionID, { prompt, prompt_id });
      } catch {}
    },
    "tool.execute.before": async (input, output) => {
      if (input?.tool !== "bash") return;
      await say("tool.execute.before", input.sessionID, {
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: output?.args,
      });
    },
    "experimental.session.compacting": async (input) => {
      await say("experimental.session.compacting", input?.sessionID);
    },
  };
};
