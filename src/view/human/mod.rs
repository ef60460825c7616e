//! Outcomes in sentences: what goes to stdout as the result, and what is said beside it.

pub mod bisect;
pub mod check;
pub mod config;
pub mod delete;
pub mod diff;
pub mod find;
pub mod guard;
pub mod hold;
pub mod pin;
pub mod progress;
pub mod relink;
pub mod restore_to;
pub mod stores;
pub mod verify;
pub mod workflow;

use crate::base::text::{escape, escape_line, escape_path};
use crate::base::time::{age, utc_seconds};
use crate::error::Error;
use crate::model::checkpoint::manifest;
use crate::model::checkpoint::record::{Checkpoint, Verb};
use crate::model::checkpoint::terms::{CheckpointTerms, Expiry};
use crate::model::state::database::{Database, Held};
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::ScopePart;
use crate::ops::browse::list::{ListOutcome, ShowOutcome};
use crate::ops::browse::status::StatusOutcome;
use crate::ops::capture::left_out::LeftOut;
use crate::ops::create::command::{CreateOutcome, Skipped};
use crate::ops::create::copies::Copies;
use crate::ops::create::record::Evicted;
use crate::ops::maintain::prune::PruneOutcome;
use crate::ops::restore::restore_options::RestoreOutcome;
use crate::ops::warning::Warning;
use crate::ops::warning_words::thousands;
use crate::view::format::{Paint, count, size};
use crate::view::place::placed;
use crate::view::{databases, plan, table};

/// Paths made since a step that are named in full before the rest is counted.
const SINCE_SHOWN: usize = 10;

/// What a command says: the result, and talk about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub result: String,
    pub talk: String,
}

pub fn create(outcome: &CreateOutcome, millis: u128) -> Output {
    let Some(checkpoint) = &outcome.checkpoint else { return Output::default() };
    let result = format!("{}\n", checkpoint.id.short());
    if outcome.skipped == Some(Skipped::Dedup) {
        return Output { result, talk: String::new() };
    }
    let counts = &outcome.counts;
    let record = &checkpoint.record;
    let mut talk = format!(
        "{} ({}): +{} ~{} -{}, {}, {}, {millis} ms\n",
        escape(&record.reason),
        escape(&record.source),
        counts.added,
        counts.changed,
        counts.deleted,
        count_files(counts.files),
        size(counts.content_bytes),
    );
    if !outcome.databases.is_empty() {
        let named: Vec<String> = outcome.databases.iter().map(Database::to_string).collect();
        talk.push_str(&format!("databases: {}\n", named.join(", ")));
    }
    if outcome.left_out_changed {
        talk.push_str(&left_out(&outcome.left_out));
    }
    if let Some(Copies::Made(dir)) = &outcome.copies {
        talk.push_str(&format!("copies in {}\n", escape_path(dir)));
    }
    talk.push_str(&evicted(&outcome.evicted));
    Output { result, talk }
}

fn count_files(files: u64) -> String {
    format!("{} {}", thousands(files), if files == 1 { "file" } else { "files" })
}

/// `left out: build/ dist/ and 3 files`; secrets are named.
pub fn left_out(left_out: &LeftOut) -> String {
    const NAMED: usize = 8;
    let mut text = String::new();
    if !left_out.secrets.is_empty() {
        text.push_str(&format!("left out as sensitive: {}\n", join(left_out.secrets.iter())));
    }
    if !left_out.not_captured.is_empty() {
        let named = left_out.not_captured.iter().take(NAMED).map(|(path, why)| format!("{path} ({why})"));
        let more = left_out.not_captured.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!("not captured: {}{more}\n", named.collect::<Vec<_>>().join(", ")));
    }
    let dirs: Vec<String> = left_out.directories.iter().take(NAMED).map(|dir| format!("{dir}/")).collect();
    let more = left_out.directories.len().saturating_sub(NAMED);
    let mut parts = vec![dirs.join(" ")];
    if more > 0 {
        parts.push(count(more, "more directory", "more directories"));
    }
    if !left_out.files.is_empty() {
        parts.push(count(left_out.files.len(), "file", "files"));
    }
    parts.retain(|part| !part.is_empty());
    if !parts.is_empty() {
        text.push_str(&format!("left out: {}\n", parts.join(" and ")));
    }
    text
}

fn join<'p>(paths: impl Iterator<Item = &'p RelPath>) -> String {
    paths.map(RelPath::to_string).collect::<Vec<_>>().join(" ")
}

fn evicted(evicted: &[Evicted]) -> String {
    if evicted.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = evicted.iter().map(|gone| gone.id.short()).collect();
    format!("evicted {}: {}\n", count(ids.len(), "checkpoint", "checkpoints"), ids.join(" "))
}

/// The piped form: byte for byte the table of the manifest, newest first.
pub fn list_markdown(outcome: &ListOutcome) -> Output {
    Output { result: manifest::render(&outcome.checkpoints), talk: String::new() }
}

pub fn list_table(outcome: &ListOutcome, now_ms: i64, paint: Paint) -> Output {
    Output { result: table::render(&outcome.checkpoints, &outcome.damaged, now_ms, paint), talk: String::new() }
}

pub fn show(outcome: &ShowOutcome, now_ms: i64) -> Output {
    let Checkpoint { id, tree, record, pinned, .. } = &outcome.checkpoint;
    let mut text = format!(
        "checkpoint {id}\ntree       {tree}\nreason     {}\nsource     {}\ntime       {} UTC ({} ago)\nkind       {}\n\
         coverage   {}\nholds      {}, {}\n",
        escape(&record.reason),
        escape(&record.source),
        utc_seconds(record.time_ms),
        age(record.time_ms, now_ms),
        record.kind.word(),
        record.coverage.word(),
        count_files(record.files),
        size(record.content_bytes),
    );
    if *pinned {
        text.push_str("pinned     yes\n");
    }
    text.push_str(&terms(&record.terms));
    if let Some(operation) = &record.operation {
        text.push_str(&format!("taken for  {} of {}", operation.verb.word(), operation.target.short()));
        let paths = join(operation.paths.iter());
        text.push_str(&if paths.is_empty() { "\n".to_owned() } else { format!(" ({paths})\n") });
    }
    for (database, held) in &outcome.databases {
        let absent = if *held == Held::Absent { " (not there)" } else { "" };
        text.push_str(&format!("database   {database}{absent}\n"));
    }
    for (path, standing) in &outcome.meta.uncaptured {
        text.push_str(&format!("not captured: {path} ({})\n", standing.why.in_words()));
    }
    match &outcome.before {
        Some(before) => {
            text.push_str(&format!("\nagainst {} ({}):\n", before.id.short(), escape(&before.record.reason)));
        }
        None => text.push_str("\nthe first one; everything is new:\n"),
    }
    for change in &outcome.changes {
        let sign = match (&change.before, &change.after) {
            (None, _) => "+",
            (_, None) => "-",
            _ => "~",
        };
        text.push_str(&format!("  {sign} {}\n", change.path));
    }
    if outcome.changes.is_empty() {
        text.push_str("  no change\n");
    }
    Output { result: text, talk: String::new() }
}

/// What was agreed beside the content, a line each.
fn terms(terms: &CheckpointTerms) -> String {
    let mut text = String::new();
    if let Some(scope) = &terms.scope {
        let parts: Vec<String> = scope.parts().iter().map(ScopePart::shown).collect();
        text.push_str(&format!(
            "scope      {}\n",
            if parts.is_empty() { "no files".to_owned() } else { parts.join(", ") }
        ));
    }
    if let Some(mechanism) = terms.mechanism {
        text.push_str(&format!("type       {}\n", mechanism.word()));
    }
    match terms.expiry {
        None => {}
        Some(Expiry::Never) => text.push_str("expires    never\n"),
        Some(Expiry::At(end_ms)) => text.push_str(&format!("expires    {} UTC\n", utc_seconds(end_ms))),
    }
    text
}

pub fn restore(outcome: &RestoreOutcome, paint: Paint) -> Output {
    let target = &outcome.target;
    let (short, reason) = (target.id.short(), escape(&target.record.reason));
    if outcome.dry_run {
        let listed = plan::listing(&outcome.plan, usize::MAX, paint);
        let databases = databases::listing(&outcome.databases, paint);
        let counts = plan::counts_with_databases(&outcome.plan, &outcome.databases);
        let since = plan::made_since(outcome.since.as_deref(), "a safety checkpoint would hold", usize::MAX);
        let result = format!("{listed}{databases}{since}Restoring to `{short}` ({reason}) {counts}.\n");
        return Output { result, talk: databases::left(&outcome.databases) };
    }
    if outcome.is_nothing_to_do() {
        let result = if outcome.paths.is_empty() && !outcome.overlay {
            format!("Already at {short} ({reason}); nothing to do.\n")
        } else {
            format!("What was asked for of {short} ({reason}) stands there already; nothing to do.\n")
        };
        let mut talk = stays(outcome);
        if let Some(beyond) = &outcome.beyond {
            talk.push_str(&format!("the step before that: 'checkpoint restore {}'\n", beyond.id.short()));
        }
        return Output { result, talk };
    }
    let safety = outcome.safety.map(ObjectId::short).unwrap_or_default();
    let mut result = String::new();
    if outcome.paths.is_empty() || outcome.verb != Verb::Restore {
        result = format!(
            "Restored to checkpoint `{short}` ({reason}). \
             Safety checkpoint created at `{safety}` — use this to undo the restore.\n"
        );
    } else {
        for path in &outcome.paths {
            result.push_str(&format!("Restored `{path}` from checkpoint `{short}` ({reason}).\n"));
        }
    }
    let mut talk = format!("{}\n", capitalised(&plan::counts_with_databases(&outcome.plan, &outcome.databases)));
    talk.push_str(&databases::left(&outcome.databases));
    talk.push_str(&plan::made_since(
        outcome.since.as_deref(),
        &format!("safety checkpoint {safety} holds"),
        SINCE_SHOWN,
    ));
    talk.push_str(&stays(outcome));
    talk.push_str(&evicted(&outcome.evicted));
    Output { result, talk }
}

/// The values that a restored checkpoint holds: they are given back here, and nowhere else.
pub fn values(values: &str) -> String {
    format!("Its values:\n{}\n", values.trim_end_matches('\n'))
}

/// What stands there after a restore although the target lacks it.
fn stays(outcome: &RestoreOutcome) -> String {
    let lines = outcome.left_alone.iter().map(|path| format!("left alone: {path} (in no checkpoint)\n"));
    lines.collect()
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

pub fn prune(outcome: &PruneOutcome) -> Output {
    if !outcome.exists {
        return Output::default();
    }
    let same_size = size(outcome.bytes_before) == size(outcome.bytes_after);
    if outcome.is_nothing() || (outcome.evicted.is_empty() && outcome.rows_removed == 0 && same_size) {
        return Output { result: "Nothing to prune.\n".to_owned(), talk: String::new() };
    }
    let result = format!(
        "{}: {}, {}, {} → {}\n",
        if outcome.dry_run { "Would prune" } else { "Pruned" },
        count(outcome.evicted.len(), "checkpoint", "checkpoints"),
        count(outcome.rows_removed, "row", "rows"),
        size(outcome.bytes_before),
        size(outcome.bytes_after),
    );
    Output { result, talk: evicted(&outcome.evicted) }
}

/// One line for prompts and skills.
pub fn status_brief(outcome: &StatusOutcome, now_ms: i64) -> Output {
    let mut parts = vec![count(outcome.checkpoints, "checkpoint", "checkpoints")];
    if let Some(latest) = &outcome.latest {
        let record = &latest.record;
        parts.push(format!(
            "latest {} {} ({} ago)",
            latest.id.short(),
            escape(&record.reason),
            age(record.time_ms, now_ms)
        ));
    }
    if outcome.damaged > 0 {
        parts.push(format!("{} damaged", outcome.damaged));
    }
    if outcome.pending.is_some() {
        parts.push("a restore was interrupted".to_owned());
    }
    if !outcome.holds.is_empty() {
        parts.push(count(outcome.holds.len(), "hold", "holds"));
    }
    let result = if outcome.exists { format!("{}\n", parts.join(", ")) } else { String::new() };
    Output { result, talk: String::new() }
}

pub fn status(outcome: &StatusOutcome, now_ms: i64, verbose: bool) -> Output {
    let (root, store) = (escape_path(&outcome.root), escape_path(&outcome.store));
    let mut text = format!("root         {root}\nstore        {store}\n");
    if let Some(bytes) = outcome.store_bytes {
        let limit = outcome.max_store_bytes.map(|limit| format!(" of {}", size(limit))).unwrap_or_default();
        text.push_str(&format!("size         {}{limit}\n", size(bytes)));
    }
    for copy in &outcome.kept_copies {
        text.push_str(&format!("kept copy    {}\n", escape_path(copy)));
    }
    let safety = if outcome.safety > 0 { format!(", {} of them safety", outcome.safety) } else { String::new() };
    let pinned = if outcome.pinned > 0 { format!(", {} pinned", outcome.pinned) } else { String::new() };
    let damaged = if outcome.damaged > 0 { format!(", {} damaged", outcome.damaged) } else { String::new() };
    text.push_str(&format!("checkpoints  {}{safety}{pinned}{damaged}\n", outcome.checkpoints));
    if let Some(latest) = &outcome.latest {
        let record = &latest.record;
        let (id, ago) = (latest.id.short(), age(record.time_ms, now_ms));
        text.push_str(&format!(
            "latest       {id} {} ({}), {ago} ago\n",
            escape(&record.reason),
            escape(&record.source)
        ));
    }
    if let Some(set) = outcome.baseline.as_ref().filter(|set| outcome.latest.as_ref().is_none_or(|c| c.id != set.id)) {
        text.push_str(&format!("restored     {} {}\n", set.id.short(), escape(&set.record.reason)));
    }
    if let Some(drift) = outcome.drift {
        text.push_str(&format!("since then   +{} ~{} -{}\n", drift.added, drift.changed, drift.deleted));
    }
    if let Some((target, safety)) = outcome.pending {
        text.push_str(&format!("pending      restore to {}, safety checkpoint {}\n", target.short(), safety.short()));
    }
    text.push_str(&outcome.holds.iter().map(hold::status_line).collect::<String>());
    if let Some(out) = outcome.left_out.as_ref().filter(|out| !out.is_empty()) {
        text.push_str(&if verbose { format!("left out:\n{}", indented(&out.to_text())) } else { left_out(out) });
    }
    Output { result: if outcome.exists { text } else { String::new() }, talk: String::new() }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// A failure in one line: what, which path or id, what to do next.
pub fn error(error: &Error, paint: Paint) -> String {
    let hint = error.hint().map(|hint| format!(" ({})", placed(&hint))).unwrap_or_default();
    format!("{} {}{hint}\n", paint.red("checkpoint:"), escape_line(&error.to_string()))
}

/// What is wrong with a command line, in the same form; `help` is the command that tells what would be right.
pub fn wrong_usage(what: &str, help: &str) -> String {
    format!("checkpoint: {} (try '{help}')\n", escape(what))
}

pub fn warning(warning: &Warning, paint: Paint) -> String {
    // The sentence of the size gate is agreed word for word, so nothing stands before it.
    let Warning::TooManyFiles { largest, .. } = warning else {
        return format!("{} {}\n", paint.yellow("warning:"), escape_line(&warning.to_string()));
    };
    let folders: Vec<String> = largest.iter().map(|(path, files)| format!("{path}/ ({})", thousands(*files))).collect();
    let second = if folders.is_empty() { String::new() } else { format!("largest: {}\n", folders.join(", ")) };
    format!("{warning}\n{second}")
}

/// Said where there is no store and nothing is asked of one.
pub fn no_store(root: &std::path::Path, hint: &str) -> String {
    format!("no checkpoints for {} yet: {hint}\n", escape_path(root))
}
