//! `workflow rewind`: restores the files, the state or both as they were before a phase began.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Code, Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::restore::commands::restore;
use crate::ops::restore::restore_options::{
    CommonOptions, Consent, RestoreOptions, RestoreOutcome,
};
use crate::ops::select::words::TypedWords;
use crate::store::repository::Store;
use crate::workflow::documents::files;
use crate::workflow::documents::sync::{Imported, open_imported};
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::transact::with_run;
use crate::workflow::engine::work::StepOptions;
use crate::workflow::rules::change::Change;
use crate::workflow::rules::workflow::{RunStatus, Workflow};
use crate::workflow::words::absent;

/// Take files, state or both back to right before a phase
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
#[derive(Clone, Debug, Default, clap::Args)]
#[command(group(clap::ArgGroup::new("what").args(["files", "state", "both"]).required(true)))]
pub struct RewindOptions {
    /// Phase
    #[arg(value_name = "PHASE")]
    pub to: String,
    /// Rewind the files, as 'checkpoint restore' would
    #[arg(long)]
    pub files: bool,
    /// Rewind the state of the run
    #[arg(long)]
    pub state: bool,
    /// Rewind files and state
    #[arg(long)]
    pub both: bool,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Run [default: the newest open one]
    #[arg(short = 'w', long = "workflow", value_name = "WORKFLOW")]
    pub run: Option<String>,
    /// Ask for no consent.
    #[arg(skip)]
    pub yes: bool,
}

/// A run that was taken back.
#[derive(Serialize, JsonSchema)]
pub struct RewindOutcome {
    #[serde(flatten)]
    pub run: Run,
    #[serde(rename = "to_phase_id")]
    pub to: String,
    pub dry_run: bool,
    /// Whether the state is rewound, or would be.
    #[serde(rename = "state_rewound")]
    pub takes_state: bool,
    /// What was done to the files; null if they were not taken back.
    #[serde(rename = "rewound")]
    pub files: Option<RestoreOutcome>,
}

/// The newest start of the phase, and the state before it.
struct Goal {
    checkpoint: Option<ObjectId>,
    revision: ObjectId,
    state: Workflow,
}

/// Rewinds a run. `agree` asks for consent if the state is rewound without files.
///
/// # Errors
/// There is no such phase, its checkpoint is gone, or consent was denied; then nothing has changed.
pub fn rewind(
    context: &Context,
    options: &RewindOptions,
    consent: &mut Consent<'_>,
    agree: &mut dyn FnMut(String) -> Result<()>,
) -> Result<RewindOutcome> {
    let Imported { store, .. } = open_imported(context)?;
    let run = Runs::pick_live(&store, options.run.as_deref())?;
    let goal = goal(&store, &run, &options.to)?;
    let mut outcome = RewindOutcome {
        run,
        to: options.to.clone(),
        dry_run: options.dry_run,
        takes_state: options.state || options.both,
        files: None,
    };
    if options.files || options.both {
        let mut files = files(context, options, &goal, consent)?;
        for warning in files.warnings.drain(..) {
            context.pending_warnings.add(warning);
        }
        outcome.files = Some(files);
    } else if !options.yes && !options.dry_run {
        let run = outcome.run.workflow.named();
        agree(format!("take workflow {run} back to before {}", options.to))?;
    }
    if outcome.takes_state && !options.dry_run {
        outcome.run = state(context, options, &outcome.run, goal)?;
    }
    Ok(outcome)
}

fn files(
    context: &Context,
    options: &RewindOptions,
    goal: &Goal,
    consent: &mut Consent<'_>,
) -> Result<RestoreOutcome> {
    let phase = &options.to;
    let none =
        |what| absent("no_checkpoint", what).advise("--state rewinds the state without the files");
    let checkpoint = goal
        .checkpoint
        .ok_or_else(|| none(format!("no checkpoint was made before phase {phase}")))?;
    let restore_options = RestoreOptions {
        words: TypedWords::of_checkpoint(checkpoint.to_hex()),
        common: CommonOptions {
            yes: options.yes,
            dry_run: options.dry_run,
            ..CommonOptions::default()
        },
        ..RestoreOptions::default()
    };
    restore(context, &restore_options, consent).map_err(|error| {
        if error.code != Code::NO_SUCH_CHECKPOINT {
            return error;
        }
        let id = checkpoint.short();
        none(format!("checkpoint {id} of phase {phase} no longer exists"))
    })
}

/// Rewinds the state, except for the count of resumes.
fn state(context: &Context, options: &RewindOptions, shown: &Run, goal: Goal) -> Result<Run> {
    let of_run = StepOptions {
        expect: Some(shown.tip.to_hex()),
        ..StepOptions::of_run(&shown.workflow.id)
    };
    with_run(context, &of_run, |work, run| {
        let now = &run.workflow;
        // A file that came later stays, without what it said.
        let mut documents = now.documents.clone();
        documents.extend(goal.state.documents);
        let next = Workflow {
            documents,
            id: now.id.clone(),
            status: RunStatus::Open,
            finished_ms: None,
            resume_count: now.resume_count,
            updated_ms: context.now_ms.max(now.updated_ms),
            profile: now.profile,
            ..goal.state
        };
        let event = Change {
            phase: Some(options.to.clone()),
            ..Change::new("rewind").noting(goal.revision.short())
        };
        let outcome = work.record(Some(&run), next, event, true)?;
        let removed = files::remove_failed(&work.tree, now);
        work.warn_of("removing the file of the run that had failed", removed);
        Ok(outcome.run)
    })
}

fn goal(store: &Store, run: &Run, phase: &str) -> Result<Goal> {
    let line = store.workflow_line(run.tip, usize::MAX).transitions;
    let start = line.iter().find_map(|found| {
        let event = Change::read(&found.message);
        let is_it = event.verb == "phase start" && event.phase.as_deref() == Some(phase);
        is_it.then_some((found, event))
    });
    let run = run.workflow.named();
    let (found, event) = start.ok_or_else(|| {
        absent(
            "no_such_phase",
            format!("workflow {run} never started a phase {phase}"),
        )
        .advise("'checkpoint workflow show' lists what happened")
    })?;
    let checkpoint = event.checkpoints.first();
    let revision = found.parent.unwrap_or(found.commit);
    let state = Workflow::from_json(&store.workflow_state(revision)?)
        .map_err(|why| Error::damaged(format!("workflow {run}"), why))?;
    Ok(Goal {
        checkpoint: checkpoint.and_then(|id| ObjectId::from_hex(id)),
        revision,
        state,
    })
}
