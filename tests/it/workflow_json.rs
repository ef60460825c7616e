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
        format!("checkpoint.{schema}/2"),
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
    let ask = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let name = words[..2].join(".").replace('-', "_");
        asked(&sandbox, &name, &words)
    };
    let init = ask("workflow init --id w --profile registry --phase one --phase two::one");
    assert_eq!(init["id"], "w");
    let started = ask("phase start");
    assert_eq!(
        (&started["phase"]["id"], &started["event"]["verb"]),
        (&"one".into(), &"phase start".into())
    );
    assert_eq!(ask("phase progress half")["phase"]["progress"], "half");
    for line in ["task add t", "task start t", "task done t", "task reset t"] {
        ask(line);
    }
    assert_eq!(ask("task list")["tasks"][0]["status"], "pending");
    for line in [
        "task start t",
        "task done t",
        "phase fail --error x",
        "phase start",
    ] {
        ask(line);
    }
    assert_eq!(ask("phase done")["phase"]["status"], "complete");
    assert_eq!(ask("workflow set n=1")["state"]["n"], 1);
    ask("workflow note --decision so");
    ask("workflow interrupt");
    assert_eq!(ask("workflow resume --choose r")["done"], "resumed");
    assert_eq!(ask("workflow status")["valid"], true);
    ask("workflow list");
    ask("workflow show --raw");
    assert_eq!(ask("workflow next --parallel")["ready"][0]["id"], "two");
    for name in ["validate", "lint", "recover", "mini-commit"] {
        ask(&format!("workflow {name}"));
    }
    let exported = ask("workflow export");
    assert_eq!(exported["document"]["checkpoint_id"], "w");
    ask("workflow rewind one --state --yes");
    ask("phase skip one");
    ask("workflow abandon");
    ask("workflow cleanup");
    let document = exported["document"].to_string();
    sandbox.write("document.json", document.replace("\"w\"", "\"v\""));
    ask("workflow import document.json");
    ask("workflow archive v");
    ask("workflow delete v --purge --yes");
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
        (&error["code"], &error["run"]["remaining"][0]),
        (&"dependencies_unmet".into(), &"one".into())
    );
    let undecided = sandbox.run(&["workflow", "resume", "--json"]).code(4);
    let options = answer(&undecided)["error"]["options"].clone();
    assert_eq!(options.as_array().map(Vec::len), Some(3), "{undecided}");
}

#[test]
fn next_id_names_the_phase_alone_and_has_an_exit_code_of_its_own_at_the_end() {
    let sandbox = Sandbox::new();
    let next = ["workflow", "next", "--id"];
    sandbox.run(&next).code(3);
    sandbox
        .run(&["workflow", "init", "--id", "w", "--phase", "one"])
        .success();
    sandbox.run(&next).success().stdout_is("one\n");
    sandbox.run(&["phase", "start"]).success();
    sandbox.run(&["phase", "done"]).success();
    sandbox
        .run(&[&next[..], &["-w", "w"]].concat())
        .code(1)
        .stdout_is("");
    let json = sandbox
        .run(&["workflow", "next", "w", "--id", "--json"])
        .code(1);
    assert_eq!(json.data()["next"]["action"], "complete");
    sandbox.run(&["workflow", "next", "w"]).success();
}

#[test]
fn a_phase_answers_with_itself_and_with_full_with_the_run() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["workflow", "init", "--id", "w", "--phase", "one"])
        .success();
    let started = asked(&sandbox, "phase.start", &["phase", "start"]);
    assert_eq!(
        (&started["phase"]["status"], &started["run"]),
        (&"in_progress".into(), &Value::Null)
    );
    let done = asked(&sandbox, "phase.done", &["phase", "done", "--full"]);
    assert_eq!(done["run"]["completed"][0], "one");
}

#[test]
fn a_run_is_named_by_position_or_by_option() {
    let sandbox = Sandbox::new();
    for id in ["one", "two"] {
        sandbox
            .run(&["workflow", "init", "--id", id, "--phase", "p"])
            .success();
    }
    for command in ["status", "show", "next", "validate", "lint", "export"] {
        let words = ["workflow", command, "--json"];
        let by = |named: &[&str]| {
            let run = sandbox.run(&[&words[..], named].concat());
            (run.code, run.data())
        };
        assert_eq!(by(&["one"]), by(&["-w", "one"]), "{command}");
        let both = [&words[..], &["one", "-w", "one"]].concat();
        sandbox.run(&both).code(2);
    }
}
