//! Plans from words, presets and documents, and what is found in them.

use serde_json::{Value, json};

use super::{
    DOTAGENT, PLAN, check, check_plan, from_document, from_words, lint, preset, to_document,
};
use crate::base::tests::rows;
use crate::model::path_pattern::may_meet;
use crate::workflow::{Class, Phase, PhaseStatus, Workflow};

const TABLES: &str = include_str!("tests/tables.json");

fn run(words: &str) -> Workflow {
    let mut run = Workflow::new("x".into(), "a".into(), "b".into(), 0);
    run.phases = words.split(' ').map(from_words).collect();
    run
}

fn of_plan(value: &Value) -> Workflow {
    let mut run = run("x");
    run.phases = from_document(value).unwrap().0;
    run.documents.insert(PLAN.to_owned(), value.clone());
    run
}

#[test]
fn phase_is_given_in_words() {
    for (words, id, name, dependencies) in rows::<(&str, &str, &str, &str)>(TABLES, "words") {
        let phase = from_words(words);
        assert_eq!((&*phase.id, &*phase.name), (id, name), "{words}");
        assert_eq!(phase.dependencies.join(" "), dependencies, "{words}");
    }
    for bad in ["", ":x", " :x", "a\u{1}:x"] {
        let found = check(&[from_words(bad)], |_| String::new());
        assert_eq!(found[0].code, "bad_name", "{bad:?}");
    }
}

#[test]
fn preset_has_the_five_phases_in_order() {
    let phases = preset("dotagent").unwrap();
    let ids: Vec<&str> = phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, DOTAGENT);
    assert_eq!(phases[4].dependencies, ["VERIFICATION"]);
    assert!(phases[1].requires_approval && !phases[1].outputs[1].required);
    assert!(preset("x").is_none());
}

#[test]
fn plan_document_keeps_what_did_not_change() {
    let plan = json!({
        "goal": "x",
        "phases": [
            {"id": "a", "name": "A", "status": "todo", "dependencies": [], "owner": {"z": 1, "a": 2}},
            {"name": "B", "id": "b", "class": "commits", "writes": ["src/**"], "commits": true, "outputs": ["o.json"]},
            {"id": "c", "requires_approval": true, "outputs": [{"path": "d/", "required": false, "k": 1}],
             "dependencies": null, "commits": null},
            {"id": "d", "status": "completed", "depends_on": ["a", "b"]},
        ],
    });
    let mut run = of_plan(&plan);
    assert_eq!(to_document(&run).to_string(), plan.to_string());
    assert_eq!(run.phases[1].outputs[0].path, "o.json");
    assert_eq!(run.phases[3].dependencies, ["a", "b"]);
    run.phases.truncate(1);
    run.phases[0].status = PhaseStatus::Complete;
    run.phases[0].commits = true;
    run.phases.push(Phase::new("e", "E"));
    let expected = json!({"goal": "x", "phases": [
        {"id": "a", "name": "A", "status": "complete", "dependencies": [], "owner": {"z": 1, "a": 2}, "commits": true},
        {"id": "e", "name": "E", "dependencies": [], "status": "pending"},
    ]});
    assert_eq!(to_document(&run), expected);
}

#[test]
fn unsound_plan_is_refused_with_its_place() {
    for (plan, expected) in rows::<(Value, &str)>(TABLES, "unsound") {
        let mut run = run("x");
        let (phases, findings) = from_document(&plan).unwrap_or_else(|found| (vec![], found));
        run.phases = phases;
        run.documents.insert(PLAN.to_owned(), plan);
        let findings = check_plan(&run, findings);
        let found = findings
            .iter()
            .map(|one| format!("{} {}", one.code, one.place));
        assert_eq!(found.collect::<Vec<_>>().join(", "), expected);
    }
}

#[test]
fn cycle_is_named_without_the_way_that_leads_there() {
    assert_eq!(check_plan(&run("a::b b c::a,b"), vec![]), []);
    for (plan, cycle) in [
        ("z::a a::b b::c c::a", "a → b → c → a"),
        ("a::b b::a", "a → b → a"),
    ] {
        let findings = check_plan(&run(plan), vec![]);
        assert!(findings[0].what.ends_with(cycle), "{findings:?}");
    }
}

#[test]
fn phase_of_a_more_precious_class_comes_too_late() {
    for (plan, late) in rows::<(&str, &str)>(TABLES, "late") {
        let found = lint(&run(plan));
        let places: Vec<&str> = found.iter().map(|found| found.place.as_str()).collect();
        assert_eq!(places.join(" "), late, "{plan}");
    }
    let mut run = run("write issues");
    run.phases[0].class = Some(Class::Other);
    assert_eq!(lint(&run), []);
    run.phases[0].class = None;
    run.phases[0].status = PhaseStatus::InProgress;
    assert_eq!(lint(&run), []);
}

#[test]
fn patterns_meet_where_one_lies_at_or_below_the_other() {
    for (one, other, do_meet) in rows::<(&str, &str, bool)>(TABLES, "patterns") {
        let (ones, others) = ([one.to_owned()], [other.to_owned()]);
        assert_eq!(may_meet(&ones, &others), do_meet, "{one} {other}");
        assert_eq!(may_meet(&others, &ones), do_meet, "{one} {other}");
    }
    assert!(!may_meet(&[], &["a".to_owned()]) && !may_meet(&[], &[]));
}
