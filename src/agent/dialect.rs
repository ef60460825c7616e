//! The words in which the programs of agents tell an event, its normal form, and the answer to it.
//!
//! The keys are those of the hooks of Claude Code 2.1, Codex 0.150, Gemini CLI 0.61, Cursor 2,
//! Copilot CLI 1.0 in both spellings, Cline 3, Windsurf, and those that our own plugins for
//! opencode, Amp and Cline write. No two agents use one key or name in different meanings, so one
//! table serves all.

use std::path::PathBuf;

use serde_json::{Value, json};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::agent::NamedDirs;
use crate::model::Moment;
use crate::model::json::{JsonSchema, Serialize};
use crate::model::session::provenance::LONGEST_VALUE;

/// A program that can run our hook, or call our server.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    JsonSchema,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(const_into_str, serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AgentName {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Copilot,
    Opencode,
    Amp,
    Cline,
    Windsurf,
    Vscode,
    Zed,
    Goose,
}

impl AgentName {
    /// Whether it runs hooks; another one only calls our server.
    pub fn has_hooks(self) -> bool {
        !matches!(self, Self::Vscode | Self::Zed | Self::Goose)
    }

    /// Whether its hooks get `CLAUDE_PROJECT_DIR`; to another agent it comes from one around it.
    pub fn names_project(self) -> bool {
        matches!(
            self,
            Self::Claude | Self::Copilot | Self::Cursor | Self::Gemini
        )
    }
}

/// One event, as far as its document tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEvent {
    pub agent: AgentName,
    pub moment: Moment,
    /// The name of the event in the words of the agent, which some answers repeat.
    pub name: String,
    /// The agent's own name of the session; empty if it has none.
    pub session: String,
    /// The agent's own time of the event, which tells two alike apart.
    pub stamp: Option<String>,
    /// Whether a session begins or comes back, rather than goes on after its words were compacted.
    pub begins: bool,
    pub dirs: NamedDirs,
    pub prompt_id: Option<String>,
    pub prompt: Option<String>,
    pub tool: Option<String>,
    pub tool_use: Option<String>,
    /// The agent's own name of the subagent in which this happens.
    pub agent_id: Option<String>,
    /// Command line that the agent's shell is about to run.
    pub command: Option<String>,
    /// The files that were edited, in the words of the agent.
    pub edited: Vec<String>,
    /// Why a turn failed, such as `rate_limit`.
    pub cause: Option<String>,
    /// Whether a subagent goes on in the background.
    pub has_subagents: bool,
    /// Whether the user has waived all questions.
    pub waives_questions: bool,
}

/// What events mean, and their names in lower case and without marks.
const EVENTS: &str = "\
session-start: sessionstart sessioncreated taskstart taskresume
prompt: userpromptsubmit userpromptsubmitted beforeagent beforesubmitprompt chatmessage beforerun \
    preuserprompt
pre-tool: pretooluse beforetool toolexecutebefore toolcall beforeshellexecution preruncommand
file-edited: posttooluse aftertool afterfileedit postwritecode fileedited
turn-end: stop agentstop afteragent afterrun sessionidle taskcomplete postcascaderesponse \
    postcascaderesponsewithtranscript
turn-failed: stopfailure erroroccurred sessionerror
interrupted: interrupt taskcancel
pre-compact: precompact precompress experimentalsessioncompacting sessioncompacting
subagent-start: subagentstart
subagent-end: subagentstop subagentend
session-end: sessionend sessiondeleted";

/// Tools that run a command line, in lower case and without marks.
const SHELLS: &str = "bash powershell shell runshellcommand runcommand runcommands runinterminal \
    runterminalcommand executecommand execcommand localshell unifiedexec terminal";

/// Parts of the names of tools that edit a file, as in [`SHELLS`].
const EDITORS: [&str; 3] = ["edit", "patch", "replace"];
/// Begins the line of a patch that names a file.
const PATCHED: &str = "*** Update File: ";

/// Parses a document; `None` if it is no JSON, or no event that we work on.
pub fn parse(document: &[u8], named: Option<AgentName>) -> Option<AgentEvent> {
    let text = String::from_utf8_lossy(document);
    let text = text.trim_start_matches('\u{feff}');
    let parsed = serde_json::from_str(text);
    let parsed = parsed.or_else(|_| serde_json::from_str(&without_half_letters(text)));
    read(&parsed.ok()?, named)
}

/// Replaces the halves of letters beyond 16 bits, which stand alone where a text was cut.
fn without_half_letters(text: &str) -> String {
    let mut pieces = text.split("\\u");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |whole, piece| {
        let digits = piece.get(..4).unwrap_or_default();
        match u32::from_str_radix(digits, 16) {
            Ok(0xd800..0xe000) => whole + "\\ufffd" + &piece[4..],
            _ => whole + "\\u" + piece,
        }
    })
}

/// Reads an event of the named agent, or of the one whose keys it has. `None` if it is no event
/// that we work on.
fn read(document: &Value, named: Option<AgentName>) -> Option<AgentEvent> {
    let fields = document.as_object()?;
    let name = text(document, EVENT_KEYS);
    let agent = named.unwrap_or_else(|| recognize(document, name.as_deref().unwrap_or_default()));
    let moment = match &name {
        Some(name) => moment_of(name)?,
        None => moment_by_keys(document)?,
    };
    let call = call_of(document);
    let tool = text(document, TOOL_KEYS);
    let command = text(document, "command").or_else(|| command_of(&call));
    let is_shell = |tool: &String| has_word(SHELLS, &plain(tool));
    if moment == Moment::PreTool && tool.as_ref().is_some_and(|tool| !is_shell(tool)) {
        return None;
    }
    let edited = edited_by(tool.as_deref(), &call, document);
    if moment == Moment::FileEdited && edited.is_empty() {
        return None;
    }
    // Gemini CLI tells this before every request, whether it compresses or not.
    let is_routine = text(document, "trigger").as_deref() == Some("auto");
    if agent == AgentName::Gemini && moment == Moment::PreCompact && is_routine {
        return None;
    }
    let error = &document["error"];
    let status = text(document, "status");
    let (moment, cause) = match (moment, status.as_deref()) {
        (Moment::TurnEnd, Some("error" | "failed")) => (Moment::TurnFailed, status),
        (Moment::TurnEnd, Some("aborted" | "cancelled")) => (Moment::Interrupted, status),
        (Moment::TurnFailed, _) => (
            moment,
            text(document, "error error_type cause")
                .or_else(|| text(error, "name").filter(|name| name != "Error"))
                .or_else(|| text(error, "message")),
        ),
        (Moment::Interrupted, _) => (moment, text(document, "reason cause")),
        other => (other.0, None),
    };
    let prompt = text(document, PROMPT_KEYS);
    let mut session = text(document, SESSION_KEYS).unwrap_or_default();
    session.truncate(session.floor_char_boundary(LONGEST_VALUE));
    let source = text(document, "source");
    let tasks = document["background_tasks"].as_array();
    Some(AgentEvent {
        agent,
        moment,
        name: name.unwrap_or_default(),
        session,
        stamp: fields.get("timestamp").map(Value::to_string),
        begins: moment == Moment::SessionStart
            && !matches!(source.as_deref(), Some("compact" | "clear")),
        dirs: dirs_of(document),
        prompt_id: text(document, PROMPT_ID_KEYS),
        prompt: prompt.map(|prompt| without_context(&prompt).to_owned()),
        tool,
        tool_use: text(document, "tool_use_id toolUseId callID call_id"),
        agent_id: text(document, "agent_id agentId subagent_id"),
        command,
        edited,
        cause,
        has_subagents: tasks.is_some_and(|tasks| tasks.iter().any(is_running_agent)),
        waives_questions: text(document, "permission_mode").as_deref() == Some("bypassPermissions"),
    })
}

const EVENT_KEYS: &str = "hook_event_name hookEventName hookName agent_action_name event";
const SESSION_KEYS: &str =
    "session_id sessionId sessionID conversation_id taskId trajectory_id thread_id";
const PROMPT_KEYS: &str = "prompt user_prompt /userPromptSubmit/prompt /tool_info/user_prompt";
const TOOL_KEYS: &str = "tool_name toolName tool /preToolUse/toolName /preToolUse/tool";
const DIR_KEYS: &str = "/workspace/current_dir cwd directory /tool_info/cwd";
const PROMPT_ID_KEYS: &str = "prompt_id promptId turn_id generation_id messageID execution_id";

fn has_word(words: &str, wanted: &str) -> bool {
    words.split_whitespace().any(|word| word == wanted)
}

/// Returns the first text that stands at one of some keys, or JSON pointers.
fn text(document: &Value, keys: &str) -> Option<String> {
    let mut found = keys.split_whitespace().filter_map(|key| {
        let found = document.get(key).or_else(|| document.pointer(key))?;
        found.as_str().filter(|text| !text.is_empty())
    });
    found.next().map(str::to_owned)
}

/// Returns a name in lower case, without marks.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

fn moment_of(name: &str) -> Option<Moment> {
    let name = plain(name);
    let mut events = EVENTS.lines().filter_map(|line| line.split_once(": "));
    let (moment, _) = events.find(|(_, names)| has_word(names, &name))?;
    moment.parse().ok()
}

/// Returns a prompt without what Gemini CLI puts before it: the line that we told the session.
fn without_context(prompt: &str) -> &str {
    let context = prompt.strip_prefix("<hook_context>");
    let rest = context.and_then(|context| context.split_once("</hook_context>"));
    rest.map_or(prompt, |(_, rest)| rest.trim_start())
}

/// The moments of documents without a name, as Copilot CLI writes them under names in camelCase, by
/// the keys that they have.
const MOMENTS: [(&str, Moment); 10] = [
    ("toolName", Moment::PreTool),
    ("agentId agentName stopReason", Moment::SubagentEnd),
    ("agentId agentName response", Moment::SubagentEnd),
    ("agentId agentName", Moment::SubagentStart),
    ("error", Moment::TurnFailed),
    ("source", Moment::SessionStart),
    ("prompt", Moment::Prompt),
    ("stopReason", Moment::TurnEnd),
    ("trigger", Moment::PreCompact),
    ("reason", Moment::SessionEnd),
];

fn moment_by_keys(document: &Value) -> Option<Moment> {
    let mut moments = MOMENTS.into_iter();
    let found = moments.find(|(signs, _)| has_signs(document, "", signs));
    let is_before = has_signs(document, "", "sessionId !toolResult");
    found.filter(|_| is_before).map(|(_, moment)| moment)
}

/// What no other agent's documents have: keys, keys that are missing (`!`), parts of the name of the
/// event (`@`), and of the path of the transcript (`/`).
const AGENTS: [(&str, AgentName); 18] = [
    ("/.gemini/", AgentName::Gemini),
    ("/.codex/", AgentName::Codex),
    ("/.copilot/", AgentName::Copilot),
    ("conversation_id", AgentName::Cursor),
    ("cursor_version", AgentName::Cursor),
    ("hookName taskId", AgentName::Cline),
    ("agent_action_name", AgentName::Windsurf),
    ("turn_id", AgentName::Codex),
    ("model permission_mode !prompt_id", AgentName::Codex),
    ("@Before", AgentName::Gemini),
    ("@After", AgentName::Gemini),
    ("@PreCompress", AgentName::Gemini),
    ("@Notification", AgentName::Gemini),
    ("sessionId", AgentName::Copilot),
    ("toolName", AgentName::Copilot),
    ("sessionID", AgentName::Opencode),
    ("@.", AgentName::Opencode),
    ("timestamp !tool_use_id", AgentName::Copilot),
];

fn recognize(document: &Value, name: &str) -> AgentName {
    let mut agents = AGENTS.into_iter();
    let found = agents.find(|(signs, _)| has_signs(document, name, signs));
    found.map_or(AgentName::Claude, |(_, agent)| agent)
}

fn has_signs(document: &Value, name: &str, signs: &str) -> bool {
    signs.split_whitespace().all(|sign| match sign.split_at(1) {
        ("!", key) => document.get(key).is_none(),
        ("@", part) => name.contains(part),
        ("/", _) => {
            text(document, "transcript_path transcriptPath").is_some_and(|path| path.contains(sign))
        }
        _ => document.get(sign).is_some(),
    })
}

/// Returns the arguments of the tool; Copilot CLI may write them as a text of JSON.
fn call_of(document: &Value) -> Value {
    let keys = ["tool_input", "toolArgs", "tool_info", "args", "input"];
    let found = keys.iter().find_map(|key| document.get(*key)).cloned();
    match found.unwrap_or_else(|| document["preToolUse"]["parameters"].clone()) {
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        other => other,
    }
}

/// Returns the files that a call edited: the one that it names, or those in its patch.
fn edited_by(tool: Option<&str>, call: &Value, document: &Value) -> Vec<String> {
    let is_editor = |tool| EDITORS.iter().any(|part| plain(tool).contains(part));
    if !tool.is_none_or(is_editor) {
        return Vec::new();
    }
    let keys = "file_path filePath notebook_path path file";
    let named = text(call, keys).or_else(|| text(document, keys));
    let patch = command_of(call).unwrap_or_default();
    let lines = patch.lines();
    let patched = lines.filter_map(|line| line.strip_prefix(PATCHED));
    let patched = patched.map(str::to_owned);
    named.into_iter().chain(patched).collect()
}

fn command_of(call: &Value) -> Option<String> {
    let mut keys = "command cmd command_line CommandLine commands script".split_whitespace();
    match keys.find_map(|key| call.get(key))? {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" "))
        }
        _ => None,
    }
    .filter(|line| !line.is_empty())
}

/// Returns the directories that a document for a status line names; none if it is no JSON.
pub fn dirs(document: &[u8]) -> NamedDirs {
    serde_json::from_slice(document).map_or_else(|_| NamedDirs::default(), |read| dirs_of(&read))
}

/// Returns the roots of the workspace, and where the agent's shell stands.
fn dirs_of(document: &Value) -> NamedDirs {
    let project = text(document, "/workspace/project_dir");
    let current = text(document, DIR_KEYS);
    let mut keys = ["workspace_roots", "workspaceRoots"].into_iter();
    let roots = keys.find_map(|key| document.get(key)?.as_array());
    let texts = roots.into_iter().flatten();
    let texts = texts.filter_map(|root| root.as_str().or(root["path"].as_str()));
    let projects = texts.chain(project.as_deref()).map(path_of);
    let is_absolute = |dir: &PathBuf| dir.is_absolute();
    NamedDirs {
        projects: projects.filter(is_absolute).collect(),
        current: current.as_deref().map(path_of).filter(is_absolute),
    }
}

/// Reads a path; Cursor writes those of Windows as `/c:/folder`.
fn path_of(text: &str) -> PathBuf {
    let is_drive =
        matches!(text.as_bytes(), [b'/', letter, b':', ..] if letter.is_ascii_alphabetic());
    PathBuf::from(if is_drive { &text[1..] } else { text })
}

fn is_running_agent(task: &Value) -> bool {
    let status = text(task, "status").unwrap_or_default();
    let has_ended = has_word("completed failed killed stopped", &status);
    let kind = text(task, "type kind task_type").unwrap_or_default();
    !has_ended && plain(&kind).contains("agent")
}

/// What an agent, or its user, is to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// For the user.
    pub message: Option<String>,
    /// For the model, at the start of a session.
    pub context: Option<String>,
    /// Why the user is to be asked before the tool runs.
    pub ask: Option<String>,
}

/// Returns the document for the agent; `None` where it has no place for any of the answer.
pub fn render(event: &AgentEvent, answer: &HookAnswer) -> Option<String> {
    let (ask, context) = (&answer.ask, &answer.context);
    let mut document = match event.agent {
        // Codex refuses an answer with a key that it does not know, and `ask` from a hook.
        AgentName::Codex if matches!(event.moment, Moment::Interrupted | Moment::SessionEnd) => {
            return None;
        }
        // Without a person at its terminal, Gemini CLI waits for ever once a hook says `ask`; the
        // policy that `setup` writes asks where there is one.
        AgentName::Claude | AgentName::Codex | AgentName::Gemini => {
            let name = &event.name;
            let specific = match (ask, context) {
                (Some(why), _) if event.agent == AgentName::Claude => json!({
                    "hookEventName": name,
                    "permissionDecision": "ask",
                    "permissionDecisionReason": why,
                }),
                (_, Some(context)) => {
                    json!({ "hookEventName": name, "additionalContext": context })
                }
                _ => Value::Null,
            };
            json!({ "systemMessage": answer.message, "hookSpecificOutput": specific })
        }
        AgentName::Cursor => json!({ "additional_context": context }),
        AgentName::Copilot => json!({
            "permissionDecision": ask.as_ref().map(|_| "ask"),
            "permissionDecisionReason": ask,
            "additionalContext": context,
        }),
        // A hook of Cline is waited for until it says this.
        AgentName::Cline => json!({ "cancel": false }),
        _ => return None,
    };
    let members = document.as_object_mut()?;
    members.retain(|_, value| !value.is_null());
    (!members.is_empty()).then(|| format!("{document}\n"))
}
