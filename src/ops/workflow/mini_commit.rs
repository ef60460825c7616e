//! After every third phase: a checkpoint of everything, and if it was asked for a commit in the project.

use crate::error::Result;
use crate::model::object_id::ObjectId;
use crate::model::workflow::MiniCommit;
use crate::model::workflow::change::Change;
use crate::model::workflow::mini_commit::{mini_commit_due, mini_commit_message};
use crate::ops::context::Context;
use crate::ops::create::{CreateOptions, CreateOutcome, Standing, create};
use crate::ops::workflow::runs::Run;
use crate::ops::workflow::step::{StepOptions, StepOutcome, step};
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

/// # Errors
/// The checkpoint cannot be made, or the commit was refused.
pub fn mini_commit(
    context: &Context,
    options: &StepOptions,
    run: &Run,
    commit: Option<&CommitInProject<'_>>,
) -> Result<MiniOutcome> {
    let Some(range) = mini_commit_due(&run.workflow) else {
        return Ok(MiniOutcome { message: None, checkpoint: None, commit: None, step: None });
    };
    let completed = *range.end();
    let message = mini_commit_message(&run.workflow, &range);
    let reason = message.lines().next().unwrap_or_default().to_owned();
    let mut made = None;
    let mut tell = |outcome: &CreateOutcome| made = outcome.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
    let create_options = CreateOptions {
        reason: Some(reason),
        source: Some(run.workflow.kind.clone()),
        standing: Standing::Never,
        ..CreateOptions::default()
    };
    create(context, &create_options, &mut tell, &|| true)?;
    let sha = match commit {
        None => None,
        Some(commit) => {
            commit(&message)?;
            git_head::read(context.root.path()).and_then(|head| head.commit)
        }
    };
    let done = MiniCommit { completed, checkpoint: made.map(ObjectId::to_hex), commit: sha.clone() };
    let of_run = StepOptions { workflow: Some(run.workflow.id.clone()), expect: None, ..options.clone() };
    let step = step(context, &of_run, &mut |_| Ok(Change::MiniCommit(done.clone())))?;
    Ok(MiniOutcome { message: Some(message), checkpoint: made, commit: sha, step: Some(step) })
}
