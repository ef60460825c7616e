//! Abandons a run before it is complete.

use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::workflow::documents::find_documents::rel;
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::transition::{StepOutcome, change_run};
use crate::workflow::profiles::phases;
use crate::workflow::rules::change::Change;
use crate::workflow::rules::profile;
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// Default number of archive folders to keep.
pub const USUAL_ARCHIVES: usize = 5;

/// Abandons and archives a chosen run.
///
/// # Errors
/// As [`change_run`], or the run cannot be archived.
pub fn abandon_run(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    reason: &str,
    actor: &str,
) -> Result<StepOutcome> {
    let change = Change::Abandon {
        reason: reason.to_owned(),
    };
    let mut outcome = change_run(context, session, run, &change, actor)?;
    let id = outcome.run.workflow.id.clone();
    outcome.run.archived_as = session.locked.archive_workflow(&id, &id)?;
    outcome.warnings.extend(trim_archives(context, session));
    Ok(outcome)
}

/// Removes all but the newest archive folders. An error is only a warning, as the run has ended.
pub fn trim_archives(context: &Context, session: &Session<'_>) -> Option<Warning> {
    let dropped = drop_old_archives(context, session, USUAL_ARCHIVES, false);
    dropped
        .err()
        .map(Warning::bookkeeping("dropping old archives"))
}

/// Removes the oldest archive folders of the `phases` profile whose runs the store has archived.
pub fn drop_old_archives(
    context: &Context,
    session: &Session<'_>,
    keep: usize,
    dry_run: bool,
) -> Result<Vec<String>> {
    if !context.root.exists() {
        return Ok(Vec::new());
    }
    let known: Vec<String> = session
        .locked
        .store()
        .archived_workflows()?
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    let work = WorkTree::open(context.root.path())?;
    let mut folders = state_file::folders(&work, &rel(phases::ARCHIVE)).unwrap_or_default();
    // `<id>_<YYYYMMDD_HHMMSS>`: the time is at the end.
    folders.retain(|name| {
        known.iter().any(|id| {
            name.strip_prefix(id.as_str())
                .is_some_and(|rest| rest.starts_with('_'))
        })
    });
    folders.sort_by_key(|name| name.get(name.len().saturating_sub(15)..).map(str::to_owned));
    let surplus = folders.len().saturating_sub(keep);
    folders.truncate(surplus);
    if !dry_run {
        for name in &folders {
            let folder = rel(&format!("{}/{name}", phases::ARCHIVE));
            for file in [profile::PHASE_FILE, profile::EXECUTION_FILE] {
                state_file::remove(&work, &folder.join(rel(file).name()))?;
            }
            state_file::remove_empty_folder(&work, &folder)?;
        }
    }
    Ok(folders
        .iter()
        .map(|name| format!("{}/{name}", phases::ARCHIVE))
        .collect())
}
