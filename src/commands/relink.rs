//! `relink`: moves the checkpoints of a moved project.

use std::path::PathBuf;

use crate::commands::prelude::*;
use crate::ops::maintain::moved::{RelinkOptions, relink};
use crate::ops::{RelinkOutcome, RootEvidence};

/// Bring the checkpoints of a moved project here
///
/// The checkpoints of a moved or renamed project stay under its old path until this command moves
/// them here, with their ids, pins and undo history.
#[derive(Clone, Debug, clap::Args)]
pub struct RelinkArgs {
    /// Former path of the project
    #[arg(value_name = "OLD-PATH")]
    pub old_path: PathBuf,
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
}

impl Command for RelinkArgs {
    type Answer = RelinkOutcome;
    const TRAITS: Properties = Properties {
        has_dry_run: true,
        ..Properties::LONG
    };

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<RelinkOutcome>> {
        let options = RelinkOptions {
            old_root: environment::absolute(&self.old_path)?,
            as_given: self.old_path,
            yes: cmd.global.yes,
            dry_run: self.dry_run,
        };
        let mut ask = |planned: &RelinkOutcome| {
            let summary = format!("take over {}", what(planned));
            cmd.ask(context, &summary, &question(planned))
        };
        relink(context, &options, &mut ask).map(Done::from)
    }
}

/// Formats `2 checkpoints of /old/path`.
fn what(outcome: &RelinkOutcome) -> String {
    let number = checkpoints(outcome.checkpoint_count);
    format!("{number} of {}", escape_path(&outcome.old_root))
}

fn question(planned: &RelinkOutcome) -> String {
    let evidence = match planned.likeness {
        RootEvidence::Directory => "This is the same directory, by device and inode.",
        RootEvidence::Content => "This directory holds exactly what the newest of them holds.",
        RootEvidence::Nothing => "Nothing but your command tells that this is the same project.",
    };
    let ours = checkpoints(planned.already_here);
    let here = match planned.already_here {
        0 => String::new(),
        _ => format!(" The {ours} of this directory come after them."),
    };
    let (what, root) = (what(planned), escape_path(&planned.root));
    format!("{evidence}{here}\nTake over {what} for {root}?")
}

impl Text for RelinkOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let done = if self.dry_run {
            "Would take over"
        } else {
            "Took over"
        };
        outln!(out, "{done} {} for {}", what(self), escape_path(&self.root));
    }
}
