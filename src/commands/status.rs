//! `status`: prints one screen, or one line.

use std::path::Path;

use crate::answer::table::{cut, state_words};
use crate::base::json::{JsonSchema, Serialize};
use crate::base::text::thousands;
use crate::base::time::{ago, utc_seconds};
use crate::commands::create::left_out_words;
use crate::commands::prelude::*;
use crate::commands::workflow::report::place;
use crate::model::{Checkpoint, PlannedChange, RelPath};
use crate::ops::browse::status::{StatusOutcome, drift, status};
use crate::ops::capture::left_out::LeftOutJson;
use crate::workflow::{Run, Runs};

/// Maximum number of changed files that are named.
const CHANGED_SHOWN: usize = 10;

/// Upper bound on a reason or the name of a phase in a short line, in characters.
const LONGEST_NAME: usize = 40;

/// Show a summary of the store, and what changed in the directory
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct StatusArgs {
    /// Print one line for a shell's prompt and skills, without scanning the directory
    #[arg(long)]
    pub brief: bool,
}

/// The state of the directory, and what the rules leave out.
#[derive(Serialize, JsonSchema)]
pub struct StatusAnswer {
    #[serde(flatten)]
    outcome: StatusOutcome,
    /// Null without `-v`.
    left_out: Option<LeftOutJson>,
    /// The runs that have not ended.
    #[serde(skip)]
    open_runs: Vec<Run>,
    #[serde(skip)]
    is_brief: bool,
}

impl Command for StatusArgs {
    type Answer = StatusAnswer;

    fn properties(&self) -> Properties {
        Properties {
            may_take_long: !self.brief,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<StatusAnswer>> {
        let (mut outcome, store) = status(context, self.brief)?;
        let warnings = std::mem::take(&mut outcome.warnings);
        let left_out = outcome.left_out.as_ref();
        let store = store.filter(|_| !cmd.printer.json);
        let answer = StatusAnswer {
            left_out: left_out
                .filter(|_| cmd.global.verbose)
                .map(|left_out| LeftOutJson::new(left_out, true)),
            open_runs: store.as_ref().map_or(Ok(Vec::new()), Runs::open)?,
            outcome,
            is_brief: self.brief,
        };
        Ok(Done::new(answer, warnings))
    }
}

impl Text for StatusAnswer {
    fn write(&self, out: &mut Out<'_>) {
        let outcome = &self.outcome;
        if self.is_brief {
            let now_ms = out.context.now_ms;
            out.result = brief_line(outcome, self.open_runs.first(), now_ms);
            return;
        }
        if !outcome.exists {
            return out.no_store();
        }
        write_position(outcome, out);
        write_changed(outcome, out);
        for run in &self.open_runs {
            let (id, place) = (escape(&run.workflow.id), place(&run.workflow));
            row(out, "workflow", &format!("{id} {place}"));
        }
        if let Some(pending) = &outcome.pending {
            let (target, safety) = (pending.target.short_id(), pending.safety.short_id());
            let pending = format!("restore to {target}, safety checkpoint {safety}");
            row(out, "pending", &pending);
        }
        if let Some(watcher) = &outcome.watcher {
            row(out, "watched", &format!("by {watcher}"));
        }
        for hold in &outcome.holds {
            let (name, until) = (escape(&hold.name), utc_seconds(hold.end_ms));
            row(out, "held", &format!("{name}, until {until} UTC"));
        }
        if let Some(left_out) = outcome.left_out.as_ref().filter(|some| !some.is_empty()) {
            if self.left_out.is_some() {
                outln!(out, "left out:");
                let shown = |path: &RelPath| out.context.shown(path);
                for line in left_out.to_text(&shown).lines() {
                    outln!(out, "  {line}");
                }
            } else {
                out.result.push_str(&left_out_words(left_out, out.context));
            }
        }
        write_place(outcome, out);
    }
}

/// Returns one line for a shell's prompt, status lines and skills; empty without a store.
pub fn brief_line(outcome: &StatusOutcome, open_run: Option<&Run>, now_ms: i64) -> String {
    if !outcome.exists {
        return String::new();
    }
    let mut parts = vec![checkpoints(outcome.checkpoint_count)];
    if let Some(Checkpoint { id, record, .. }) = &outcome.latest {
        let (reason, ago) = (short(&record.reason), ago(record.time_ms, now_ms));
        parts.push(format!("latest {} {reason} ({ago})", id.short()));
    }
    // The phase that is under way or comes next.
    parts.extend(open_run.map(|run| {
        let phase = run.workflow.next().map(|phase| phase.id.as_str());
        format!("in {}", short(phase.unwrap_or(run.workflow.named())))
    }));
    if outcome.damaged_count > 0 {
        parts.push(format!("{} damaged", outcome.damaged_count));
    }
    if outcome.pending.is_some() {
        parts.push("a restore was interrupted".to_owned());
    }
    if !outcome.holds.is_empty() {
        parts.push(count(outcome.holds.len(), "hold", "holds"));
    }
    parts.join(", ") + "\n"
}

/// Formats a reason or name in a short line.
fn short(text: &str) -> String {
    cut(&escape_line(text), LONGEST_NAME)
}

fn row(out: &mut Out<'_>, label: &str, value: &str) {
    outln!(out, "{label:<11}  {value}");
}

/// What the directory was last set to, and the newest checkpoint if that is another one.
fn write_position(outcome: &StatusOutcome, out: &mut Out<'_>) {
    let named = |c: &Checkpoint| {
        let (reason, source) = (escape(&c.record.reason), escape(&c.record.source));
        format!("{} {reason} ({source})", c.id.short())
    };
    let at = outcome.position.as_ref();
    let is_newest = at.map(|c| c.id) == outcome.latest.as_ref().map(|c| c.id);
    if let Some(at) = at {
        let place = match &outcome.position_story {
            Some((story, reason)) => {
                let state = state_words(story, reason.as_deref());
                format!("{} {state}", at.id.short())
            }
            None if is_newest => format!("{}, {}", named(at), out.ago(at.record.time_ms)),
            None => format!("{}, restored", named(at)),
        };
        row(out, "at", &place);
    }
    let newest = outcome.latest.as_ref();
    if let Some(newest) = newest.filter(|_| !is_newest || at.is_none()) {
        let newest = format!("{}, {}", named(newest), out.ago(newest.record.time_ms));
        row(out, "newest", &newest);
    }
}

/// Formats numbers of changes: `1 added, 2 modified`.
pub(super) fn change_words(changed: &[(RelPath, PlannedChange)]) -> String {
    let drift = drift(changed);
    let dirs = |change| changed.iter().filter(|one| one.1 == change).count();
    let new = dirs(PlannedChange::DirectoryAdded);
    let gone = dirs(PlannedChange::DirectoryDeleted);
    let numbers = counts(&[
        (drift.added, "added", "added"),
        (drift.modified, "modified", "modified"),
        (drift.deleted, "deleted", "deleted"),
        (new, "new directory", "new directories"),
        (gone, "deleted directory", "deleted directories"),
    ]);
    numbers.join(", ")
}

/// The files that differ from the position, and the command that lists all of them.
fn write_changed(outcome: &StatusOutcome, out: &mut Out<'_>) {
    if outcome.drift.is_none() {
        return;
    }
    if outcome.changed.is_empty() {
        return row(out, "changed", "nothing since");
    }
    row(out, "changed", &change_words(&outcome.changed));
    for (path, kind) in outcome.changed.iter().take(CHANGED_SHOWN) {
        let path = out.context.shown(path);
        let line = match kind {
            PlannedChange::Added => out.paint.green(&format!("+ {path}")),
            PlannedChange::DirectoryAdded => out.paint.green(&format!("+ {path}/")),
            PlannedChange::Deleted => out.paint.red(&format!("- {path}")),
            PlannedChange::DirectoryDeleted => out.paint.red(&format!("- {path}/")),
            _ => out.paint.yellow(&format!("~ {path}")),
        };
        outln!(out, "  {line}");
    }
    let more = outcome.changed.len().saturating_sub(CHANGED_SHOWN);
    if more > 0 {
        let more = thousands(more as u64);
        outln!(out, "  and {more} more: 'checkpoint diff --name-status -v'");
    }
}

/// The number of checkpoints, and where they are stored.
fn write_place(outcome: &StatusOutcome, out: &mut Out<'_>) {
    let safeties = outcome.safety_count;
    let mut numbers = counts(&[
        (safeties, "safety checkpoint", "safety checkpoints"),
        (outcome.pinned_count, "pinned", "pinned"),
        (outcome.damaged_count, "damaged", "damaged"),
    ]);
    numbers.insert(0, outcome.checkpoint_count.to_string());
    row(out, "checkpoints", &numbers.join(", "));
    for copy in &outcome.kept_copies {
        row(out, "kept copy", &below_home(out, copy));
    }
    row(out, "root", &escape_path(&outcome.root));
    if let Some(above) = &outcome.root_above {
        let above = escape_path(above);
        row(out, "above", &format!("{above}, which has checkpoints too"));
    }
    let limit = outcome.max_store_bytes;
    let limit = limit.map_or(String::new(), |limit| format!(" of {}", size(limit)));
    let bytes = outcome.store_bytes;
    let bytes = bytes.map_or(String::new(), |bytes| format!("{}{limit} in ", size(bytes)));
    let place = below_home(out, &outcome.store);
    row(out, "store", &format!("{bytes}{place}"));
}

fn below_home(out: &Out<'_>, path: &Path) -> String {
    let home = out.context.environment.home.as_deref();
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", escape_path(below)),
        None => escape_path(path),
    }
}
