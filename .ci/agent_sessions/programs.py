"""How each agent program is started, pointed at a model, and told of a hook."""

import json
import pathlib

from session import PROMPTS, WAVE

# The plugins that `setup` writes for programs without hooks of the usual kind.
PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "src/agent/setup/texts"


def put(path, content):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))


class Program:
    """What is common. `events` are the moments of which the recorder is told,
    `tools` the name of the tool that edits and of the one that runs a shell."""

    name = package = version = ""
    # The words that start it, those that take up the last session, those before the prompt, and the
    # prompt that compacts, if there is one.
    start, again, options, compaction = [], [], [], None
    compacts_itself = False
    events, tools = [], ("", "")
    # The name of the shell in the documents.
    shell_name = "Bash"
    # The checkpoint of what an interrupt leaves; most programs say nothing of one before the next prompt.
    after_interrupt = f"before: {PROMPTS[3]}"

    def configure(self, home, model):
        pass

    def environment(self, model):
        return {}

    def first(self, prompt):
        return [*self.start, *self.options, prompt]

    def next(self, prompt):
        return [*self.start, *self.again, *self.options, prompt]

    def compact(self):
        """The words that compact a session, where there are such."""
        return self.next(self.compaction) if self.compaction else None

    def compacting(self):
        """The steps of a prompt in which the program compacts by itself."""
        return [dict(self.shell("true"), tokens=150000), {"text": "a summary"}] if self.compacts_itself else None

    def write(self, path, content):
        return {"tool": self.tools[0], "input": {"file_path": str(path), "content": content}}

    def shell(self, command):
        return {"tool": self.tools[1], "input": {"command": command, "description": "a command"}}

    def sed(self, expression, path):
        return [self.shell(f"sed -i {expression} {path}")]

    def subagent(self):
        """The steps of a prompt that starts a subagent, where the program has such."""
        return None

    def wave(self):
        """The steps of the subagent: the second one finds what the first has changed."""
        return [self.shell("echo one > wave.txt"), self.shell("echo two >> wave.txt"), {"text": "written"}]

    def served(self, name, arguments):
        """The steps that call a tool of our server."""
        return [{"offered": name, "input": arguments}]

    def validation(self, home):
        """The command by which the program examines what `setup` wrote, and what it must say."""
        return None, ""

    def failure(self):
        return {"error": 400, "type": "invalid_request_error"}

    def reasons(self):
        """The checkpoints that the story of three prompts leaves, after the first."""
        return [f"after: {PROMPTS[0]}", f"before {self.shell_name}: sh build.sh", f"after: {PROMPTS[1]}",
                self.after_interrupt, f"after: {PROMPTS[3]}"] + [f"after: {WAVE}"] * bool(self.subagent())

    def hook(self, recorder):
        return f"'{recorder}' hook --agent {self.name} 2>/dev/null; exit 0"

    def groups(self, recorder, events=None, **more):
        handler = {"type": "command", "command": self.hook(recorder), **more}
        return {event: [{"hooks": [handler]}] for event in events or self.events}


class Claude(Program):
    name = "claude"
    package, version = "@anthropic-ai/claude-code", "2.1.330"
    start = ["claude", "--allowedTools", "Bash,Write,Edit,Agent,Task,mcp__plugin_checkpoint_checkpoint", "--model", "claude-sonnet-4-5"]
    again, options, compaction = ["--continue"], ["-p"], "/compact keep it short"
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "StopFailure",
              "PreCompact", "PostCompact", "SubagentStart", "SubagentStop", "SessionEnd"]
    tools = ("Write", "Bash")

    def environment(self, model):
        return {"ANTHROPIC_BASE_URL": model.address, "ANTHROPIC_API_KEY": "sk-none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "0"}

    def subagent(self):
        return [{"tool": "Agent", "input": {"description": "write", "prompt": "Write wave.txt", "subagent_type": "general-purpose",
                                            "run_in_background": False}},
                *self.wave()]

    def served(self, name, arguments):
        # It shows the names of such tools only, until the model asks for one.
        name = f"mcp__plugin_checkpoint_checkpoint__{name}"
        return [{"tool": "ToolSearch", "input": {"query": f"select:{name}", "max_results": 5}}, *super().served(name, arguments)]

    def failure(self):
        return {"error": 429, "type": "rate_limit_error"}

    def validation(self, home):
        return ["claude", "plugin", "validate", str(home / ".claude/skills/checkpoint"), "--strict"], "passed"

    def install(self, home, recorder):
        folder = home / ".claude/skills/recorder"
        put(folder / ".claude-plugin/plugin.json", {"name": "recorder"})
        put(folder / "hooks/hooks.json", {"hooks": self.groups(recorder, timeout=5)})


class Codex(Program):
    name = "codex"
    package, version = "@openai/codex", "0.169.0"
    start, again = ["codex", "exec"], ["resume", "--last"]
    options, compacts_itself = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"], True
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "PostCompact",
              "SubagentStart", "SubagentStop", "Interrupt", "StopFailure", "SessionEnd"]
    tools, after_interrupt = ("apply_patch", "exec_command"), "turn interrupted"

    def configure(self, home, model):
        put(home / ".codex/config.toml", f'''model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
model_auto_compact_token_limit = 100000
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{model.address}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
''')

    def write(self, path, content):
        lines = "".join(f"+{line}\n" for line in content.splitlines())
        return {"tool": "apply_patch", "input": f"*** Begin Patch\n*** Add File: {path.name}\n{lines}*** End Patch\n"}

    def shell(self, command):
        return {"tool": "exec_command", "input": {"cmd": command}}

    def subagent(self):
        return [{"tool": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": "Write wave.txt", "agent_type": "default"}},
                self.shell("sleep 6"), *self.wave()]

    def served(self, name, arguments):
        # It tells the model of the namespace only; a tool in it can be called all the same.
        return [{"tool": name, "namespace": "mcp__checkpoint", "input": arguments}]

    def validation(self, home):
        rules = str(home / ".codex/rules/checkpoint.rules")
        return ["codex", "execpolicy", "check", "--rules", rules, "checkpoint", "restore", "latest"], '"decision":"prompt"'

    def install(self, home, recorder):
        put(home / ".codex/hooks.json", {"hooks": self.groups(recorder, timeout=2)})


class Gemini(Program):
    name = "gemini"
    package, version = "@google/gemini-cli", "0.61.0"
    start, again, compaction = ["gemini"], ["--resume", "latest"], "/compress"
    options = ["--yolo", "--skip-trust", "--model", "gemini-2.5-pro", "-p"]
    events = ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"]
    tools, shell_name = ("write_file", "run_shell_command"), "run_shell_command"

    def configure(self, home, _model):
        put(home / ".gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
        })

    def environment(self, model):
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.address}

    def validation(self, home):
        return ["gemini", "extensions", "validate", str(home / ".gemini/extensions/checkpoint")], "successfully validated"

    def install(self, home, recorder):
        folder = home / ".gemini/extensions/recorder"
        put(folder / "gemini-extension.json", {"name": "recorder", "version": "1.0.0"})
        put(folder / "hooks/hooks.json", {"hooks": self.groups(recorder, name="recorder", timeout=5000)})


class Opencode(Program):
    name = "opencode"
    package, version = "opencode-ai", "1.18.33"
    start, again, compacts_itself = ["opencode", "run"], ["--continue"], True
    tools, shell_name = ("write", "bash"), "bash"

    def configure(self, home, model):
        # It looks for its plugin library at each start, for a minute without an answer.
        put(home / ".npmrc", f"registry={model.address}/npm\n")
        limit = {"context": 100000, "output": 8000}
        put(home / ".config/opencode/opencode.json", {
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": False,
            "share": "disabled",
            "model": "scripted/model",
            "permission": "allow",
            "provider": {"scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "scripted",
                "options": {"baseURL": f"{model.address}/v1", "apiKey": "none"},
                "models": {"model": {"name": "model", "limit": limit}},
            }},
        })

    def environment(self, _model):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def write(self, path, content):
        return {"tool": "write", "input": {"filePath": str(path), "content": content}}

    def subagent(self):
        return [{"tool": "task", "input": {"description": "write", "prompt": "Write wave.txt", "subagent_type": "general"}},
                *self.wave()]

    def install(self, home, recorder):
        text = (PLUGINS / "opencode.js").read_text().replace("PROGRAM", str(recorder))
        put(home / ".config/opencode/plugins/recorder.js", text)


class Qwen(Program):
    name = "qwen"
    package, version = "@qwen-code/qwen-code", "0.24.4"
    start, again, compaction = ["qwen"], ["--continue"], "/compress"
    options = ["--yolo", "--auth-type", "openai", "-p"]
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "StopFailure", "PreCompact",
              "SubagentStart", "SubagentStop", "SessionEnd"]
    tools = ("write_file", "run_shell_command")

    def environment(self, model):
        return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.address}/v1", "OPENAI_MODEL": "qwen3-coder-plus"}

    def shell(self, command):
        return {"tool": "run_shell_command", "input": {"command": command, "is_background": False}}

    def sed(self, expression, path):
        # It takes `sed -i` for an edit, and wants a file to be read before.
        return [{"tool": "read_file", "input": {"file_path": str(path)}}, *super().sed(expression, path)]

    def subagent(self):
        return [{"tool": "agent", "input": {"description": "write", "prompt": "Write wave.txt", "subagent_type": "general-purpose"}},
                *self.wave()]

    def install(self, home, recorder):
        put(home / ".qwen/settings.json", {
            "hooks": self.groups(recorder, timeout=5000),
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
        })


class Copilot(Program):
    name = "copilot"
    package, version = "@github/copilot", "1.0.102"
    start, again, options, compaction = ["copilot", "--allow-all"], ["--continue"], ["-p"], "/compact"
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "ErrorOccurred", "PreCompact",
              "subagentStart", "SubagentStop", "SessionEnd"]
    tools = ("create", "bash")

    def environment(self, model):
        return {"COPILOT_PROVIDER_BASE_URL": f"{model.address}/v1", "COPILOT_MODEL": "gpt-4.1", "COPILOT_PROVIDER_API_KEY": "none",
                "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}

    def write(self, path, content):
        return {"tool": "create", "input": {"path": str(path), "file_text": content}}

    def subagent(self):
        return [{"tool": "task", "input": {"name": "write", "description": "write", "prompt": "Write wave.txt",
                                           "agent_type": "general-purpose", "mode": "sync"}},
                *self.wave()]

    def install(self, home, recorder):
        handlers = {event: [{"type": "command", "bash": self.hook(recorder), "env": {"EVENT": event}, "timeoutSec": 5}]
                    for event in self.events}
        put(home / ".copilot/hooks/recorder.json", {"version": 1, "hooks": handlers})


class CopilotCamel(Copilot):
    """The same program in its other spelling, whose documents do not name the event."""

    name = "copilot-camel"
    events = ["sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "errorOccurred", "preCompact",
              "subagentStart", "subagentStop", "sessionEnd"]


PROGRAMS = {program.name: program for program in (Claude(), Codex(), Gemini(), Opencode(), Qwen(), Copilot(), CopilotCamel())}
