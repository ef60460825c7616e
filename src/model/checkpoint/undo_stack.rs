//! The undo and redo stacks, derived from the safety checkpoints alone.

use crate::model::checkpoint::record::{Checkpoint, Verb};
use crate::model::path_filter::PathFilter;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::Scope;

/// A change of the working directory that a safety checkpoint can undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoStep {
    /// Safety checkpoint of the state right before the change.
    pub safety: ObjectId,
    /// The checkpoint that its restore led to, as far as that is known.
    pub target: ObjectId,
    pub paths: Vec<RelPath>,
    pub within: Option<Scope>,
    pub filter: PathFilter,
    /// The step of the other stack that this one undid or redid.
    consumed: Option<Box<UndoStep>>,
}

/// The two stacks, newest step last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    pub done: Vec<UndoStep>,
    pub taken_back: Vec<UndoStep>,
}

impl Steps {
    /// Replays the safety checkpoints, which come by sequence.
    pub fn of(checkpoints: &[Checkpoint]) -> Self {
        let mut steps = Self::default();
        for checkpoint in checkpoints {
            let Some(operation) = &checkpoint.record.operation else {
                continue;
            };
            let step = |consumed: Option<UndoStep>| UndoStep {
                safety: checkpoint.id,
                target: consumed
                    .as_ref()
                    .map_or(operation.target, |step| step.target),
                paths: operation.paths.clone(),
                within: operation.within.clone(),
                filter: operation.filter.clone(),
                consumed: consumed.map(Box::new),
            };
            match operation.verb {
                Verb::Restore => {
                    steps.done.push(step(None));
                    steps.taken_back.clear();
                }
                Verb::Undo if checkpoint.record.during_pending => steps.call_off(operation.target),
                Verb::Undo => {
                    let consumed = remove(&mut steps.done, operation.target);
                    steps.taken_back.push(step(consumed));
                }
                Verb::Redo => {
                    let consumed = remove(&mut steps.taken_back, operation.target);
                    steps.done.push(step(consumed));
                }
                Verb::Resume => {}
            }
        }
        steps
    }

    /// Removes an interrupted step that was undone, and restores the step that it had consumed.
    fn call_off(&mut self, safety: ObjectId) {
        if let Some(step) = remove(&mut self.done, safety) {
            self.taken_back.extend(step.consumed.map(|step| *step));
        } else if let Some(step) = remove(&mut self.taken_back, safety) {
            self.done.extend(step.consumed.map(|step| *step));
        }
    }
}

fn remove(stack: &mut Vec<UndoStep>, safety: ObjectId) -> Option<UndoStep> {
    stack
        .iter()
        .rposition(|step| step.safety == safety)
        .map(|at| stack.remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::checkpoint::record::{CheckpointKind, Coverage, Operation, Record};
    use crate::model::checkpoint::terms::CheckpointTerms;

    fn id(n: u8) -> ObjectId {
        ObjectId::from_bytes([n; 20])
    }

    fn safety(n: u8, verb: Verb, target: u8) -> Checkpoint {
        let record = Record {
            sequence: n.into(),
            time_ms: 0,
            kind: CheckpointKind::Safety,
            coverage: Coverage::Complete,
            files: 0,
            content_bytes: 0,
            reason: String::new(),
            source: String::new(),
            operation: Some(Operation {
                verb,
                target: id(target),
                paths: vec![],
                within: None,
                filter: PathFilter::default(),
            }),
            during_pending: false,
            terms: CheckpointTerms::default(),
        };
        Checkpoint {
            id: id(n),
            tree: id(0),
            meta: None,
            record,
            pinned: false,
            adopted: false,
        }
    }

    fn stacks(checkpoints: &[Checkpoint]) -> (Vec<u8>, Vec<u8>) {
        let steps = Steps::of(checkpoints);
        let first =
            |stack: &[UndoStep]| stack.iter().map(|step| step.safety.as_bytes()[0]).collect();
        (first(&steps.done), first(&steps.taken_back))
    }

    #[test]
    fn undo_takes_steps_back_newest_first_and_redo_gives_them_again() {
        let mut all = vec![safety(1, Verb::Restore, 90), safety(2, Verb::Restore, 91)];
        assert_eq!(stacks(&all), (vec![1, 2], vec![]));
        all.push(safety(3, Verb::Undo, 2));
        assert_eq!(stacks(&all), (vec![1], vec![3]));
        all.push(safety(4, Verb::Undo, 1));
        assert_eq!(stacks(&all), (vec![], vec![3, 4]));
        all.push(safety(5, Verb::Redo, 4));
        assert_eq!(stacks(&all), (vec![5], vec![3]));
    }

    #[test]
    fn a_new_restore_ends_what_could_be_redone() {
        let all = [
            safety(1, Verb::Restore, 90),
            safety(2, Verb::Undo, 1),
            safety(3, Verb::Restore, 91),
        ];
        assert_eq!(stacks(&all), (vec![3], vec![]));
    }

    #[test]
    fn an_interrupted_step_that_is_taken_back_counts_as_never_begun() {
        let called_off = |n, target| {
            let mut made = safety(n, Verb::Undo, target);
            made.record.during_pending = true;
            made
        };
        let restored = [safety(1, Verb::Restore, 90), called_off(2, 1)];
        assert_eq!(stacks(&restored), (vec![], vec![]));
        let undone = [
            safety(1, Verb::Restore, 90),
            safety(2, Verb::Undo, 1),
            called_off(3, 2),
        ];
        assert_eq!(stacks(&undone), (vec![1], vec![]));
        let redone = [
            safety(1, Verb::Restore, 90),
            safety(2, Verb::Undo, 1),
            safety(3, Verb::Redo, 2),
            called_off(4, 3),
        ];
        assert_eq!(stacks(&redone), (vec![], vec![2]));
    }

    #[test]
    fn edits_met_while_an_interrupted_restore_is_finished_are_no_step() {
        let all = [safety(1, Verb::Restore, 90), safety(2, Verb::Resume, 90)];
        assert_eq!(stacks(&all), (vec![1], vec![]));
    }

    #[test]
    fn whichever_checkpoints_were_deleted_each_step_has_its_own() {
        let mut called_off = safety(6, Verb::Undo, 5);
        called_off.record.during_pending = true;
        let all = [
            safety(1, Verb::Restore, 90),
            safety(2, Verb::Restore, 91),
            safety(3, Verb::Undo, 2),
            safety(4, Verb::Redo, 3),
            safety(5, Verb::Undo, 4),
            called_off,
            safety(7, Verb::Undo, 1),
        ];
        for kept in 0_usize..1 << all.len() {
            let left: Vec<_> = (0..all.len())
                .filter(|at| kept & (1 << at) != 0)
                .map(|at| all[at].clone())
                .collect();
            let steps = Steps::of(&left);
            let safeties: Vec<_> = steps
                .done
                .iter()
                .chain(&steps.taken_back)
                .map(|step| step.safety)
                .collect();
            assert!(
                safeties.iter().all(|id| left.iter().any(|c| c.id == *id)),
                "{left:?}"
            );
            assert!(
                safeties
                    .iter()
                    .all(|id| safeties.iter().filter(|other| *other == id).count() == 1),
                "{left:?}"
            );
        }
    }
}
