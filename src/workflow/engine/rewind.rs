//! `workflow rewind`: restores the files, the state or both as they were before a phase began.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Code, Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::restore::commands::restore;
use crate::ops::restore::restore_options::{Consent, RestoreOptions, RestoreOutcome};
use crate::ops::select::words::TypedWords;
use crate::store::repository::Store;
use crate::workflow::documents::files;
use crate::workflow::documents::sync::open_imported;
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
    let store = open_imported(context)?.store;
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
        let phase = &options.to;
        let instead = "--state rewinds the state without the files";
        let none = |what| absent("no_checkpoint", what).advise(instead);
        let never = || none(format!("no checkpoint was made before phase {phase}"));
        let checkpoint = goal.checkpoint.ok_or_else(never)?;
        let mut restored = RestoreOptions {
            words: TypedWords::of_checkpoint(checkpoint.to_hex()),
            ..RestoreOptions::default()
        };
        restored.common.yes = options.yes;
        restored.common.dry_run = options.dry_run;
        let id = checkpoint.short();
        let gone = format!("checkpoint {id} of phase {phase} no longer exists");
        let restored = restore(context, &restored, consent);
        let mut files = restored.map_err(|error| match error.code {
            Code::NO_SUCH_CHECKPOINT => none(gone),
            _ => error,
        })?;
        for warning in files.warnings.drain(..) {
            context.pending_warnings.add(warning);
        }
        outcome.files = Some(files);
    } else if !options.yes && !options.dry_run {
        let run = outcome.run.workflow.named();
        agree(format!("take workflow {run} back to before {}", options.to))?;
    }
    if outcome.takes_state && !options.dry_run {
        outcome.run = state(context, &outcome, goal)?;
    }
    Ok(outcome)
}

/// Rewinds the state, except for the count of resumes.
fn state(context: &Context, shown: &RewindOutcome, goal: Goal) -> Result<Run> {
    let mut of_run = StepOptions::of_run(&shown.run.workflow.id);
    of_run.expect = Some(shown.run.tip.to_hex());
    with_run(context, &of_run, |work, run| {
        let (now, mut next) = (&run.workflow, goal.state);
        // A file that came later stays, without what it said.
        let mut documents = now.documents.clone();
        documents.append(&mut next.documents);
        next = Workflow {
            documents,
            id: now.id.clone(),
            status: RunStatus::Open,
            finished_ms: None,
            resume_count: now.resume_count,
            updated_ms: context.now_ms.max(now.updated_ms),
            profile: now.profile,
            ..next
        };
        let mut event = Change::new("rewind").noting(goal.revision.short());
        event.phase = Some(shown.to.clone());
        let outcome = work.record(Some(&run), next, event, true)?;
        let removed = files::remove_failed(&work.tree, now);
        work.warn_of("removing the file of the run that had failed", removed);
        Ok(outcome.run)
    })
}

fn goal(store: &Store, run: &Run, phase: &str) -> Result<Goal> {
    let line = store.workflow_line(run.tip, usize::MAX).transitions;
    let mut line = line
        .into_iter()
        .map(|found| (Change::read(&found.message), found));
    let is_start =
        |event: &Change| event.verb == "phase start" && event.phase.as_deref() == Some(phase);
    let run = run.workflow.named();
    let never = || {
        let what = format!("workflow {run} never started a phase {phase}");
        absent("no_such_phase", what).advise("'checkpoint workflow show' lists what happened")
    };
    let (event, found) = line.find(|(event, _)| is_start(event)).ok_or_else(never)?;
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
