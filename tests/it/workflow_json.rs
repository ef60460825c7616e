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
    ask("workflow note --set n=1");
    assert_eq!(ask("workflow status")["state"]["n"], 1);
    ask("workflow note --decision so");
    ask("workflow note --interrupted");
    assert_eq!(ask("workflow resume --choose r")["done"], "resumed");
    assert_eq!(ask("workflow status")["valid"], true);
    ask("workflow list");
    ask("workflow show");
    assert_eq!(ask("workflow next --parallel")["ready"][0], "two");
    for name in ["check", "recover"] {
        ask(&format!("workflow {name}"));
    }
    let exported = ask("workflow export");
    assert_eq!(exported["document"]["checkpoint_id"], "w");
    ask("workflow rewind one --state --yes");
    ask("phase skip one");
    ask("workflow end --abandon");
    ask("workflow cleanup");
    let document = exported["document"].to_string();
    sandbox.write("document.json", document.replace("\"w\"", "\"v\""));
    ask("workflow import document.json");
    ask("workflow end v");
    ask("workflow end v --purge --yes");
}

#[test]
fn two_revisions_of_a_run_tell_what_changed_between_them() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for line in [
        "workflow init --id w --phase one --phase two::one",
        "phase start",
        "phase progress half",
        "task add t",
        "workflow note --decision so",
    ] {
        sandbox.ok(line);
    }
    let log = sandbox.json("workflow show")["log"].clone();
    let revision = |at: usize| log[at]["revision"].as_str().expect("a text")[..8].to_owned();
    let (first, last) = (revision(4), revision(0));
    let line = format!("workflow show {first} {last}");
    let told = sandbox.ok(&line).stdout;
    for part in [
        "phases.one.status: pending -> in_progress\n",
        "phases.one.progress: - -> half\n",
        "tasks.t.status: - -> pending\n",
        "key_decisions.0: - -> so\n",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    assert!(
        !told.contains("updated_at") && !told.contains("two"),
        "{told}"
    );
    let back = sandbox.ok(format!("workflow show {last} {first}")).stdout;
    assert!(back.contains("tasks.t.status: pending -> -\n"), "{back}");
    let same = sandbox.ok(format!("workflow show {last} {last}"));
    same.stdout_is("")
        .stderr_has("nothing changed between them");
    let words: Vec<&str> = line.split(' ').collect();
    let data = asked(&sandbox, "workflow.show.revisions", &words);
    let found = data["differences"].as_array().expect("a list");
    let status = found.iter().find(|one| one["place"] == "phases.one.status");
    assert_eq!(status.expect("it")["after"], "in_progress");
    for (two, missing) in [
        ("00000000 11111111".to_owned(), "00000000"),
        (format!("{first} 11111111"), "11111111"),
        (format!("00000000 {first}"), "00000000"),
        ("@~9 @".to_owned(), "@~9"),
        (format!("@~x {first}"), "@~x"),
    ] {
        let run = sandbox.fails(3, format!("workflow show {two}"));
        run.stderr_has(&format!(
            "checkpoint: no workflow has the revision {missing}; \
             'checkpoint workflow show' lists those of a run\n"
        ));
    }
}

#[test]
fn the_last_transition_of_the_newest_run_has_a_name() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --id old --phase one");
    sandbox.ok("phase start --no-snapshot");
    let started = "phases.one.status: pending -> in_progress\n";
    let last = sandbox.ok("workflow show @~1 @").stdout;
    assert!(last.contains(started), "{last}");
    let of_old = revisions(&sandbox, "old");
    sandbox.ok("workflow init --id new --phase two");
    // Of two runs the newest is meant, although only the other one has as many transitions.
    sandbox.fails(3, "workflow show @~1 @");
    let named = sandbox.ok(format!("workflow show @~1 {}", of_old[0]));
    assert!(named.stdout.contains(started), "{named}");
    let parted = format!(
        "workflow show {} {}",
        of_old[0],
        revisions(&sandbox, "new")[0]
    );
    sandbox
        .fails(3, &parted)
        .stderr_has("no workflow has both revisions;");
}

/// The revisions of a run, newest first.
fn revisions(sandbox: &Sandbox, run: &str) -> Vec<String> {
    let log = sandbox.json(format!("workflow show {run}"))["log"].clone();
    let rows = log.as_array().expect("a list").iter();
    rows.map(|row| row["revision"].as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn a_failure_is_one_object_with_its_code_and_the_state_as_it_stands() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let none = sandbox.fails(3, "workflow status --json");
    assert_eq!(
        (
            answer(&none)["error"]["code"].clone(),
            none.error_code().as_str()
        ),
        ("no_workflow".into(), "no_workflow")
    );
    sandbox.ok("workflow init --id w --phase one --phase two::one");
    let early = sandbox.fails(4, "phase start two --json");
    let error = answer(&early)["error"].clone();
    assert_eq!(
        (&error["code"], &error["run"]["remaining"][0]),
        (&"dependencies_unmet".into(), &"one".into())
    );
    let undecided = sandbox.fails(4, "workflow resume --json");
    let options = answer(&undecided)["error"]["options"].clone();
    assert_eq!(options.as_array().map(Vec::len), Some(3), "{undecided}");
}

#[test]
fn a_phase_answers_with_itself() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --id w --phase one");
    let started = asked(&sandbox, "phase.start", &["phase", "start"]);
    assert_eq!(started["phase"]["status"], "in_progress");
}

#[test]
fn a_run_has_the_same_fields_in_every_answer() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --id w --profile registry --phase one --phase two::one");
    let step = sandbox.json("phase start --no-snapshot");
    let refused = sandbox.fails(4, "phase start --no-snapshot two --json");
    let refused = answer(&refused)["error"]["run"].clone();
    let listed = sandbox.json("workflow list")["workflows"][0].clone();
    let listed = listed.as_object().expect("an object");
    assert!(!listed.contains_key("documents"), "{listed:?}");
    let status = sandbox.json("workflow status");
    let shown = sandbox.json("workflow show");
    for (key, value) in listed {
        for (name, run) in [("step", &step), ("status", &status), ("show", &shown)] {
            assert_eq!(&run[key], value, "{key} of {name}");
        }
        // What is refused is told of a state, whatever its commit is.
        let expected = if key == "revision" {
            &Value::Null
        } else {
            value
        };
        assert_eq!(&refused[key], expected, "{key} of a failure");
    }
}

#[test]
fn a_run_is_named_wherever_it_is_shown() {
    let sandbox = Sandbox::new();
    for (id, profile) in [
        ("first", None),
        ("second", Some("pipeline")),
        ("third", Some("registry")),
    ] {
        let mut init = vec!["workflow", "init", "--id", id, "--phase", "one"];
        init.extend(profile.iter().flat_map(|profile| ["--profile", profile]));
        sandbox.run(&init).success();
        for command in ["show", "status"] {
            let shown = sandbox.run(&["workflow", command, id]).success();
            let head = format!("Run: {id}\nPipeline: One\n");
            assert!(shown.stdout.starts_with(&head), "{shown}");
        }
        let asked = sandbox.run(&["workflow", "resume", id]).code(4);
        assert!(asked.stderr.starts_with(&format!("Run: {id}\n")), "{asked}");
    }
}
