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
    use std::collections::BTreeSet;

    use super::*;
    use crate::base::tests::rows;
    use crate::model::tests::{checkpoint, safety};

    const TABLES: &str = include_str!("tests/undo_stack.json");

    /// The safety checkpoints 1, 2, … before `restore 90, undo 1`; `off` is the undo of a restore
    /// that was interrupted.
    fn line(words: &str) -> Vec<Checkpoint> {
        let made = |(number, words): (u8, &str)| {
            let (verb, target) = words.split_once(' ').unwrap();
            let verb_of_all = verb.replace("off", "undo").parse().unwrap();
            let mut made = safety(number, verb_of_all, target.parse().unwrap());
            made.record.during_pending = verb == "off";
            made
        };
        (1..).zip(words.split(", ")).map(made).collect()
    }

    #[test]
    fn each_step_is_on_the_stack_where_it_belongs() {
        for (why, words, expected) in rows::<(&str, &str, &str)>(TABLES, "stacks") {
            let steps = Steps::of(&line(words));
            let stacks = [steps.done, steps.taken_back].map(|stack| {
                let first = stack
                    .iter()
                    .map(|step| step.safety.as_bytes()[0].to_string());
                first.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(stacks.join("|"), expected, "{why}: {words}");
        }
    }

    #[test]
    fn whichever_checkpoints_were_deleted_each_step_has_its_own() {
        let all = line("restore 90, restore 91, undo 2, redo 3, undo 4, off 5, undo 1");
        for kept in 0_usize..1 << all.len() {
            let left = (0..all.len()).filter(|at| kept & (1 << at) != 0);
            let left: Vec<_> = left.map(|at| all[at].clone()).collect();
            let steps = Steps::of(&left);
            let steps = steps.done.iter().chain(&steps.taken_back);
            let safeties: Vec<_> = steps.map(|step| step.safety).collect();
            let is_left = |id| left.iter().any(|c| c.id == id);
            assert!(safeties.iter().all(|id| is_left(*id)), "{left:?}");
            let apart: BTreeSet<_> = safeties.iter().collect();
            assert_eq!(apart.len(), safeties.len(), "{left:?}");
        }
    }

    #[test]
    fn an_undo_and_a_redo_are_told_by_their_restore() {
        for (words, expected) in rows::<(&str, &str)>(TABLES, "stories") {
            let all = line(words);
            let told = all.iter().map(|c| {
                let story = RestoreStory::of(c, &Line::from(all.clone())).expect("a story");
                let mark = if story.is_taken_back { "x" } else { "" };
                format!("{}{mark}", story.target.as_bytes()[0])
            });
            assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{words}");
        }
        assert_eq!(RestoreStory::of(&checkpoint(1), &Line::default()), None);
    }
}
