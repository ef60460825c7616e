//! Documents of other programs with other places, names and numbers than our own have.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{EXECUTION, PHASES, Play as _};

const REGISTRY: &str = ".claude/checkpoints/implement_dark_20260324_115900.json";

fn registry(more: &Value) -> Sandbox {
    let mut document = json!({
        "checkpoint_id": "implement_dark_20260324_115900", "workflow_type": "implement",
        "workflow_description": "Add dark mode", "created_at": "2026-03-24T11:59:00Z",
        "updated_at": "2026-03-24T11:59:30Z", "status": "in_progress", "current_phase": 1,
        "total_phases": 3, "completed_phases": [], "workflow_state": {}, "last_error": null,
    });
    for (key, value) in more.as_object().expect("an object") {
        document[key] = value.clone();
    }
    let sandbox = Sandbox::new();
    sandbox.at("2026-03-24T12:00:00Z");
    sandbox.write(REGISTRY, document.to_string());
    sandbox
}

fn phases(id: &str, current: &str, completed: &[&str]) -> Sandbox {
    let done = |phase: &&str| json!({"phase": phase, "completed_at": "2026-03-24T11:59:10Z"});
    let document = json!({
        "workflow_id": id, "started_at": "2026-03-24T11:59:00Z",
        "last_updated": "2026-03-24T11:59:30Z", "current_phase": current,
        "phase_status": "in_progress", "interruption_safe": true, "user_checkpoints": [],
        "completed_phases": completed.iter().map(done).collect::<Vec<_>>(),
    });
    let sandbox = Sandbox::new();
    sandbox.at("2026-03-24T12:00:00Z");
    sandbox.write(PHASES, document.to_string());
    sandbox.write("memory/reports/demand.json", "{}");
    sandbox
}

#[test]
fn phases_that_are_numbers_come_one_after_the_other() {
    for (more, next, ready) in [
        (json!({}), "1", ""),
        (
            json!({"completed_phases": [1], "current_phase": 2}),
            "2",
            "",
        ),
        (json!({"status": "pending"}), "1", "1\n"),
        (
            json!({"completed_phases": [1, 3], "current_phase": 2}),
            "2",
            "",
        ),
        (
            json!({"completed_phases": [1], "current_phase": 3}),
            "3",
            "2\n",
        ),
    ] {
        let sandbox = registry(&more);
        sandbox.ok("workflow check");
        let data = sandbox.go("workflow next");
        assert_eq!(data["next"]["phase_id"], next, "{more}: {data}");
        let parallel = sandbox.ok("workflow next --parallel");
        assert_eq!(parallel.stdout, ready, "{more}");
        if ready.is_empty() {
            sandbox.fails(4, "phase start");
        }
        let done = sandbox.ok("workflow resume --choose s");
        done.stdout_has("Phase 1");
        let ready = sandbox.ok("workflow next --parallel");
        assert!(ready.stdout.starts_with("1\n"), "{more}: {ready}");
    }
}

#[test]
fn a_report_counts_in_each_place_and_form_that_agents_give_it() {
    let upto_design = &["REQUIREMENTS"][..];
    let upto_check = &[
        "REQUIREMENTS",
        "ARCHITECTURE",
        "IMPLEMENTATION",
        "VERIFICATION",
    ][..];
    for (current, done, report, advice) in [
        (
            "ARCHITECTURE",
            upto_design,
            "designs/final_design.json",
            "approve",
        ),
        (
            "ARCHITECTURE",
            upto_design,
            "designs/one.json",
            "Roundtable",
        ),
        ("ARCHITECTURE", upto_design, "designs/one.md", "Roundtable"),
        ("ARCHITECTURE", upto_design, "final_design.json", "approve"),
        ("REFLECTION", upto_check, "reflection.md", "complete"),
        ("REFLECTION", upto_check, "reflection-2026.txt", "complete"),
        (
            "REFLECTION",
            upto_check,
            "reflections/reflection.json",
            "Reflector",
        ),
    ] {
        let sandbox = phases("wf-1", current, done);
        sandbox.write(format!("memory/reports/{report}"), "{}");
        let next = sandbox.ok("workflow next");
        assert!(next.stdout.contains(advice), "{report}: {next}");
    }
    let sandbox = phases("wf-1", "ARCHITECTURE", upto_design);
    sandbox.write("memory/reports/designs/final_design.json", "{}");
    sandbox.go("phase done");
    sandbox.go("phase approve ARCHITECTURE");
    assert_eq!(sandbox.json_of(PHASES)["current_phase"], "IMPLEMENTATION");
}

#[cfg(unix)]
#[test]
fn a_run_is_called_by_the_id_of_its_writer_in_every_sentence() {
    let id = "wf/2026.11-ünï #1";
    let ours = "wf_2026_11";
    let sandbox = phases(id, "IMPLEMENTATION", &["REQUIREMENTS", "ARCHITECTURE"]);
    sandbox.write("memory/reports/final_design.json", "{}");
    sandbox.write("memory/reports/designs/a.json", "{}");
    for (args, code) in [
        (&["workflow", "resume"][..], 4),
        (&["workflow", "check"], 0),
        (&["workflow", "list"], 0),
        (&["phase", "start", "nothing"], 3),
        (&["phase", "start", "IMPLEMENTATION"], 4),
        (&["workflow", "resume", "--choose", "x"], 4),
        (&["workflow", "recover"], 0),
        (&["workflow", "resume", "--choose", "y"], 0),
        (&["workflow", "status", "wf/2026.11-ünï #1"], 0),
    ] {
        let run = sandbox.run(args).code(code);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.contains(ours), "{run}");
    }
    let run = sandbox.fails(4, "workflow resume --json");
    let command = run.json()["error"]["options"][0]["command"].clone();
    assert!(command.to_string().contains(id), "{command}");
}

#[test]
fn a_complete_phase_can_be_approved() {
    let sandbox = phases("wf-1", "ARCHITECTURE", &["REQUIREMENTS"]);
    sandbox.go("phase approve REQUIREMENTS");
    let approved = &sandbox.json_of(PHASES)["user_checkpoints"];
    let expected = json!([{"phase": "REQUIREMENTS", "approved_at": "2026-03-24T12:00:00Z"}]);
    assert_eq!(approved, &expected);
    let again = sandbox.fails(4, "phase approve REQUIREMENTS --json");
    assert_eq!(again.error_code(), "wrong_state");
    sandbox.fails(4, "phase approve REFLECTION");
}

#[test]
fn a_list_of_tasks_in_another_form_is_read_or_named() {
    let implementing = || {
        let sandbox = phases("wf-1", "IMPLEMENTATION", &["REQUIREMENTS", "ARCHITECTURE"]);
        sandbox.write("memory/reports/final_design.json", "{}");
        sandbox
    };
    let foreign =
        json!({"workflow_id": "wf-1", "task_status": {"t1": "complete"}, "waves": [["t1"]]});
    let sandbox = implementing();
    sandbox.write(EXECUTION, foreign.to_string());
    for args in [
        ["workflow", "next"],
        ["workflow", "status"],
        ["workflow", "check"],
    ] {
        let run = sandbox.run(&args);
        run.stderr_has("memory/state/execution.json: it has no 'tasks'");
    }
    let sandbox = implementing();
    let listed = json!({"tasks": [{"id": "t1", "status": "running", "outputs": ["o/1.json", "o/2"]},
                                  {"id": "t2", "status": "pending", "outputs": []}]});
    sandbox.write(EXECUTION, listed.to_string());
    sandbox.write("o/1.json", "{}");
    let repaired = sandbox.ok("workflow recover");
    repaired.stdout_has("o/1.json");
    sandbox.go("task start t2");
    let tasks = sandbox.json_of(EXECUTION)["tasks"].clone();
    assert_eq!(tasks[0]["outputs"], json!(["o/1.json", "o/2"]));
    assert_eq!(
        (&tasks[0]["status"], &tasks[1]["outputs"]),
        (&json!("complete"), &json!([]))
    );
}

#[test]
fn a_run_without_a_description_is_called_by_its_phases() {
    let titled = |args: &[&str]| {
        let sandbox = Sandbox::new();
        sandbox
            .run(&[&["workflow", "init"], args].concat())
            .success();
        let shown = sandbox.ok("workflow status").stdout;
        shown.lines().next().unwrap_or_default().to_owned()
    };
    let four = [
        "--phase", "a", "--phase", "b:Do b", "--phase", "c", "--phase", "d",
    ];
    assert_eq!(titled(&four), "Pipeline: A, Do b, C and 1 more");
    assert_eq!(titled(&four[..2]), "Pipeline: A");
    let described = [&four[..2], &["--description", "the task"]].concat();
    assert_eq!(titled(&described), "Pipeline: the task");
}

#[test]
fn a_file_that_the_state_names_is_looked_for() {
    for (state, is_valid, named) in [
        (
            json!({"plan_path": "specs/none.md"}),
            false,
            "specs/none.md: the workflow's state names it",
        ),
        (json!({"plan_path": "specs/plan.md"}), true, ""),
        (
            json!({"plan_path": "https://example.org/plan.md"}),
            true,
            "",
        ),
        (json!({"plan_path": "/elsewhere/plan.md"}), true, ""),
        (
            json!({"plan_path": 5, "profile": "none", "path": ""}),
            true,
            "",
        ),
        (
            json!({"artifact_registry": {"debug_report_path": "r.md"}}),
            true,
            "note: r.md: ",
        ),
        (
            json!({"research": [{"files": ["x/1", "specs/plan.md"]}]}),
            true,
            "note: x/1: ",
        ),
    ] {
        let sandbox = registry(&json!({"workflow_state": state}));
        sandbox.write("specs/plan.md", "plan");
        let valid = sandbox.cmd("workflow check");
        let resumed = sandbox.cmd("workflow resume --choose r");
        assert_eq!(
            (valid.code, resumed.code),
            if is_valid { (0, 0) } else { (6, 4) },
            "{state}\n{valid}"
        );
        for run in [&valid, &resumed] {
            assert!(run.stderr.contains(named), "{state}\n{run}");
            assert_eq!(
                run.stderr.contains("it is missing"),
                !named.is_empty(),
                "{state}\n{run}"
            );
        }
    }
}

#[test]
fn what_is_saved_in_part_keeps_all_that_it_has() {
    let sandbox = Sandbox::new();
    let save = |document: Value| {
        sandbox.write("given.json", document.to_string());
        let args = ["workflow", "import", "given.json", "--type", "orchestrate"];
        sandbox
            .run(&[&args[..], &["--profile", "registry", "--keep-files"]].concat())
            .success();
        let args = ["workflow", "export", "orchestrate_auth", "--json"];
        sandbox.run(&args).success().data()["document"].clone()
    };
    let first = save(
        json!({"project_name": "auth", "owner": {"b": 1, "a": 3}, "current_phase": 2,
                            "total_phases": 3, "workflow_state": {"x": 1}}),
    );
    let told = ["project_name", "owner", "current_phase"].map(|key| first[key].clone());
    assert_eq!(
        told,
        [json!("auth"), json!({"b": 1, "a": 3}), json!(2)],
        "{first}"
    );
    assert_eq!(
        first["workflow_state"],
        json!({"project_name": "auth", "x": 1})
    );
    assert!(
        first["checkpoint_id"]
            .as_str()
            .unwrap()
            .starts_with("orchestrate_auth_"),
        "{first}"
    );
    let second = save(
        json!({"project_name": "auth", "owner": "me", "more": [1], "workflow_state": {"x": 2}}),
    );
    let told = ["checkpoint_id", "owner", "more", "current_phase"].map(|key| second[key].clone());
    assert_eq!(
        told,
        [
            first["checkpoint_id"].clone(),
            json!("me"),
            json!([1]),
            json!(2)
        ],
        "{second}"
    );
}

#[test]
fn an_unknown_name_is_refused() {
    let sandbox = registry(&json!({}));
    sandbox.says(
        "workflow export orchestrate",
        3,
        "no workflow 'orchestrate'",
    );
    sandbox.says("workflow export implement_light", 3, "implement_light");
    let none = Sandbox::new();
    none.says("workflow export x", 3, "there is no workflow here");
}

#[test]
fn what_a_plan_says_of_its_run_counts_and_goes_out_again() {
    let plan = json!({"type": "deploy", "project": "shop", "description": "Go live", "branch": "main",
                      "phases": [{"id": "a"}]});
    let begun = |plan: &Value, args: &[&str]| {
        let sandbox = Sandbox::new();
        sandbox.write("plan.json", plan.to_string());
        sandbox
            .run(&[&["workflow", "init", "--plan", "plan.json"], args].concat())
            .success();
        let exported = sandbox.ok("workflow export --format plan");
        let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
        (sandbox.go("workflow status"), exported)
    };
    let (stands, exported) = begun(&plan, &[]);
    let found = ["type", "project", "description"].map(|key| stands[key].clone());
    assert_eq!(
        found,
        ["deploy", "shop", "Go live"].map(Value::from),
        "{stands}"
    );
    assert_eq!(exported, plan);
    let given = ["--type", "t", "--project", "p", "--description", "d"];
    for plan in [&plan, &json!({"phases": [{"id": "a"}]})] {
        let (_, exported) = begun(plan, &given);
        let found = ["type", "project", "description"].map(|key| exported[key].clone());
        assert_eq!(found, ["t", "p", "d"].map(Value::from));
    }
    let sandbox = Sandbox::new();
    let args = ["workflow", "init", "--phase", "a"];
    sandbox.run(&[&args[..], &given[..]].concat()).success();
    let exported = sandbox.ok("workflow export --format plan");
    let (_, again) = begun(&serde_json::from_str(&exported.stdout).unwrap(), &[]);
    let found = ["type", "project", "description"].map(|key| again[key].clone());
    assert_eq!(found, ["t", "p", "d"].map(Value::from));
    sandbox.write(
        "wrong.json",
        json!({"type": 5, "phases": [{"id": "a"}]}).to_string(),
    );
    sandbox.says("workflow init --plan wrong.json", 2, "type");
}
