//! The transitions of a run: from where each is possible and what it does. A change is also the
//! entry of the log, written to and read from the message of its commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::cut_list::and_more;
use crate::base::text::escape;
use crate::base::time::utc_seconds;
use crate::error::{CommandWords, Error, Result, Sentence};
use crate::workflow::rules::validate::task_output;
use crate::workflow::rules::workflow::{PHASE_FILE, may_run_in_parallel};
use crate::workflow::words::{LISTED_NAMES, absent, phase_command, refused, shows_state};
use crate::workflow::{
    Interruption, MiniCommit, Observations, ObservedFile, Phase, PhaseStatus, RunStatus, Task,
    TaskStatus, Workflow,
};

/// Begins the line of a message that has the entry of the log.
const EVENT: &str = "Event: ";

/// One transition of a run, and its entry in the log.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Change {
    /// One, two or three words, such as `phase done`.
    pub verb: String,
    pub phase_id: Option<String>,
    pub task_id: Option<String>,
    /// Name of the actor, as given by the caller.
    pub actor: String,
    pub session: Option<String>,
    /// Checkpoints that the transition made or needs.
    pub checkpoint_ids: Vec<String>,
    /// Additional short text.
    pub note: Option<String>,
    /// What the rules need beside, and the log does not keep.
    #[serde(skip)]
    pub given: Given,
}

#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Despite open dependencies, shared files, missing outputs and open tasks.
    pub force: bool,
    /// The whole run failed with the phase.
    pub is_final: bool,
    /// The task was running: its next attempt is counted now.
    pub is_cut_off: bool,
    /// Commit of the project: its HEAD at the start, or the one made in the phase.
    pub commit: Option<String>,
    pub decisions: Vec<String>,
    pub files: Vec<String>,
    /// The outputs of the phase and its tasks.
    pub observed: Observations,
    /// Name, phase and output of a new task, or the agent that starts one.
    pub task: Task,
    /// Keys of the run or of its free state; null removes one.
    pub set: Vec<(String, Value)>,
    pub mini_commit: Option<MiniCommit>,
}

/// The moves of a phase: verb, status before it, status after it; `None` leaves it.
const PHASE_MOVES: [(&str, &[PhaseStatus], Option<PhaseStatus>); 10] = {
    use PhaseStatus::{AwaitingApproval, Complete, Failed, InProgress, Pending, Skipped};
    let under_way = &[InProgress, AwaitingApproval, Failed];
    [
        ("start", &[Pending, Failed], Some(InProgress)),
        ("progress", &[InProgress], None),
        ("done", &[InProgress], Some(Complete)),
        ("fail", under_way, Some(Failed)),
        ("skip", &[Pending], Some(Skipped)),
        ("skip", under_way, Some(Skipped)),
        ("approve", &[AwaitingApproval], Some(Complete)),
        ("approve", &[InProgress, Failed, Complete], None),
        // It waits for approval: its results are shown again, not made again.
        ("await", &[InProgress], Some(AwaitingApproval)),
        // Another phase comes first.
        ("reset", under_way, Some(Pending)),
    ]
};

/// The moves of a task.
const TASK_MOVES: [(&str, &[TaskStatus], TaskStatus); 4] = {
    use TaskStatus::{Blocked, Complete, Failed, Pending, Running};
    let all = &[Pending, Running, Complete, Failed, Blocked];
    [
        ("start", &[Pending, Failed], Running),
        ("done", &[Running], Complete),
        ("fail", &[Running], Failed),
        ("reset", all, Pending),
    ]
};

impl Change {
    pub fn new(verb: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            ..Self::default()
        }
    }

    /// Makes a transition of a phase; without an id it is the only one that can be meant.
    pub fn of_phase(verb: &str, phase: Option<&str>) -> Self {
        Self {
            phase_id: phase.map(str::to_owned),
            ..Self::new(&format!("phase {verb}"))
        }
    }

    pub fn of_task(verb: &str, task: &str) -> Self {
        Self {
            task_id: Some(task.to_owned()),
            ..Self::new(&format!("task {verb}"))
        }
    }

    #[must_use]
    pub fn noting(self, note: impl Into<Option<String>>) -> Self {
        let note = note.into().filter(|text| !text.is_empty());
        Self { note, ..self }
    }

    /// Returns the verb and the phase or task.
    pub fn subject(&self) -> String {
        let object = self.phase_id.as_ref().or(self.task_id.as_ref());
        let object = object.map(|object| format!(" {}", escape(object)));
        self.verb.clone() + &object.unwrap_or_default()
    }

    /// Renders the commit message, without the trailers that the store adds.
    pub fn render(&self, time_ms: i64) -> String {
        let (time, actor) = (utc_seconds(time_ms), escape(&self.actor));
        let entry = serde_json::to_string(self).unwrap_or_default();
        format!("{} | {time} | {actor}\n\n{EVENT}{entry}\n", self.subject())
    }

    /// Parses what [`Self::render`] wrote; missing fields stay empty.
    pub fn read(message: &str) -> Self {
        let entry = message
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(EVENT));
        let read = entry.and_then(|entry| serde_json::from_str(entry).ok());
        read.unwrap_or_default()
    }
}

impl Workflow {
    /// Returns the state after a change; `now_ms` is milliseconds since 1970.
    ///
    /// # Errors
    /// The rules forbid it; the error has the present state.
    pub fn after(&self, change: &Change, now_ms: i64) -> Result<Self> {
        let mut next = self.clone();
        let applied = next.apply(change, now_ms);
        applied.map_err(|error| error.with_state(self))?;
        // A write that was interrupted ends with this one.
        let file = next.documents.get_mut(PHASE_FILE);
        let flag = file.and_then(|file| file.get_mut("interruption_safe"));
        if let Some(flag) = flag.filter(|flag| **flag == false) {
            *flag = true.into();
        }
        // The newest state must not look older than the previous one if the clock went back.
        next.updated_ms = now_ms.max(self.updated_ms);
        Ok(next)
    }

    fn apply(&mut self, change: &Change, now_ms: i64) -> Result<()> {
        let (noun, verb) = change.verb.split_once(' ').unwrap_or((&change.verb, ""));
        // Only a mini commit may follow the completion.
        if !self.status.is_open() && (self.status != RunStatus::Complete || noun != "mini-commit") {
            return Err(self.ended());
        }
        self.interrupted = None;
        let given = &change.given;
        match noun {
            "phase" => self.move_phase(verb, change, now_ms)?,
            "task" if verb == "add" => self.add_task(change)?,
            "task" => self.move_task(verb, change, now_ms)?,
            "interrupt" => {
                let (reason, at_ms) = (change.note.clone().unwrap_or_default(), now_ms);
                self.interrupted = Some(Interruption { reason, at_ms });
            }
            "resume" => self.resume_count += 1,
            "abandon" => {
                let reason = change.note.clone().map(Value::from);
                self.last_error = reason.or(self.last_error.take());
                self.end(RunStatus::Abandoned, now_ms);
                self.is_archived = true;
            }
            _ => {}
        }
        if let Some(made) = &given.mini_commit {
            // A checkpoint and a commit of the same phases are recorded separately.
            let mut made = made.clone();
            let is_same = |other: &mut MiniCommit| other.completed_count == made.completed_count;
            if let Some(known) = self.mini_commits.extract_if(.., is_same).next() {
                made.checkpoint_id = made.checkpoint_id.or(known.checkpoint_id);
                made.commit_sha = made.commit_sha.or(known.commit_sha);
            }
            self.mini_commits.push(made);
        }
        add_new(&mut self.key_decisions, &given.decisions);
        add_new(&mut self.file_paths, &given.files);
        let mut set = given.set.iter();
        set.try_for_each(|(key, value)| self.set(key, value))
    }

    fn ended(&self) -> Error {
        let what = format!("workflow {} is {}", self.id, self.word());
        refused("workflow_ended", what)
            .advise("'checkpoint workflow init --phase NAME' starts another")
    }

    pub(super) fn end(&mut self, status: RunStatus, now_ms: i64) {
        self.status = status;
        self.finished_ms = Some(now_ms);
    }

    /// Returns the phase that a change concerns: as given, else the next one to start or the only
    /// one under way.
    ///
    /// # Errors
    /// There is no such phase, or not just one.
    pub fn phase_of(&self, change: &Change) -> Result<String> {
        if let Some(id) = &change.phase_id {
            return self.known(id).map(|phase| phase.id.clone());
        }
        if change.verb == "phase start" {
            return self.next_to_start();
        }
        let running: Vec<&str> = self.running().map(|phase| &*phase.id).collect();
        Err(match running[..] {
            [only] => return Ok(only.to_owned()),
            [] if !self.status.is_open() => self.ended(),
            [] => refused("nothing_under_way", "no phase is in progress")
                .next(Sentence::command(CommandWords::new(["phase", "start"]))),
            _ => {
                let what = format!("several phases are in progress: {}", running.join(", "));
                refused("several_under_way", what).advise("name one of them")
            }
        })
    }

    fn next_to_start(&self) -> Result<String> {
        let mut running = self.running();
        let failed = running.find(|phase| phase.status == PhaseStatus::Failed);
        let mut remaining = self.remaining();
        let next = failed.or_else(|| remaining.find(|phase| self.unmet(phase).is_empty()));
        if let Some(next) = next {
            return Ok(next.id.clone());
        }
        let code = "nothing_to_start";
        Err(match self.running().find(|phase| awaits(phase)) {
            Some(phase) => {
                let what = format!("no phase can be started before {} is approved", phase.id);
                refused(code, what).next(self.approves(phase))
            }
            None => refused(code, "no phase can be started now").next(shows_state(self.named())),
        })
    }

    fn approves(&self, phase: &Phase) -> Sentence {
        self.does("approve", phase, " approves it")
    }

    fn does(&self, verb: &str, phase: &Phase, does: &'static str) -> Sentence {
        let command = phase_command(verb, &phase.id, self.named());
        Sentence::default().then_command(command).then(does)
    }

    fn known(&self, id: &str) -> Result<&Phase> {
        self.phase(id).ok_or_else(|| {
            let known: Vec<&str> = self.phases.iter().map(|one| &*one.id).collect();
            let names = format!("its phases: {}", and_more(&known, LISTED_NAMES));
            let what = format!("workflow {} has no phase {id}", self.named());
            absent("no_such_phase", what).next(Sentence::text(names))
        })
    }

    fn move_phase(&mut self, verb: &str, change: &Change, now_ms: i64) -> Result<()> {
        let given = &change.given;
        let id = self.phase_of(change)?;
        let before = self.known(&id)?.clone();
        let mut moves = PHASE_MOVES.iter().filter(|(name, _, _)| *name == verb);
        let found = moves.find(|(_, from, _)| from.contains(&before.status));
        let (_, _, to) = found.ok_or_else(|| self.wrong_state(&before, verb))?;
        match verb {
            "start" if !given.force => self.check_start(&before)?,
            "done" if !given.force => self.check_finish(&before, &given.observed)?,
            "approve" if before.approved_ms.is_some() => {
                let what = format!("phase {id} is already approved");
                return Err(refused("wrong_state", what));
            }
            _ => {}
        }
        let note = |note: &Option<String>| note.clone().map(Value::from);
        // A start takes back the error of the last attempt.
        if verb == "fail" || verb == "start" && self.last_error == note(&before.last_error) {
            self.last_error = note(&change.note);
        }
        if let Some(phase) = self.phase_mut(&id) {
            phase.status = to.unwrap_or(before.status);
            phase.follow(verb, before.status, change, now_ms);
        }
        if given.is_final {
            self.end(RunStatus::Failed, now_ms);
        } else if self.is_all_settled() {
            self.last_error = None;
            self.end(RunStatus::Complete, now_ms);
        }
        Ok(())
    }

    fn wrong_state(&self, phase: &Phase, verb: &str) -> Error {
        let words = phase.status.into_str().replace('_', " ");
        let impossible = || format!("{words}; 'phase {verb}' is not possible then");
        let (what, next) = match (phase.status, verb) {
            (PhaseStatus::Complete | PhaseStatus::Skipped, _) => (format!("already {words}"), None),
            (PhaseStatus::InProgress, "start") => {
                let ends = self.does("done", phase, " ends it");
                (format!("already {words}"), Some(ends))
            }
            (PhaseStatus::Pending, _) => {
                let starts = self.does("start", phase, " starts it");
                let is_ready = self.unmet(phase).is_empty();
                ("not started".to_owned(), is_ready.then_some(starts))
            }
            _ => (impossible(), awaits(phase).then(|| self.approves(phase))),
        };
        // Who asks again for what was done has a code of its own.
        let code = match (phase.status, verb) {
            (PhaseStatus::InProgress, "start") => "already_started",
            (PhaseStatus::Complete, _) => "already_complete",
            _ => "wrong_state",
        };
        refused(code, format!("phase {} is {what}", phase.id))
            .next(next.unwrap_or_else(|| shows_state(self.named())))
    }

    fn check_start(&self, phase: &Phase) -> Result<()> {
        let (id, unmet) = (&phase.id, self.unmet(phase));
        if !unmet.is_empty() {
            let mut unsettled = unmet.iter().filter_map(|id| self.phase(id));
            let waiting = unsettled.find(|phase| awaits(phase));
            let names = unmet.join(", ");
            let what = format!("phase {id} depends on {names}, which is not complete");
            let usual = || Sentence::text("complete that first, or add --force");
            let next = waiting.map_or_else(usual, |phase| self.approves(phase));
            return Err(refused("dependencies_unmet", what).next(next));
        }
        let mut beside = self.running().filter(|other| other.id != *id);
        let Some(other) = beside.find(|other| !may_run_in_parallel(phase, other)) else {
            return Ok(());
        };
        let mut shared = "write the same files";
        if phase.commits && other.commits {
            shared = "commit";
        }
        let what = format!("phase {id} cannot run beside {}: both {shared}", other.id);
        Err(refused("not_side_by_side", what).advise("finish that one first, or add --force"))
    }

    fn check_finish(&self, phase: &Phase, observed: &Observations) -> Result<()> {
        let required = phase.outputs.iter().filter(|output| output.required);
        let of_phase = required.filter_map(|output| {
            let found = observed.get(&output.path).unwrap_or(&ObservedFile::Missing);
            Some(format!("{} {}", output.path, found.flaw()?.1))
        });
        let of_tasks = self.tasks_of(phase).filter_map(|task| {
            let found = task_output(task, observed)?;
            Some(format!("{} ({})", found.what, found.place))
        });
        let lacking: Vec<String> = of_phase.chain(of_tasks).collect();
        let open = self.tasks_of(phase);
        let open = open.filter(|task| task.status != TaskStatus::Complete);
        let open = open.map(|task| format!("{} ({})", task.id, task.status.into_str()));
        let open: Vec<String> = open.collect();
        let end = "end them first, or add --force";
        let write = "write what is missing, or add --force";
        let (code, why, names, advice) = match (&*lacking, &*open) {
            ([], []) => return Ok(()),
            ([], open) => ("tasks_open", "it has open tasks: ", open, end),
            (lacking, _) => ("outputs_missing", "", lacking, write),
        };
        let names = and_more(names, LISTED_NAMES);
        let what = format!("phase {} is not done: {why}{names}", phase.id);
        Err(refused(code, what).advise(advice))
    }

    fn add_task(&mut self, change: &Change) -> Result<()> {
        let id = change.task_id.clone().unwrap_or_default();
        if id.trim().is_empty() || id.chars().any(char::is_control) {
            return Err(refused("bad_id", "a task needs a name in one line"));
        }
        if self.task(&id).is_some() {
            return Err(refused("task_exists", format!("task {id} already exists"))
                .advise("'checkpoint task list' shows it"));
        }
        let given = change.given.task.clone();
        let phase = match &given.phase {
            Some(phase) => Some(self.known(phase)?),
            None => self.current(),
        };
        let phase = phase.map(|phase| phase.id.clone());
        self.tasks.push(Task { id, phase, ..given });
        Ok(())
    }

    fn move_task(&mut self, verb: &str, change: &Change, now_ms: i64) -> Result<()> {
        let id = change.task_id.as_deref().unwrap_or_default();
        let mut tasks = self.tasks.iter_mut();
        let unknown = || {
            absent("no_such_task", format!("there is no task {id}"))
                .advise("'checkpoint task list' lists them")
        };
        let task = tasks.find(|task| task.id == id).ok_or_else(unknown)?;
        let mut moves = TASK_MOVES.iter().filter(|(name, _, _)| *name == verb);
        let found = moves.find(|(_, from, _)| from.contains(&task.status));
        let impossible = || {
            let words = task.status.into_str();
            let what = format!("task {id} is {words}; 'task {verb}' is not possible from there");
            refused("wrong_state", what).advise("'checkpoint task list' shows the state of each")
        };
        (_, _, task.status) = *found.ok_or_else(impossible)?;
        task.completed_ms = None;
        match verb {
            "start" => {
                task.attempts += u32::from(!std::mem::take(&mut task.is_next_counted));
                task.started_ms = Some(now_ms);
                task.agent = change.given.task.agent.clone().or(task.agent.take());
            }
            "reset" => {
                let is_cut_off = change.given.is_cut_off;
                task.attempts += u32::from(is_cut_off && !task.is_next_counted);
                task.is_next_counted |= is_cut_off;
                task.started_ms = None;
            }
            _ => {
                task.completed_ms = Some(now_ms);
                task.note = change.note.clone().or(task.note.take());
            }
        }
        Ok(())
    }

    /// Sets a field of the run or a key of its free state; `null` removes a key.
    fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        let text = || match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            _ => {
                let what = format!("{key} takes a text, in quotes");
                Err(refused("bad_value", what))
            }
        };
        match key {
            "description" => self.description = text()?.unwrap_or_default(),
            "branch" => self.branch = text()?,
            "last_error" => self.last_error = Some(value.clone()).filter(|value| !value.is_null()),
            _ => set_free(&mut self.state, key, value)?,
        }
        Ok(())
    }
}

fn awaits(phase: &Phase) -> bool {
    phase.status == PhaseStatus::AwaitingApproval
}

impl Phase {
    /// Follows a move that has set the status.
    fn follow(&mut self, verb: &str, before: PhaseStatus, change: &Change, now_ms: i64) {
        let given = &change.given;
        let checkpoint = change.checkpoint_ids.first().cloned();
        match verb {
            "start" => {
                self.attempts += 1;
                self.started_ms = Some(now_ms);
                self.completed_ms = None;
                self.last_error = None;
                self.before_id = checkpoint.or(self.before_id.take());
                self.head.clone_from(&given.commit);
            }
            "progress" | "skip" => self.progress = change.note.clone().or(self.progress.take()),
            "fail" => self.last_error.clone_from(&change.note),
            "done" => {
                for output in &mut self.outputs {
                    let found = given.observed.get(&output.path);
                    output.sha256 = found.and_then(ObservedFile::sum).cloned();
                }
                self.commit_sha = given.commit.clone().or(self.commit_sha.take());
                self.after_id = checkpoint.or(self.after_id.take());
                if self.lacks_approval() {
                    self.status = PhaseStatus::AwaitingApproval;
                }
            }
            "approve" => {
                self.approved_ms = Some(now_ms);
                // A required output may still be missing: then the phase goes on.
                let mut outputs = self.outputs.iter();
                let lacks = outputs.any(|output| output.required && output.sha256.is_none());
                if lacks && before == PhaseStatus::AwaitingApproval {
                    self.status = PhaseStatus::InProgress;
                }
            }
            _ => {}
        }
        if self.status.is_settled() && !before.is_settled() {
            self.completed_ms = Some(now_ms);
        }
        if self.status == PhaseStatus::Complete {
            self.last_error = None;
        }
    }
}

fn set_free(mut at: &mut Map<String, Value>, key: &str, value: &Value) -> Result<()> {
    let mut names: Vec<&str> = key.split('.').collect();
    if names.contains(&"") {
        let what = format!("'{key}' is not a valid key: a name in it is empty");
        return Err(refused("bad_key", what));
    }
    let last = names.pop().unwrap_or_default();
    for name in names {
        let inner = at.entry(name).or_insert_with(|| Map::new().into());
        at = inner.as_object_mut().ok_or_else(|| {
            let what = format!("'{key}' leads through '{name}', which holds no keys");
            refused("bad_key", what)
        })?;
    }
    if value.is_null() {
        at.shift_remove(last);
    } else {
        at.insert(last.to_owned(), value.clone());
    }
    Ok(())
}

fn add_new(list: &mut Vec<String>, more: &[String]) {
    for one in more {
        if !list.contains(one) {
            list.push(one.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two phases, the second after the first.
    fn line() -> Workflow {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        workflow.phases = ["one", "two"].map(|id| Phase::new(id, id)).to_vec();
        workflow.phases[1].dependencies = vec!["one".into()];
        workflow
    }

    fn change(words: &str) -> Change {
        let words: Vec<&str> = words.split(' ').collect();
        match words[..] {
            ["phase", verb] => Change::of_phase(verb, None),
            ["phase", "fail", reason] => Change::of_phase("fail", None).noting(reason.to_owned()),
            ["phase", verb, id] => Change::of_phase(verb, Some(id)),
            ["task", verb, id] => Change::of_task(verb, id),
            [verb, ..] => Change::new(verb).noting(words[1..].join(" ")),
            [] => Change::default(),
        }
    }

    fn apply(workflow: Workflow, changes: &str) -> Result<Workflow, &'static str> {
        let mut changes = changes.split(", ").zip(1..);
        changes.try_fold(workflow, |workflow, (words, now)| {
            let next = workflow.after(&change(words), now);
            next.map_err(|error| error.code.name)
        })
    }

    #[test]
    fn each_phase_is_done_once_and_in_order() {
        const DONE: &str = "already_complete";
        let done = apply(line(), "phase start, phase done, phase start, phase done").unwrap();
        assert_eq!(done.status, RunStatus::Complete);
        assert_eq!(done.finished_ms, Some(4));
        assert_eq!(done.updated_ms, 4);
        for (changes, code) in [
            ("phase start two", "dependencies_unmet"),
            ("phase done one", "wrong_state"),
            ("phase start one, phase start one", "already_started"),
            ("phase start, phase done, phase done one", DONE),
            ("phase start, phase done, phase start one", DONE),
            ("phase start three", "no_such_phase"),
            ("phase progress", "nothing_under_way"),
            ("abandon, phase start", "workflow_ended"),
            ("task done t", "no_such_task"),
            ("task add ", "bad_id"),
            ("task add a\tb", "bad_id"),
        ] {
            assert_eq!(apply(line(), changes).map(drop), Err(code), "{changes}");
        }
    }

    #[test]
    fn a_rendered_change_is_read_back_whatever_its_words() {
        let change = Change {
            actor: "me | you".into(),
            session: Some("s".into()),
            checkpoint_ids: vec!["ab".repeat(20)],
            note: Some("50% done: \u{1b}[31m".into()),
            ..Change::of_phase("done", Some("a b\n\nEvent: x"))
        };
        let message = change.render(0);
        let found = format!("{:?}", Change::read(&message));
        assert_eq!(found, format!("{change:?}"));
        assert_eq!(message.lines().filter(|line| line.is_empty()).count(), 1);
        assert!(message.starts_with("phase done a b"), "{message}");
    }
}
