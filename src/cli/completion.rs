//! Completion: candidates for the shell while a line is typed. One door to `clap_complete`.
//!
//! Nothing but candidates is printed, even on errors; nothing is written, and no lock is awaited.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::StyledStr;
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use crate::base::text::escape;
use crate::base::time::ago;
use crate::cli::{command_list, parse, schema};
use crate::commands::completions::NAME;
use crate::commands::help;
use crate::config::Owner;
use crate::config::keys::keys;
use crate::model::Checkpoint;
use crate::ops::browse::list;
use crate::ops::browse::ls;
use crate::ops::contract::hold;
use crate::ops::{Context, ListOptions, LsKind, LsOptions, TypedWords};
use crate::shell::{command_context, environment, grammar};
use crate::workflow::Runs;

/// Number of checkpoints offered before a letter is typed.
const MOST_OFFERED: usize = 100;

/// Returns the candidates for a line in the format of the shell; `None` without any.
pub fn answer(shell: &str, mut words: Vec<OsString>) -> Option<String> {
    let shells = Shells::builtins();
    let asking = shells.completer(shell)?;
    let at = environment::completing_index().unwrap_or(words.len().saturating_sub(1));
    if matches!(shell, "bash" | "zsh" | "fish") {
        for word in &mut words {
            if let Some(typed) = word.to_str() {
                *word = unquoted(typed, shell).into();
            }
        }
    }
    let mut whole = parse::command().mut_subcommands(by_its_name);
    let line = Arc::new(TypedLine {
        before: positionals(words.get(..at).unwrap_or_default()),
        words: words.clone(),
    });
    let typed = words.get(at)?.as_encoded_bytes();
    whole = with_candidates(whole, &line, typed.starts_with(b"-"));
    let here = environment::absolute(std::path::Path::new(".")).ok();
    let mut told = Vec::new();
    asking
        .write_complete(&mut whole, words, here.as_deref(), &mut told)
        .ok()?;
    String::from_utf8(told).ok()
}

/// Returns a word that was typed without its backslashes and quotes; the last quote may be open.
fn unquoted(typed: &str, shell: &str) -> String {
    let (mut word, mut quote) = (String::new(), None);
    let mut typed = typed.chars();
    while let Some(c) = typed.next() {
        match c {
            '\\' if quote != Some('\'') || shell == "fish" => word.extend(typed.next()),
            '"' | '\'' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            _ => word.push(c),
        }
    }
    word
}

/// The line that is completed.
struct TypedLine {
    words: Vec<OsString>,
    /// Words between that of the command and the completed one that are no options.
    before: Vec<OsString>,
}

/// Finds the candidates for a word that is typed.
type Find = fn(&TypedLine, &Context, &str) -> Option<Vec<CompletionCandidate>>;

/// Adds candidates to a command and those below it. Options are offered if one is being typed, or
/// if there is nothing else.
fn with_candidates(command: Command, line: &Arc<TypedLine>, types_option: bool) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|arg| {
        let is_option = !arg.is_positional();
        let arg = completed(&name, arg, line);
        if is_option && !types_option {
            arg.hide(true)
        } else {
            arg
        }
    });
    let command =
        command.mut_subcommands(|below| with_candidates(below.hide(false), line, types_option));
    command.disable_help_flag(!types_option)
}

/// Hides the short name of a command: of two names only the first in the alphabet would be offered.
fn by_its_name(command: Command) -> Command {
    let has_short_name = command.get_visible_aliases().next().is_some();
    match command_list::grammar(command.get_name()).filter(|_| has_short_name) {
        Some(own) => own.display_order(command.get_display_order()),
        None => command,
    }
}

fn completed(command: &str, arg: Arg, line: &Arc<TypedLine>) -> Arg {
    let value_name = arg.get_value_names().and_then(|names| names.first());
    let value_name = value_name.map(ToString::to_string).unwrap_or_default();
    let find: Find = match (value_name.as_str(), command) {
        ("SEL", "pin") => |_, context, typed| selectors(context, typed, "", |c| !c.pinned),
        ("SEL", "unpin") => |_, context, typed| selectors(context, typed, "", |c| c.pinned),
        ("SEL" | "SEL..SEL" | "GOOD" | "BAD", _) => {
            |_, context, typed| inside_or(context, typed, "")
        }
        ("SEL:PATH", _) => |_, context, typed| inside_or(context, typed, ":"),
        ("SEL|PATH", "diff") => |line, context, typed| line.either(context, typed, 2),
        ("SEL|PATH", _) => |line, context, typed| line.either(context, typed, 1),
        ("PATH", _) | ("PATTERN", "find") if arg.is_positional() => {
            |line, context, typed| Some(paths(context, line.before.first(), typed))
        }
        ("PATH" | "GLOB|PATH", _) | ("CMD", "run") => return arg.value_hint(ValueHint::AnyPath),
        ("WORKFLOW" | "WORKFLOW|PATH" | "WORKFLOW|REVISION", _) => runs,
        ("NAME", "hold" | "release") => holds,
        ("KEY", _) => return arg.add(ArgValueCandidates::new(settings)),
        ("COMMAND", "man") => return arg.add(ArgValueCandidates::new(commands)),
        ("NAME", "schema") => return arg.add(ArgValueCandidates::new(schemas)),
        ("COMMAND|TOPIC", _) => return arg.add(ArgValueCandidates::new(words_of_help)),
        _ if arg.get_id() == "source" => {
            |_, context, typed| texts(context, typed, |c| &c.record.source)
        }
        _ if arg.get_id() == "reason" => {
            |_, context, typed| texts(context, typed, |c| &c.record.reason)
        }
        _ => return arg,
    };
    let line = Arc::clone(line);
    arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
        let context = context(&line.words);
        let found = typed.to_str().zip(context);
        let found = found.and_then(|(typed, context)| find(&line, &context, typed));
        let ordered = found.unwrap_or_default().into_iter().enumerate();
        ordered
            .map(|(at, candidate)| candidate.display_order(Some(at)))
            .collect()
    }))
}

/// Returns the names that begin as typed, with what is said of them.
fn starting(
    typed: &str,
    named: impl Iterator<Item = (String, Option<StyledStr>)>,
) -> Vec<CompletionCandidate> {
    let fitting = named.filter(|(name, _)| name.starts_with(typed));
    let fitting = fitting.map(|(name, about)| CompletionCandidate::new(name).help(about));
    fitting.collect()
}

/// Returns commands, with their descriptions.
fn commands() -> Vec<CompletionCandidate> {
    let whole = parse::command();
    let commands = whole.get_subcommands();
    let described =
        |one: &Command| CompletionCandidate::new(one.get_name()).help(one.get_about().cloned());
    commands.map(described).collect()
}

/// Returns commands and topics, with their descriptions.
fn words_of_help() -> Vec<CompletionCandidate> {
    let topics =
        help::titles().map(|(name, title)| CompletionCandidate::new(name).help(Some(title.into())));
    commands().into_iter().chain(topics).collect()
}

fn settings() -> Vec<CompletionCandidate> {
    keys(Owner::User).map(CompletionCandidate::new).collect()
}

fn schemas() -> Vec<CompletionCandidate> {
    let names = schema::names().into_iter();
    names.map(CompletionCandidate::new).collect()
}

fn runs(_: &TypedLine, context: &Context, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let runs = Runs::all(&context.find_store().ok()??).ok()?.runs;
    let named = runs.iter().map(|run| {
        let about = escape(&run.workflow.description);
        (run.workflow.id.clone(), Some(about.into()))
    });
    Some(starting(typed, named))
}

fn holds(_: &TypedLine, context: &Context, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let holds = hold::active_holds(context, &context.find_store().ok()??, &mut Vec::new());
    let named = holds.into_iter().map(|hold| (hold.name, None));
    Some(starting(typed, named))
}

impl TypedLine {
    /// Completes at most this number of checkpoints, then paths in the first.
    fn either(
        &self,
        context: &Context,
        typed: &str,
        most: usize,
    ) -> Option<Vec<CompletionCandidate>> {
        let mut found = inside(context, typed);
        if found.is_empty() && self.before.len() < most {
            found = selectors(context, typed, "", |_| true)?;
        }
        if found.is_empty() || !self.before.is_empty() {
            found.extend(paths(context, self.before.first(), typed));
        }
        Some(found)
    }
}

/// Completes a path behind the colon, else a checkpoint, each followed by `end`.
fn inside_or(context: &Context, typed: &str, end: &str) -> Option<Vec<CompletionCandidate>> {
    let inside = inside(context, typed);
    if inside.is_empty() {
        selectors(context, typed, end, |_| true)
    } else {
        Some(inside)
    }
}

/// Returns the words behind that of the command that are no options.
fn positionals(words: &[OsString]) -> Vec<OsString> {
    let command = grammar::command_at(words).unwrap_or(words.len());
    let typed = words.iter().skip(command + 1);
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    typed.filter(|word| !is_option(word)).cloned().collect()
}

/// Completes `SEL:PATH` behind the colon.
fn inside(context: &Context, typed: &str) -> Vec<CompletionCandidate> {
    let Some((selector, path)) = typed.rsplit_once(':').filter(|(sel, _)| !sel.is_empty()) else {
        return Vec::new();
    };
    let found = listed(context, Some(selector.as_ref()), path).into_iter();
    let found = found.map(|path| format!("{selector}:{path}"));
    found.map(CompletionCandidate::new).collect()
}

/// Completes a path of the checkpoint that a word names, else of the latest one.
fn paths(context: &Context, selector: Option<&OsString>, typed: &str) -> Vec<CompletionCandidate> {
    let mut found = listed(context, selector.map(OsString::as_os_str), typed);
    if found.is_empty() && selector.is_some() {
        found = listed(context, None, typed);
    }
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// Lists the paths of a checkpoint that begin as typed, each directory with a slash.
fn listed(context: &Context, selector: Option<&OsStr>, typed: &str) -> Vec<String> {
    let before = typed.rfind('/').map_or("", |at| &typed[..=at]);
    let dir = Some(before).filter(|dir| !dir.is_empty()).unwrap_or(".");
    let bytes = |word: &OsStr| word.as_encoded_bytes().to_vec();
    let options = LsOptions {
        words: TypedWords {
            words: selector.map(bytes).into_iter().collect(),
            paths: vec![dir.as_bytes().to_vec()],
            ..TypedWords::default()
        },
        ..LsOptions::default()
    };
    let Ok((outcome, _)) = ls::ls(context, &options) else {
        return Vec::new();
    };
    let shown = outcome.entries.iter().filter_map(|entry| {
        let is_dir = entry.kind == LsKind::Directory;
        let slash = if is_dir { "/" } else { "" };
        let name = std::str::from_utf8(entry.path.name()).ok()?;
        Some(format!("{before}{name}{slash}"))
    });
    let shown = shown.filter(|path| path.starts_with(typed) && is_plain(path));
    shown.collect()
}

/// Whether nothing in a text has power over the terminal.
fn is_plain(text: &str) -> bool {
    let text = text.replace('\\', "");
    escape(&text) == text
}

/// Completes a text that checkpoints have, the newest first.
fn texts(
    context: &Context,
    typed: &str,
    text: fn(&Checkpoint) -> &String,
) -> Option<Vec<CompletionCandidate>> {
    let outcome = list::list(context, &ListOptions::default()).ok()?.0;
    let mut texts: Vec<&String> = Vec::new();
    for text in outcome.checkpoints.iter().map(text) {
        if text.starts_with(typed) && is_plain(text) && !texts.contains(&text) {
            texts.push(text);
        }
    }
    Some(texts.into_iter().map(CompletionCandidate::new).collect())
}

/// Completes ids, newest first, with their reasons; and reasons by their first letters. `end` is
/// appended to each.
fn selectors(
    context: &Context,
    typed: &str,
    end: &str,
    passes: fn(&Checkpoint) -> bool,
) -> Option<Vec<CompletionCandidate>> {
    let options = ListOptions {
        limit: typed.is_empty().then_some(MOST_OFFERED),
        ..ListOptions::default()
    };
    let mut checkpoints = list::list(context, &options).ok()?.0.checkpoints;
    checkpoints.retain(passes);
    let latest = ("latest".starts_with(typed) && !checkpoints.is_empty())
        .then(|| CompletionCandidate::new(format!("latest{end}")));
    let latest = latest.map(|latest| latest.help(Some("the newest checkpoint".into())));
    let start = typed.to_ascii_lowercase();
    let by_id = checkpoints
        .iter()
        .filter(|c| c.id.short().starts_with(&start));
    let by_id = by_id.map(|c| {
        CompletionCandidate::new(format!("{}{end}", c.id.short()))
            .help(Some(described(c, context.now_ms).into()))
    });
    let mut reasons: Vec<&Checkpoint> = Vec::new();
    for checkpoint in checkpoints.iter().filter(|_| !typed.is_empty()) {
        let reason = &checkpoint.record.reason;
        let is_new = reasons.iter().all(|known| known.record.reason != *reason);
        if is_new && reason.starts_with(typed) && is_plain(reason) {
            reasons.push(checkpoint);
        }
    }
    let by_reason = reasons.into_iter().map(|c| {
        let age = ago(c.record.time_ms, context.now_ms);
        CompletionCandidate::new(format!("{}{end}", c.record.reason)).help(Some(age.into()))
    });
    Some(by_id.chain(latest).chain(by_reason).collect())
}

fn described(checkpoint: &Checkpoint, now_ms: i64) -> String {
    let record = &checkpoint.record;
    let pinned = if checkpoint.pinned { ", pinned" } else { "" };
    let (reason, ago) = (escape(&record.reason), ago(record.time_ms, now_ms));
    format!("{reason} ({ago}{pinned})")
}

/// Returns the context of the directory that the line refers to.
fn context(words: &[OsString]) -> Option<Context> {
    let environment = environment::read();
    let mut line: Vec<OsString> = vec![NAME.into(), "status".into()];
    for (at, word) in words.iter().enumerate() {
        let word = word.to_str().unwrap_or_default();
        let next = words.get(at + 1).and_then(|value| value.to_str());
        let (name, value) = match word.split_once('=') {
            None => (word, next.unwrap_or_default()),
            Some(pair) => pair,
        };
        if matches!(name, "-C" | "--dir" | "--base") && !value.is_empty() {
            // The shell has not expanded `~` yet.
            let below_home = value.strip_prefix("~/").zip(environment.home.as_ref());
            let value = below_home.map_or(PathBuf::from(value), |(rest, home)| home.join(rest));
            line.extend([name.into(), value.into()]);
        }
    }
    let global = parse::parse(&line).ok()?.global;
    let place = command_context::place(&global, &environment).ok()?;
    command_context::open(&place, &global, environment, "completion").ok()
}
