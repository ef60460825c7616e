//! JSON of workflows: every command answers with one object, and asks nothing.

use serde_json::Value;

use crate::bench::{Run, Sandbox};

fn answer(run: &Run) -> Value {
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
    run.json()
}

fn asked(sandbox: &Sandbox, schema: &str, args: &[&str]) -> Value {
    let run = sandbox.run(&[args, &["--json"]].concat()).success();
    let document = answer(&run);
    assert_eq!(
        document["schema"],
        format!("checkpoint.{schema}/1"),
        "{run}"
    );
    assert_eq!(
        (&document["ok"], &document["exit"]),
        (&Value::Bool(true), &Value::from(0)),
        "{run}"
    );
    document["data"].clone()
}

#[test]
fn each_command_answers_with_one_object_of_its_schema() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let init = [
        "workflow",
        "init",
        "--id",
        "w",
        "--profile",
        "registry",
        "--phase",
        "one",
        "--phase",
        "two::one",
    ];
    assert_eq!(asked(&sandbox, "workflow.init", &init)["id"], "w");
    let started = asked(&sandbox, "phase.start", &["phase", "start"]);
    assert_eq!(
        (&started["current"], &started["event"]["event"]),
        (&"one".into(), &"phase start".into())
    );
    assert_eq!(
        asked(&sandbox, "phase.progress", &["phase", "progress", "half"])["phases"][0]["progress"],
        "half"
    );
    asked(&sandbox, "task.add", &["task", "add", "t"]);
    asked(&sandbox, "task.start", &["task", "start", "t"]);
    asked(&sandbox, "task.done", &["task", "done", "t"]);
    asked(&sandbox, "task.reset", &["task", "reset", "t"]);
    assert_eq!(
        asked(&sandbox, "task.list", &["task", "list"])["tasks"][0]["status"],
        "pending"
    );
    asked(&sandbox, "task.start", &["task", "start", "t"]);
    asked(&sandbox, "task.done", &["task", "done", "t"]);
    asked(&sandbox, "phase.fail", &["phase", "fail", "--error", "x"]);
    asked(&sandbox, "phase.start", &["phase", "start"]);
    assert_eq!(
        asked(&sandbox, "phase.done", &["phase", "done"])["completed"][0],
        "one"
    );
    assert_eq!(
        asked(&sandbox, "workflow.set", &["workflow", "set", "n=1"])["state"]["n"],
        1
    );
    asked(
        &sandbox,
        "workflow.note",
        &["workflow", "note", "--decision", "so"],
    );
    asked(&sandbox, "workflow.interrupt", &["workflow", "interrupt"]);
    assert_eq!(
        asked(
            &sandbox,
            "workflow.resume",
            &["workflow", "resume", "--choose", "r"]
        )["done"],
        "resumed"
    );
    assert_eq!(
        asked(&sandbox, "workflow.status", &["workflow", "status"])["valid"],
        true
    );
    asked(&sandbox, "workflow.list", &["workflow", "list"]);
    asked(&sandbox, "workflow.show", &["workflow", "show", "--raw"]);
    assert_eq!(
        asked(
            &sandbox,
            "workflow.next",
            &["workflow", "next", "--parallel"]
        )["ready"][0]["id"],
        "two"
    );
    asked(&sandbox, "workflow.diff", &["workflow", "diff"]);
    asked(&sandbox, "workflow.validate", &["workflow", "validate"]);
    asked(&sandbox, "workflow.lint", &["workflow", "lint"]);
    asked(&sandbox, "workflow.recover", &["workflow", "recover"]);
    asked(
        &sandbox,
        "workflow.mini_commit",
        &["workflow", "mini-commit"],
    );
    let exported = asked(&sandbox, "workflow.export", &["workflow", "export"]);
    assert_eq!(exported["document"]["checkpoint_id"], "w");
    asked(&sandbox, "workflow.skeleton", &["workflow", "skeleton"]);
    asked(
        &sandbox,
        "workflow.shims",
        &["workflow", "shims", "--into", "utils"],
    );
    asked(
        &sandbox,
        "workflow.rewind",
        &["workflow", "rewind", "one", "--state", "--yes"],
    );
    asked(&sandbox, "phase.skip", &["phase", "skip", "one"]);
    asked(&sandbox, "workflow.abandon", &["workflow", "abandon"]);
    asked(&sandbox, "workflow.cleanup", &["workflow", "cleanup"]);
    sandbox.write(
        "document.json",
        exported["document"].to_string().replace("\"w\"", "\"v\""),
    );
    asked(
        &sandbox,
        "workflow.import",
        &["workflow", "import", "document.json"],
    );
    asked(&sandbox, "workflow.archive", &["workflow", "archive", "v"]);
    asked(
        &sandbox,
        "workflow.delete",
        &["workflow", "delete", "v", "--purge", "--yes"],
    );
}

#[test]
fn a_failure_is_one_object_with_its_code_and_the_state_as_it_stands() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let none = sandbox.run(&["workflow", "status", "--json"]).code(3);
    assert_eq!(
        (
            answer(&none)["error"]["code"].clone(),
            none.error_code().as_str()
        ),
        ("no_workflow".into(), "no_workflow")
    );
    sandbox
        .run(&[
            "workflow", "init", "--id", "w", "--phase", "one", "--phase", "two::one",
        ])
        .success();
    let early = sandbox.run(&["phase", "start", "two", "--json"]).code(4);
    let error = answer(&early)["error"].clone();
    assert_eq!(
        (&error["code"], &error["state"]["remaining"][0]),
        (&"dependencies_unmet".into(), &"one".into())
    );
    let undecided = sandbox.run(&["workflow", "resume", "--json"]).code(4);
    let options = answer(&undecided)["error"]["options"].clone();
    assert_eq!(options.as_array().map(Vec::len), Some(3), "{undecided}");
}
