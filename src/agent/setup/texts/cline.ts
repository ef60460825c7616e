// Tells checkpoint what happens in a task. Whatever goes wrong here, the task
// goes on: nothing throws, and each call ends after a time of its own.
import { spawn } from "node:child_process";

const program = "PROGRAM";

function tell(event, first = false, directory = process.cwd()) {
  return new Promise((done) => {
    try {
      const words = ["hook", "--agent", "cline"];
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

const started = new Set();

function say(name, context, more = {}, first = false) {
  const at = context?.snapshot ?? context;
  const taskId = context?.sessionId ?? at?.sessionId ?? context?.runId ?? at?.runId;
  return tell({ hookName: name, taskId, workspaceRoots: [process.cwd()], ...more }, first);
}

async function beforeRun(context) {
  const task = context?.sessionId ?? context?.snapshot?.sessionId;
  if (!started.has(task)) {
    started.add(task);
    await say("TaskStart", context);
    // The first checkpoint of a directory may take its time.
    void say("TaskStart", context, {}, true);
  }
  const given = context?.userMessage ?? context?.input ?? context?.prompt;
  const prompt = typeof given === "string" ? given : undefined;
  await say("UserPromptSubmit", context, { userPromptSubmit: { prompt } });
}

async function beforeTool(context) {
  const call = context?.toolCall ?? context?.call;
  const toolName = call?.toolName ?? call?.name ?? context?.tool?.name;
  if (!/command|bash|shell/i.test(String(toolName ?? ""))) return;
  const parameters = context?.input ?? call?.input;
  const toolUseId = call?.toolCallId ?? call?.id;
  await say("PreToolUse", context, { preToolUse: { toolName, toolUseId, parameters } });
}

async function afterTool(context) {
  const call = context?.toolCall ?? context?.call;
  const toolName = call?.toolName ?? call?.name ?? context?.tool?.name;
  if (!/edit|replace/i.test(String(toolName ?? ""))) return;
  await say("PostToolUse", context, { toolName: "Edit", input: context?.input ?? call?.input });
}

export default {
  name: "checkpoint",
  manifest: { capabilities: ["hooks"] },
  hooks: {
    beforeRun: quietly(beforeRun),
    beforeTool: quietly(beforeTool),
    afterTool: quietly(afterTool),
    afterRun: quietly((context) => say("TaskComplete", context)),
  },
};
