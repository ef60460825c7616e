//! The files of runs: `rewind`, `export`, `end` and `cleanup`.

use crate::answer::{Out, Text, outln};
use crate::base::text::escape;
use crate::commands::restore;
use crate::commands::select_args::PlanArgs;
use crate::commands::workflow::report::conflicts;
use crate::error::sentence::CommandWords;
use crate::error::{Error, Result};
use crate::model::json::{ChangeJson, CheckpointRef, JsonSchema, Serialize, plan_changes};
use crate::ops::context::Context;
use crate::ops::restore::restore_options::RestoreOutcome;
use crate::ops::warning::Warning;
use crate::shell::command_context::CommandContext;
use crate::workflow::documents::render;
use crate::workflow::engine::end::EndOutcome;
use crate::workflow::engine::exchange::Exported;
use crate::workflow::engine::rewind::{self, RewindOptions, RewindOutcome};

/// A run that was taken back.
#[derive(Serialize, JsonSchema)]
pub struct RewindAnswer {
    #[serde(flatten)]
    outcome: RewindOutcome,
    /// What was done to the files; null if they were not taken back.
    rewound: Option<RewoundFiles>,
}

#[derive(Serialize, JsonSchema)]
struct RewoundFiles {
    restored_from: CheckpointRef,
    safety: Option<CheckpointRef>,
    changes: Vec<ChangeJson>,
}

impl RewoundFiles {
    fn new(files: &RestoreOutcome) -> Self {
        Self {
            restored_from: CheckpointRef::new(&files.target),
            safety: files.safety.as_ref().map(CheckpointRef::new),
            changes: plan_changes(&files.plan),
        }
    }
}

pub fn rewind(
    context: &Context,
    cmd: &CommandContext<'_>,
    mut options: RewindOptions,
) -> Result<(RewindAnswer, Vec<Warning>)> {
    options.yes = cmd.global.yes;
    if !(options.files || options.state || options.both) {
        return Err(Error::usage(
            "choose what to rewind: --files, --state or --both",
        ));
    }
    if !options.state && !options.dry_run {
        // The files go back without a plan that was shown.
        let before = format!("pre-{}", options.to);
        let again = CommandWords::new(["restore", &before]);
        PlanArgs::default().resolve(context, false, &again)?;
    }
    let (outcome, warnings) = rewind::rewind(
        context,
        &options,
        &mut |planned| restore::consent(context, cmd, planned, None, None),
        &mut |what| cmd.ask(context, &what, &format!("{what}?")),
    )?;
    let rewound = outcome.files.as_ref().map(RewoundFiles::new);
    Ok((RewindAnswer { outcome, rewound }, warnings))
}

impl Text for RewindAnswer {
    fn write(&self, out: &mut Out<'_>) {
        let outcome = &self.outcome;
        let would = if outcome.dry_run { "would go" } else { "went" };
        let to = escape(&outcome.to);
        if let Some(files) = &outcome.files {
            let written = files.plan.write.len() + files.plan.chmod.len();
            let deleted = files.plan.delete.len();
            let undo = files.safety.as_ref();
            let undo = undo.map_or("", |_| "; 'checkpoint undo' takes this back");
            outln!(
                out,
                "The files {would} back to before {to} ({written} written, {deleted} deleted){undo}."
            );
        }
        if outcome.takes_state {
            let run = escape(outcome.run.workflow.named());
            outln!(out, "Workflow {run} {would} back to before {to}.");
        }
    }
}

impl Text for Exported {
    fn write(&self, out: &mut Out<'_>) {
        out.result.push_str(&render(&self.document));
        out.talk.push_str(&conflicts(&self.conflicts));
    }
}

impl Text for EndOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let (archived, deleted, removed) = if self.dry_run {
            ("Would archive", "Would delete", "Would remove")
        } else {
            ("Archived", "Deleted", "Removed")
        };
        for id in &self.archived {
            outln!(out, "{archived} {id}");
        }
        for id in &self.purged {
            outln!(out, "{deleted} {id} with all its transitions");
        }
        for path in self.removed_folders.iter().chain(&self.removed_files) {
            outln!(out, "{removed} {}", escape(path));
        }
        if out.result.is_empty() {
            outln!(out, "Nothing to clean up.");
        }
    }
}
