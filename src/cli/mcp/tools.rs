//! The tools: what each is given, and the command that it runs.

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::cli::mcp::arguments::{Arguments, usage};
use crate::error::Result;

/// What a tool does to directory and store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    Reads,
    /// Shows a restore, and remembers it.
    Plans,
    /// Adds a checkpoint; what is there already is not added again.
    Records,
    /// Adds a step to a workflow.
    Steps,
    /// Replaces and deletes files.
    Restores,
}

/// A tool.
pub struct ToolSpec {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub effect: ToolEffect,
    /// The published schemas of its answers.
    pub answers: &'static [&'static str],
    /// The lists of its answer, of which the longest is paged.
    pub lists: &'static [&'static str],
    /// Arguments beside `directory`, as properties of a JSON Schema.
    properties: fn() -> Value,
    required: &'static [&'static str],
    /// Returns the words of the command.
    pub words: fn(&Arguments) -> Result<Vec<OsString>>,
}

const RECORDING: [ToolSpec; 1] = [ToolSpec {
    name: "checkpoint_create",
    title: "Record a checkpoint",
    description: "Records the whole working directory as a checkpoint, before a risky change. Where nothing changed since the last one of this reason, that one is returned. With `scope`, only these paths; with `state`, values too (without `scope`, the values alone).",
    effect: ToolEffect::Records,
    answers: &["create"],
    lists: &[],
    properties: || {
        json!({
            "reason": text("What comes next: `before the parser is split`", 200),
            "scope": texts("Paths and patterns, relative to the directory"),
            "expires": text("Time after which it may be dropped: `24h`, a time, or `never`", 100),
            "type": {
                "type": "string",
                "enum": ["git_stash", "file_backup", "state_snapshot"],
                "description": "git_stash: the files in `scope` that git tracks; file_backup: any files; state_snapshot: `state` instead of files",
            },
            "state": { "type": "object", "description": "Values to record, by name" },
        })
    },
    required: &["reason"],
    words: create,
}];

const LOOKING: [ToolSpec; 6] = [
    ToolSpec {
        name: "checkpoint_list",
        title: "List checkpoints",
        description: "Lists the checkpoints of the directory, newest first, with reason, time, size and the agent's session.",
        effect: ToolEffect::Reads,
        answers: &["list"],
        lists: &["checkpoints"],
        properties: || {
            json!({
                "reason": text("Only reasons that match this pattern of * and ?", 200),
                "session": text("Only those made in this session of an agent; `current` for this one", 200),
                "since": text("Only those made since then: `2h`, `yesterday`, `15:40`, `2026-03-24T12:45`", 100),
                "limit": number("Maximum number of checkpoints; 20 if not given", 1, 1_000),
                "cursor": cursor(),
            })
        },
        required: &[],
        words: |given| Ok(list(given)),
    },
    ToolSpec {
        name: "checkpoint_show",
        title: "Show a checkpoint",
        description: "Shows one checkpoint: what it holds, and which paths changed against the one before.",
        effect: ToolEffect::Reads,
        answers: &["show"],
        lists: &["changes"],
        properties: || {
            json!({
                "checkpoint": checkpoint("Checkpoint"),
                "limit": number("Maximum number of changes", 1, 100_000),
                "cursor": cursor(),
            })
        },
        required: &["checkpoint"],
        words: |given| Ok(words(["show"], given.checkpoint("checkpoint")?, &[])),
    },
    ToolSpec {
        name: "checkpoint_diff",
        title: "Compare states",
        description: "Compares the checkpoint at which the directory stands with it, `from` with the directory, or `from` with `to`. With `patch`, the lines that changed too.",
        effect: ToolEffect::Reads,
        answers: &["diff"],
        lists: &["changes"],
        properties: || {
            json!({
                "from": checkpoint("Checkpoint; the one at which the directory stands if not given"),
                "to": checkpoint("Checkpoint; the directory if not given"),
                "paths": texts("Only these files and directories, relative to the directory"),
                "patch": flag("Also return the patch"),
                "max_bytes": number("Maximum length of the patch", 4, MOST_BYTES),
                "limit": number("Maximum number of changes", 1, 100_000),
                "cursor": cursor(),
            })
        },
        required: &[],
        words: diff,
    },
    ToolSpec {
        name: "checkpoint_find",
        title: "Find a path or a text",
        description: "Finds the checkpoints that hold or changed a path, or whose files contain a text. One of `path` and `text` is needed; with both, only files that match `path` are searched.",
        effect: ToolEffect::Reads,
        answers: &["find"],
        lists: &["paths", "matches"],
        properties: || {
            json!({
                "path": text("Path, or pattern as in a .gitignore: `*.rs` in any directory, `src/*.rs` from the root", 4_096),
                "text": text("Text to search for", 4_096),
                "since": text("Only checkpoints made since then: `2h`, `yesterday`", 100),
                "limit": number("Maximum number of results; 100 if not given", 1, 10_000),
                "cursor": cursor(),
            })
        },
        required: &[],
        words: find,
    },
    ToolSpec {
        name: "checkpoint_read",
        title: "Read a file of a checkpoint",
        description: "Returns the content of one file as a checkpoint holds it: text, or hex digits if it is no UTF-8.",
        effect: ToolEffect::Reads,
        answers: &["cat"],
        lists: &[],
        properties: || {
            json!({
                "checkpoint": checkpoint("Checkpoint"),
                "path": text("File, relative to the directory", 4_096),
                "max_bytes": number("Maximum number of bytes; 20,000 if not given", 4, MOST_BYTES),
                "cursor": cursor(),
            })
        },
        required: &["checkpoint", "path"],
        words: |given| {
            let path = given.text("path").unwrap_or_default();
            let at = format!("--skip={}", given.cursor()?);
            Ok(words(
                ["cat", &at],
                given.checkpoint("checkpoint")?,
                &[path],
            ))
        },
    },
    ToolSpec {
        name: "checkpoint_status",
        title: "Show what is here",
        description: "Shows the store of the directory, the latest checkpoint, what changed since, an interrupted restore, and what is left out.",
        effect: ToolEffect::Reads,
        answers: &["status"],
        lists: &[],
        properties: || json!({}),
        required: &[],
        words: |_| Ok(vec!["status".into()]),
    },
];

const RESTORING: [ToolSpec; 2] = [
    ToolSpec {
        name: "checkpoint_plan_restore",
        title: "Show what a restore would change",
        description: "Changes nothing: shows which files a restore, an undo or a redo would write and delete, and names that plan. Show it to the user before you carry it out with checkpoint_restore. A restore makes the directory, or only `paths`, just what it was.",
        effect: ToolEffect::Plans,
        answers: &["restore", "undo", "redo"],
        lists: &["changes"],
        properties: || {
            json!({
                "checkpoint": checkpoint("Checkpoint; `undo` for what was there before the last restore, `redo` to take an undo back"),
                "paths": texts("Only these files and directories, relative to the directory"),
                "overlay": flag("Write the files of the checkpoint, but delete nothing"),
                "limit": number("Maximum number of changes that are shown", 1, 100_000),
                "cursor": cursor(),
            })
        },
        required: &["checkpoint"],
        words: restore,
    },
    ToolSpec {
        name: "checkpoint_restore",
        title: "Bring an earlier state back",
        description: "Carries out a plan of checkpoint_plan_restore that the user agreed to, if nothing has moved since. What it replaces is kept in a safety checkpoint first; plan `undo` to take it back. A plan is good once, for 30 minutes.",
        effect: ToolEffect::Restores,
        answers: &["restore", "undo", "redo"],
        lists: &["changes"],
        properties: || json!({ "plan": text("The `plan_digest` of the plan", 64) }),
        required: &["plan"],
        words: |_| Ok(Vec::new()),
    },
];

const OF_RUNS: [ToolSpec; 4] = [
    ToolSpec {
        name: "workflow_status",
        title: "Show a workflow",
        description: "Shows a workflow of several phases: how far each has come, and what changed since.",
        effect: ToolEffect::Reads,
        answers: &["workflow.status", "workflow"],
        lists: &[],
        properties: run_alone,
        required: &[],
        words: |given| Ok(of_run("status", given)),
    },
    ToolSpec {
        name: "workflow_next",
        title: "Show the next phase",
        description: "Shows what is to be done next in a workflow.",
        effect: ToolEffect::Reads,
        answers: &["workflow.next", "workflow"],
        lists: &[],
        properties: run_alone,
        required: &[],
        words: |given| Ok(of_run("next", given)),
    },
    ToolSpec {
        name: "workflow_resume",
        title: "Show how to go on",
        description: "Changes nothing: shows an interrupted workflow and the answers that the user can give (go on, another phase, start again, give up).",
        effect: ToolEffect::Reads,
        answers: &["workflow.resume", "workflow"],
        lists: &[],
        properties: run_alone,
        required: &[],
        words: |given| Ok(of_run("resume", given)),
    },
    ToolSpec {
        name: "workflow_step",
        title: "Record a step",
        description: "Records that a phase was started, came further, is done, failed or is skipped. At start and end a checkpoint is made.",
        effect: ToolEffect::Steps,
        answers: &[
            "phase.start",
            "phase.progress",
            "phase.done",
            "phase.fail",
            "phase.skip",
            "phase",
        ],
        lists: &[],
        properties: || {
            json!({
                "id": text("Workflow; the newest open one if not given", 200),
                "phase": text("Phase, by its id", 200),
                "action": { "type": "string", "enum": ["start", "progress", "done", "fail", "skip"] },
                "text": text("What was done, what went wrong, or why it is skipped", 4_000),
                "expect": text("Revision at which the workflow must be; refused otherwise", 100),
            })
        },
        required: &["phase", "action"],
        words: step,
    },
];

/// Results of a search, unless more or fewer are asked for.
pub const USUAL_RESULTS: u64 = 100;
/// Upper bound on the bytes of one content.
pub const MOST_BYTES: u64 = 20_000;

impl ToolSpec {
    /// Returns the JSON Schema of its arguments.
    pub fn input_schema(&self) -> Value {
        let mut properties = (self.properties)();
        properties["directory"] = text(
            "Directory to act on, at or below those of the server; the server's own if not given",
            4_096,
        );
        json!({
            "type": "object",
            "properties": properties,
            "required": self.required,
            "additionalProperties": false,
        })
    }
}

/// Returns all tools, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static ToolSpec> {
    let tools = RECORDING.iter().chain(&LOOKING);
    tools.chain(&RESTORING).chain(&OF_RUNS)
}

pub fn find_tool(name: &str) -> Option<&'static ToolSpec> {
    all().find(|tool| tool.name == name)
}

fn text(description: &str, longest: u64) -> Value {
    json!({ "type": "string", "maxLength": longest, "description": description })
}

fn texts(description: &str) -> Value {
    let item = json!({ "type": "string", "maxLength": 4_096 });
    json!({ "type": "array", "maxItems": 1_000, "items": item, "description": description })
}

fn number(description: &str, least: u64, most: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most, "description": description })
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn cursor() -> Value {
    text("Where to go on, as an earlier answer named it", 20)
}

fn checkpoint(what: &str) -> Value {
    let forms = "the beginning of an id, @ (where the directory stands), latest, latest~2, a reason, a time such as `10m ago`, or prompt:~1";
    text(&format!("{what}: {forms}"), 4_096)
}

fn run_alone() -> Value {
    json!({ "id": text("Workflow; the newest open one if not given", 200) })
}

/// Returns a command with a checkpoint, and paths after `--`.
fn words<const N: usize>(
    command: [&str; N],
    checkpoint: Option<&str>,
    paths: &[&str],
) -> Vec<OsString> {
    let mut words: Vec<OsString> = command.into_iter().map(OsString::from).collect();
    words.extend(checkpoint.map(OsString::from));
    if !paths.is_empty() {
        words.push("--".into());
        words.extend(paths.iter().map(OsString::from));
    }
    words
}

fn option(words: &mut Vec<OsString>, name: &str, value: Option<&str>) {
    words.extend(value.map(|value| OsString::from(format!("--{name}={value}"))));
}

fn create(given: &Arguments) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = vec!["create".into(), "--source=mcp".into()];
    option(&mut words, "reason", given.text("reason"));
    for path in given.texts("scope") {
        // A list of another file, or of standard input, is not for a client.
        let is_list = path.starts_with('@') || path == "-";
        let path = if is_list {
            format!("./{path}")
        } else {
            path.to_owned()
        };
        option(&mut words, "scope", Some(&path));
    }
    option(&mut words, "expires", given.text("expires"));
    option(&mut words, "type", given.text("type"));
    let is_empty = given.object("state").next().is_none();
    if given.has("state") && is_empty && given.texts("scope").next().is_none() {
        return Err(usage(
            "the argument 'state' holds no value; leave it out to record the files".to_owned(),
        ));
    }
    for (key, value) in given.object("state") {
        if key.is_empty() || key.contains('=') {
            return Err(usage(
                "the names of values are not empty and have no '='".to_owned(),
            ));
        }
        option(&mut words, "state", Some(&format!("{key}={value}")));
    }
    Ok(words)
}

fn list(given: &Arguments) -> Vec<OsString> {
    let mut words = vec!["list".into()];
    for name in ["reason", "session", "since"] {
        option(&mut words, name, given.text(name));
    }
    words
}

fn diff(given: &Arguments) -> Result<Vec<OsString>> {
    let (from, to) = (given.checkpoint("from")?, given.checkpoint("to")?);
    if from.is_none() && to.is_some() {
        return Err(usage(
            "the argument 'from' is missing: 'to' is compared with it".to_owned(),
        ));
    }
    let mut words = words(["diff"], from, &[]);
    words.extend(to.map(OsString::from));
    words.push("--".into());
    words.extend(given.texts("paths").map(OsString::from));
    Ok(words)
}

fn find(given: &Arguments) -> Result<Vec<OsString>> {
    let (path, text) = (given.text("path"), given.text("text"));
    if path.is_none() && text.is_none() {
        return Err(usage(
            "one of the arguments 'path' and 'text' is needed".to_owned(),
        ));
    }
    let mut words = vec!["find".into()];
    option(&mut words, "text", text);
    // One more than the page shows tells that there is more.
    let limit = given.number("limit").unwrap_or(USUAL_RESULTS);
    let last = given.cursor()?.saturating_add(limit).saturating_add(1);
    option(&mut words, "limit", Some(&last.to_string()));
    option(&mut words, "since", given.text("since"));
    words.extend(path.into_iter().flat_map(|path| ["--".into(), path.into()]));
    Ok(words)
}

fn restore(given: &Arguments) -> Result<Vec<OsString>> {
    let checkpoint = given.checkpoint("checkpoint")?;
    let paths: Vec<&str> = given.texts("paths").collect();
    if let Some(step @ ("undo" | "redo")) = checkpoint {
        if !paths.is_empty() || given.is_set("overlay") {
            return Err(usage(format!("{step} takes neither 'paths' nor 'overlay'")));
        }
        return Ok(vec![step.into()]);
    }
    let mut restore = words(["restore"], checkpoint, &[]);
    if given.is_set("overlay") {
        restore.push("--overlay".into());
    }
    restore.push("--".into());
    restore.extend(paths.into_iter().map(OsString::from));
    Ok(restore)
}

fn of_run(command: &str, given: &Arguments) -> Vec<OsString> {
    let mut words = vec!["workflow".into(), command.into()];
    let id = given.text("id").into_iter();
    words.extend(id.flat_map(|id| ["--".into(), id.into()]));
    words
}

fn step(given: &Arguments) -> Result<Vec<OsString>> {
    let action = given.text("action").unwrap_or_default();
    let mut words: Vec<OsString> = vec!["phase".into(), action.into(), "--actor=mcp".into()];
    option(&mut words, "workflow", given.text("id"));
    option(&mut words, "expect", given.text("expect"));
    let (phase, text) = (given.text("phase").unwrap_or_default(), given.text("text"));
    let named = match action {
        "progress" => {
            option(&mut words, "phase", Some(phase));
            text.ok_or_else(|| usage("progress needs the argument 'text'".to_owned()))?
        }
        "fail" => {
            let why = text.ok_or_else(|| usage("fail needs the argument 'text'".to_owned()))?;
            option(&mut words, "error", Some(why));
            phase
        }
        "skip" => {
            option(&mut words, "reason", text);
            phase
        }
        _ if text.is_some() => {
            return Err(usage(format!("{action} takes no argument 'text'")));
        }
        _ => phase,
    };
    words.extend(["--".into(), named.into()]);
    Ok(words)
}
