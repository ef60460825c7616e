//! The files of runs when users, time and other programs change them.

use serde_json::{Value, json};

use crate::bench::play::{PHASES, PIPELINE, Play as _, registry};
use crate::bench::{Git, Run, Sandbox};

const DAY: &str = "2026-11-22";

fn init(sandbox: &Sandbox, args: &str) -> String {
    let made = sandbox.go(format!("workflow init {args}"));
    made["id"].as_str().unwrap().to_owned()
}

/// A run of two phases in each profile that has one file, with its path.
fn runs() -> [(Sandbox, String); 3] {
    [
        ("pipeline", PIPELINE),
        ("phases", PHASES),
        ("registry", ".claude/checkpoints/t_p_20261122_100000.json"),
    ]
    .map(|(profile, path)| {
        let sandbox = Sandbox::new();
        sandbox.at(&format!("{DAY}T10:00:00Z"));
        init(
            &sandbox,
            &format!("--type t --project p --profile {profile} --phase a --phase b"),
        );
        sandbox.go("phase start a");
        (sandbox, path.to_owned())
    })
}

fn status_of(sandbox: &Sandbox, id: &str) -> Value {
    let listed = sandbox.go("workflow list --all");
    let found = listed["workflows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["id"] == id)
        .cloned();
    found.unwrap_or_else(|| panic!("{listed}"))["status"].clone()
}

#[test]
fn removed_file_archives_its_run_until_it_comes_back_or_is_recovered() {
    const ID: &str = "t_p_20261122_100000";
    for (sandbox, path) in runs() {
        let before = sandbox.read(&path);
        let archived = |args: &[&str]| {
            sandbox.remove(&path);
            let run = sandbox.run(args).stderr_has(&format!(
                "workflow {ID} was archived: {path} was removed by hand; 'checkpoint workflow recover {ID}' reopens it"
            ));
            assert!(!sandbox.exists(&path), "{run}");
            run
        };
        archived(&["workflow", "list"]).success();
        assert_eq!(status_of(&sandbox, ID), "in_progress");
        sandbox
            .run(&["phase", "done", "-w", ID, "--json"])
            .code(4)
            .stdout_has("workflow_archived");
        sandbox.says("workflow resume --json", 3, "no_workflow");
        // As 'git stash pop' does.
        sandbox.write(&path, &before);
        let back = sandbox.ok("workflow status --json");
        assert_eq!(back.warning_codes(), ["workflow_reopened"]);
        assert_eq!(back.data()["current"], "a");
        for args in [
            &["workflow", "next"][..],
            &["phase", "done"],
            &["workflow", "resume"],
        ] {
            archived(args).code(3);
            let run = sandbox.run(&["workflow", "recover", ID]).success();
            run.stdout_has(&format!("Workflow {ID} was reopened."));
            assert_eq!(sandbox.stands()["current"], "a");
        }
        let (file, known) = (sandbox.json_of(&path), serde_json::from_str(&before));
        let known: Value = known.unwrap();
        for key in ["current_phase", "completed_phases", "created_at"] {
            assert_eq!(file.get(key), known.get(key));
        }
        sandbox.ok("phase done");
        sandbox.run(&["workflow", "recover", ID]).success();
    }
}

#[test]
fn reopened_run_waits_until_no_open_run_has_its_file() {
    let sandbox = Sandbox::new();
    let begin = || init(&sandbox, "--id w --profile phases --phase a");
    begin();
    sandbox.go("phase start");
    sandbox.remove(PHASES).go("workflow list");
    sandbox.fails(4, "workflow init --id w --phase z");
    init(&sandbox, "--id w-2 --profile phases --phase b");
    let refused = sandbox.fails(4, "workflow recover w --json");
    assert_eq!(refused.error_code(), "workflow_open");
    assert_eq!(sandbox.json_of(PHASES)["workflow_id"], "w-2");
    sandbox.ok("workflow end w-2");
    let back = sandbox.go("workflow recover w");
    assert_eq!((&back["id"], &back["current"]), (&"w".into(), &"a".into()));
    assert_eq!(sandbox.json_of(PHASES)["current_phase"], "a");
}

#[test]
fn init_goes_on_after_the_file_was_removed() {
    for (sandbox, path) in runs() {
        let profile = sandbox.stands()["profile"].clone();
        sandbox.remove(&path);
        let words = ["--type", "t", "--project", "p", "--profile"];
        let again = ["workflow", "init", "--phase", "a", "--phase", "b", "--json"];
        let begun = sandbox
            .run(&[&again, &words[..], &[profile.as_str().unwrap()]].concat())
            .success();
        assert_eq!(begun.warning_codes()[0], "workflow_put_aside", "{begun}");
        let runs = sandbox.go("workflow list")["workflows"].clone();
        assert_eq!(runs.as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn a_file_of_the_registry_that_is_put_among_the_failed_ends_its_run() {
    let (sandbox, path) = registry();
    let failed = path.replace("checkpoints/", "checkpoints/failed/");
    sandbox.mkdir(".claude/checkpoints/failed");
    std::fs::rename(sandbox.path(&path), sandbox.path(&failed)).unwrap();
    let listed = sandbox.ok("workflow list --json");
    assert_eq!(
        (listed.data()["workflows"].clone(), listed.warning_codes()),
        (json!([]), vec!["workflow_put_aside".into()])
    );
    assert!(sandbox.exists(&failed) && !sandbox.exists(&path));
    let back = sandbox.go("workflow recover orchestrate_auth_system_20251003_184530");
    assert_eq!(back["status"], "pending");
    assert!(!sandbox.exists(&failed) && sandbox.exists(&path));
}

#[test]
fn a_file_that_went_with_the_whole_directory_comes_back_with_the_next_transition() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    init(&sandbox, "--profile pipeline --phase a --phase b");
    sandbox.go("phase start");
    let root = sandbox.root().display().to_string();
    std::fs::remove_dir_all(sandbox.root()).unwrap();
    sandbox
        .cmd(format!("-C {root} restore latest --yes"))
        .success();
    assert!(sandbox.exists(PIPELINE), "it is written again");
    assert_eq!(sandbox.go("phase done")["completed"], json!(["a"]));
    assert_eq!(sandbox.json_of(PIPELINE)["completed_phases"][0]["id"], "a");
}

#[test]
fn the_tasks_of_a_run_can_lose_their_file() {
    let sandbox = Sandbox::new();
    init(&sandbox, "--profile phases --phase a");
    sandbox.go("task add t");
    sandbox
        .remove("memory/state/execution.json")
        .go("task start t");
    assert_eq!(
        sandbox.json_of("memory/state/execution.json")["tasks"][0]["status"],
        "running"
    );
}

#[test]
fn what_failed_is_kept_for_thirty_days() {
    let (sandbox, path) = registry();
    let failed = path.replace("checkpoints/", "checkpoints/failed/");
    sandbox.write(
        ".claude/checkpoints/failed/other_tool_20200101_000000.json",
        "{}",
    );
    sandbox.go("phase start");
    sandbox.go("phase fail --error x --final");
    sandbox.at("2025-11-02T00:00:00Z").ok("workflow cleanup");
    assert!(sandbox.exists(&failed), "29 days");
    sandbox
        .at("2025-11-03T00:00:00Z")
        .ok("workflow cleanup --dry-run")
        .stdout_has(&failed);
    assert!(sandbox.exists(&failed));
    sandbox.ok("workflow cleanup").stdout_has(&failed);
    assert!(!sandbox.exists(&failed));
    assert!(
        sandbox.exists(".claude/checkpoints/failed/other_tool_20200101_000000.json"),
        "it is none of ours"
    );
    assert_eq!(
        status_of(&sandbox, "orchestrate_auth_system_20251003_184530"),
        "failed"
    );
}

#[test]
fn an_init_puts_aside_what_the_registry_keeps_no_longer() {
    let (sandbox, path) = registry();
    sandbox.go("phase start");
    let other = "workflow init --type t --profile registry --phase a --json";
    sandbox.at("2025-10-10T18:00:00Z").cmd(other).success();
    assert!(sandbox.exists(&path), "less than seven days");
    let begun = sandbox
        .at("2025-10-11T00:00:00Z")
        .cmd(format!("{other} --description x"))
        .success();
    assert_eq!(
        begun.warning_codes(),
        ["workflow_put_aside", "state_file_not_ignored"]
    );
    assert!(!sandbox.exists(&path) && !sandbox.exists(".claude/checkpoints/failed"));
    // An archived run stays readable.
    let shown = sandbox.go("workflow show orchestrate_auth_system_20251003_184530");
    assert_eq!(shown["current"], "1");
}

#[test]
fn nothing_of_a_run_stays_that_is_dropped_with_all_it_has() {
    for (sandbox, path) in runs() {
        sandbox.go("phase fail --error x --final");
        sandbox.ok("workflow end t_p");
        sandbox.write(
            "memory/state/.archive/t_p_20261122_100000_and_more/x",
            "another's",
        );
        let purged = sandbox.ok("workflow end t_p --purge --yes");
        purged.stdout_has("t_p_20261122_100000");
        let kept = |folder: &str| {
            std::fs::read_dir(sandbox.path(folder))
                .map(Iterator::count)
                .unwrap_or_default()
        };
        assert_eq!(
            (kept(".claude/.archive"), kept(".claude/checkpoints/failed")),
            (0, 0),
            "{path}"
        );
        assert_eq!(kept("memory/state/.archive"), 1);
        assert_eq!(sandbox.refused("workflow show t_p", 3), "no_such_workflow");
    }
}

#[test]
fn a_run_that_had_failed_and_was_taken_back_is_no_longer_among_the_failed() {
    let (sandbox, path) = registry();
    let failed = path.replace("checkpoints/", "checkpoints/failed/");
    sandbox.go("phase start 1");
    sandbox.go("phase fail --error x --final");
    assert!(sandbox.exists(&failed));
    sandbox.ok("workflow rewind 1 --state --yes");
    assert!(!sandbox.exists(&failed) && sandbox.exists(&path));
    for id in ["1", "2"] {
        sandbox.go(format!("phase start {id}"));
        sandbox.go(format!("phase done {id}"));
    }
    assert!(!sandbox.exists(&failed) && !sandbox.exists(&path));
}

#[test]
fn the_same_task_is_begun_once() {
    let (sandbox, _) = registry();
    let again = "workflow init --phase other --profile registry --type orchestrate \
                 --project auth_system --description 'Implement authentication system'";
    let refused = sandbox.cmd(again).code(4);
    let refused = refused.stderr_has("is open and has the same task");
    refused.stderr_has("workflow resume orchestrate_auth");
    sandbox.cmd(format!("{again} --id on-purpose")).success();
    let found = sandbox.go("workflow status 'implement AUTHENTICATION system'");
    assert_eq!(found["description"], "Implement authentication system");
    let plain = Sandbox::new();
    init(&plain, "--phase a");
    plain.fails(4, "workflow init --phase a");
    init(&plain, "--phase b");
    plain.ok("workflow end --abandon");
    init(&plain, "--phase b");
}

#[test]
fn init_names_the_line_that_keeps_a_state_file_out_of_git() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let begin = |profile: &str, description: &str| {
        let words = format!("--profile {profile} --description '{description}'");
        let run = sandbox
            .cmd(format!("workflow init --phase a --json {words}"))
            .success();
        let warnings = run.json()["warnings"].as_array().unwrap().clone();
        warnings
            .iter()
            .filter(|one| one["code"] == "state_file_not_ignored")
            .cloned()
            .collect::<Vec<Value>>()
    };
    assert_eq!(begin("registry", "no repository"), [json!(null); 0]);
    git.run(&["init", "-q"]).success();
    // The last line of the file has no newline.
    sandbox.write(".gitignore", "*.log");
    for (profile, path) in [
        ("phases", PHASES),
        ("pipeline", PIPELINE),
        ("registry", ".claude/checkpoints/a_b_20261122_100000.json"),
    ] {
        let said = begin(profile, profile);
        let words = said[0]["message"].as_str().unwrap();
        let command = words.split_once("to ignore it: ").unwrap().1;
        git.run(&["check-ignore", path]).code(1);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).current_dir("/");
        Run::of(shell).success();
        git.run(&["check-ignore", path, "x.log"]).success();
        sandbox.ok("workflow end --abandon");
        assert_eq!(begin(profile, profile), [json!(null); 0]);
        sandbox.ok("workflow end --abandon");
    }
}

#[test]
fn state_files_of_other_programs_are_left_alone_before_any_workflow_command_saw_them() {
    let sandbox = Sandbox::new();
    let state = |completed: Value| {
        json!({"created_at": "2026-11-22T08:00:00Z", "updated_at": "2026-11-22T08:00:00Z", "context_summary": {},
            "completed_phases": completed, "current_phase": null, "remaining_phases": []})
    };
    let run = ".claude/checkpoints/t_p_20261122_100000.json";
    let files = |number: u64| {
        [
            (
                PIPELINE,
                state(json!([{"id": "a", "name": number.to_string()}])),
            ),
            (
                run,
                json!({"checkpoint_id": "x", "workflow_type": "t", "current_phase": number}),
            ),
            (
                PHASES,
                json!({"phase_status": "in_progress", "current_phase": number.to_string()}),
            ),
            (
                "memory/state/execution.json",
                json!({"tasks": [{"id": number.to_string()}]}),
            ),
        ]
    };
    let write = |number: u64| {
        for (path, value) in files(number) {
            sandbox.write(path, value.to_string());
        }
    };
    write(1);
    // Other files in the same folders.
    sandbox
        .write(".claude/settings.json", "1")
        .write(".claude/checkpoints/README.json", "1")
        .write("a", "1");
    let first = sandbox.create_data(&["-r", "pre-wave-1"]);
    assert_eq!(first["counts"]["file_count"], 3, "{first}");
    sandbox.write("a", "2").write(".claude/settings.json", "2");
    write(2);
    sandbox
        .ok("diff --name-only")
        .stdout_is(".claude/settings.json\na\n");
    sandbox.restore("pre-wave-1").success();
    for (path, value) in files(2) {
        assert_eq!(sandbox.json_of(path), value, "{path}");
    }
    assert_eq!(
        (sandbox.read("a"), sandbox.read(".claude/settings.json")),
        ("1".into(), "1".into())
    );
    sandbox
        .run(&["restore", "pre-wave-1", PIPELINE, "--yes"])
        .code(4);
    sandbox.undo().success();
    assert_eq!(sandbox.json_of(PIPELINE), files(2)[0].1);
    // A document of another form is a file like any other.
    sandbox.write(PIPELINE, "{}").create("plain");
    sandbox.write(PIPELINE, "[]").restore("plain").success();
    assert_eq!(sandbox.read(".claude/pipeline-state.json"), "{}");
}

#[test]
fn the_files_that_a_phase_made_are_noted() {
    let sandbox = Sandbox::new();
    sandbox.write("old", "1");
    init(&sandbox, "--profile pipeline --phase a --phase b --phase c");
    sandbox.go("phase start a");
    sandbox
        .write("old", "2")
        .write("src/new é", "1")
        .write("src/deep/er", "1")
        .go("phase done");
    let absolute = |path: &str| Value::from(sandbox.path(path).display().to_string());
    let noted = || sandbox.json_of(PIPELINE)["context_summary"]["file_paths"].clone();
    assert_eq!(
        noted(),
        json!([absolute("src/deep/er"), absolute("src/new é")])
    );
    // With --file only the named ones are recorded.
    sandbox.go("phase start b");
    sandbox
        .write("x", "1")
        .write("y", "1")
        .go("phase done --file x");
    assert_eq!(noted()[2], absolute("x"));
    sandbox.go("phase start c");
    for at in 0..60 {
        sandbox.write(format!("many/{at}"), "1");
    }
    let run = sandbox.ok("phase done --json");
    assert_eq!(
        (run.warning_codes(), noted().as_array().map(Vec::len)),
        (Vec::<String>::new(), Some(53))
    );
}

#[test]
fn a_run_whose_ref_is_gone_is_found_by_its_commits_and_its_file_is_not_written_over() {
    for with_objects in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("before");
        init(&sandbox, "--id p --profile pipeline --phase a --phase b");
        sandbox.ok("phase start");
        sandbox.ok("phase done");
        let kept = sandbox.read(".claude/pipeline-state.json");
        if with_objects {
            std::fs::remove_file(sandbox.store().join("refs/workflows/p")).expect("it was written");
            sandbox.says("verify", 0, "its ref is torn or gone");
        } else {
            std::fs::remove_dir_all(sandbox.store().join("refs")).expect("it is there");
            std::fs::remove_dir_all(sandbox.store().join("objects")).expect("it is there");
            sandbox.create("after the loss");
        }
        let status = sandbox.go("workflow status");
        assert_eq!(
            status["completed"].as_array().map(Vec::len),
            Some(1),
            "{status}"
        );
        sandbox.fails(4, "workflow init --profile pipeline --phase z --id z");
        assert_eq!(sandbox.read(".claude/pipeline-state.json"), kept);
        sandbox.ok("verify");
    }
}

#[test]
fn what_other_programs_put_aside_is_left_alone_too() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("pre");
    let registry = json!({"checkpoint_id": "x", "workflow_type": "t", "current_phase": 1});
    let phases = json!({"phase_status": "in_progress", "current_phase": "1"});
    let aside = [
        (
            ".claude/checkpoints/failed/implement_auth_20261122_120000.json",
            registry,
        ),
        ("memory/state/.archive/x_20261122_100000/phase.json", phases),
        (
            "memory/state/.archive/x_20261122_100000/execution.json",
            json!({"tasks": []}),
        ),
    ];
    for (path, value) in &aside {
        sandbox.write(path, value.to_string());
    }
    sandbox.write("a", "2").restore("pre").success();
    for (path, value) in &aside {
        assert_eq!(sandbox.json_of(path), *value, "{path}");
    }
    // A document of another form is a file like any other.
    for (path, _) in &aside {
        sandbox.write(path, "{}");
    }
    sandbox.restore("pre").success();
    assert!(aside.iter().all(|(path, _)| !sandbox.exists(path)));
}

#[test]
fn of_a_run_that_failed_for_good_nothing_is_next() {
    let sandbox = Sandbox::new();
    init(&sandbox, "--id p --phase a --phase b");
    sandbox.go("phase start");
    sandbox.go("phase fail --final --error x");
    sandbox.ok("workflow next").stdout_is("workflow failed\n");
    assert_eq!(sandbox.go("workflow next")["next"]["action"], "complete");
    sandbox
        .fails(3, "workflow resume p")
        .stderr_has("'checkpoint workflow export p --format plan' prints");
    let plan = sandbox.ok("workflow export p --format plan").stdout;
    sandbox
        .write("../plan.json", plan)
        .go("workflow init --plan ../plan.json --id again");
    let again = sandbox.go("phase start -w again");
    assert_eq!(
        (&again["current"], &again["remaining"]),
        (&json!("a"), &json!(["b"]))
    );
}
