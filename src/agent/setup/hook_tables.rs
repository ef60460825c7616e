//! Which events of each agent call us, and how its settings name them.

use serde_json::{Map, Value, json};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::command_line::HookCall;
use crate::agent::setup::shared_hooks::{HookEntries, HookShape};

/// Seconds after which an agent may give us up. Our own limit is shorter.
const USUAL: u32 = 5;
/// The same for events at which agents wait for one to three seconds only.
const AT_THE_END: u32 = 2;
/// The same for the first checkpoint of a directory.
const FIRST: u32 = 25;

/// An event that calls us.
struct HookMoment {
    event: &'static str,
    /// The tools at which it does.
    tools: Option<&'static str>,
    seconds: u32,
    /// Whether the first checkpoint of a directory is made here, by a call of its own.
    is_start: bool,
}

const fn at(event: &'static str) -> HookMoment {
    HookMoment {
        event,
        tools: None,
        seconds: USUAL,
        is_start: false,
    }
}

const fn at_start(event: &'static str) -> HookMoment {
    HookMoment {
        is_start: true,
        ..at(event)
    }
}

const fn of_tool(event: &'static str, tools: &'static str) -> HookMoment {
    HookMoment {
        tools: Some(tools),
        ..at(event)
    }
}

const fn at_end(event: &'static str) -> HookMoment {
    HookMoment {
        seconds: AT_THE_END,
        ..at(event)
    }
}

const CLAUDE: [HookMoment; 10] = [
    at_start("SessionStart"),
    at("UserPromptSubmit"),
    of_tool("PreToolUse", "Bash|PowerShell"),
    of_tool("PostToolUse", "Edit|MultiEdit|NotebookEdit"),
    at("Stop"),
    at("StopFailure"),
    at("PreCompact"),
    at("SubagentStart"),
    at("SubagentStop"),
    at_end("SessionEnd"),
];
const CODEX: [HookMoment; 10] = [
    at_start("SessionStart"),
    at("UserPromptSubmit"),
    of_tool("PreToolUse", "Bash"),
    of_tool("PostToolUse", "apply_patch"),
    at("Stop"),
    at("PreCompact"),
    at("SubagentStart"),
    at("SubagentStop"),
    at_end("Interrupt"),
    at_end("SessionEnd"),
];
const GEMINI: [HookMoment; 7] = [
    at_start("SessionStart"),
    at("BeforeAgent"),
    of_tool("BeforeTool", "run_shell_command"),
    of_tool("AfterTool", "replace"),
    at("AfterAgent"),
    at("PreCompress"),
    at_end("SessionEnd"),
];
const CURSOR: [HookMoment; 9] = [
    at_start("sessionStart"),
    at("beforeSubmitPrompt"),
    of_tool("preToolUse", "Shell"),
    at("afterFileEdit"),
    at("stop"),
    at("preCompact"),
    at("subagentStart"),
    at("subagentStop"),
    at_end("sessionEnd"),
];
/// Copilot picks the shape of its documents by the spelling of the event; it knows the start of a
/// subagent in one spelling only.
const COPILOT: [HookMoment; 10] = [
    at_start("SessionStart"),
    at("UserPromptSubmit"),
    of_tool("PreToolUse", "bash|powershell|Bash|PowerShell"),
    of_tool("PostToolUse", "edit|Edit"),
    at("Stop"),
    at("ErrorOccurred"),
    at("PreCompact"),
    at("subagentStart"),
    at("SubagentStop"),
    at_end("SessionEnd"),
];
const WINDSURF: [HookMoment; 4] = [
    at("pre_user_prompt"),
    at("pre_run_command"),
    at("post_write_code"),
    at("post_cascade_response"),
];

fn moments(agent: AgentName) -> &'static [HookMoment] {
    match agent {
        AgentName::Claude => &CLAUDE,
        AgentName::Codex => &CODEX,
        AgentName::Gemini => &GEMINI,
        AgentName::Cursor => &CURSOR,
        AgentName::Copilot => &COPILOT,
        AgentName::Windsurf => &WINDSURF,
        _ => &[],
    }
}

/// Returns our entries for an agent, as they stand below `hooks` in its settings.
pub fn entries(agent: AgentName, program: &str) -> HookEntries {
    let shape = match agent {
        AgentName::Claude | AgentName::Codex | AgentName::Gemini => HookShape::Groups,
        _ => HookShape::Plain,
    };
    let of_moment = |moment: &HookMoment| {
        let mut handlers = vec![handler(agent, program, moment, false)];
        if moment.is_start {
            handlers.push(handler(agent, program, moment, true));
        }
        let elements = match shape {
            HookShape::Plain => handlers,
            HookShape::Groups => {
                let mut group = Map::new();
                if let Some(tools) = moment.tools {
                    group.insert("matcher".to_owned(), tools.into());
                }
                group.insert("hooks".to_owned(), handlers.into());
                vec![Value::Object(group)]
            }
        };
        (moment.event, elements)
    };
    HookEntries {
        agent,
        shape,
        version: matches!(agent, AgentName::Cursor | AgentName::Copilot).then_some(1),
        events: moments(agent).iter().map(of_moment).collect(),
    }
}

/// Returns what one agent needs to call us once at one event.
fn handler(agent: AgentName, program: &str, moment: &HookMoment, is_first: bool) -> Value {
    let call = HookCall {
        program: program.to_owned(),
        agent,
        is_first,
    };
    let seconds = if is_first { FIRST } else { moment.seconds };
    let mut handler = match agent {
        AgentName::Copilot => json!({
            "type": "command",
            "bash": call.shell(),
            "powershell": call.powershell(),
            "timeoutSec": seconds,
        }),
        AgentName::Cursor => json!({ "command": call.native(), "timeout": seconds }),
        AgentName::Windsurf => json!({ "command": call.native(), "show_output": false }),
        AgentName::Gemini => json!({
            "type": "command",
            "name": if is_first { "checkpoint-first" } else { "checkpoint" },
            "command": call.native(),
            "timeout": u64::from(seconds) * 1000,
        }),
        AgentName::Codex if cfg!(windows) => json!({
            "type": "command",
            "command": call.shell(),
            "commandWindows": call.powershell(),
            "timeout": seconds,
        }),
        _ => json!({ "type": "command", "command": call.native(), "timeout": seconds }),
    };
    // Nothing waits for what is only noted.
    if agent == AgentName::Claude && (is_first || moment.event == "PostToolUse") {
        handler["async"] = true.into();
    }
    if agent == AgentName::Claude && cfg!(windows) {
        handler["shell"] = "powershell".into();
    }
    let is_plain = matches!(agent, AgentName::Cursor | AgentName::Copilot);
    if let (true, Some(tools)) = (is_plain, moment.tools) {
        handler["matcher"] = tools.into();
    }
    handler
}
