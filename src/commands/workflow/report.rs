//! The state of runs: `status`, `next`, `check`, `list`, `show` and `task list`.

use crate::answer::format::count;
use crate::answer::place::PlaceWords;
use crate::answer::table::aligned;
use crate::base::cut_list::and_more;
use crate::base::text::{escape, escape_line};
use crate::base::time;
use crate::commands::prelude::*;
use crate::workflow::documents::conflict::{Conflict, in_words};
use crate::workflow::engine::report::{self, FileDrift, Listed, Seen, Shown, Status};
use crate::workflow::engine::runs::Run;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};
use crate::workflow::rules::workflow::Workflow;

/// Maximum number of phases by which a run without a description is called.
const NAMED_PHASES: usize = 3;
/// Maximum number of changed paths listed.
const LISTED_CHANGES: usize = 10;

/// The next step of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NextAnswer")]
pub struct Next {
    id: String,
    #[serde(flatten)]
    seen: Seen,
    /// Phases that may start; null without `--parallel`.
    ready: Option<Vec<Phase>>,
}

/// The tasks of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TaskListAnswer")]
pub struct TaskList {
    id: String,
    tasks: Vec<Task>,
    troubles: Vec<Conflict>,
}

/// Returns the status of a run; commands that it names work as printed.
pub fn status(
    context: &Context,
    place: &PlaceWords,
    named: Option<&str>,
    with_drift: bool,
) -> Result<(Status, Vec<Warning>)> {
    let (mut status, warnings) = report::status(context, named, with_drift)?;
    with_place(&mut status, place);
    Ok((status, warnings))
}

/// Adds the global options to the commands that a status names.
pub fn with_place(status: &mut Status, place: &PlaceWords) {
    let next = &mut status.seen.next;
    next.words = escape_line(&place.advice(&next.words));
    next.command = next.command.take().map(|command| place.command(command));
}

impl Next {
    pub fn new(status: Status, parallel: bool) -> Self {
        let workflow = &status.run.workflow;
        Self {
            ready: parallel.then(|| workflow.ready().into_iter().cloned().collect()),
            id: workflow.id.clone(),
            seen: status.seen,
        }
    }
}

impl Text for Next {
    fn write(&self, out: &mut Out<'_>) {
        if let Some(ready) = &self.ready {
            for one in ready {
                outln!(out, "{}", escape(&one.id));
            }
            return;
        }
        let next = &self.seen.next;
        let phase = next.phase.iter().map(|id| format!("{}: ", escape(id)));
        outln!(out, "{}{}", phase.collect::<String>(), next.words);
        out.talk.push_str(&remarks(&self.seen));
    }
}

/// A run and its files, of which only the errors are of interest.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Checked(pub Status);

impl Checked {
    /// Whether there are no errors.
    pub fn is_sound(&self) -> bool {
        self.0.seen.report.valid && self.0.seen.conflicts.is_empty()
    }
}

impl Text for Checked {
    fn write(&self, out: &mut Out<'_>) {
        let sound = if self.is_sound() {
            "valid"
        } else {
            "not valid"
        };
        outln!(out, "{} is {sound}", escape(self.0.run.workflow.named()));
        out.talk.push_str(&remarks(&self.0.seen));
        for one in &self.0.seen.order {
            talkln!(out, "order: {}", in_words(one));
        }
    }
}

impl Text for Status {
    fn write(&self, out: &mut Out<'_>) {
        let workflow = &self.run.workflow;
        let time = time::shown(out.is_for_a_person);
        out.result.push_str(&summary(workflow, time));
        if workflow.status.is_open() {
            outln!(out, "\nNext: {}", self.seen.next.words);
        }
        if let Some(drift) = &self.seen.drift {
            out.talk.push_str(&changed(drift, out.context.now_ms));
        }
        out.talk.push_str(&remarks(&self.seen));
    }
}

/// Lists findings, possible repairs and files that could not be imported.
pub fn remarks(seen: &Seen) -> String {
    let repairs = seen.repairs.iter();
    let repairs = repairs.map(|what| format!("to recover: {}\n", escape_line(what)));
    conflicts(&seen.conflicts) + &findings(seen) + &repairs.collect::<String>()
}

pub fn findings(seen: &Seen) -> String {
    let line = |word: &str, one: &Finding| format!("{word}: {}\n", in_words(one));
    let errors = seen.report.errors.iter().map(|one| line("wrong", one));
    let remarks = seen.report.remarks.iter().map(|one| line("note", one));
    errors.chain(remarks).collect()
}

/// Lists files that could not be imported.
pub fn conflicts(conflicts: &[Conflict]) -> String {
    let line = |one: &Conflict| format!("{}\n", escape_line(&one.in_words()));
    conflicts.iter().map(line).collect()
}

/// Formats the run and the progress of its phases.
pub fn summary(workflow: &Workflow, time: fn(i64) -> String) -> String {
    let phases: Vec<&str> = workflow.phases.iter().map(|phase| &*phase.name).collect();
    let title = match &*workflow.description {
        "" if phases.is_empty() => workflow.named().to_owned(),
        "" => and_more(&phases, NAMED_PHASES),
        goal => goal.to_owned(),
    };
    let mut text = format!("Pipeline: {}\n", escape(&title));
    if let Some(branch) = &workflow.context.branch {
        text += &format!("Branch: {}\n", escape(branch));
    }
    let cut = workflow.interrupted.as_ref();
    if !workflow.status.is_open() || cut.is_some() {
        let why = cut.map(|cut| format!(" ({})", escape(&cut.reason)));
        text += &format!("Status: {}{}\n", workflow.word(), why.unwrap_or_default());
    }
    let completed: Vec<&Phase> = workflow.completed().collect();
    let number = count(completed.len(), "phase", "phases");
    text += &format!("\nCompleted ({number}):\n");
    text.extend(
        completed
            .iter()
            .map(|phase| complete(workflow, phase, time)),
    );
    let running: Vec<&Phase> = workflow.running().collect();
    if !running.is_empty() {
        text += "\nIn progress:\n";
        text.extend(running.iter().map(|phase| under_way(workflow, phase)));
    }
    let remaining: Vec<&Phase> = workflow.remaining().collect();
    let skipped: Vec<&Phase> = workflow.skipped().collect();
    for (title, mark, phases) in [("Remaining", "·", remaining), ("Skipped", "-", skipped)] {
        if !phases.is_empty() {
            let number = count(phases.len(), "phase", "phases");
            text += &format!("\n{title} ({number}):\n");
            let line = |phase| format!("  {mark} {}\n", name(workflow, phase));
            text.extend(phases.into_iter().map(line));
        }
    }
    text + &task_count(workflow)
}

fn name(workflow: &Workflow, phase: &Phase) -> String {
    let number = workflow.number_of(&phase.id).unwrap_or_default();
    format!("Phase {number}: {}", escape(&phase.name))
}

fn complete(workflow: &Workflow, phase: &Phase, time: fn(i64) -> String) -> String {
    let at = phase.completed_ms.map(time);
    let at = at.map(|time| time.get(11..16).unwrap_or_default().to_owned());
    let sha = phase.commit_sha.as_ref();
    let sha = sha.map(|sha| format!("sha: {}", escape(sha)));
    let more: Vec<String> = at.into_iter().chain(sha).collect();
    let name = name(workflow, phase);
    if more.is_empty() {
        format!("  ✓ {name}\n")
    } else {
        format!("  ✓ {name} ({})\n", more.join(", "))
    }
}

fn under_way(workflow: &Workflow, phase: &Phase) -> String {
    let word = match phase.status {
        PhaseStatus::AwaitingApproval => " (awaiting approval)",
        PhaseStatus::Failed => " (failed)",
        _ => "",
    };
    let mut text = format!("  → {}{word}\n", name(workflow, phase));
    for (word, more) in [("Error", &phase.last_error), ("Progress", &phase.progress)] {
        let line = |more: &String| format!("    {word}: {}\n", escape(more));
        text.extend(more.as_ref().map(line));
    }
    text
}

fn task_count(workflow: &Workflow) -> String {
    let tasks = || workflow.tasks.iter();
    let number = |status| tasks().filter(|task| task.status == status).count();
    let (done, all) = (number(TaskStatus::Complete), workflow.tasks.len());
    if all == 0 {
        return String::new();
    }
    let mut text = format!("\nTasks: {done} of {all} complete");
    for status in [TaskStatus::Running, TaskStatus::Failed, TaskStatus::Blocked] {
        let number = number(status);
        if number > 0 {
            text += &format!(", {number} {}", status.into_str());
        }
    }
    text + "\n"
}

/// Formats the progress in a few words, after a transition.
pub fn place(workflow: &Workflow) -> String {
    let (done, skipped) = (workflow.completed().count(), workflow.skipped().count());
    let all = count(workflow.phases.len(), "phase", "phases");
    let status = workflow.word().replace('_', " ");
    let mut text = format!("{status}: {done} of {all} done");
    if skipped > 0 {
        text += &format!(", {skipped} skipped");
    }
    if let Some(phase) = workflow.current() {
        text += &format!(", in {}", escape(&phase.id));
    }
    text
}

/// Formats `5 files changed since write-source began (a1b2c3d4, 12 minutes ago)`, and the paths.
pub fn changed(drift: &FileDrift, now_ms: i64) -> String {
    let number = drift.changes.len();
    let mut text = format!(
        "{} changed since {} began ({}, {})\n",
        count(number, "file", "files"),
        escape(&drift.phase_id),
        drift.checkpoint.short_id(),
        ago(drift.begun_at.ms(), now_ms)
    );
    for one in drift.changes.iter().take(LISTED_CHANGES) {
        let mark = match one.change {
            "added" => "+",
            "deleted" => "-",
            _ => "~",
        };
        text += &format!("  {mark} {}\n", escape_line(&one.path.path));
    }
    if number > LISTED_CHANGES {
        text += &format!("  and {} more\n", number - LISTED_CHANGES);
    }
    text
}

/// Formats an age such as `12 minutes ago`.
pub fn ago(time_ms: i64, now_ms: i64) -> String {
    let minutes = now_ms.saturating_sub(time_ms) / 60_000;
    let (number, one, many) = match minutes {
        i64::MIN..0 => return time::age(time_ms, now_ms),
        0 => return "just now".to_owned(),
        1..60 => (minutes, "minute", "minutes"),
        60..1440 => (minutes / 60, "hour", "hours"),
        _ => (minutes / 1440, "day", "days"),
    };
    let number = usize::try_from(number).unwrap_or_default();
    format!("{} ago", count(number, one, many))
}

impl Text for Listed {
    /// Times are local at a terminal, else UTC.
    fn write(&self, out: &mut Out<'_>) {
        for lost in &self.lost {
            talkln!(out, "damaged: {}: {}", lost.id, escape_line(&lost.why));
        }
        out.talk.push_str(&conflicts(&self.conflicts));
        if self.runs.is_empty() && self.lost.is_empty() {
            match self.archived {
                0 => talkln!(out, "no workflow is known here"),
                archived => talkln!(
                    out,
                    "no workflow is open here; 'checkpoint workflow list --all' shows {archived} archived"
                ),
            }
            return;
        }
        let (time, zone) = time_and_zone(out);
        let row = |run: &Run| {
            let workflow = &run.workflow;
            let named = run.archived_as.as_deref().unwrap_or(workflow.named());
            let archived = if run.is_live() { "" } else { ", archived" };
            [
                escape(named),
                format!("{}{archived}", workflow.word()),
                format!("{}/{}", workflow.completed().count(), workflow.phases.len()),
                time(workflow.updated_ms),
                escape(&workflow.description),
            ]
        };
        let updated = format!("updated{zone}");
        let titles = ["workflow", "status", "done", &updated, "description"];
        out.result
            .push_str(&table(titles, self.runs.iter().map(row)));
    }
}

fn table<const N: usize>(titles: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let titles = titles.map(str::to_owned);
    let rows: Vec<_> = [titles].into_iter().chain(rows).map(Vec::from).collect();
    aligned(&rows, &[])
}

fn time_and_zone(out: &Out<'_>) -> (fn(i64) -> String, &'static str) {
    let zone = if out.is_for_a_person { "" } else { " (UTC)" };
    (time::shown(out.is_for_a_person), zone)
}

impl Text for Shown {
    /// A run and its history.
    fn write(&self, out: &mut Out<'_>) {
        let (time, zone) = time_and_zone(out);
        out.result.push_str(&summary(&self.run.workflow, time));
        outln!(out, "\nLog, the newest first{zone}:");
        for logged in &self.log {
            let event = &logged.event;
            let note = event.note.iter().map(|note| format!(": {}", escape(note)));
            let (note, actor) = (note.collect::<String>(), escape(&event.actor));
            let revision = logged.revision.get(..8).unwrap_or_default();
            let (time, subject) = (time(logged.time.ms()), event.subject());
            outln!(out, "  {revision}  {time}  {subject}  {actor}{note}");
        }
        if let Some(why) = &self.broken {
            talkln!(out, "the log is damaged before that: {}", escape(why));
        }
        out.talk.push_str(&conflicts(&self.conflicts));
    }
}

impl TaskList {
    pub fn new(status: Status, only: Option<&str>) -> Self {
        let workflow = status.run.workflow;
        let mut tasks = workflow.tasks;
        tasks.retain(|task| only.is_none_or(|phase| task.phase.as_deref() == Some(phase)));
        Self {
            id: workflow.id,
            tasks,
            troubles: status.seen.conflicts,
        }
    }
}

impl Text for TaskList {
    fn write(&self, out: &mut Out<'_>) {
        out.talk.push_str(&conflicts(&self.troubles));
        if self.tasks.is_empty() {
            talkln!(out, "no tasks");
            return;
        }
        let text = |field: &Option<String>| field.as_deref().map_or("-".to_owned(), escape);
        let row = |task: &Task| {
            [
                escape(&task.id),
                task.status.into_str().to_owned(),
                task.attempts.to_string(),
                text(&task.phase),
                text(&task.agent),
                text(&task.output),
            ]
        };
        let titles = ["task", "status", "tries", "phase", "agent", "output"];
        out.result
            .push_str(&table(titles, self.tasks.iter().map(row)));
    }
}
