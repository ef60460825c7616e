//! Tests of the order of transitions.

use serde_json::Value;

use super::*;
use crate::workflow::rules::phase::{Phase, PhaseOutput};
use crate::workflow::rules::status::{PhaseStatus, RunStatus, TaskStatus};
use crate::workflow::rules::workflow::Workflow;

fn line() -> Workflow {
    let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
    workflow.phases = ["one", "two"].map(|id| Phase::new(id, id)).to_vec();
    workflow.phases[1].dependencies = vec!["one".into()];
    workflow
}

fn start(id: &str) -> Change {
    Change::Phase(PhaseChange::Start(Start {
        phase: Some(id.into()),
        ..Start::default()
    }))
}

fn finish(id: &str) -> Change {
    Change::Phase(PhaseChange::Done(Finish {
        phase: Some(id.into()),
        ..Finish::default()
    }))
}

fn all(workflow: Workflow, changes: &[Change]) -> Result<Workflow, &'static str> {
    changes
        .iter()
        .zip(1..)
        .try_fold(workflow, |workflow, (change, now)| {
            workflow.after(change, now).map_err(|error| error.code.name)
        })
}

#[test]
fn phases_are_done_one_after_the_other_and_each_only_once() {
    let done = all(
        line(),
        &[start("one"), finish("one"), start("two"), finish("two")],
    )
    .unwrap();
    assert_eq!(
        (done.status, done.finished_ms, done.updated_ms),
        (RunStatus::Complete, Some(4), 4)
    );
    for (changes, code) in [
        (vec![start("two")], "dependencies_unmet"),
        (vec![finish("one")], "not_started"),
        (vec![start("one"), start("one")], "already_started"),
        (
            vec![start("one"), finish("one"), finish("one")],
            "already_complete",
        ),
        (
            vec![start("one"), finish("one"), start("one")],
            "already_complete",
        ),
        (vec![start("three")], "no_such_phase"),
        (
            vec![Change::Phase(PhaseChange::Progress {
                phase: None,
                text: "x".into(),
            })],
            "nothing_under_way",
        ),
        (
            vec![
                Change::Abandon {
                    reason: String::new(),
                },
                start("one"),
            ],
            "workflow_ended",
        ),
    ] {
        assert_eq!(all(line(), &changes).map(|_| ()), Err(code));
    }
}

#[test]
fn without_a_name_the_only_one_that_can_be_meant_is() {
    let (start, finish) = (
        Change::Phase(PhaseChange::Start(Start::default())),
        Change::Phase(PhaseChange::Done(Finish::default())),
    );
    let done = all(line(), &[start.clone(), finish.clone(), start, finish]).unwrap();
    assert_eq!(done.status, RunStatus::Complete);
}

#[test]
fn a_phase_that_failed_is_started_again_and_counts() {
    let fail = Change::Phase(PhaseChange::Fail {
        phase: None,
        error: "no network".into(),
        is_final: false,
    });
    let failed = all(line(), &[start("one"), fail]).unwrap();
    assert_eq!(
        (failed.word(), &failed.last_error),
        ("in_progress", &Some("no network".into()))
    );
    let again = all(failed, &[start("one"), finish("one")]).unwrap();
    assert_eq!((again.is_all_settled(), &again.last_error), (false, &None));
    assert_eq!(
        (again.phases[0].attempts, again.phases[0].status),
        (2, PhaseStatus::Complete)
    );
}

#[test]
fn a_required_output_is_waited_for() {
    let mut workflow = line();
    workflow.phases[0].outputs = vec![PhaseOutput {
        path: "a.json".into(),
        required: true,
        sha256: None,
    }];
    let begun = all(workflow, &[start("one")]).unwrap();
    assert_eq!(
        all(begun.clone(), &[finish("one")]).map(|_| ()),
        Err("outputs_missing")
    );
    let present = vec![("a.json".to_owned(), Some("ab".to_owned()))];
    let done = begun
        .after(
            &Change::Phase(PhaseChange::Done(Finish {
                present,
                ..Finish::default()
            })),
            9,
        )
        .unwrap();
    assert_eq!(done.phases[0].outputs[0].sha256.as_deref(), Some("ab"));
}

#[test]
fn an_approval_is_waited_for_and_nothing_is_done_twice() {
    let mut workflow = line();
    workflow.phases[0].requires_approval = true;
    let waiting = all(workflow, &[start("one"), finish("one")]).unwrap();
    assert_eq!(waiting.word(), "awaiting_approval");
    assert_eq!(
        all(waiting.clone(), &[start("two")]).map(|_| ()),
        Err("dependencies_unmet")
    );
    let approve = Change::Phase(PhaseChange::Approve {
        phase: Some("one".into()),
    });
    let approved = all(waiting, std::slice::from_ref(&approve)).unwrap();
    assert_eq!(approved.phases[0].status, PhaseStatus::Complete);
    assert_eq!(
        all(approved, &[approve]).map(|_| ()),
        Err("already_approved")
    );
}

#[test]
fn tasks_run_and_those_that_were_cut_off_count_as_tried() {
    let task = |id: &str| id.to_owned();
    let add = Change::Task(TaskChange::Add {
        id: task("t"),
        name: None,
        phase: None,
        output: None,
    });
    let run = Change::Task(TaskChange::Start {
        id: task("t"),
        agent: None,
    });
    let cut = Change::Task(TaskChange::Reset {
        id: task("t"),
        cut_off: true,
    });
    let back = all(line(), &[start("one"), add.clone(), run.clone(), cut]).unwrap();
    assert_eq!(
        (back.tasks[0].attempts, back.tasks[0].status),
        (2, TaskStatus::Pending)
    );
    assert_eq!(back.tasks[0].phase.as_deref(), Some("one"));
    assert_eq!(all(back.clone(), &[add]).map(|_| ()), Err("task_exists"));
    let done = Change::Task(TaskChange::Done {
        id: task("t"),
        note: None,
    });
    assert_eq!(
        all(back.clone(), std::slice::from_ref(&done)).map(|_| ()),
        Err("invalid_transition")
    );
    assert_eq!(
        all(back, &[run, done]).unwrap().tasks[0].status,
        TaskStatus::Complete
    );
}

#[test]
fn keys_are_set_deep_and_taken_away() {
    let set = |key: &str, value: Value| {
        Change::Note(Note {
            set: vec![(key.into(), value)],
            ..Note::default()
        })
    };
    let one = all(
        line(),
        &[
            set("a.b", 1.into()),
            set("a.c", "x".into()),
            set("a.b", Value::Null),
        ],
    )
    .unwrap();
    assert_eq!(
        Value::Object(one.state.clone()).to_string(),
        r#"{"a":{"c":"x"}}"#
    );
    assert_eq!(
        all(one.clone(), &[set("a.c.d", 1.into())]).map(|_| ()),
        Err("bad_key")
    );
    assert_eq!(
        all(one, &[set("description", 1.into())]).map(|_| ()),
        Err("bad_value")
    );
}

#[test]
fn an_interruption_ends_with_whatever_comes_next() {
    let cut = Change::Note(Note {
        interrupted: Some("rate limit".into()),
        ..Note::default()
    });
    let cut_off = all(line(), &[start("one"), cut]).unwrap();
    assert_eq!(cut_off.word(), "interrupted");
    let on = all(cut_off, &[Change::Resume]).unwrap();
    assert_eq!((on.word(), on.resume_count), ("in_progress", 1));
}
