//! Makes the checkpoint due after every third phase, and on request a commit in the project.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::create::options::DedupPolicy;
use crate::ops::session::Session;
use crate::workflow::engine::run_checkpoint::snapshot;
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::step::{StepOptions, actor, step, with_run};
use crate::workflow::engine::transition::{StepOutcome, change_run};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::mini_commit::{
    mini_commit_due, mini_commit_message, project_commit_due,
};
use crate::workflow::rules::workflow::MiniCommit;
use crate::workflow::words::run_error::RunError;
use crate::worktree::git::git_head;

/// Commits everything in the project's own repository with this message.
pub type CommitInProject<'c> = dyn Fn(&str) -> Result<()> + 'c;

#[derive(Debug, Default)]
pub struct MiniOutcome {
    /// `None` if none is due.
    pub message: Option<String>,
    pub checkpoint: Option<ObjectId>,
    pub commit: Option<String>,
    pub step: Option<StepOutcome>,
}

/// Makes the checkpoint and the commit that are due. They can be due separately, as runs make
/// checkpoints by themselves.
///
/// The store is not locked during the commit: hooks of the project may run this program.
///
/// # Errors
/// The checkpoint cannot be made, or the commit was refused; then the checkpoint is kept.
pub fn mini_commit(
    context: &Context,
    options: &StepOptions,
    run: &Run,
    commit: Option<&CommitInProject<'_>>,
) -> Result<MiniOutcome> {
    let of_run = StepOptions {
        run: Some(run.workflow.id.clone()),
        expect: None,
        ..options.clone()
    };
    let who = actor(context, &of_run);
    if commit.is_some() && project_commit_due(&run.workflow).is_some() {
        check_project(context)?;
    }
    let made = with_run(context, &of_run, |session, run| {
        in_shadow(context, session, run, &who)
    })?;
    let mut outcome = made.unwrap_or_default();
    let due = project_commit_due(&run.workflow);
    if let (Some(commit), Some(range)) = (commit, due) {
        let message = mini_commit_message(&run.workflow, &range);
        commit(&message)?;
        outcome.commit = git_head::read(context.root.path()).and_then(|head| head.commit);
        let change = noted(&range, None, outcome.commit.clone());
        let mut step = step(context, &of_run, &mut |_| Ok(change.clone()))?;
        step.warnings.extend(
            outcome
                .step
                .take()
                .map(|step| step.warnings)
                .unwrap_or_default(),
        );
        (outcome.message, outcome.step) = (Some(message), Some(step));
    }
    Ok(outcome)
}

/// Refuses cases where git would use a repository above the root, or finish an operation under way.
fn check_project(context: &Context) -> Result<()> {
    match git_head::under_way(context.root.path()) {
        Ok(None) => Ok(()),
        Ok(Some(operation)) => Err(RunError::GitUnderWay {
            operation: operation.to_string(),
        }
        .into()),
        Err(why) => Err(RunError::NoRepository {
            why: why.to_string(),
        }
        .into()),
    }
}

/// Makes the checkpoint that is due, under the lock that is held; `None` if none is due.
///
/// # Errors
/// The checkpoint cannot be made, or not be recorded.
pub fn in_shadow(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    actor: &str,
) -> Result<Option<MiniOutcome>> {
    let Some(range) = mini_commit_due(&run.workflow) else {
        return Ok(None);
    };
    let message = mini_commit_message(&run.workflow, &range);
    let reason = message.lines().next().unwrap_or_default();
    let made = snapshot(context, session, &run.workflow, reason, DedupPolicy::Never)?;
    let change = noted(&range, made.id.map(ObjectId::to_hex), None);
    let mut step = change_run(context, session, run, &change, actor)?;
    step.warnings.extend(made.warnings);
    step.evicted = made.evicted;
    Ok(Some(MiniOutcome {
        message: Some(message),
        checkpoint: made.id,
        commit: None,
        step: Some(step),
    }))
}

fn noted(
    range: &RangeInclusive<usize>,
    checkpoint: Option<String>,
    commit: Option<String>,
) -> Change {
    Change::MiniCommit(MiniCommit {
        completed: *range.end(),
        checkpoint,
        commit,
    })
}
