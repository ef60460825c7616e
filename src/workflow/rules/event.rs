//! Log entries of transitions, written to and read from commit messages.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::text::{escape, percent_decode, percent_encode};
use crate::base::time::utc_seconds;
use crate::workflow::rules::change::{Change, PhaseChange, TaskChange};
use crate::workflow::rules::workflow::Workflow;

/// One entry of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Event {
    /// Two or three words, such as `phase done`.
    pub verb: String,
    #[serde(rename = "phase_id")]
    pub phase: Option<String>,
    #[serde(rename = "task_id")]
    pub task: Option<String>,
    /// Name of the actor, as given by the caller.
    pub actor: String,
    pub session: Option<String>,
    /// Checkpoints that the transition made or needs.
    #[serde(rename = "checkpoint_ids")]
    pub checkpoints: Vec<String>,
    /// Additional short text.
    pub note: Option<String>,
}

impl Event {
    pub fn new(verb: &str, actor: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            actor: actor.to_owned(),
            ..Self::default()
        }
    }

    /// Describes a change. `before` is the state that it applies to, which tells the phase if none
    /// is named.
    pub fn of(change: &Change, before: &Workflow, actor: &str) -> Self {
        let mut event = Self::new(&change.verb(), actor);
        let current = |named: &Option<String>| {
            named
                .clone()
                .or_else(|| before.current().map(|phase| phase.id.clone()))
        };
        let unless_empty = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        match change {
            Change::Phase(change) => match change {
                PhaseChange::Start(start) => {
                    event.phase.clone_from(&start.phase);
                    event.checkpoints = start.before.iter().cloned().collect();
                }
                PhaseChange::Done(finish) => {
                    event.phase = current(&finish.phase);
                    event.checkpoints = finish.after.iter().cloned().collect();
                }
                PhaseChange::Progress { phase, text: note }
                | PhaseChange::Fail {
                    phase, error: note, ..
                } => (event.phase, event.note) = (current(phase), Some(note.clone())),
                PhaseChange::Approve { phase } => event.phase = current(phase),
                PhaseChange::Skip { phase, reason } => {
                    (event.phase, event.note) = (Some(phase.clone()), unless_empty(reason));
                }
                PhaseChange::Await { phase } | PhaseChange::Reset { phase } => {
                    event.phase = Some(phase.clone());
                }
            },
            Change::Task(change) => match change {
                TaskChange::Add { id, .. }
                | TaskChange::Start { id, .. }
                | TaskChange::Done { id, .. }
                | TaskChange::Reset { id, .. } => event.task = Some(id.clone()),
                TaskChange::Fail { id, error } => {
                    (event.task, event.note) = (Some(id.clone()), Some(error.clone()));
                }
            },
            Change::Note(note) => {
                let keys: Vec<&str> = note.set.iter().map(|(key, _)| key.as_str()).collect();
                event.note = note
                    .interrupted
                    .clone()
                    .or_else(|| unless_empty(&keys.join(", ")));
            }
            Change::Abandon { reason } => event.note = unless_empty(reason),
            Change::MiniCommit(made) => {
                event.checkpoints = made.checkpoint.iter().cloned().collect();
            }
            Change::Resume => {}
        }
        event
    }

    /// Returns the verb and the phase or task.
    pub fn subject(&self) -> String {
        let object = self.phase.as_ref().or(self.task.as_ref());
        object.map_or(self.verb.clone(), |object| {
            format!("{} {}", self.verb, escape(object))
        })
    }

    /// Renders the commit message, without the trailers that the store adds.
    pub fn render(&self, time_ms: i64) -> String {
        let first = format!(
            "{} | {} | {}",
            self.subject(),
            utc_seconds(time_ms),
            escape(&self.actor)
        );
        let mut trailers = vec![format!("Event: {}", coded(&self.verb))];
        let mut add = |key: &str, value: &Option<String>| {
            trailers.extend(
                value
                    .as_ref()
                    .map(|value| format!("{key}: {}", coded(value))),
            );
        };
        add("Phase", &self.phase);
        add("Task", &self.task);
        add("Session", &self.session);
        add("Note", &self.note);
        trailers.push(format!("Actor: {}", coded(&self.actor)));
        trailers.extend(
            self.checkpoints
                .iter()
                .map(|id| format!("Checkpoint: {id}")),
        );
        format!("{first}\n\n{}\n", trailers.join("\n"))
    }

    /// Parses what [`Self::render`] wrote; missing fields stay empty.
    pub fn read(message: &str) -> Self {
        let last = message
            .trim_end()
            .rsplit_once("\n\n")
            .map_or("", |(_, last)| last);
        let mut event = Self::default();
        for (key, value) in last.lines().filter_map(|line| line.split_once(": ")) {
            let text =
                || percent_decode(value).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            match key {
                "Event" => event.verb = text().unwrap_or_default(),
                "Phase" => event.phase = text(),
                "Task" => event.task = text(),
                "Session" => event.session = text(),
                "Note" => event.note = text(),
                "Actor" => event.actor = text().unwrap_or_default(),
                "Checkpoint" => event.checkpoints.push(value.to_owned()),
                _ => {}
            }
        }
        event
    }
}

fn coded(text: &str) -> String {
    percent_encode(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_whatever_the_words() {
        let event = Event {
            verb: "phase done".into(),
            phase: Some("a b\n\nEvent: x".into()),
            task: None,
            actor: "me | you".into(),
            session: Some("s".into()),
            checkpoints: vec!["ab".repeat(20)],
            note: Some("50% done: \u{1b}[31m".into()),
        };
        let message = event.render(0);
        assert_eq!(Event::read(&message), event);
        assert_eq!(message.lines().filter(|line| line.is_empty()).count(), 1);
        assert!(message.starts_with("phase done a b"), "{message}");
    }
}
