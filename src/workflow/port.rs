//! What operations ask of runs: which files are theirs, and which checkpoints they may go back to.

use crate::base::Malformed;
use crate::base::text::escape;
use crate::error::Result;
use crate::model::ObjectId;
use crate::model::run_id::is_legal;
use crate::ops::context::WorkflowPort;
use crate::ops::{Context, OwnFiles};
use crate::store::Store;
use crate::workflow::documents::{files, own_paths};
use crate::workflow::{Phase, Runs, Workflow};
use crate::worktree::WorkTree;

/// Maximum number of protected checkpoints of finished phases in each run, the latest first.
const LATEST: usize = 20;

/// The functions for a [`Context`].
pub const PORT: WorkflowPort = WorkflowPort {
    own_files,
    open,
    needed,
    check_run,
    write_files,
};

/// Returns the files of live runs, and well-formed files of other programs in the root, seen by a
/// command or not.
fn own_files(context: &Context, store: Option<&Store>) -> OwnFiles {
    let runs = store.map(|store| Runs::live(store).unwrap_or_default());
    let runs = runs.unwrap_or_default().runs;
    let kept = runs.iter().flat_map(|run| files::of_run(&run.workflow));
    let kept = kept.map(|(path, _)| path.clone());
    // A root that cannot be opened fails where it is captured.
    let work = WorkTree::open_root(&context.root).ok();
    let there = work.as_ref().map(own_paths).unwrap_or_default();
    let paths: Vec<String> = kept.chain(there).collect();
    OwnFiles::from_paths(paths.iter().map(String::as_str))
}

/// Returns the open runs that can be read.
fn open_runs(store: &Store) -> impl Iterator<Item = Workflow> {
    let runs = Runs::open(store).unwrap_or_default().into_iter();
    runs.map(|run| run.workflow)
}

fn write_files(context: &Context, store: &Store) -> Result<()> {
    let tree = WorkTree::open_root(&context.root)?;
    open_runs(store).try_for_each(|run| files::write_missing(&tree, &run))
}

fn open(store: &Store) -> Vec<String> {
    open_runs(store).map(|run| run.id).collect()
}

/// Returns the checkpoints that open runs need. An unreadable run needs none.
fn needed(store: &Store) -> Vec<ObjectId> {
    open_runs(store).flat_map(|run| of_workflow(&run)).collect()
}

fn check_run(store: &Store, tip: ObjectId) -> std::result::Result<(), Malformed> {
    let state = store.workflow_state(tip);
    let state = state.map_err(|why| Malformed::from(why.to_string()))?;
    let workflow = Workflow::from_json(&state)?;
    if is_legal(&workflow.id) {
        return Ok(());
    }
    Err(format!("it cannot have the id '{}'", escape(&workflow.id)).into())
}

fn of_workflow(workflow: &Workflow) -> Vec<ObjectId> {
    let mut done: Vec<&Phase> = workflow.phases.iter().collect();
    done.retain(|phase| phase.completed_ms.is_some() && !phase.status.is_under_way());
    done.sort_by_key(|phase| std::cmp::Reverse(phase.completed_ms));
    let latest = done
        .iter()
        .flat_map(|phase| [&phase.after_id, &phase.before_id]);
    let begun = workflow
        .running()
        .filter_map(|phase| phase.before_id.as_ref());
    let ids = begun.chain(latest.flatten().take(LATEST));
    ids.filter_map(|id| ObjectId::from_hex(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::rules::workflow::PhaseStatus;

    #[test]
    fn what_is_under_way_counts_and_of_what_is_done_the_latest() {
        let id = |byte: u8| ObjectId::from_bytes([byte; 20]);
        let mut workflow = Workflow::new("w".into(), "a".into(), "b".into(), 0);
        for number in 0..15_u8 {
            let mut phase = Phase::new(&number.to_string(), "x");
            (phase.status, phase.completed_ms) = (PhaseStatus::Complete, Some(i64::from(number)));
            (phase.before_id, phase.after_id) =
                (Some(id(number).to_hex()), Some(id(100 + number).to_hex()));
            workflow.phases.push(phase);
        }
        (workflow.phases[0].status, workflow.phases[0].completed_ms) = (PhaseStatus::Failed, None);
        let found = of_workflow(&workflow);
        assert_eq!(found.len(), 1 + LATEST);
        assert!(
            found.starts_with(&[id(0), id(114), id(14), id(113)]),
            "{found:?}"
        );
        assert!(!found.contains(&id(4)) && found.contains(&id(5)));
    }
}
