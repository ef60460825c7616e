//! The undo and redo stacks, derived from the safety checkpoints alone.

use crate::model::{Checkpoint, Line, ObjectId, Operation, PathFilter, RelPath, Scope, Verb};

/// A change of the working directory that a safety checkpoint can undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoStep {
    /// Safety checkpoint of the state right before the change.
    pub safety: ObjectId,
    /// The checkpoint that its restore led to, as far as that is known.
    pub target: ObjectId,
    /// Time of that restore, in milliseconds since 1970.
    pub time_ms: i64,
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
    pub fn of<'c>(checkpoints: impl IntoIterator<Item = &'c Checkpoint>) -> Self {
        let mut steps = Self::default();
        // How often the last operation was resumed after edits.
        let mut resumed = 0;
        for checkpoint in checkpoints {
            let Some(operation) = &checkpoint.record.operation else {
                continue;
            };
            let step = |consumed: Option<UndoStep>| UndoStep {
                safety: checkpoint.id,
                target: consumed
                    .as_ref()
                    .map_or(operation.target, |step| step.target),
                time_ms: consumed
                    .as_ref()
                    .map_or(checkpoint.record.time_ms, |step| step.time_ms),
                paths: operation.paths.clone(),
                within: operation.within.clone(),
                filter: operation.filter.clone(),
                consumed: consumed.map(Box::new),
            };
            let later = std::mem::take(&mut resumed);
            match operation.verb {
                Verb::Restore => {
                    steps.done.push(step(None));
                    steps.taken_back.clear();
                }
                Verb::Undo if checkpoint.record.during_pending => {
                    steps.done.truncate(steps.done.len().saturating_sub(later));
                    steps.call_off(operation.target);
                }
                Verb::Undo => {
                    // It passed over newer steps for which there was nothing to do.
                    let consumed = position(&steps.done, operation.target)
                        .and_then(|at| steps.done.drain(at..).next());
                    steps.taken_back.push(step(consumed));
                }
                Verb::Redo => {
                    let consumed = remove(&mut steps.taken_back, operation.target);
                    steps.done.push(step(consumed));
                }
                // The edits that it met come back before what its restore replaced.
                Verb::Resume => {
                    steps.done.push(step(None));
                    resumed = later + 1;
                }
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
    position(stack, safety).map(|at| stack.remove(at))
}

fn position(stack: &[UndoStep], safety: ObjectId) -> Option<usize> {
    stack.iter().rposition(|step| step.safety == safety)
}

/// A story, and the reason of what the restore led to.
pub type ToldStory = (RestoreStory, Option<String>);

/// What a safety checkpoint tells: the restore, undo or redo that followed it, and what became of
/// that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreStory {
    pub verb: Verb,
    /// The checkpoint that the restore led to; of an undo or redo, that of its restore. If that
    /// restore is not known any more, the safety checkpoint that was gone back to.
    pub target: ObjectId,
    /// Paths that it was limited to; empty means everything.
    pub paths: Vec<RelPath>,
    /// Whether an undo took it back, or a redo took an undo back.
    pub is_taken_back: bool,
}

impl RestoreStory {
    /// Tells the story of a safety checkpoint, with the reason of its target if that is kept.
    pub fn with_reason(checkpoint: &Checkpoint, line: &Line) -> Option<ToldStory> {
        let story = Self::of(checkpoint, line)?;
        let target = line.find(story.target);
        Some((story, target.map(|c| c.record.reason.clone())))
    }

    /// Tells the story of a safety checkpoint; `None` for other checkpoints.
    fn of(checkpoint: &Checkpoint, line: &Line) -> Option<Self> {
        let operation = checkpoint.record.operation.as_ref()?;
        let mut first = (checkpoint, operation);
        while let Some(earlier) = taken_back_by(first, line) {
            first = earlier;
        }
        let mut later_steps = 0_usize;
        let mut last = checkpoint;
        while let Some(later) = line.safeties().find(|c| takes_back(c, last)) {
            (last, later_steps) = (later, later_steps + 1);
        }
        Some(Self {
            verb: operation.verb,
            target: first.1.target,
            paths: operation.paths.clone(),
            is_taken_back: later_steps % 2 == 1,
        })
    }
}

/// The step that an undo or redo takes back.
fn taken_back_by<'c>(
    (checkpoint, operation): (&Checkpoint, &Operation),
    line: &'c Line,
) -> Option<(&'c Checkpoint, &'c Operation)> {
    let found = line
        .safeties()
        .find(|earlier| earlier.id == operation.target && takes_back(checkpoint, earlier))?;
    Some((found, found.record.operation.as_ref()?))
}

/// Sequence numbers are compared too, so that no forged store makes a circle.
fn takes_back(later: &Checkpoint, earlier: &Checkpoint) -> bool {
    later.record.operation.as_ref().is_some_and(|operation| {
        matches!(operation.verb, Verb::Undo | Verb::Redo)
            && operation.target == earlier.id
            && later.record.sequence > earlier.record.sequence
    })
}

#[cfg(test)]
mod tests {
    use crate::model::checkpoint::record::{CheckpointKind, CheckpointTerms, Coverage, Record};
    use crate::model::session::provenance::Provenance;

    use super::*;

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
            provenance: Provenance::default(),
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
    fn an_undo_of_an_older_step_passed_over_newer_ones_that_it_ends() {
        let mut all = [1, 2, 3].map(|n| safety(n, Verb::Restore, 90)).to_vec();
        all.push(safety(4, Verb::Undo, 2));
        assert_eq!(stacks(&all), (vec![1], vec![4]));
        all.push(safety(5, Verb::Redo, 4));
        assert_eq!(stacks(&all), (vec![1, 5], vec![]));
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
    fn edits_met_while_an_interrupted_restore_is_finished_are_a_step_that_ends_with_it() {
        let mut all = vec![safety(1, Verb::Restore, 90), safety(2, Verb::Resume, 90)];
        assert_eq!(stacks(&all), (vec![1, 2], vec![]));
        all.push(safety(3, Verb::Undo, 2));
        assert_eq!(stacks(&all), (vec![1], vec![3]));
        let undone = [
            safety(1, Verb::Restore, 90),
            safety(2, Verb::Undo, 1),
            safety(3, Verb::Resume, 1),
        ];
        assert_eq!(stacks(&undone), (vec![3], vec![2]));
        let mut called_off = safety(5, Verb::Undo, 1);
        called_off.record.during_pending = true;
        let resumes = [3, 4].map(|n| safety(n, Verb::Resume, 90));
        let twice = [&all[..1], &resumes, &[called_off]].concat();
        assert_eq!(stacks(&twice), (vec![], vec![]));
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

    fn told(all: &[Checkpoint]) -> Vec<(u8, bool)> {
        let line = Line::from(all.to_vec());
        let story = |c: &Checkpoint| RestoreStory::of(c, &line).expect("a story");
        let short = |story: RestoreStory| (story.target.as_bytes()[0], story.is_taken_back);
        all.iter().map(story).map(short).collect()
    }

    #[test]
    fn an_undo_and_a_redo_are_told_by_their_restore() {
        let mut all = vec![safety(1, Verb::Restore, 90)];
        assert_eq!(told(&all), [(90, false)]);
        all.push(safety(2, Verb::Undo, 1));
        assert_eq!(told(&all), [(90, true), (90, false)]);
        all.push(safety(3, Verb::Redo, 2));
        assert_eq!(told(&all), [(90, false), (90, true), (90, false)]);
        all.push(safety(4, Verb::Undo, 3));
        assert_eq!(
            told(&all),
            [(90, true), (90, false), (90, true), (90, false)]
        );
    }

    #[test]
    fn a_step_that_is_gone_or_takes_itself_back_ends_the_story() {
        assert_eq!(told(&[safety(2, Verb::Undo, 1)]), [(1, false)]);
        assert_eq!(told(&[safety(1, Verb::Undo, 1)]), [(1, false)]);
        let mut plain = safety(1, Verb::Restore, 9);
        plain.record.operation = None;
        assert_eq!(RestoreStory::of(&plain, &Line::default()), None);
    }
}
