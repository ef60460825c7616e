//! The state of runs: `status`, `next`, `check`, `list`, `show` and `task list`.

use crate::answer::format::ago;
use crate::answer::place::PlaceWords;
use crate::answer::table::titled;
use crate::base::cut_list::and_more;
use crate::base::json::plain;
use crate::base::time;
use crate::commands::prelude::*;
use crate::workflow::documents::conflict::in_words;
use crate::workflow::engine::report::Seen;
use crate::workflow::{
    ComparedRun, Conflict, Finding, Listed, Phase, PhaseStatus, Run, Shown, Status, Task,
    TaskStatus, View, Workflow,
};

/// Maximum number of phases by which a run without a description is called.
const NAMED_PHASES: usize = 3;
/// Maximum number of changed paths listed.
const LISTED_CHANGES: usize = 10;

/// Adds the global options to the commands that a status names.
pub fn with_place(status: &mut Status, place: &PlaceWords) {
    let next = &mut status.seen.next;
    next.words = escape_line(&place.advice(&next.words));
    next.command = next.command.take().map(|command| place.command(command));
}

impl Text for Status {
    fn write(&self, out: &mut Out<'_>) {
        let (workflow, seen) = (&self.run.workflow, &self.seen);
        match self.view {
            View::Whole => {
                let time = time::shown(out.is_for_a_person);
                out.result.push_str(&summary(workflow, time));
                if workflow.status.is_open() {
                    outln!(out, "\nNext: {}", seen.next.words);
                }
                out.talk.push_str(&changed(seen, out.context.now_ms));
            }
            View::Next => {
                let phase = seen.next.phase_id.iter();
                let phase: String = phase.map(|id| format!("{}: ", escape(id))).collect();
                outln!(out, "{phase}{}", seen.next.words);
            }
            View::Ready => {
                for one in workflow.ready() {
                    outln!(out, "{}", escape(&one.id));
                }
                return;
            }
            View::Check => {
                let valid = if is_sound(self) { "valid" } else { "not valid" };
                outln!(out, "{} is {valid}", escape(workflow.named()));
            }
            View::Tasks => {
                out.talk.push_str(&conflicts(&seen.troubles));
                return tasks(&workflow.tasks, out);
            }
        }
        out.talk.push_str(&remarks(seen));
        if self.view == View::Check {
            out.talk.push_str(&lines("order", &seen.order));
        }
    }
}

fn tasks(tasks: &[Task], out: &mut Out<'_>) {
    if tasks.is_empty() {
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
    let rows = tasks.iter().map(row);
    out.result.push_str(&titled(titles, rows, &[]));
}

/// Whether neither the run nor a state file has errors.
pub fn is_sound(status: &Status) -> bool {
    status.seen.report.valid && status.seen.troubles.is_empty()
}

/// Lists findings, possible repairs and files that could not be imported.
pub fn remarks(seen: &Seen) -> String {
    let repair = |what: &String| format!("to recover: {}\n", escape_line(what));
    let repairs: String = seen.recover.iter().map(repair).collect();
    conflicts(&seen.troubles) + &findings(seen) + &repairs
}

pub fn findings(seen: &Seen) -> String {
    lines("wrong", &seen.report.errors) + &lines("note", &seen.report.remarks)
}

fn lines(word: &str, findings: &[Finding]) -> String {
    let line = |one| format!("{word}: {}\n", in_words(one));
    findings.iter().map(line).collect()
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
    let run = escape(workflow.named());
    let mut text = format!("Run: {run}\nPipeline: {}\n", escape(&title));
    if let Some(branch) = &workflow.branch {
        text += &format!("Branch: {}\n", escape(branch));
    }
    let cut = workflow.interrupted.as_ref();
    if !workflow.status.is_open() || cut.is_some() {
        let why = cut.map(|cut| format!(" ({})", escape(&cut.reason)));
        text += &format!("Status: {}{}\n", workflow.word(), why.unwrap_or_default());
    }
    let groups: [(&str, Vec<&Phase>); 4] = [
        ("Completed", workflow.completed().collect()),
        ("In progress", workflow.running().collect()),
        ("Remaining", workflow.remaining().collect()),
        ("Skipped", workflow.of(PhaseStatus::Skipped).collect()),
    ];
    for (title, phases) in groups {
        if !phases.is_empty() || title == "Completed" {
            let number = format!(" ({})", count(phases.len(), "phase", "phases"));
            let number = if title == "In progress" { "" } else { &number };
            let lines = phases.iter().map(|phase| line(workflow, phase, time));
            text += &format!("\n{title}{number}:\n{}", lines.collect::<String>());
        }
    }
    text + &task_count(&workflow.tasks)
}

/// Formats a phase: when it was completed, or how far it is.
fn line(workflow: &Workflow, phase: &Phase, time: fn(i64) -> String) -> String {
    let at = phase.completed_ms.map(time);
    let at = at.and_then(|time| Some(time.get(11..16)?.to_owned()));
    let sha = phase.commit_sha.as_ref();
    let sha = sha.map(|sha| format!("sha: {}", escape(sha)));
    let completion = at.into_iter().chain(sha).collect::<Vec<_>>().join(", ");
    let (mark, more) = match phase.status {
        PhaseStatus::Complete => ("✓", &*completion),
        PhaseStatus::Skipped => ("-", ""),
        PhaseStatus::Pending => ("·", ""),
        PhaseStatus::InProgress => ("→", ""),
        PhaseStatus::AwaitingApproval => ("→", "awaiting approval"),
        PhaseStatus::Failed => ("→", "failed"),
    };
    let more = Some(more).filter(|more| !more.is_empty());
    let more = more.map_or(String::new(), |more| format!(" ({more})"));
    let number = workflow.number_of(&phase.id).unwrap_or_default();
    let mut text = format!("  {mark} Phase {number}: {}{more}\n", escape(&phase.name));
    for (word, note) in [("Error", &phase.last_error), ("Progress", &phase.progress)] {
        if let Some(note) = note.as_ref().filter(|_| mark == "→") {
            text += &format!("    {word}: {}\n", escape(note));
        }
    }
    text
}

fn task_count(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let number = |status| tasks.iter().filter(|task| task.status == status).count();
    let (done, all) = (number(TaskStatus::Complete), tasks.len());
    let mut text = format!("\nTasks: {done} of {all} complete");
    let others = [TaskStatus::Running, TaskStatus::Failed, TaskStatus::Blocked];
    for status in others.into_iter().filter(|status| number(*status) > 0) {
        text += &format!(", {} {}", number(status), status.into_str());
    }
    text + "\n"
}

/// Formats the progress in a few words, after a transition.
pub fn place(workflow: &Workflow) -> String {
    let done = workflow.completed().count();
    let skipped = workflow.of(PhaseStatus::Skipped).count();
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
pub fn changed(seen: &Seen, now_ms: i64) -> String {
    let drift = seen.drift.as_ref();
    let Some(drift) = drift.filter(|drift| !drift.changes.is_empty()) else {
        return String::new();
    };
    let number = drift.changes.len();
    let mut text = format!(
        "{} changed since {} began ({}, {})\n",
        count(number, "file", "files"),
        escape(&drift.phase_id),
        drift.checkpoint.short_id(),
        ago(drift.begun_at.ms(), now_ms)
    );
    for one in drift.changes.iter().take(LISTED_CHANGES) {
        text += &format!("  {} {}\n", one.sign(), escape_line(&one.path.path));
    }
    if number > LISTED_CHANGES {
        text += &format!("  and {} more\n", number - LISTED_CHANGES);
    }
    text
}

impl Text for Listed {
    /// Times are local at a terminal, else UTC.
    fn write(&self, out: &mut Out<'_>) {
        for lost in &self.damaged {
            talkln!(out, "damaged: {}: {}", lost.id, escape_line(&lost.why));
        }
        out.talk.push_str(&conflicts(&self.troubles));
        if self.workflows.is_empty() {
            return match self.archived_count {
                0 => talkln!(out, "no workflow is known here"),
                archived => talkln!(
                    out,
                    "no workflow is open here; 'checkpoint workflow list --all' shows {archived} archived"
                ),
            };
        }
        let (time, zone) = time_and_zone(out);
        let row = |run: &Run| {
            let workflow = &run.workflow;
            let archived = if run.is_live() { "" } else { ", archived" };
            let (done, all) = (workflow.completed().count(), workflow.phases.len());
            [
                escape(workflow.named()),
                format!("{}{archived}", workflow.word()),
                format!("{done}/{all}"),
                time(workflow.updated_ms),
                escape(&workflow.description),
            ]
        };
        let updated = format!("updated{zone}");
        let titles = ["workflow", "status", "done", &updated, "description"];
        let rows = self.workflows.iter().map(row);
        out.result.push_str(&titled(titles, rows, &[]));
    }
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
        if let Some(why) = &self.log_broken {
            talkln!(out, "the log is damaged before that: {}", escape(why));
        }
        out.talk.push_str(&conflicts(&self.troubles));
    }
}

impl Text for ComparedRun {
    fn write(&self, out: &mut Out<'_>) {
        for one in &self.differences {
            let shown = |value: &Option<_>| value.as_ref().map_or("-".to_owned(), plain);
            let [before, after] = [&one.before, &one.after].map(|value| escape(&shown(value)));
            outln!(out, "{}: {before} -> {after}", escape(&one.place));
        }
        if self.differences.is_empty() {
            talkln!(out, "nothing changed between them");
        }
    }
}
