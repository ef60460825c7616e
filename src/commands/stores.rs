//! `list --all` and `prune --orphaned`: the stores of all directories.

use std::path::Path;

use crate::answer::table::titled;
use crate::base::time::{ago, utc_seconds};
use crate::commands::prelude::*;
use crate::model::checkpoint::manifest::cell;
use crate::ops::maintain::stores::{self, prune_orphaned};
use crate::ops::{KnownStore, OrphansOutcome, RootState, StoreList};

pub fn list(context: &Context) -> Result<Done<StoreList>> {
    let stores = stores::all(context)?;
    let warnings = context.settings.remarks.iter().map(Warning::from).collect();
    Ok(Done::new(StoreList { stores }, warnings))
}

pub fn prune(
    context: &Context,
    cmd: &CommandContext<'_>,
    dry_run: bool,
) -> Result<Done<OrphansOutcome>> {
    let consent = |stores: &[KnownStore]| {
        if cmd.global.yes {
            return Ok(());
        }
        let numbers = numbers(stores);
        let listed = table(stores, context.now_ms, cmd.printer.err_paint());
        let question = format!("{listed}Remove {numbers}? This cannot be taken back.");
        cmd.ask(context, &format!("remove {numbers}"), &question)
    };
    let mut done = Done::from(prune_orphaned(context, dry_run, consent)?);
    let causes = done.answer.failures.iter().map(|error| error.code.exit);
    // Partial if some stores were removed.
    done.exit = match causes.max() {
        None => exit_code::DONE,
        Some(cause) if done.answer.removed.is_empty() => cause,
        Some(_) => exit_code::PARTIAL,
    };
    if cmd.printer.json && done.answer.removed.is_empty() {
        let failures = std::mem::take(&mut done.answer.failures);
        done.error = failures.into_iter().next();
    }
    Ok(done)
}

impl Text for StoreList {
    fn write(&self, out: &mut Out<'_>) {
        if self.stores.is_empty() {
            let base = escape_path(&out.context.base);
            talkln!(
                out,
                "no stores under {base} yet: 'checkpoint create' makes one"
            );
        }
        if out.is_for_a_person {
            out.result = table(&self.stores, out.context.now_ms, out.paint);
            return;
        }
        outln!(
            out,
            "| Root | Checkpoints | Bytes | Newest | Note | Store |"
        );
        outln!(out, "|---|---|---|---|---|---|");
        let path = |path: &Path| cell(&path.display().to_string());
        for known in &self.stores {
            let root = known.root.as_deref().map(path).unwrap_or_default();
            let (number, bytes) = (checkpoints(known), known.store_bytes);
            let newest = known.newest_at.map(|time| utc_seconds(time.ms()));
            let newest = newest.unwrap_or_default();
            let (note, store) = (cell(&note(known)), path(&known.store));
            outln!(
                out,
                "| {root} | {number} | {bytes} | {newest} | {note} | {store} |"
            );
        }
    }
}

impl Text for OrphansOutcome {
    fn write(&self, out: &mut Out<'_>) {
        // Which stores are left is seen with `--quiet` too.
        for left in &self.left {
            let line = format!("left: {}: {}\n", root(&left.known), left.why);
            out.remark.push_str(&line);
        }
        let numbers = numbers(&self.removed);
        if self.removed.is_empty() {
            if self.left.is_empty() {
                outln!(out, "No orphaned stores.");
            }
        } else if self.dry_run {
            out.result = table(&self.removed, out.context.now_ms, out.paint);
            outln!(out, "Would remove {numbers}");
        } else {
            outln!(out, "Removed {numbers}");
            for known in &self.removed {
                talkln!(out, "removed: {}", root(known));
            }
        }
    }
}

/// Notes on a store; empty for most.
fn note(known: &KnownStore) -> String {
    let copy = known.kept_copy.then_some("damaged copy");
    let root = match known.root_state {
        RootState::Present => None,
        RootState::Gone => Some("root is gone"),
        RootState::Unreachable => Some("root cannot be reached (a disk that is not mounted?)"),
        RootState::Unknown => Some("root is not known"),
    };
    let notes = copy.into_iter().chain(root).map(str::to_owned);
    let damaged = (known.damaged_count > 0).then(|| format!("{} damaged", known.damaged_count));
    let problem = known.problem.as_deref().map(escape_line);
    let notes: Vec<String> = notes.chain(damaged).chain(problem).collect();
    notes.join(", ")
}

fn root(known: &KnownStore) -> String {
    let root = known.root.as_ref().filter(|_| !known.kept_copy);
    escape_path(root.unwrap_or(&known.store))
}

fn checkpoints(known: &KnownStore) -> String {
    let number = known.checkpoint_count.map(|number| number.to_string());
    number.unwrap_or_else(|| "?".to_owned())
}

/// For a terminal.
fn table(stores: &[KnownStore], now_ms: i64, paint: Paint) -> String {
    if stores.is_empty() {
        return String::new();
    }
    let rows = stores.iter().map(|known| {
        let newest = known.newest_at.map(|time| ago(time.ms(), now_ms));
        [
            checkpoints(known),
            size(known.store_bytes),
            newest.unwrap_or_else(|| "-".to_owned()),
            root(known),
            note(known),
        ]
    });
    let titles = ["CHECKPOINTS", "SIZE", "NEWEST", "ROOT", ""];
    let text = titled(titles, rows, &[0, 1, 2]);
    let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{}\n{rest}", paint.faint(head))
}

/// Formats `2 stores of roots that are gone and 1 damaged copy (12.0 MiB)`.
fn numbers(stores: &[KnownStore]) -> String {
    let copies = stores.iter().filter(|known| known.kept_copy).count();
    let orphans = stores.len() - copies;
    let one = "store of a root that is gone";
    let parts = counts(&[
        (orphans, one, "stores of roots that are gone"),
        (copies, "damaged copy", "damaged copies"),
    ]);
    let bytes = stores.iter().map(|known| known.store_bytes).sum();
    format!("{} ({})", parts.join(" and "), size(bytes))
}
