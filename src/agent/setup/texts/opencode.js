// Tells checkpoint what happens in a session. Whatever goes wrong here, the
// session goes on: nothing throws, and each call ends after a time of its own.
import { spawn } from "node:child_process";

const program = "PROGRAM";

function tell(event, first = false, directory = process.cwd()) {
  return new Promise((done) => {
    try {
      const words = ["hook", "--agent", "opencode"];
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

export const CheckpointPlugin = async (given) => {
  const directory = given?.directory;
  const parents = new Map();
  const say = (name, session, more = {}, first = false) => {
    const parent = parents.get(session);
    const event = {
      hook_event_name: name,
      session_id: parent ?? session,
      cwd: directory,
      ...(parent ? { agent_id: session } : {}),
      ...more,
    };
    return tell(event, first, directory);
  };
  return {
    event: quietly(async ({ event }) => {
      const told = event.properties ?? {};
      const session = told.sessionID ?? told.info?.id;
      const parent = told.info?.parentID;
      if (event.type === "session.created") {
        if (parent) parents.set(session, parent);
        await say(event.type, session);
        // The first checkpoint of a directory may take its time.
        if (!parent) void say(event.type, session, {}, true);
      } else if (event.type === "session.error") {
        await say(event.type, session, { error: told.error?.name });
      } else if (event.type === "file.edited" && told.file) {
        await say(event.type, session, { file: told.file });
      } else if (event.type === "session.idle" || event.type === "session.deleted") {
        await say(event.type, session);
      }
    }),
    "chat.message": quietly(async (input, output) => {
      const parts = (output?.parts ?? []).filter((part) => part.type === "text");
      const typed = parts.filter((part) => !part.synthetic);
      const prompt = typed.map((part) => part.text).join("\n");
      const prompt_id = output?.message?.id ?? input?.messageID;
      await say("chat.message", input?.sessionID, { prompt, prompt_id });
    }),
    "tool.execute.before": quietly(async (input, output) => {
      if (input?.tool !== "bash") return;
      await say("tool.execute.before", input.sessionID, {
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: output?.args,
      });
    }),
    "experimental.session.compacting": quietly(async (input) => {
      await say("experimental.session.compacting", input?.sessionID);
    }),
  };
};
