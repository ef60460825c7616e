//! Completion: candidates for the shell while a line is typed. One door to `clap_complete`.
//!
//! Nothing but candidates is printed, even on errors; nothing is written, and no lock is awaited.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use crate::base::text::escape;
use crate::base::time::age;
use crate::cli::{command_context, environment, parse};
use crate::config::settings::OwnFile;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::browse::list::{self, ListOptions};
use crate::view::topics;

/// Name of the program in shells.
const NAME: &str = "checkpoint";

/// Returns the candidates for a line in the format of the shell; `None` without any.
pub fn answer(shell: &str, words: Vec<OsString>) -> Option<String> {
    let shells = Shells::builtins();
    let asking = shells.completer(shell)?;
    let mut command = with_candidates(&words);
    let here = environment::absolute(std::path::Path::new(".")).ok();
    let mut told = Vec::new();
    asking
        .write_complete(&mut command, words, here.as_deref(), &mut told)
        .ok()?;
    String::from_utf8(told).ok()
}

/// Returns the grammar, with candidates for selectors and paths.
fn with_candidates(words: &[OsString]) -> Command {
    let asking = |end: &'static str| {
        let words = words.to_vec();
        ArgValueCompleter::new(move |typed: &OsStr| selectors(&words, typed, end))
    };
    let (whole, before_path) = (asking(""), asking(":"));
    parse::command().mut_subcommands(|command| {
        command.mut_args(|arg| match value_name(&arg).as_deref() {
            Some("SEL" | "GOOD" | "BAD") => arg.add(whole.clone()),
            Some("SEL:PATH") => arg.add(before_path.clone()),
            Some("PATH") => arg.value_hint(ValueHint::AnyPath),
            Some("COMMAND|TOPIC") => arg.add(ArgValueCompleter::new(words_of_help)),
            _ => arg,
        })
    })
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

fn value_name(arg: &Arg) -> Option<String> {
    Some(arg.get_value_names()?.first()?.to_string())
}

/// Completes ids, newest first, with their reasons; and reasons by their first letters. `end` is
/// appended to each.
fn selectors(words: &[OsString], typed: &OsStr, end: &str) -> Vec<CompletionCandidate> {
    let (Some(typed), Some((checkpoints, now_ms))) = (typed.to_str(), checkpoints(words)) else {
        return Vec::new();
    };
    let latest = "latest"
        .starts_with(typed)
        .then(|| CompletionCandidate::new(format!("latest{end}")));
    let latest = latest.map(|latest| latest.help(Some("the newest checkpoint".into())));
    let by_id = checkpoints
        .iter()
        .filter(|c| c.id.short().starts_with(&typed.to_ascii_lowercase()));
    let by_id = by_id.map(|c| {
        CompletionCandidate::new(format!("{}{end}", c.id.short()))
            .help(Some(described(c, now_ms).into()))
    });
    // Other reasons need quotes, which differ between shells.
    let is_plain = |reason: &str| {
        reason
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.+/".contains(&b))
    };
    let mut reasons: Vec<&str> = checkpoints
        .iter()
        .map(|c| c.record.reason.as_str())
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons.retain(|reason| !typed.is_empty() && reason.starts_with(typed) && is_plain(reason));
    let by_reason = reasons
        .into_iter()
        .map(|reason| CompletionCandidate::new(format!("{reason}{end}")));
    by_id
        .chain(latest)
        .chain(by_reason)
        .enumerate()
        .map(|(at, c)| c.display_order(Some(at)))
        .collect()
}

fn described(checkpoint: &Checkpoint, now_ms: i64) -> String {
    let record = &checkpoint.record;
    let pinned = if checkpoint.pinned { ", pinned" } else { "" };
    format!(
        "{} ({} ago{pinned})",
        escape(&record.reason),
        age(record.time_ms, now_ms)
    )
}

/// Returns the checkpoints of the directory that the line refers to.
fn checkpoints(words: &[OsString]) -> Option<(Vec<Checkpoint>, i64)> {
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
    let context =
        command_context::open(&global, environment, "completion", OwnFile::MayBeBad).ok()?;
    let outcome = list::list(&context, &ListOptions::default()).ok()?;
    Some((outcome.checkpoints, context.now_ms))
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
