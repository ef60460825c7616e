//! The tools: what each is given, of the options and words of the command that it runs.

use std::ffi::OsString;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command as Grammar};
use serde_json::{Map, Value, json};

use crate::answer::envelope::schema_name;
use crate::base::json::change_objects;
use crate::base::text::escape_line;
use crate::cli::{command_list, schema};
use crate::error::{Error, Result};

/// Upper bound on what an error repeats of a name, in characters.
const LONGEST_NAME: usize = 80;
/// Upper bound on the bytes of a letter in UTF-8, and so lower bound on what a page may hold.
pub const LONGEST_LETTER: u64 = 4;
/// Upper bound on the bytes of one content.
pub const MOST_BYTES: u64 = 20_000;
/// Results of a search, unless more or fewer are asked for.
pub const USUAL_RESULTS: u64 = 100;
const CHECKPOINT: &str = "Checkpoint: the beginning of an id, @ (where the directory stands), latest, latest~2, a reason, a time such as `10m ago`, or prompt:~1";
const SESSION: &str = "Only those made in this session of an agent; `current` for this one";
const REASON: &str = "What comes next, such as `before the parser is split`";
/// Arguments that stand for a word of the command.
const PLAIN_WORDS: [&str; 5] = ["checkpoint", "from", "path", "phase", "id"];
/// Upper bounds on the characters of a text, and the members of a list.
const LONGEST_ARGUMENT: usize = 4_096;
const LONGEST_LIST: usize = 1_000;
/// Upper bound on a limit.
const HIGHEST_LIMIT: u32 = 100_000;
const RUN: &str = "Workflow: its id or the beginning of it, its project, type or description; if not given, the newest open one";

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
    pub effect: ToolEffect,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// The command, and what it is always given.
    command: &'static str,
    /// `NAME`, or `NAME=NAME` of the command; those with `!` are required. No other option of the
    /// command is known here.
    arguments: &'static str,
    /// The published schemas of its answers.
    pub answers: &'static [&'static str],
    /// The lists of its answer, of which the longest is paged.
    pub lists: &'static [&'static str],
}

macro_rules! tools {
    ($($effect:ident $name:literal $title:literal: $command:literal with $arguments:literal
       answers $answers:expr, pages $lists:expr; $description:literal)*) => {
        /// All tools, in the order in which they are listed.
        pub const TOOLS: &[ToolSpec] = &[$(ToolSpec {
            effect: ToolEffect::$effect,
            name: $name,
            title: $title,
            description: $description,
            command: $command,
            arguments: $arguments,
            answers: &$answers,
            lists: &$lists,
        }),*];
    };
}

tools! {
    Records "checkpoint_create" "Record a checkpoint":
        "create --source=mcp" with "reason! scope expires type state" answers ["create"], pages [];
        "Records the whole working directory as a checkpoint, before a risky change. Where nothing changed since the last one of this reason, that one is returned. With `scope`, only these paths; with `state`, values too (without `scope`, the values alone)."
    Reads "checkpoint_list" "List checkpoints":
        "list" with "reason session since limit cursor" answers ["list"], pages ["checkpoints"];
        "Lists the checkpoints of the directory, newest first, with reason, time, size and the agent's session; 20 unless `limit` says more."
    Reads "checkpoint_show" "Show a checkpoint":
        "show" with "checkpoint=words! limit cursor" answers ["show"], pages ["changes"];
        "Shows one checkpoint: what it holds, and which paths changed against the one before."
    Reads "checkpoint_diff" "Compare states":
        "diff" with "from=words to=words paths patch max_bytes limit cursor" answers ["diff"], pages ["changes"];
        "Compares two states: the checkpoint `from`, or else @, where the directory stands, with the checkpoint `to`, or else the directory as it is now. With `patch`, the lines that changed too."
    Reads "checkpoint_find" "Find a path or a text":
        "find" with "path=pattern text since limit cursor" answers ["find"], pages ["paths", "matches"];
        "Finds the checkpoints that hold or changed a path, or whose files contain a text. One of `path` (a path, or a pattern as in a .gitignore: `*.rs` in any directory, `src/*.rs` from the root) and `text` is needed; with both, only files that match `path` are searched. 100 results unless `limit` says more."
    Reads "checkpoint_read" "Read a file of a checkpoint":
        "cat" with "checkpoint=what! path=only! max_bytes cursor" answers ["cat"], pages [];
        "Returns the content of one file as a checkpoint holds it: text, or hex digits if it is no UTF-8."
    Reads "checkpoint_status" "Show what is here":
        "status" with "" answers ["status"], pages [];
        "Shows the store of the directory, the latest checkpoint, what changed since, an interrupted restore, and what is left out."
    Plans "checkpoint_plan_restore" "Show what a restore would change":
        "restore" with "checkpoint=words! paths=only overlay limit cursor" answers ["restore", "undo", "redo"], pages ["changes"];
        "Changes nothing: shows which files a restore, an undo or a redo would write and delete, and names that plan. Show it to the user before you carry it out with checkpoint_restore. A restore makes the directory, or only `paths`, just what it was; `checkpoint` can be `undo` for what was there before the last restore, and `redo` to take an undo back."
    Restores "checkpoint_restore" "Bring an earlier state back":
        "restore" with "plan!" answers ["restore", "undo", "redo"], pages ["changes"];
        "Carries out a plan of checkpoint_plan_restore that the user agreed to, if nothing has moved since. What it replaces is kept in a safety checkpoint first; plan `undo` to take it back. A plan is good once, for 30 minutes."
    Reads "workflow_status" "Show a workflow":
        "workflow status" with "id=workflow" answers ["workflow.status", "workflow"], pages [];
        "Shows a workflow of several phases: how far each has come, and what changed since."
    Reads "workflow_next" "Show the next phase":
        "workflow next" with "id=workflow" answers ["workflow.next", "workflow"], pages [];
        "Shows what is to be done next in a workflow."
    Reads "workflow_resume" "Show how to go on":
        "workflow resume" with "id=run" answers ["workflow.resume", "workflow"], pages [];
        "Changes nothing: shows an interrupted workflow and the answers that the user can give (go on, another phase, start again, give up)."
    Steps "workflow_step" "Record a step":
        "phase --actor=mcp" with "phase! action! text=note expect id=workflow"
        answers ["phase.start", "phase.progress", "phase.done", "phase.fail", "phase.skip", "phase"], pages [];
        "Records that a phase was started, came further, is done, failed or is skipped. At start and end a checkpoint is made."
}

/// Returns the call that does what the words of a command do, as `checkpoint_show {"checkpoint":"@"}`;
/// `None` if there is no tool for it.
pub fn call_of(words: &[String]) -> Option<String> {
    let is_step = matches!(words, [step] if step == "undo" || step == "redo");
    let restore = is_step.then(|| "restore".to_owned());
    let words: Vec<String> = restore.iter().chain(words).cloned().collect();
    TOOLS.iter().find_map(|tool| tool.call_of(&words))
}

pub fn find_tool(name: &str) -> Option<&'static ToolSpec> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns the schema of an argument that is not handed on to the command as it is.
fn own(name: &str) -> Option<Value> {
    let actions = ["start", "progress", "done", "fail", "skip"];
    Some(match name {
        "cursor" => of_type("string", "Where to go on, as an earlier answer named it"),
        "limit" => json!({
            "type": "integer",
            "description": "Maximum number of items in the answer, at least 1; without it 20 checkpoints, 100 results of a search, 20 changes beside a patch, or as many as fit into 25,000 characters, which no answer exceeds",
            "minimum": 1,
            "maximum": HIGHEST_LIMIT,
        }),
        "max_bytes" => json!({
            "type": "integer",
            "description": "Maximum length of the content or patch in bytes, from 4 to 20,000, which it is if not given; `cursor` goes on",
            "minimum": LONGEST_LETTER,
            "maximum": MOST_BYTES,
        }),
        "patch" => of_type(
            "boolean",
            "Also return the patch, as far as `max_bytes` allows",
        ),
        "plan" => of_type("string", "The `plan_digest` of the plan"),
        "phase" => of_type("string", "Phase, by its id"),
        "action" => {
            json!({ "type": "string", "description": "What happened to the phase", "enum": actions })
        }
        "note" => of_type(
            "string",
            "What was done, what went wrong, or why it is skipped",
        ),
        _ => return None,
    })
}

fn of_type(kind: &str, description: &str) -> Value {
    let mut schema = json!({ "type": kind, "description": description });
    if kind == "string" {
        schema["maxLength"] = LONGEST_ARGUMENT.into();
    }
    schema
}

/// Returns the schema of an option or word of a command.
fn property(name: &str, arg: &Arg) -> Value {
    let or_else = |usual| of_type("string", &format!("{CHECKPOINT}. If not given, {usual}"));
    match name {
        "checkpoint" => return of_type("string", CHECKPOINT),
        "from" => return or_else("@"),
        "to" => return or_else("the directory"),
        "session" => return of_type("string", SESSION),
        "reason" if arg.get_short().is_some() => return of_type("string", REASON),
        "state" => return of_type("object", "Values to record, by name"),
        "id" => return of_type("string", RUN),
        _ => {}
    }
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    // What is added there is for those who type it.
    let help = help.split([';', '(', '[']).next().unwrap_or_default();
    let kind = match arg.get_action() {
        ArgAction::SetTrue => "boolean",
        ArgAction::Append => "array",
        _ => "string",
    };
    let mut property = of_type(kind, help.trim());
    // The databases for a savepoint cannot be named here.
    let mut values = arg.get_possible_values();
    values.retain(|value| value.get_name() != "database_savepoint");
    if kind == "array" {
        property["items"] = json!({ "type": "string", "maxLength": LONGEST_ARGUMENT });
        property["maxItems"] = LONGEST_LIST.into();
    } else if kind == "string" && !values.is_empty() {
        property["enum"] = values.iter().map(PossibleValue::get_name).collect();
    }
    property
}

impl ToolSpec {
    /// Returns the grammar of its command.
    fn grammar(&self) -> Grammar {
        let mut words = self.command.split(' ');
        let top = words.next().and_then(command_list::grammar);
        words.fold(top.unwrap_or_default(), |at, word| {
            at.find_subcommand(word).cloned().unwrap_or(at)
        })
    }

    /// Returns its arguments, what the command calls them, and whether they are required.
    fn arguments(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        self.arguments.split_whitespace().map(|one| {
            let plain = one.trim_end_matches('!');
            let (name, of) = plain.split_once('=').unwrap_or((plain, plain));
            (name, of, plain != one)
        })
    }

    /// Returns the call that does what the words of a command do, unless they have an option that is
    /// not known here.
    fn call_of(&self, words: &[String]) -> Option<String> {
        let own = self.command.split(' ');
        let own = own.filter(|word| !word.starts_with('-'));
        let (start, rest) = words.split_at_checked(own.clone().count())?;
        let mut rest = rest.iter().cloned();
        let mut given = Map::new();
        if self.effect == ToolEffect::Steps {
            given.insert("action".to_owned(), rest.next()?.into());
        }
        let plain = self.arguments().map(|(name, ..)| name);
        let mut plain = plain.filter(|name| PLAIN_WORDS.contains(name));
        while let Some(word) = rest.next() {
            let (name, value) = match &*word {
                "-w" => ("id", rest.next()?),
                _ if word.starts_with('-') => return None,
                _ => (plain.next()?, word),
            };
            given.insert(name.to_owned(), value.into());
        }
        let lacks = |(name, _, is_required)| is_required && !given.contains_key(name);
        let name = self.name;
        match given.is_empty() {
            _ if !own.eq(start) => None,
            true => Some(name.to_owned()),
            false if self.arguments().any(lacks) => None,
            false => Some(format!("{name} {}", Value::Object(given))),
        }
    }

    /// Returns the JSON Schema of its arguments.
    pub fn input_schema(&self) -> Value {
        let grammar = self.grammar();
        let mut properties = Map::new();
        for (name, of, _) in self.arguments() {
            let derived = || find_arg(&grammar, of).map(|arg| property(name, arg));
            properties.insert(
                name.to_owned(),
                own(of).or_else(derived).unwrap_or_default(),
            );
        }
        let directory = "Directory to act on, at or below those of the server; paths count from it. If not given, the one in which the server was started";
        properties.insert("directory".to_owned(), of_type("string", directory));
        let required = self.arguments().filter(|(_, _, is_required)| *is_required);
        let required: Vec<&str> = required.map(|(name, _, _)| name).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// Returns the published schema of the first of its answers, under the names of all of them.
    pub fn output_schema(&self) -> Value {
        let names: Vec<String> = self.answers.iter().map(|name| schema_name(name)).collect();
        let mut schema = schema::of_answer(self.answers[0]).unwrap_or_default();
        // A field of this name is no text.
        change_objects(&mut schema, &|map| {
            map.retain(|key, value| key != "description" || !value.is_string());
        });
        schema["properties"]["schema"] = json!({ "type": "string", "enum": names });
        schema
    }

    /// Checks what it was given.
    ///
    /// # Errors
    /// An argument is unknown, missing, or not as the schema has it.
    pub fn check(&self, given: Map<String, Value>) -> Result<Arguments> {
        let schema = self.input_schema();
        let known = schema["properties"].as_object().into_iter().flatten();
        let known: Vec<&str> = known.map(|(name, _)| &**name).collect();
        for (name, value) in &given {
            let shown: String = escape_line(name).chars().take(LONGEST_NAME).collect();
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return usage(format!("there is no argument '{shown}'; there are {known}"));
            }
            if let Some(flaw) = flaw(value, &schema["properties"][name]) {
                return usage(format!("the argument '{shown}' {flaw}"));
            }
        }
        let is_missing = |name: &str| !given.contains_key(name);
        let mut required = self.arguments().filter(|(_, _, is_required)| *is_required);
        match required.find(|(name, _, _)| is_missing(name)) {
            Some((name, _, _)) => usage(format!("the argument '{name}' is missing")),
            None => Ok(Arguments(given)),
        }
    }

    /// Returns the words of the command.
    ///
    /// # Errors
    /// The arguments do not go together.
    pub fn words(&self, given: &Arguments) -> Result<Vec<OsString>> {
        let grammar = self.grammar();
        let mut words: Vec<String> = self.command.split(' ').map(str::to_owned).collect();
        let (mut plain, mut last) = (Vec::new(), None);
        for (name, of, _) in self.arguments().filter(|(_, of, _)| own(of).is_none()) {
            let Some(arg) = find_arg(&grammar, of) else {
                continue;
            };
            let value = given.0.get(name).unwrap_or(&Value::Null);
            if value.as_object().is_some_and(Map::is_empty) {
                return usage(format!("the argument '{name}' is empty; leave it out"));
            }
            match arg.get_long() {
                Some(long) if *value == true => words.push(format!("--{long}")),
                Some(long) => words.extend(texts(value).iter().map(|text| {
                    // A list of another file, or of standard input, is not for a client.
                    let is_list = name == "scope" && (text.starts_with('@') || text == "-");
                    format!("--{long}={}{text}", if is_list { "./" } else { "" })
                })),
                None if arg.is_last_set() => last = Some(texts(value)),
                None if value.as_str().is_some_and(|text| text.starts_with('-')) => {
                    return usage(format!("the argument '{name}' begins with '-'"));
                }
                None => plain.extend(texts(value)),
            }
        }
        let first = plain.first().map(String::as_str);
        let first = first.filter(|_| self.effect == ToolEffect::Plans);
        if let Some(step @ ("undo" | "redo")) = first {
            return if words.len() == 1 && last.is_none_or(|paths| paths.is_empty()) {
                Ok(vec![step.into()])
            } else {
                usage(format!("{step} takes neither 'paths' nor 'overlay'"))
            };
        }
        match self.name {
            "checkpoint_diff" if given.text("from").is_none() && given.text("to").is_some() => {
                return usage("the argument 'from' is missing: 'to' is compared with it");
            }
            // One more than the page shows tells that there is more.
            "checkpoint_find" => {
                let shown = given.number("limit").unwrap_or(USUAL_RESULTS);
                let end = given.cursor()?.saturating_add(shown).saturating_add(1);
                words.push(format!("--limit={end}"));
            }
            "workflow_step" => step(given, &mut words)?,
            _ => {}
        }
        words.extend(plain);
        words.extend(
            last.into_iter()
                .flat_map(|last| std::iter::once("--".to_owned()).chain(last)),
        );
        Ok(words.into_iter().map(OsString::from).collect())
    }
}

fn step(given: &Arguments, words: &mut Vec<String>) -> Result<()> {
    let action = given.text("action").unwrap_or_default();
    let (phase, text) = (given.text("phase").unwrap_or_default(), given.text("text"));
    let (named, option) = match (action, text) {
        ("progress", Some(text)) => (text, Some(format!("--phase={phase}"))),
        ("fail", Some(text)) => (phase, Some(format!("--error={text}"))),
        ("skip", text) => (phase, text.map(|text| format!("--reason={text}"))),
        ("progress" | "fail", None) => return usage(format!("{action} needs the argument 'text'")),
        (_, None) => (phase, None),
        _ => return usage(format!("{action} takes no argument 'text'")),
    };
    words.push(action.to_owned());
    words.extend(option);
    words.extend(["--".to_owned(), named.to_owned()]);
    Ok(())
}

fn find_arg<'g>(grammar: &'g Grammar, name: &str) -> Option<&'g Arg> {
    let mut args = grammar.get_arguments();
    args.find(|arg| arg.get_id() == name || arg.get_long() == Some(name))
}

/// Returns the texts by which a value is typed.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(values) => values
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect(),
        _ => Vec::new(),
    }
}

/// Says what is wrong with a value by its schema.
fn flaw(value: &Value, wanted: &Value) -> Option<String> {
    let limit = |name: &str| whole(&wanted[name]).unwrap_or(u64::MAX);
    let allowed = texts(&wanted["enum"]);
    Some(match (wanted["type"].as_str()?, value) {
        ("string", Value::String(text)) => match text.chars().count() as u64 {
            _ if !allowed.is_empty() && !allowed.contains(text) => {
                format!("is none of {}", allowed.join(", "))
            }
            _ if text.contains('\0') => "has a NUL character".to_owned(),
            length if length > limit("maxLength") => {
                format!("has more than {} characters", limit("maxLength"))
            }
            _ => return None,
        },
        ("integer", _) => {
            let (least, most) = (limit("minimum"), limit("maximum"));
            let is_within = whole(value).is_some_and(|number| (least..=most).contains(&number));
            return (!is_within).then(|| format!("is no whole number from {least} to {most}"));
        }
        ("array", Value::Array(items)) if items.len() as u64 > limit("maxItems") => {
            format!("has more than {} items", limit("maxItems"))
        }
        ("array", Value::Array(items)) => {
            let of_item = items.iter().find_map(|item| flaw(item, &wanted["items"]))?;
            format!("has an item that {of_item}")
        }
        ("boolean", Value::Bool(_)) | ("object", Value::Object(_)) => return None,
        ("boolean", _) => "is neither true nor false".to_owned(),
        ("array", _) => "is no list".to_owned(),
        (kind, _) => format!("is no {kind}"),
    })
}

/// Returns a whole number; JSON Schema counts `1.0` as one.
fn whole(value: &Value) -> Option<u64> {
    let text = value.as_number()?.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

pub fn usage<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::usage(what))
}

/// Arguments that fit their schema.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(whole)
    }

    pub fn is_set(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }

    /// Returns the position at which a list or content goes on.
    ///
    /// # Errors
    /// It is none that an answer named.
    pub fn cursor(&self) -> Result<u64> {
        let cursor = self.text("cursor").unwrap_or("0");
        match cursor.parse::<u64>() {
            Ok(read) if read.to_string() == cursor => Ok(read),
            _ => usage("the cursor is none that an answer named"),
        }
    }
}
