// Tells checkpoint what happens in a task. Whatever goes wrong here, the task
// goes on: nothing throws, and each call ends after a time of its own.
import { spawn } from "node:child_process";

const program = "PROGRAM";

function tell(event: Record<string, unknown>, first = false): Promise<void> {
  return new Promise((done) => {
    try {
      const words = ["hook", "--agent", "cline"];
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
      child.stdin.end(JSON.stringify({ workspaceRoots: [process.cwd()], ...event }));
    } catch {
      done();
    }
  });
}

const task = (context: any) =>
  context?.sessionId ?? context?.snapshot?.sessionId ?? context?.runId ?? context?.snapshot?.runId;
const started = new Set<unknown>();

async function before(prompt: unknown, taskId: unknown) {
  if (!started.has(taskId)) {
    started.add(taskId);
    await tell({ hookName: "TaskStart", taskId });
    void tell({ hookName: "TaskStart", taskId }, true);
  }
  const userPromptSubmit = { prompt: typeof prompt === "string" ? prompt : undefined };
  await tell({ hookName: "UserPromptSubmit", taskId, userPromptSubmit });
}

async function beforeTool(name: unknown, input: any, id: unknown, taskId: unknown) {
  if (!/command|bash|shell/i.test(String(name ?? ""))) return;
  const preToolUse = { toolName: name, toolUseId: id, parameters: input };
  await tell({ hookName: "PreToolUse", taskId, preToolUse });
}

const quietly = (work: (context: any) => Promise<unknown>) => async (context: any) => {
  try {
    await work(context);
  } catch {}
  return undefined;
};

export default {
  name: "checkpoint",
  manifest: { capabilities: ["hooks"] },
  hooks: {
    beforeRun: quietly((it) => before(it?.userMessage ?? it?.input ?? it?.prompt, task(it))),
    beforeTool: quietly((it) =>
      beforeTool(
        it?.toolCall?.toolName ?? it?.call?.name ?? it?.tool?.name,
        it?.input ?? it?.toolCall?.input ?? it?.call?.input,
        it?.toolCall?.toolCallId ?? it?.call?.id,
        task(it),
      ),
    ),
    afterRun: quietly((it) => tell({ hookName: "TaskComplete", taskId: task(it) })),
  },
};
