//! What operations ask of runs: which files are theirs, and which checkpoints they may go back to.

use crate::base::malformed::Malformed;
use crate::base::text::escape;
use crate::model::run_id::is_legal;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::{Context, WorkflowPort};
use crate::ops::own_files::OwnFiles;
use crate::store::repository::Store;
use crate::store::runs::projected::{self, Projected};
use crate::workflow::documents::find_documents;
use crate::workflow::plan::PLAN;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::tree_handle::WorkTree;

/// Maximum number of protected checkpoints of finished phases in each run, the latest first.
const LATEST: usize = 20;

/// The functions for a [`Context`].
pub const PORT: WorkflowPort = WorkflowPort {
    own_files,
    open,
    needed,
    check_run,
    projected,
};

/// Returns the files noted in the store, and well-formed files of other programs in the root, seen
/// by a command or not. If the notes are unreadable, all that the runs would write count.
fn own_files(context: &Context, store: Option<&Store>) -> OwnFiles {
    let known =
        |store: &Store| projected::read(store.layout()).unwrap_or_else(|_| projected(store));
    let known = store.map(known).unwrap_or_default();
    // A root that cannot be opened fails where it is captured.
    let work = WorkTree::open_root(&context.root).ok();
    let there = work
        .as_ref()
        .map(find_documents::in_place)
        .unwrap_or_default();
    let there = there
        .iter()
        .filter(|file| file.is_in_form())
        .map(|file| file.path.as_str());
    let aside = work
        .as_ref()
        .map(find_documents::put_aside)
        .unwrap_or_default();
    let aside = aside.iter().map(String::as_str);
    OwnFiles::from_paths(
        known
            .iter()
            .map(|file| file.path.as_str())
            .chain(there)
            .chain(aside),
    )
}

fn open(store: &Store) -> Vec<String> {
    open_runs(store).map(|run| run.id).collect()
}

/// Returns the checkpoints that open runs need. An unreadable run needs none.
fn needed(store: &Store) -> Vec<ObjectId> {
    open_runs(store).flat_map(|run| of_workflow(&run)).collect()
}

fn open_runs(store: &Store) -> impl Iterator<Item = Workflow> {
    let runs = store.workflows().unwrap_or_default().into_iter();
    let read = |(_, tip)| {
        let revision = store.workflow_revision(tip).ok()?;
        Workflow::from_json(&revision.state).ok()
    };
    runs.filter_map(read).filter(|run| run.status.is_open())
}

fn check_run(store: &Store, tip: ObjectId) -> Result<(), Malformed> {
    let revision = store.workflow_revision(tip);
    let revision = revision.map_err(|why| Malformed::from(why.to_string()))?;
    let read = Workflow::from_json(&revision.state);
    let workflow = read.map_err(|why| Malformed::from(why.to_string()))?;
    if is_legal(&workflow.id) {
        return Ok(());
    }
    Err(format!("it cannot have the id '{}'", escape(&workflow.id)).into())
}

fn of_workflow(workflow: &Workflow) -> Vec<ObjectId> {
    let (under_way, others): (Vec<&Phase>, Vec<&Phase>) = workflow
        .phases
        .iter()
        .partition(|phase| phase.status.is_under_way());
    let mut done: Vec<&Phase> = others
        .into_iter()
        .filter(|phase| phase.completed_ms.is_some())
        .collect();
    done.sort_by_key(|phase| std::cmp::Reverse(phase.completed_ms));
    let begun = under_way.iter().filter_map(|phase| phase.before.as_ref());
    let latest = done
        .iter()
        .flat_map(|phase| [&phase.after, &phase.before])
        .flatten()
        .take(LATEST);
    begun
        .chain(latest)
        .filter_map(|id| ObjectId::from_hex(id))
        .collect()
}

/// Returns the files that live runs would write, judged by their states.
fn projected(store: &Store) -> Vec<Projected> {
    let mut files: Vec<Projected> = Vec::new();
    for (id, tip) in store.workflows().unwrap_or_default() {
        let state = store
            .workflow_revision(tip)
            .ok()
            .and_then(|revision| Workflow::from_json(&revision.state).ok());
        for path in state
            .map(|state| state.documents)
            .unwrap_or_default()
            .into_keys()
        {
            // The plan is kept only in the state.
            if path != PLAN && RelPath::new(path.as_bytes()).is_ok_and(|path| !path.is_root()) {
                files.push(Projected {
                    path,
                    sum: None,
                    workflow: id.clone(),
                });
            }
        }
    }
    files.sort();
    files.dedup_by(|one, other| one.path == other.path);
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::rules::status::PhaseStatus;

    #[test]
    fn what_is_under_way_counts_and_of_what_is_done_the_latest() {
        let id = |byte: u8| ObjectId::from_bytes([byte; 20]);
        let mut workflow = Workflow::new("w".into(), "a".into(), "b".into(), 0);
        for number in 0..15_u8 {
            let mut phase = Phase::new(&number.to_string(), "x");
            (phase.status, phase.completed_ms) = (PhaseStatus::Complete, Some(i64::from(number)));
            (phase.before, phase.after) =
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
