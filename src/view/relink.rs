//! `relink` as text and as JSON.

use crate::base::text::escape_path;
use crate::ops::maintain::moved::RootEvidence;
use crate::ops::maintain::relink::{RelinkOutcome, Relinking};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::count;
use crate::view::words::Output;

/// Summarizes the relink in one line, for a refusal.
pub fn stake(relinking: &Relinking<'_>) -> String {
    let number = count(relinking.moved.checkpoints, "checkpoint", "checkpoints");
    format!(
        "take over {number} of {}",
        escape_path(&relinking.moved.old_root)
    )
}

pub fn question(relinking: &Relinking<'_>) -> String {
    let evidence = match relinking.moved.by {
        RootEvidence::Directory => "This is the same directory, by device and inode.",
        RootEvidence::Content => "This directory holds exactly what the newest of them holds.",
        RootEvidence::Nothing => "Nothing but your command tells that this is the same project.",
    };
    let here = match relinking.here {
        0 => String::new(),
        here => format!(
            " The {} of this directory come after them.",
            count(here, "checkpoint", "checkpoints")
        ),
    };
    let (first, rest) = ("T", &stake(relinking)[1..]);
    format!(
        "{evidence}{here}\n{first}{rest} for {}? [y/N] ",
        escape_path(relinking.root)
    )
}

pub fn human(outcome: &RelinkOutcome) -> Output {
    let number = count(outcome.moved.checkpoints, "checkpoint", "checkpoints");
    let (old, new) = (
        escape_path(&outcome.moved.old_root),
        escape_path(&outcome.root),
    );
    let done = if outcome.dry_run {
        "Would take over"
    } else {
        "Took over"
    };
    Output {
        result: format!("{done} {number} of {old} for {new}\n"),
        talk: String::new(),
    }
}

/// The checkpoints that were taken over.
#[derive(Serialize, JsonSchema)]
pub struct RelinkAnswer {
    old_root: String,
    root: String,
    store: String,
    /// Number of checkpoints that were taken over.
    checkpoint_count: usize,
    /// Number of checkpoints that this directory had before.
    already_here: usize,
    /// What says that it is the same project: `directory`, `content` or `nothing`.
    likeness: &'static str,
    dry_run: bool,
}

pub fn json(outcome: &RelinkOutcome) -> String {
    let data = RelinkAnswer {
        old_root: outcome.moved.old_root.display().to_string(),
        root: outcome.root.display().to_string(),
        store: outcome.store.display().to_string(),
        checkpoint_count: outcome.moved.checkpoints,
        already_here: outcome.here,
        likeness: outcome.moved.by.into_str(),
        dry_run: outcome.dry_run,
    };
    envelope("relink", 0, &data, &outcome.warnings)
}
