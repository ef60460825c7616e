//! After every third phase: a checkpoint of everything, and if it was asked for a commit in the project.

use crate::error::Result;
use crate::model::object_id::ObjectId;
use crate::model::workflow::change::Change;
use crate::model::workflow::mini_commit::{mini_commit_due, mini_commit_message};
use crate::model::workflow::{MiniCommit, Workflow};
use crate::ops::context::Context;
use crate::ops::create::Standing;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::ops::workflow::runs::Run;
use crate::ops::workflow::snapshot::snapshot;
use crate::ops::workflow::step::{StepOptions, StepOutcome, change_run, step, with_run};
use crate::worktree::git_head;

/// Commits everything in the project's own repository with this message.
pub type CommitInProject<'c> = dyn Fn(&str) -> Result<()> + 'c;

#[derive(Debug)]
pub struct MiniOutcome {
    /// `None`: none is due.
    pub message: Option<String>,
    pub checkpoint: Option<ObjectId>,
    pub commit: Option<String>,
    pub step: Option<StepOutcome>,
}

/// The project's own repository may run hooks, and they may run this program: while a commit is made there, the store is
/// not locked.
///
/// # Errors
/// The checkpoint cannot be made, or the commit was refused.
pub fn mini_commit(
    context: &Context,
    options: &StepOptions,
    run: &Run,
    commit: Option<&CommitInProject<'_>>,
) -> Result<MiniOutcome> {
    let Some(due) = Due::of(&run.workflow) else {
        return Ok(MiniOutcome { message: None, checkpoint: None, commit: None, step: None });
    };
    let of_run = StepOptions { workflow: Some(run.workflow.id.clone()), expect: None, ..options.clone() };
    let (checkpoint, warnings) = with_run(context, &of_run, |session, run| due.checkpoint(context, session, run))?;
    let commit = match commit {
        None => None,
        Some(commit) => {
            commit(&due.message)?;
            git_head::read(context.root.path()).and_then(|head| head.commit)
        }
    };
    let change = due.change(checkpoint, commit.clone());
    let mut step = step(context, &of_run, &mut |_| Ok(change.clone()))?;
    step.warnings.extend(warnings);
    Ok(MiniOutcome { message: Some(due.message), checkpoint, commit, step: Some(step) })
}

/// The one that is due, if one is, as a checkpoint alone, under the lock that is held.
///
/// # Errors
/// The checkpoint cannot be made, or not be noted.
pub fn in_shadow(context: &Context, session: &mut Session<'_>, run: &Run, actor: &str) -> Result<Option<StepOutcome>> {
    let Some(due) = Due::of(&run.workflow) else { return Ok(None) };
    let (checkpoint, warnings) = due.checkpoint(context, session, run)?;
    let mut step = change_run(context, session, run, &due.change(checkpoint, None), actor)?;
    step.warnings.extend(warnings);
    Ok(Some(step))
}

struct Due {
    message: String,
    /// Phases that are complete by then.
    completed: usize,
}

impl Due {
    fn of(workflow: &Workflow) -> Option<Self> {
        let range = mini_commit_due(workflow)?;
        Some(Self { message: mini_commit_message(workflow, &range), completed: *range.end() })
    }

    fn checkpoint(
        &self,
        context: &Context,
        session: &mut Session<'_>,
        run: &Run,
    ) -> Result<(Option<ObjectId>, Vec<Warning>)> {
        let reason = self.message.lines().next().unwrap_or_default();
        snapshot(context, session, &run.workflow, reason, Standing::Never)
    }

    fn change(&self, checkpoint: Option<ObjectId>, commit: Option<String>) -> Change {
        let checkpoint = checkpoint.map(ObjectId::to_hex);
        Change::MiniCommit(MiniCommit { completed: self.completed, checkpoint, commit })
    }
}
