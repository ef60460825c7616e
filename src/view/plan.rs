//! The changes of a restore, planned or done, as text.

use crate::base::cut_list::and_more;
use crate::base::text::escape;
use crate::base::time::age;
use crate::model::checkpoint::record::{Checkpoint, Verb};
use crate::model::restore_plan::{PlannedWrite, RestorePlan};
use crate::model::state::entry::WhyNot;
use crate::model::state::rel_path::RelPath;
use crate::ops::restore::restore_options::{DatabaseReport, Proposal, TakenStep};
use crate::ops::warning::warning_words::thousands;
use crate::view::databases;
use crate::view::format::{Paint, count};
use crate::view::table::state_words;

/// Maximum number of paths of one kind in a question.
const LISTED_PATHS: usize = 10;

/// Whether counts tell what would be done or what was done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tense {
    Planned,
    Done,
}

/// Formats the counts: `write 3 files (1 new), delete 1 file`, or `3 files written (1 new), …`.
pub fn counts(plan: &RestorePlan, tense: Tense) -> String {
    let is_new = |write: &&PlannedWrite| write.before.is_none();
    let new = match plan.write.values().filter(is_new).count() {
        0 => String::new(),
        new => format!(" ({} new)", thousands(new as u64)),
    };
    let dirs = ("directory", "directories");
    let paths = ("path", "paths");
    let parts = [
        (plan.write.len(), ("file", "files"), "write N", "N written"),
        (
            plan.delete.len(),
            ("file", "files"),
            "delete N",
            "N deleted",
        ),
        (
            plan.chmod.len() + plan.chmod_dirs.len(),
            paths,
            "set the mode of N",
            "mode of N set",
        ),
        (plan.make_dirs.len(), dirs, "make N", "N made"),
        (plan.remove_dirs.len(), dirs, "remove N", "N removed"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, (one, many), planned, done)| {
            let sentence = if tense == Tense::Planned {
                planned
            } else {
                done
            };
            let new = if planned == "write N" { &*new } else { "" };
            sentence.replace('N', &count(number, one, many)) + new
        })
        .collect();
    match tense {
        _ if !parts.is_empty() => parts.join(", "),
        Tense::Planned => "change nothing".to_owned(),
        Tense::Done => "nothing changed".to_owned(),
    }
}

/// Formats the question before a restore, with the changes.
pub fn question(proposal: &Proposal<'_>, paint: Paint) -> String {
    let Proposal {
        verb,
        target,
        plan,
        since,
        databases,
        again,
        step,
        story,
        named: named_by_user,
    } = proposal;
    let mut text = String::new();
    if *again {
        text.push_str("Files changed since this was shown. It is now:\n");
    }
    text.push_str(&listing(plan, LISTED_PATHS, paint));
    text.push_str(&databases::listing(databases, paint));
    text.push_str(&made_since(*since, *verb, Tense::Planned, LISTED_PATHS));
    let what = match (verb, step) {
        (Verb::Undo, Some(step)) => format!("Undo {}", taken(step)),
        (Verb::Redo, Some(step)) => format!("Redo {}", taken(step)),
        (Verb::Undo | Verb::Redo, None) => "Go on with the interrupted undo".to_owned(),
        (Verb::Restore | Verb::Resume, _) => match (named_by_user, story) {
            (Some(words), _) => format!("Go back to {words}"),
            (None, Some((story, reason))) => {
                format!("Go back to {}", state_words(story, reason.as_deref()))
            }
            (None, None) => format!("Restore {}", named(target)),
        },
    };
    let counts = counts_with_databases(plan, databases, Tense::Planned);
    text.push_str(&format!("{what}? This will {counts}. [y/N] "));
    text
}

/// Formats `f76ff8f6 (wave 1)`.
pub fn named(checkpoint: &Checkpoint) -> String {
    format!(
        "{} ({})",
        checkpoint.id.short(),
        escape(&checkpoint.record.reason)
    )
}

/// Formats `the restore to f76ff8f6 (wave 1)`.
pub fn restore_of(step: &TakenStep) -> String {
    let reason = step.reason.as_ref();
    let reason = reason.map(|reason| format!(" ({})", escape(reason)));
    let short = step.restored.short();
    format!("the restore to {short}{}", reason.unwrap_or_default())
}

fn taken(step: &TakenStep) -> String {
    format!("{}, {} ago", restore_of(step), age(0, step.age_ms))
}

/// Lists all paths of a plan, at most `limit` of each kind.
pub fn listing(plan: &RestorePlan, limit: usize, paint: Paint) -> String {
    let overwritten = plan
        .write
        .iter()
        .filter(|(_, write)| write.before.is_some())
        .map(|(path, _)| path);
    let new = plan
        .write
        .iter()
        .filter(|(_, write)| write.before.is_none())
        .map(|(path, _)| path);
    let mut text = String::new();
    section(&mut text, "write", overwritten, limit, |line| {
        paint.yellow(line)
    });
    section(&mut text, "add", new, limit, |line| paint.green(line));
    section(&mut text, "delete", plan.delete.keys(), limit, |line| {
        paint.red(line)
    });
    section(
        &mut text,
        "mode",
        plan.chmod.keys().chain(plan.chmod_dirs.keys()),
        limit,
        |line| paint.yellow(line),
    );
    section(&mut text, "mkdir", plan.make_dirs.keys(), limit, |line| {
        paint.green(line)
    });
    section(&mut text, "rmdir", plan.remove_dirs.iter(), limit, |line| {
        paint.red(line)
    });
    section(
        &mut text,
        "keep",
        plan.left_alone.iter().chain(plan.unreadable.keys()),
        limit,
        |line| paint.faint(line),
    );
    text
}

/// Lists later changes that an undo or redo takes back too, and what brings them back; `since` is
/// `None` if they are not known.
pub fn made_since(since: Option<&[RelPath]>, verb: Verb, tense: Tense, limit: usize) -> String {
    let (verb, back) = match verb {
        Verb::Redo => ("redo", "undo"),
        _ => ("undo", "redo"),
    };
    let (what, them) = match since {
        Some([]) => return String::new(),
        Some([one]) => (format!("{one} changed since"), "it"),
        Some(since) => (format!("changed since: {}", and_more(since, limit)), "them"),
        None => {
            let why = "because its checkpoint no longer exists";
            (
                format!("changes since that step are unknown, {why}"),
                "them",
            )
        }
    };
    let overwrites = match tense {
        Tense::Planned => format!("{verb} overwrites {them}, "),
        Tense::Done => String::new(),
    };
    format!("{what}; {overwrites}{back} brings {them} back\n")
}

/// What an undo or redo that needs consent does, in one line, for a refusal.
pub fn stake(proposal: &Proposal<'_>) -> String {
    let what = counts_with_databases(proposal.plan, proposal.databases, Tense::Planned);
    match proposal.since {
        Some([]) => what,
        Some(since) => format!(
            "{what}, and take back work done since: {}",
            and_more(since, LISTED_PATHS)
        ),
        None => format!("{what}, and perhaps take back work done since"),
    }
}

/// Formats one line for each path left unchanged because it cannot be read.
pub fn unreadable(plan: &RestorePlan, tense: Tense, paint: Paint) -> String {
    let (stayed, rest) = match tense {
        Tense::Planned => ("would be left unchanged", "would be restored"),
        Tense::Done => ("was left unchanged", "is restored"),
    };
    let line = |(path, why): (&RelPath, &WhyNot)| {
        let prefix = paint.red("checkpoint:");
        format!(
            "{prefix} {path} {stayed}: {}; everything else {rest}\n",
            why.in_words()
        )
    };
    plan.unreadable.iter().map(line).collect()
}

fn section<'p>(
    text: &mut String,
    word: &str,
    paths: impl Iterator<Item = &'p RelPath>,
    limit: usize,
    colour: impl Fn(&str) -> String,
) {
    let mut more = 0_usize;
    for (at, path) in paths.enumerate() {
        if at < limit {
            text.push_str(&colour(&format!("  {word:<7}{path}")));
            text.push('\n');
        } else {
            more += 1;
        }
    }
    if more > 0 {
        text.push_str(&format!("  {word:<7}… and {more} more\n"));
    }
}

/// Formats the counts of a plan, with those of databases.
pub fn counts_with_databases(
    plan: &RestorePlan,
    databases: &[DatabaseReport],
    tense: Tense,
) -> String {
    let number = match databases
        .iter()
        .filter(|one| databases::is_concerned(one))
        .count()
    {
        0 => return counts(plan, tense),
        number => count(number, "database", "databases"),
    };
    let restored = match tense {
        Tense::Planned => format!("restore {number}"),
        Tense::Done => format!("{number} restored"),
    };
    if plan.change_count() == 0 {
        restored
    } else {
        format!("{}, {restored}", counts(plan, tense))
    }
}
