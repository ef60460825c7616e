//! Lists of runs, log entries and tasks.

use crate::base::text::{escape, escape_line};
use crate::base::time;
use crate::view::columns::aligned;
use crate::view::words::Output;
use crate::view::workflow::findings::conflicts;
use crate::view::workflow::summary;
use crate::workflow::engine::report::{Listed, Shown, Status};
use crate::workflow::rules::phase::Task;

/// Times are local at a terminal, else UTC.
pub fn list(listed: &Listed, for_a_person: bool) -> Output {
    if listed.runs.is_empty() && listed.lost.is_empty() {
        let talk = format!(
            "{}no workflow is known here\n",
            conflicts(&listed.conflicts)
        );
        return Output {
            result: String::new(),
            talk,
        };
    }
    let updated = if for_a_person {
        "updated"
    } else {
        "updated (UTC)"
    };
    let mut rows = vec![
        ["workflow", "status", "done", updated, "description"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for run in &listed.runs {
        let workflow = &run.workflow;
        let word = if run.is_live() {
            workflow.word().to_owned()
        } else {
            format!("{}, archived", workflow.word())
        };
        let done = format!("{}/{}", workflow.completed().count(), workflow.phases.len());
        rows.push(vec![
            escape(run.archived_as.as_deref().unwrap_or(workflow.named())),
            word,
            done,
            time::shown(for_a_person)(workflow.updated_ms),
            escape(&workflow.description),
        ]);
    }
    let mut talk: String = listed
        .lost
        .iter()
        .map(|lost| format!("damaged: {}: {}\n", lost.id, escape_line(&lost.why)))
        .collect();
    talk.push_str(&conflicts(&listed.conflicts));
    Output {
        result: aligned(&rows, &[]),
        talk,
    }
}

/// As in [`list`], times are local at a terminal.
pub fn show(shown: &Shown, for_a_person: bool) -> Output {
    let time = time::shown(for_a_person);
    let mut result = summary::summary(&shown.run.workflow, time);
    let zone = if for_a_person { "" } else { " (UTC)" };
    result.push_str(&format!("\nLog, the newest first{zone}:\n"));
    for logged in &shown.log {
        let note = logged
            .event
            .note
            .as_ref()
            .map(|note| format!(": {}", escape(note)))
            .unwrap_or_default();
        let revision = logged.revision.get(..8).unwrap_or_default();
        let time = time(logged.time_ms);
        result.push_str(&format!(
            "  {revision}  {time}  {}  {}{note}\n",
            logged.event.subject(),
            escape(&logged.event.actor)
        ));
    }
    let broken = shown
        .broken
        .as_ref()
        .map(|why| format!("the log is damaged before that: {}\n", escape(why)));
    Output {
        result,
        talk: broken.unwrap_or_default() + &conflicts(&shown.conflicts),
    }
}

pub fn tasks(status: &Status, only: Option<&str>) -> Output {
    let tasks: Vec<&Task> = status
        .run
        .workflow
        .tasks
        .iter()
        .filter(|task| only.is_none_or(|phase| task.phase.as_deref() == Some(phase)))
        .collect();
    let talk = conflicts(&status.conflicts);
    if tasks.is_empty() {
        return Output {
            result: String::new(),
            talk: format!("{talk}no tasks\n"),
        };
    }
    let mut rows = vec![
        ["task", "status", "tries", "phase", "agent", "output"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let text = |field: &Option<String>| field.as_ref().map_or("-".to_owned(), |text| escape(text));
    rows.extend(tasks.iter().map(|task| {
        let (id, word) = (escape(&task.id), task.status.into_str().to_owned());
        vec![
            id,
            word,
            task.attempts.to_string(),
            text(&task.phase),
            text(&task.agent),
            text(&task.output),
        ]
    }));
    Output {
        result: aligned(&rows, &[]),
        talk,
    }
}
