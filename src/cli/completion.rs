//! Completion: candidates for the shell while a line is typed. One door to `clap_complete`.
//!
//! Nothing but candidates is printed, even on errors; nothing is written, and no lock is awaited.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use crate::base::shell_word::{backslashed, behind_quote, unquoted};
use crate::base::text::escape;
use crate::base::time::ago;
use crate::cli::schema;
use crate::cli::{command_context, commands, environment, parse};
use crate::config::settings::OwnFile;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::browse::list::{self, ListOptions};
use crate::ops::browse::ls::{self, LsKind, LsOptions};
use crate::ops::context::Context;
use crate::ops::contract::hold;
use crate::ops::select::words::TypedWords;
use crate::view::topics;
use crate::workflow::engine::runs::Runs;

/// Name of the program in shells.
const NAME: &str = "checkpoint";
/// Number of checkpoints offered before a letter is typed.
const MOST_OFFERED: usize = 100;

/// Returns the candidates for a line in the format of the shell; `None` without any.
pub fn answer(shell: &str, words: Vec<OsString>) -> Option<String> {
    let shells = Shells::builtins();
    let asking = shells.completer(shell)?;
    let at = environment::completing_index().unwrap_or(words.len().saturating_sub(1));
    let (words, open_quote) = without_quotes(shell, words, at);
    let quoting = match open_quote {
        _ if shell != "bash" => Quoting::ByShell,
        None => Quoting::Backslashes,
        Some(quote) => Quoting::Behind(quote),
    };
    let mut whole = parse::command().mut_subcommands(by_its_name);
    let line = Arc::new(TypedLine {
        before: positionals(words.get(..at).unwrap_or_default()),
        words: words.clone(),
        quoting,
    });
    let types_option = words
        .get(at)
        .is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    whole = with_candidates(whole, &line, types_option);
    let here = environment::absolute(std::path::Path::new(".")).ok();
    let mut told = Vec::new();
    asking
        .write_complete(&mut whole, words, here.as_deref(), &mut told)
        .ok()?;
    String::from_utf8(told).ok()
}

/// Removes the quotes of words, and returns the one that the word at `at` left open. Fish hands
/// over the others without theirs.
fn without_quotes(shell: &str, words: Vec<OsString>, at: usize) -> (Vec<OsString>, Option<char>) {
    let (is_fish, mut open_quote) = (shell == "fish", None);
    let plain = words.into_iter().enumerate().map(|(index, word)| {
        let is_quoted = matches!(shell, "bash" | "zsh") || (is_fish && index == at);
        let Some(typed) = word.to_str().filter(|_| is_quoted) else {
            return word;
        };
        let (plain, open) = unquoted(typed, is_fish);
        if index == at {
            open_quote = open;
        }
        plain.into()
    });
    (plain.collect(), open_quote)
}

/// How candidates are quoted.
#[derive(Clone, Copy)]
enum Quoting {
    ByShell,
    Backslashes,
    /// They follow this quote, which the user opened.
    Behind(char),
}

/// The line that is completed.
struct TypedLine {
    words: Vec<OsString>,
    /// Words between that of the command and the completed one that are no options.
    before: Vec<OsString>,
    quoting: Quoting,
}

/// What an argument is completed with.
#[derive(Clone, Copy)]
enum CompletedWith {
    /// Checkpoints that pass; each followed by `end`.
    Checkpoints {
        end: &'static str,
        passes: fn(&Checkpoint) -> bool,
    },
    /// At most this number of checkpoints, then paths in the first.
    CheckpointsThenPaths(usize),
    Paths,
    Sources,
    Reasons,
    Holds,
    Runs,
}

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
    match commands::grammar(command.get_name()).filter(|_| has_short_name) {
        Some(own) => own.display_order(command.get_display_order()),
        None => command,
    }
}

fn completed(command: &str, arg: Arg, line: &Arc<TypedLine>) -> Arg {
    const ANY: fn(&Checkpoint) -> bool = |_| true;
    let value_name = arg.get_value_names().and_then(|names| names.first());
    let value_name = value_name.map(ToString::to_string).unwrap_or_default();
    let checkpoints = |end, passes| CompletedWith::Checkpoints { end, passes };
    let kind = match (value_name.as_str(), command) {
        ("SEL", "pin") => checkpoints("", |c| !c.pinned),
        ("SEL", "unpin") => checkpoints("", |c| c.pinned),
        ("SEL" | "GOOD" | "BAD", _) => checkpoints("", ANY),
        ("SEL:PATH", _) => checkpoints(":", ANY),
        ("SEL|PATH", "diff") => CompletedWith::CheckpointsThenPaths(2),
        ("SEL|PATH", _) => CompletedWith::CheckpointsThenPaths(1),
        ("PATH", _) | ("PATTERN", "find") if arg.is_positional() => CompletedWith::Paths,
        ("PATH" | "GLOB|PATH", _) => return arg.value_hint(ValueHint::AnyPath),
        ("WORKFLOW", _) => CompletedWith::Runs,
        ("NAME", "release") => CompletedWith::Holds,
        ("NAME", "schema") => return arg.add(ArgValueCompleter::new(schemas)),
        ("COMMAND|TOPIC", _) => return arg.add(ArgValueCompleter::new(words_of_help)),
        _ if arg.get_id() == "source" => CompletedWith::Sources,
        _ if arg.get_id() == "reason" => CompletedWith::Reasons,
        _ => return arg,
    };
    let line = Arc::clone(line);
    arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
        let Some(typed) = typed.to_str() else {
            return Vec::new();
        };
        let found = line.candidates(kind, typed).unwrap_or_default();
        let ordered = found.into_iter().enumerate();
        ordered
            .map(|(at, candidate)| line.finished(candidate).display_order(Some(at)))
            .collect()
    }))
}

/// Completes commands and topics, with their descriptions.
fn words_of_help(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let whole = parse::command();
    let commands = whole
        .get_subcommands()
        .map(|one| (one.get_name().to_owned(), one.get_about().cloned()));
    let topics = topics::titles().map(|(name, title)| (name.to_owned(), Some(title.into())));
    let fitting = commands
        .chain(topics)
        .filter(|(name, _)| name.starts_with(typed));
    fitting
        .map(|(name, about)| CompletionCandidate::new(name).help(about))
        .collect()
}

fn schemas(typed: &OsStr) -> Vec<CompletionCandidate> {
    let names = schema::names();
    let fits = |name: &&str| typed.to_str().is_some_and(|typed| name.starts_with(typed));
    let fitting = names.into_iter().filter(fits);
    fitting.map(CompletionCandidate::new).collect()
}

impl TypedLine {
    /// `None` without a store, or if it cannot be read.
    fn candidates(&self, kind: CompletedWith, typed: &str) -> Option<Vec<CompletionCandidate>> {
        let context = context(&self.words)?;
        Some(match kind {
            CompletedWith::Checkpoints { end, passes } => {
                let inside = inside(&context, typed);
                if inside.is_empty() {
                    selectors(&context, typed, end, passes)?
                } else {
                    inside
                }
            }
            CompletedWith::CheckpointsThenPaths(most) => {
                let mut found = inside(&context, typed);
                if found.is_empty() && self.before.len() < most {
                    found = selectors(&context, typed, "", |_| true)?;
                }
                if found.is_empty() || !self.before.is_empty() {
                    found.extend(paths(&context, self.before.first(), typed));
                }
                found
            }
            CompletedWith::Paths => paths(&context, self.before.first(), typed),
            CompletedWith::Sources => texts(&context, typed, |c| &c.record.source)?,
            CompletedWith::Reasons => texts(&context, typed, |c| &c.record.reason)?,
            CompletedWith::Holds => {
                let store = context.find_store().ok()??;
                let holds = hold::active_holds(&context, &store, &mut Vec::new());
                let fitting = holds
                    .into_iter()
                    .filter(|hold| hold.name.starts_with(typed));
                fitting
                    .map(|hold| CompletionCandidate::new(hold.name))
                    .collect()
            }
            CompletedWith::Runs => {
                let store = context.find_store().ok()??;
                let runs = Runs::all(&store).ok()?.runs;
                let fitting = runs.iter().filter(|run| run.id().starts_with(typed));
                let named = fitting.map(|run| {
                    CompletionCandidate::new(run.id())
                        .help(Some(escape(&run.workflow.description).into()))
                });
                named.collect()
            }
        })
    }

    fn finished(&self, candidate: CompletionCandidate) -> CompletionCandidate {
        let plain = candidate.get_value().to_string_lossy();
        let quoted = match self.quoting {
            Quoting::ByShell => return candidate,
            Quoting::Backslashes => backslashed(&plain),
            Quoting::Behind(quote) => behind_quote(&plain, quote),
        };
        CompletionCandidate::new(quoted).help(candidate.get_help().cloned())
    }
}

/// Returns the words behind that of the command that are no options.
fn positionals(words: &[OsString]) -> Vec<OsString> {
    let command = parse::command_at(words).unwrap_or(words.len());
    let typed = words.iter().skip(command + 1);
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    typed.filter(|word| !is_option(word)).cloned().collect()
}

/// Completes `SEL:PATH` behind the colon.
fn inside(context: &Context, typed: &str) -> Vec<CompletionCandidate> {
    let Some((selector, path)) = typed.rsplit_once(':').filter(|(sel, _)| !sel.is_empty()) else {
        return Vec::new();
    };
    let found = listed(context, Some(selector.as_ref()), path);
    found
        .into_iter()
        .map(|path| CompletionCandidate::new(format!("{selector}:{path}")))
        .collect()
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
        let slash = if entry.kind == LsKind::Directory {
            "/"
        } else {
            ""
        };
        Some(format!(
            "{before}{}{slash}",
            std::str::from_utf8(entry.path.name()).ok()?
        ))
    });
    shown
        .filter(|path| path.starts_with(typed) && escape(path) == *path)
        .collect()
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
        if text.starts_with(typed) && escape(text) == *text && !texts.contains(&text) {
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
    let by_id = checkpoints
        .iter()
        .filter(|c| c.id.short().starts_with(&typed.to_ascii_lowercase()));
    let by_id = by_id.map(|c| {
        CompletionCandidate::new(format!("{}{end}", c.id.short()))
            .help(Some(described(c, context.now_ms).into()))
    });
    let mut reasons: Vec<&Checkpoint> = Vec::new();
    for checkpoint in checkpoints.iter().filter(|_| !typed.is_empty()) {
        let reason = &checkpoint.record.reason;
        let is_new = reasons.iter().all(|known| known.record.reason != *reason);
        if is_new && reason.starts_with(typed) && escape(reason) == *reason {
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
    format!(
        "{} ({}{pinned})",
        escape(&record.reason),
        ago(record.time_ms, now_ms)
    )
}

/// Returns the context of the directory that the line refers to.
fn context(words: &[OsString]) -> Option<Context> {
    let environment = environment::read();
    let home = environment.home.clone();
    let mut line: Vec<OsString> = vec![NAME.into(), "status".into()];
    for (flag, value) in places(words) {
        // The shell has not expanded `~` yet.
        let below_home = value
            .to_str()
            .and_then(|value| value.strip_prefix("~/"))
            .map(str::to_owned);
        let value = below_home
            .zip(home.as_ref())
            .map_or(PathBuf::from(value), |(rest, home)| home.join(rest));
        line.extend([flag.into(), value.into()]);
    }
    let global = parse::parse(&line).ok()?.global;
    let place = command_context::place(&global, &environment).ok()?;
    command_context::open(
        &place,
        &global,
        environment,
        "completion",
        OwnFile::MayBeBad,
    )
    .ok()
}

/// Returns the root and base given in the line.
fn places(words: &[OsString]) -> Vec<(&'static str, OsString)> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(word) = word.to_str() else { continue };
        let next = || words.get(at + 1).cloned();
        let (flag, value) = match word {
            "-C" | "--dir" => ("--dir", next()),
            "--base" => ("--base", next()),
            _ => match (
                word.strip_prefix("--dir="),
                word.strip_prefix("--base="),
                word.strip_prefix("-C"),
            ) {
                (Some(dir), _, _) | (_, _, Some(dir)) => ("--dir", Some(dir.into())),
                (_, Some(base), _) => ("--base", Some(base.into())),
                _ => continue,
            },
        };
        found.extend(
            value
                .filter(|value| !value.is_empty())
                .map(|value| (flag, value)),
        );
    }
    found
}
