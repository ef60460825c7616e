//! The state of a run on one screen.

use crate::base::cut_list::and_more;
use crate::base::text::escape;
use crate::base::time::age;
use crate::model::state::rel_path::RelPath;
use crate::view::format::count;
use crate::workflow::documents::drift::FileDrift;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};
use crate::workflow::rules::workflow::Workflow;

/// Maximum number of phases by which a run without a description is called.
const NAMED_PHASES: usize = 3;
/// Maximum number of changed paths listed.
const LISTED_CHANGES: usize = 10;

/// Formats the run and the progress of its phases.
pub fn summary(workflow: &Workflow, time: fn(i64) -> String) -> String {
    let phases: Vec<&str> = workflow.phases.iter().map(|phase| &*phase.name).collect();
    let title = match &*workflow.description {
        "" if phases.is_empty() => workflow.named().to_owned(),
        "" => and_more(&phases, NAMED_PHASES),
        said => said.to_owned(),
    };
    let mut text = format!("Pipeline: {}\n", escape(&title));
    if let Some(branch) = &workflow.context.branch {
        text.push_str(&format!("Branch: {}\n", escape(branch)));
    }
    if !workflow.status.is_open() || workflow.interrupted.is_some() {
        let why = workflow
            .interrupted
            .as_ref()
            .map(|cut| format!(" ({})", escape(&cut.reason)))
            .unwrap_or_default();
        text.push_str(&format!("Status: {}{why}\n", workflow.word()));
    }
    let completed: Vec<&Phase> = workflow.completed().collect();
    text.push_str(&format!(
        "\nCompleted ({}):\n",
        count(completed.len(), "phase", "phases")
    ));
    for phase in &completed {
        text.push_str(&done(workflow, phase, time));
    }
    let running: Vec<&Phase> = workflow.running().collect();
    if !running.is_empty() {
        text.push_str("\nIn progress:\n");
        for phase in &running {
            text.push_str(&under_way(workflow, phase));
        }
    }
    let remaining: Vec<&Phase> = workflow.remaining().collect();
    if !remaining.is_empty() {
        text.push_str(&format!(
            "\nRemaining ({}):\n",
            count(remaining.len(), "phase", "phases")
        ));
        for phase in &remaining {
            text.push_str(&format!("  · {}\n", named(workflow, phase)));
        }
    }
    let skipped: Vec<&Phase> = workflow.skipped().collect();
    if !skipped.is_empty() {
        text.push_str(&format!(
            "\nSkipped ({}):\n",
            count(skipped.len(), "phase", "phases")
        ));
        for phase in &skipped {
            text.push_str(&format!("  - {}\n", named(workflow, phase)));
        }
    }
    text.push_str(&tasks(workflow));
    text
}

fn named(workflow: &Workflow, phase: &Phase) -> String {
    format!(
        "Phase {}: {}",
        workflow.number_of(&phase.id).unwrap_or_default(),
        escape(&phase.name)
    )
}

fn done(workflow: &Workflow, phase: &Phase, time: fn(i64) -> String) -> String {
    let time = phase
        .completed_ms
        .map(|time_ms| time(time_ms).get(11..16).unwrap_or_default().to_owned());
    let sha = phase
        .commit_sha
        .as_ref()
        .map(|sha| format!("sha: {}", escape(sha)));
    let told: Vec<String> = time.into_iter().chain(sha).collect();
    let told = if told.is_empty() {
        String::new()
    } else {
        format!(" ({})", told.join(", "))
    };
    format!("  ✓ {}{told}\n", named(workflow, phase))
}

fn under_way(workflow: &Workflow, phase: &Phase) -> String {
    let word = match phase.status {
        PhaseStatus::AwaitingApproval => " (awaiting approval)",
        PhaseStatus::Failed => " (failed)",
        _ => "",
    };
    let mut text = format!("  → {}{word}\n", named(workflow, phase));
    if let Some(error) = &phase.last_error {
        text.push_str(&format!("    Error: {}\n", escape(error)));
    }
    if let Some(progress) = &phase.progress {
        text.push_str(&format!("    Progress: {}\n", escape(progress)));
    }
    text
}

fn tasks(workflow: &Workflow) -> String {
    if workflow.tasks.is_empty() {
        return String::new();
    }
    let of = |status| {
        workflow
            .tasks
            .iter()
            .filter(|task| task.status == status)
            .count()
    };
    let done = of(TaskStatus::Complete);
    let told = [
        (of(TaskStatus::Running), "running"),
        (of(TaskStatus::Failed), "failed"),
        (of(TaskStatus::Blocked), "blocked"),
    ];
    let more: String = told
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!(", {number} {word}"))
        .collect();
    format!(
        "\nTasks: {done} of {} complete{more}\n",
        workflow.tasks.len()
    )
}

/// Formats the progress in a few words, after a transition.
pub fn place(workflow: &Workflow) -> String {
    let (done, skipped) = (workflow.completed().count(), workflow.skipped().count());
    let all = workflow.phases.len();
    let now = workflow
        .current()
        .map(|phase| format!(", in {}", escape(&phase.id)))
        .unwrap_or_default();
    let skipped = if skipped > 0 {
        format!(", {skipped} skipped")
    } else {
        String::new()
    };
    format!(
        "{}: {done} of {} done{skipped}{now}",
        workflow.word().replace('_', " "),
        count(all, "phase", "phases")
    )
}

/// Formats `5 files changed since write-source began (a1b2c3d4, 12 minutes ago)`, and the paths.
pub fn drift(drift: &FileDrift, now_ms: i64) -> String {
    let number = drift.count();
    let since = in_words(drift.since_ms, now_ms);
    let phase = escape(&drift.phase);
    let files = count(number, "file", "files");
    let mut text = format!(
        "{files} changed since {phase} began ({}, {since})\n",
        drift.checkpoint.id.short()
    );
    let marked = |mark: &'static str, paths: &[RelPath]| {
        paths
            .iter()
            .map(|path| format!("  {mark} {path}\n"))
            .collect::<Vec<_>>()
    };
    let all = [
        marked("+", &drift.added),
        marked("~", &drift.changed),
        marked("-", &drift.deleted),
    ]
    .concat();
    text.extend(all.iter().take(LISTED_CHANGES).map(String::as_str));
    if number > LISTED_CHANGES {
        text.push_str(&format!("  and {} more\n", number - LISTED_CHANGES));
    }
    text
}

/// Formats an age such as `12 minutes ago`.
pub fn in_words(time_ms: i64, now_ms: i64) -> String {
    let minutes = now_ms.saturating_sub(time_ms) / 60_000;
    let words = |number: i64, one: &str, many: &str| {
        format!(
            "{} ago",
            count(usize::try_from(number).unwrap_or_default(), one, many)
        )
    };
    match minutes {
        i64::MIN..0 => age(time_ms, now_ms),
        0 => "just now".to_owned(),
        1..60 => words(minutes, "minute", "minutes"),
        60..1440 => words(minutes / 60, "hour", "hours"),
        _ => words(minutes / 1440, "day", "days"),
    }
}
