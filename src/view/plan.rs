//! The changes of a restore, planned or done, as text.

use crate::base::cut_list::and_more;
use crate::base::text::escape;
use crate::model::checkpoint::record::Verb;
use crate::model::restore_plan::RestorePlan;
use crate::model::state::entry::WhyNot;
use crate::model::state::rel_path::RelPath;
use crate::ops::restore::restore_options::{DatabaseFate, DatabaseReport, Proposal};
use crate::view::format::{Paint, count};
use crate::view::{databases, plan};

/// Maximum number of paths of one kind in a question.
const LISTED_PATHS: usize = 10;

/// Formats the counts: `writes 3 files (1 of them new), deletes 1 file`.
pub fn counts(plan: &RestorePlan) -> String {
    let new = plan
        .write
        .values()
        .filter(|write| write.before.is_none())
        .count();
    let mut parts = Vec::new();
    if !plan.write.is_empty() {
        let new = if new > 0 {
            format!(" ({new} new)")
        } else {
            String::new()
        };
        parts.push(format!(
            "writes {}{new}",
            count(plan.write.len(), "file", "files")
        ));
    }
    let modes = plan.chmod.len() + plan.chmod_dirs.len();
    for (number, what) in [
        (plan.delete.len(), "deletes FILES"),
        (modes, "sets the mode of PATHS"),
        (plan.make_dirs.len(), "makes DIRECTORIES"),
        (plan.remove_dirs.len(), "removes DIRECTORIES"),
    ] {
        if number > 0 {
            let what = what
                .replace("FILES", &count(number, "file", "files"))
                .replace("PATHS", &count(number, "path", "paths"))
                .replace("DIRECTORIES", &count(number, "directory", "directories"));
            parts.push(what);
        }
    }
    if parts.is_empty() {
        "changes nothing".to_owned()
    } else {
        parts.join(", ")
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
    } = proposal;
    let mut text = String::new();
    if *again {
        text.push_str("Files changed since this was shown. It is now:\n");
    }
    text.push_str(&listing(plan, LISTED_PATHS, paint));
    text.push_str(&databases::listing(databases, paint));
    text.push_str(&made_since(
        *since,
        "the safety checkpoint will hold",
        LISTED_PATHS,
    ));
    let what = match verb {
        Verb::Restore | Verb::Resume => "Restore to",
        Verb::Undo => "Undo: back to",
        Verb::Redo => "Redo: forward to",
    };
    let reason = escape(&target.record.reason);
    let counts = counts_with_databases(plan, databases);
    text.push_str(&format!(
        "{what} {} ({reason}): this {counts}. Go on? [y/N] ",
        target.id.short()
    ));
    text
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

/// Lists later changes that an undo or redo takes back too, and where they are kept; `since` is
/// `None` if they are not known.
pub fn made_since(since: Option<&[RelPath]>, kept: &str, limit: usize) -> String {
    let Some(since) = since else {
        return format!(
            "what changed since that step cannot be told, because what it restored is gone ({kept} all)\n"
        );
    };
    if since.is_empty() {
        return String::new();
    }
    format!(
        "changed since that step ({kept} them): {}\n",
        and_more(since, limit)
    )
}

/// What an undo or redo that needs consent does, in one line, for a refusal.
pub fn stake(proposal: &Proposal<'_>) -> String {
    let counts = counts_with_databases(proposal.plan, proposal.databases);
    let what = format!("{} {counts}", proposal.verb.into_str());
    match proposal.since {
        Some([]) => what,
        Some(since) => format!(
            "{what}, and takes along work done since: {}",
            and_more(since, LISTED_PATHS)
        ),
        None => format!("{what}, and whether it takes along work done since cannot be told"),
    }
}

/// Formats one line for each path left unchanged because it cannot be read.
pub fn unreadable(plan: &RestorePlan, paint: Paint) -> String {
    let line = |(path, why): (&RelPath, &WhyNot)| {
        let prefix = paint.red("checkpoint:");
        format!(
            "{prefix} {path} was left as it is: {}; all else is restored\n",
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
pub fn counts_with_databases(plan: &RestorePlan, databases: &[DatabaseReport]) -> String {
    let is_concerned = |report: &&DatabaseReport| {
        matches!(report.fate, DatabaseFate::Planned | DatabaseFate::Restored)
    };
    let number = databases.iter().filter(is_concerned).count();
    if number == 0 {
        return plan::counts(plan);
    }
    let restores = format!("restores {}", count(number, "database", "databases"));
    if plan.change_count() == 0 {
        restores
    } else {
        format!("{}, {restores}", plan::counts(plan))
    }
}
