//! Applies a transition: it is checked by the rules, and gives the next state or why it is refused.

use serde_json::Value;

use crate::error::Error;
use crate::workflow::rules::change::kinds::Change;
use crate::workflow::rules::change::{phases, settings, tasks};
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::{Interruption, MiniCommit, Workflow};
use crate::workflow::words::run_error::RunError;

impl Workflow {
    /// Returns the state after a change; `now_ms` is milliseconds since 1970. The present state is
    /// not changed.
    ///
    /// # Errors
    /// The rules forbid it; the problem contains the present state.
    pub fn after(&self, change: &Change, now_ms: i64) -> Result<Self, Error> {
        let mut next = self.clone();
        next.apply(change, now_ms)
            .map_err(|error| Error::from(error).with_state(self))?;
        next.end_foreign_write();
        // The newest state must not look older than the previous one if the clock went back.
        next.updated_ms = now_ms.max(self.updated_ms);
        Ok(next)
    }

    fn apply(&mut self, change: &Change, now_ms: i64) -> Result<(), RunError> {
        self.check_open(change)?;
        self.interrupted = None;
        match change {
            Change::Phase(change) => phases::apply(self, change, now_ms),
            Change::Task(change) => tasks::apply(self, change, now_ms),
            Change::Note(note) => {
                self.note(&note.decisions, &note.files);
                self.interrupted = note.interrupted.clone().map(|reason| Interruption {
                    reason,
                    at_ms: now_ms,
                });
                note.set
                    .iter()
                    .try_for_each(|(key, value)| settings::set(self, key, value))
            }
            Change::Resume => {
                self.resume_count += 1;
                Ok(())
            }
            Change::Abandon { reason } => {
                self.last_error = (!reason.is_empty())
                    .then(|| Value::from(reason.as_str()))
                    .or(self.last_error.take());
                self.end(RunStatus::Abandoned, now_ms);
                Ok(())
            }
            Change::MiniCommit(made) => {
                self.add_mini_commit(made);
                Ok(())
            }
        }
    }

    /// Checks that the run has not ended; only a mini commit may follow its completion.
    fn check_open(&self, change: &Change) -> Result<(), RunError> {
        let is_afterwards =
            self.status == RunStatus::Complete && matches!(change, Change::MiniCommit(_));
        if self.status.is_open() || is_afterwards {
            return Ok(());
        }
        Err(RunError::WorkflowEnded {
            run: self.id.clone(),
            status: self.word(),
        })
    }

    pub(super) fn end(&mut self, status: RunStatus, now_ms: i64) {
        self.status = status;
        self.finished_ms = Some(now_ms);
    }

    /// Merges a checkpoint and a commit of the same phases that are recorded separately.
    fn add_mini_commit(&mut self, made: &MiniCommit) {
        let known = self
            .mini_commits
            .iter()
            .position(|other| other.completed == made.completed);
        let known = known.map(|at| self.mini_commits.remove(at));
        let (checkpoint, commit) = known
            .map(|known| (known.checkpoint, known.commit))
            .unwrap_or_default();
        self.mini_commits.push(MiniCommit {
            completed: made.completed,
            checkpoint: made.checkpoint.clone().or(checkpoint),
            commit: made.commit.clone().or(commit),
        });
    }

    pub(super) fn note(&mut self, decisions: &[String], files: &[String]) {
        add_new(&mut self.context.key_decisions, decisions);
        add_new(&mut self.context.file_paths, files);
    }
}

fn add_new(list: &mut Vec<String>, more: &[String]) {
    for one in more {
        if !list.contains(one) {
            list.push(one.clone());
        }
    }
}
