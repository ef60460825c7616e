//! Makes the checkpoint due after every third phase, and on request a commit in the project.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::create::options::DedupPolicy;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::workflow::engine::report;
use crate::workflow::engine::run_checkpoint::snapshot;
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::step::{StepOptions, step};
use crate::workflow::engine::transition::{StepOutcome, change_run};
use crate::workflow::rules::change::{Change, Given};
use crate::workflow::rules::mini_commit::{
    mini_commit_due, mini_commit_message, project_commit_due,
};
use crate::workflow::rules::workflow::MiniCommit;
use crate::workflow::words::run_error::RunError;
use crate::worktree::git::git_head;

/// Makes the checkpoint that is due after every third phase, under the lock that is held; `None` if
/// none is due.
///
/// # Errors
/// The checkpoint cannot be made, or not be recorded.
pub fn make_checkpoint(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    actor: &str,
) -> Result<Option<StepOutcome>> {
    let Some(range) = mini_commit_due(&run.workflow) else {
        return Ok(None);
    };
    let message = mini_commit_message(&run.workflow, &range);
    let reason = message.lines().next().unwrap_or_default();
    let made = snapshot(context, session, &run.workflow, reason, DedupPolicy::Never)?;
    let change = noted(&range, made.id.map(ObjectId::to_hex), None);
    let mut step = change_run(context, session, run, &change, actor)?;
    step.evicted = made.evicted;
    Ok(Some(step))
}

/// Checks that a commit in the project is due once another phase is done, and possible there.
///
/// # Errors
/// Git would use a repository above the root, or finish an operation under way.
pub fn will_commit(context: &Context, options: &StepOptions) -> Result<bool> {
    let run = report::status(context, options.run.as_deref(), false)?
        .0
        .run;
    if project_commit_due(&run.workflow, 1).is_none() {
        return Ok(false);
    }
    match git_head::under_way(context.root.path()) {
        Ok(None) => Ok(true),
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

/// Makes the commit in the project's own repository that is due, and records it.
///
/// The store is not locked during the commit: hooks of the project may run this program.
///
/// # Errors
/// The commit was refused; it stays due.
pub fn commit_project(
    context: &Context,
    options: &StepOptions,
    (done, warnings): &mut (StepOutcome, Vec<Warning>),
    commit: &dyn Fn(&str) -> Result<()>,
) -> Result<()> {
    let Some(range) = project_commit_due(&done.run.workflow, 0) else {
        return Ok(());
    };
    commit(&mini_commit_message(&done.run.workflow, &range))?;
    let made = git_head::read(context.root.path()).and_then(|head| head.commit);
    let of_run = StepOptions {
        run: Some(done.run.workflow.id.clone()),
        expect: None,
        ..options.clone()
    };
    let (step, more) = step(context, &of_run, &noted(&range, None, made))?;
    done.run = step.run;
    warnings.extend(more);
    Ok(())
}

fn noted(
    range: &RangeInclusive<usize>,
    checkpoint: Option<String>,
    commit: Option<String>,
) -> Change {
    let checkpoints = checkpoint.iter().cloned().collect();
    let made = MiniCommit {
        completed: *range.end(),
        checkpoint,
        commit,
    };
    let given = Given {
        mini_commit: Some(made),
        ..Given::default()
    };
    Change {
        checkpoints,
        given,
        ..Change::new("mini-commit", "")
    }
}
