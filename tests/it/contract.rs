//! Contracts: computed fields prove what was recorded, and the printed commands work.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{Git, Run, Sandbox};
use crate::partial;

/// A small project with git, as an agent finds it; `None` where there is no git.
fn project() -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/api/handlers/user.py", "a\n".repeat(120))
        .write("src/api/handlers/auth.py", "b\n".repeat(200));
    sandbox
        .write("tests/test_handlers.py", "c\n".repeat(22))
        .write("config/production.yaml", "k: v\n".repeat(89));
    let git = Git::find(sandbox.root())?;
    git.run(&["init", "-q"]).success();
    git.run(&["add", "src", "tests"]).success();
    sandbox.renew_watches();
    Some(sandbox)
}

const STASH: [&str; 9] = [
    "create",
    "--contract",
    "--type",
    "git_stash",
    "--scope",
    "src/api/handlers/*.py",
    "--scope",
    "tests/test_handlers.py",
    "--reason=Before refactoring API handlers",
];

fn contract(sandbox: &Sandbox, args: &[&str]) -> Value {
    let run = sandbox
        .run(&[args, &["--format", "json"]].concat())
        .success();
    let document: Value = serde_json::from_str(&run.stdout).expect("a document");
    assert_valid(sandbox, "contract", &document);
    document
}

#[track_caller]
fn assert_valid(sandbox: &Sandbox, schema: &str, document: &Value) {
    let schema = sandbox.run(&["schema", schema]).success().stdout;
    let schema: Value = serde_json::from_str(&schema).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema is valid");
    let wrong: Vec<String> = validator
        .iter_errors(document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{document:#}");
}

/// Runs a printed command from another directory.
fn run_printed(sandbox: &Sandbox, line: &str) -> Run {
    let mut command = sandbox.command(&["/bin/sh", "-c", line], &[]);
    command.current_dir("/");
    Run::of(command)
}

fn texts<'d>(document: &'d Value, field: &str) -> Vec<&'d str> {
    document[field]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

#[test]
fn the_contract_of_tracked_files_has_every_field_with_its_true_value() {
    let Some(sandbox) = project() else { return };
    sandbox.at("2024-01-15T14:30:22Z");
    let yaml = sandbox.run(&STASH).success().stdout;
    let id = sandbox.listed()[0]["alias"].as_str().unwrap().to_owned();
    let date = chrono::DateTime::from(
        std::fs::metadata(sandbox.path("tests/test_handlers.py"))
            .unwrap()
            .modified()
            .unwrap(),
    );
    let date: chrono::DateTime<chrono::Utc> = date;
    let program = Sandbox::binary().display();
    let root = sandbox.root().display();
    let expected = format!(
        "checkpoint_created: true\ncheckpoint:\n  id: \"{id}\"\n  type: git_stash\n  created_at: \"2024-01-15T14:30:22Z\"\n  \
         scope:\n    files:\n      - \"src/api/handlers/auth.py\"\n      - \"src/api/handlers/user.py\"\n      \
         - \"tests/test_handlers.py\"\n    state_keys: []\n  restore_command: \"{program} restore {id} --yes -C {root}\"\n  \
         expiry: null\npre_mutation_state:\n  hash: \"sha256:"
    );
    assert!(yaml.starts_with(&expected), "{yaml}\n{expected}");
    for line in [
        format!(
            "  summary: \"3 files, 342 lines total, last modified {}\"",
            date.format("%Y-%m-%d")
        ),
        "  - \"act-plan: Proceed with what was announced: Before refactoring API handlers\""
            .to_owned(),
        "confidence: 1.0".to_owned(),
        "  - \"check:scope_complete:yes, 3 files\"".to_owned(),
        "  - \"check:nothing_sensitive:yes\"".to_owned(),
        "  - \"check:reason_given:yes, Before refactoring API handlers\"".to_owned(),
        "  - \"check:type_fits:yes, git_stash\"".to_owned(),
    ] {
        assert!(yaml.lines().any(|found| found == line), "{line}\n{yaml}");
    }
    let anchors = yaml.split("evidence_anchors:").nth(1).unwrap();
    assert!(anchors.contains(&id), "the id is in the evidence: {yaml}");
}

#[test]
fn the_restore_command_works_from_any_directory() {
    let Some(sandbox) = project() else { return };
    let document = contract(&sandbox, &STASH);
    let before = sandbox.read("src/api/handlers/user.py");
    sandbox
        .write("src/api/handlers/user.py", "ruined")
        .remove("tests/test_handlers.py")
        .write("config/other", "stays");
    let line = document["checkpoint"]["restore_command"].as_str().unwrap();
    run_printed(&sandbox, line).success();
    assert_eq!(sandbox.read("src/api/handlers/user.py"), before);
    assert_eq!(
        (
            sandbox.read("tests/test_handlers.py").len(),
            sandbox.read("config/other")
        ),
        (44, "stays".into())
    );
}

#[cfg(unix)]
#[test]
fn a_root_with_hostile_characters_is_quoted() {
    let sandbox = Sandbox::rooted_at("it's a $(root)");
    sandbox.write("a b", "1");
    let copied = [
        "create",
        "--contract",
        "--scope",
        "a b",
        "--type",
        "file_backup",
        "--copies",
    ];
    let anchors = contract(&sandbox, &copied)["evidence_anchors"].clone();
    let files = anchors
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|anchor| anchor.as_str()?.strip_prefix("file:"));
    let files: Vec<&str> = files.collect();
    assert!(
        files.len() == 2 && files.iter().all(|file| Path::new(file).is_file()),
        "{files:?}"
    );
    let document = contract(
        &sandbox,
        &["create", "--contract", "--scope", "a b", "-r", "it's; $(x)"],
    );
    sandbox.write("a b", "2");
    run_printed(
        &sandbox,
        document["checkpoint"]["restore_command"].as_str().unwrap(),
    )
    .success();
    assert_eq!(sandbox.read("a b"), "1");
    let printed = texts(&document, "evidence_anchors")[0]
        .strip_prefix("tool:bash:cd ")
        .unwrap()
        .to_owned();
    assert!(
        printed.ends_with(r"--contract --scope 'a b' -r 'it'\''s; $(x)' --format json"),
        "{printed}"
    );
    let args = ["create", "--contract", "--state", "n=1E5", "-r", "values"];
    let document = contract(&sandbox, &args);
    let line = texts(&document, "assumptions")
        .into_iter()
        .find_map(|one| one.split_once("and this prints them: "));
    run_printed(&sandbox, line.expect("a command").1)
        .success()
        .stdout_is("{\"n\":1E5}\n");
}

#[test]
fn the_hash_is_computed_again_by_verify_and_by_the_shell() {
    let Some(sandbox) = project() else { return };
    sandbox.symlink("src/link", "../config");
    sandbox.chmod("config/production.yaml", 0o755);
    let args = [
        "create",
        "--contract",
        "--scope",
        "config",
        "--scope",
        "src/link",
        "--state",
        "step=3",
    ];
    let document = contract(&sandbox, &args);
    let hash = document["pre_mutation_state"]["hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let id = document["checkpoint"]["id"].as_str().unwrap();
    sandbox
        .run(&["verify", id])
        .success()
        .stdout_has(&format!("content: {hash}\n"));
    assert_eq!(
        sandbox.run(&["verify", id, "--json"]).success().data()["content"],
        hash
    );
    let formula = "{ printf '100755 %s  config/production.yaml\\0' $(sha256sum < config/production.yaml | cut -c1-64); \
                   printf '120000 %s  src/link\\0' $(readlink -n src/link | sha256sum | cut -c1-64); \
                   printf 'state %s  @state\\0' $(echo '{\"step\":3}' | sha256sum | cut -c1-64); } | sha256sum | cut -c1-64";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", formula]).current_dir(sandbox.root());
    assert_eq!(
        hash,
        format!("sha256:{}", Run::of(shell).success().stdout.trim())
    );
    sandbox.write("config/production.yaml", "other");
    let other = contract(&sandbox, &args);
    assert_ne!(other["pre_mutation_state"]["hash"], hash.as_str());
}

#[test]
fn a_file_that_git_does_not_know_is_held_by_the_store_alone_and_that_is_said() {
    let Some(sandbox) = project() else { return };
    sandbox.at("2024-01-15T15:00:00Z");
    let args = [
        "create",
        "--contract",
        "--scope",
        "config/production.yaml",
        "--expires",
        "24h",
        "-r",
        "Before config migration",
    ];
    let document = contract(&sandbox, &args);
    assert_eq!(document["checkpoint"]["type"], "file_backup");
    assert_eq!(document["checkpoint"]["expiry"], "2024-01-16T15:00:00Z");
    assert_eq!(document["confidence"], json!(0.95));
    assert!(
        document["pre_mutation_state"]["summary"]
            .as_str()
            .unwrap()
            .starts_with("1 file, 89 lines total, last modified ")
    );
    assert!(
        texts(&document, "assumptions")
            .contains(&"1 file not in the git index, so the shadow store alone holds them")
    );
    assert!(texts(&document, "next_safe_actions").contains(&"edit: Modify config/production.yaml"));
}

#[test]
fn plain_copies_are_in_the_evidence_and_bring_the_file_back_without_this_program() {
    let Some(sandbox) = project() else { return };
    let args = [
        "create",
        "--contract",
        "--type",
        "file_backup",
        "--copies",
        "--scope",
        "config/production.yaml",
        "--expires",
        "24h",
        "-r",
        "Before config migration",
    ];
    let document = contract(&sandbox, &args);
    let id = document["checkpoint"]["id"].as_str().unwrap();
    let manifest = sandbox.path(format!(".checkpoints/{id}/manifest.json"));
    assert!(
        texts(&document, "evidence_anchors").contains(&&*format!("file:{}", manifest.display()))
    );
    let before = sandbox.read("config/production.yaml");
    sandbox.write("config/production.yaml", "ruined");
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(manifest).unwrap()).unwrap();
    run_printed(&sandbox, manifest["files"][0]["command"].as_str().unwrap()).success();
    assert_eq!(sandbox.read("config/production.yaml"), before);
}

#[test]
fn secrets_and_what_cannot_be_held_are_named_and_cost_confidence() {
    let Some(sandbox) = project() else { return };
    sandbox
        .write("config/.env", "KEY=x")
        .fifo("config/pipe")
        .write("config/x.log", "l")
        .write("config/.gitignore", "*.log\n");
    let document = contract(&sandbox, &["create", "--contract", "--scope", "config"]);
    assert_eq!(document["confidence"], json!(0.75));
    let anchors = texts(&document, "evidence_anchors");
    for expected in [
        "check:scope_complete:no, 3 in reach not held",
        "check:nothing_sensitive:yes, left out: config/.env",
        "check:reason_given:no, the default, manual",
    ] {
        assert!(anchors.contains(&expected), "{expected}: {anchors:?}");
    }
    let assumptions = texts(&document, "assumptions").join("\n");
    for expected in [
        "config/.env",
        "config/pipe is not held: a FIFO",
        "Ignored, and therefore not held: 1 path",
    ] {
        assert!(assumptions.contains(expected), "{expected}: {assumptions}");
    }
    assert!(!document.to_string().contains("KEY=x"));
}

#[test]
fn what_differs_from_the_index_is_counted_and_binaries_have_no_lines() {
    let Some(sandbox) = project() else { return };
    sandbox
        .write("src/api/handlers/user.py", "changed\n")
        .write("src/blob", b"\0\x01\n\n");
    let document = contract(
        &sandbox,
        &["create", "--contract", "--scope", "src", "-r", "x"],
    );
    let summary = document["pre_mutation_state"]["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("3 files, 201 lines total, 1 binary, last modified "),
        "{summary}"
    );
    assert!(
        summary.ends_with(", 1 differing from the git index"),
        "{summary}"
    );
}

#[test]
fn a_whole_checkpoint_has_a_contract_too_and_json_holds_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let data = sandbox.create_data(&["--contract", "-r", "all"]);
    assert_valid(&sandbox, "contract", &data["contract"]);
    assert_eq!(
        data["contract"]["checkpoint"]["scope"]["files"],
        json!(["a"])
    );
    sandbox.write("b", "2");
    let none = contract(&sandbox, &["create", "--contract", "--max-files", "1"]);
    assert_eq!(
        (
            &none["checkpoint_created"],
            &none["checkpoint"],
            &none["confidence"]
        ),
        (&json!(false), &json!(null), &json!(0.0))
    );
    sandbox.run(&["create", "--format", "json"]).code(2);
}

#[cfg(unix)]
#[test]
fn values_are_kept_and_given_back_as_they_were() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let file = sandbox.home().join("state.json");
    std::fs::write(&file, "{ \"plan\": {\"step\": 3},\n \"z\": [1, 2] }\n").unwrap();
    let args = [
        "create",
        "--contract",
        "--type",
        "state_snapshot",
        "--state-file",
        file.to_str().unwrap(),
        "-r",
        "s",
    ];
    let document = contract(&sandbox, &args);
    assert_eq!(document["checkpoint"]["type"], "state_snapshot");
    assert_eq!(
        document["checkpoint"]["scope"],
        json!({"files": [], "state_keys": ["plan", "z"]})
    );
    assert_eq!(document["confidence"], json!(1.0));
    let printed = run_printed(
        &sandbox,
        document["checkpoint"]["restore_command"].as_str().unwrap(),
    )
    .success();
    assert_eq!(
        printed.stdout,
        std::fs::read_to_string(&file).unwrap(),
        "the values come back"
    );
    sandbox
        .run(&["cat", "s:@state"])
        .success()
        .stdout_is(&std::fs::read_to_string(&file).unwrap());
    sandbox
        .run(&[
            "create",
            "-r",
            "t",
            "--state",
            "phase=\"build\"",
            "--state",
            "n=1",
        ])
        .success();
    sandbox
        .run(&["cat", "t:@state"])
        .success()
        .stdout_is("{\"phase\":\"build\",\"n\":1}\n");
    sandbox.write("a", "2").write("b", "3");
    sandbox.run(&["restore", "t", "--yes"]).success();
    assert_eq!(
        (sandbox.read("a"), sandbox.read("b")),
        ("2".into(), "3".into()),
        "values touch no file"
    );
    sandbox.run(&["verify", "--full"]).success();
    for wrong in [
        &["create", "--state", "a"][..],
        &["create", "--state", "a=x"],
        &["create", "--type", "state_snapshot"],
        &[
            "create",
            "--type",
            "state_snapshot",
            "--state",
            "a=1",
            "--scope",
            "a",
        ],
    ] {
        sandbox.run(wrong).code(2);
    }
    sandbox.write("@state", "a file");
    sandbox.create("file");
    sandbox
        .run(&["cat", "file:@state"])
        .success()
        .stdout_is("a file");
}

#[test]
fn the_contract_of_a_restore_says_what_was_reverted_and_that_it_matches() {
    let Some(sandbox) = project() else { return };
    let made = contract(&sandbox, &STASH);
    let id = made["checkpoint"]["id"].as_str().unwrap();
    sandbox
        .write("src/api/handlers/user.py", "x")
        .remove("tests/test_handlers.py")
        .write("src/api/handlers/new.py", "n");
    let run = sandbox
        .run(&["restore", id, "--yes", "--contract", "--format", "json"])
        .success();
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_valid(&sandbox, "restore-contract", &document);
    assert_eq!(document["rolled_back"], true);
    assert_eq!(
        document["verification"]["expected"],
        made["pre_mutation_state"]["hash"]
    );
    assert_eq!(
        document["verification"]["actual"],
        made["pre_mutation_state"]["hash"]
    );
    let expected = json!([
        {"path": "src/api/handlers/new.py", "path_hex": null, "change": "deleted"},
        {"path": "src/api/handlers/user.py", "path_hex": null, "change": "modified"},
        {"path": "tests/test_handlers.py", "path_hex": null, "change": "added"},
    ]);
    assert_eq!(document["changes_reverted"], expected);
    run_printed(&sandbox, document["undo_command"].as_str().unwrap()).success();
    assert_eq!(sandbox.read("src/api/handlers/user.py"), "x");
    let dry = sandbox
        .run(&["restore", id, "--dry-run", "--contract", "--json"])
        .success()
        .data();
    assert_eq!(
        (
            &dry["contract"]["rolled_back"],
            &dry["contract"]["verification"]["match"]
        ),
        (&json!(false), &json!(false))
    );
    assert_valid(&sandbox, "restore-contract", &dry["contract"]);
}

#[cfg(unix)]
#[test]
fn a_restore_gives_values_back_in_its_answer_and_claims_nothing_more() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let values = [
        "create",
        "--type",
        "state_snapshot",
        "--state",
        "plan.step=\"a b\"",
        "--state",
        "n=[1]",
        "-r",
        "values",
    ];
    sandbox.run(&values).success();
    sandbox
        .run(&["create", "--scope", "a", "--state", "n=2", "-r", "both"])
        .success();
    sandbox.write("a", "2");
    let run = sandbox
        .run(&[
            "restore",
            "values",
            "--yes",
            "--contract",
            "--format",
            "json",
        ])
        .success();
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_valid(&sandbox, "restore-contract", &document);
    assert_eq!(
        (&document["rolled_back"], &document["verification"]["match"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(
        (&document["confidence"], &document["changes_reverted"]),
        (&json!(0.0), &json!([]))
    );
    assert_eq!(document["state"], json!({"plan.step": "a b", "n": [1]}));
    let cat = texts(&document, "evidence_anchors")
        .into_iter()
        .find_map(|one| one.strip_prefix("tool:bash:")?.find("cat ").map(|_| one));
    let printed = run_printed(
        &sandbox,
        cat.expect("a command").trim_start_matches("tool:bash:"),
    )
    .success();
    assert_eq!(printed.stdout, "{\"plan.step\":\"a b\",\"n\":[1]}\n");
    assert_eq!(
        sandbox.restore_data(&["values"])["state"],
        document["state"]
    );
    sandbox
        .restore("values")
        .success()
        .stdout_has("Its values:\n{\"plan.step\":\"a b\",\"n\":[1]}\n");
    assert_eq!(sandbox.read("a"), "2");
    let both = sandbox.restore_data(&["both", "--contract"]);
    assert_valid(&sandbox, "restore-contract", &both["contract"]);
    assert_eq!(
        (&both["contract"]["rolled_back"], &both["contract"]["state"]),
        (&json!(true), &json!({"n": 2}))
    );
    assert_eq!(
        (&both["state"], sandbox.read("a")),
        (&json!({"n": 2}), "1".into())
    );
}

#[test]
fn each_command_in_the_evidence_runs_as_printed_and_leaves_no_file() {
    let Some(sandbox) = project() else { return };
    let document = contract(&sandbox, &STASH);
    sandbox.write("tests/test_handlers.py", "ruined");
    let id = document["checkpoint"]["id"].as_str().unwrap();
    let restored = sandbox.restore_data(&[id, "--contract"])["contract"].clone();
    let aside = sandbox.top().join("aside");
    sandbox.mkdir(&aside);
    let anchors = [
        texts(&document, "evidence_anchors"),
        texts(&restored, "evidence_anchors"),
    ]
    .concat();
    let commands: Vec<&str> = anchors
        .iter()
        .filter_map(|anchor| anchor.strip_prefix("tool:bash:"))
        .collect();
    assert_eq!(commands.len(), 5, "{anchors:?}");
    for line in commands {
        let mut command = sandbox.command(&["/bin/bash", "-c", line], &[]);
        command.current_dir(&aside);
        drop(Run::of(command).success());
        assert_eq!(std::fs::read_dir(&aside).unwrap().count(), 0, "{line}");
    }
}

#[test]
fn a_create_that_is_refused_answers_with_a_contract_too() {
    let Some(sandbox) = project() else { return };
    sandbox.write("untracked", "1").write("list", "untracked\n");
    let refused = |args: &[&str], code: i32, why: &str| {
        let run = sandbox
            .run(&[&["create", "--contract", "--format", "json"], args].concat())
            .code(code);
        let document: Value = serde_json::from_str(&run.stdout).expect("a document");
        assert_valid(&sandbox, "contract", &document);
        assert_eq!(
            (&document["checkpoint_created"], &document["checkpoint"]),
            (&json!(false), &json!(null))
        );
        assert!(
            texts(&document, "assumptions").concat().contains(why),
            "{document}"
        );
        assert!(!run.stderr.is_empty(), "{run}");
        let json = sandbox
            .run(&[&["create", "--contract", "--json"], args].concat())
            .code(code);
        assert_eq!(
            json.json()["error"]["contract"]["checkpoint_created"],
            false,
            "{json}"
        );
        let yaml = sandbox
            .run(&[&["create", "--contract"], args].concat())
            .code(code);
        assert!(
            yaml.stdout.starts_with("checkpoint_created: false\n"),
            "{yaml}"
        );
    };
    refused(&["--scope", "nothing/*.x"], 3, "matches nothing");
    refused(
        &["--type", "git_stash", "--scope", "untracked"],
        2,
        "untracked not tracked",
    );
    refused(&["--type", "no-such-type"], 2, "no-such-type");
    refused(&["--reason", " "], 2, "the reason is empty");
    refused(&["--scope", "@no-such-list"], 3, "no-such-list");
    refused(&["--state-file", "no-such-state"], 3, "no-such-state");
    refused(&["--state-file", "list"], 2, "list: the state is not JSON");
    refused(&["-C", "/", "--scope", "x"], 4, "refusing /");
    sandbox.run(&["hold", "wave"]).success();
    refused(&[], 4, "checkpoint release wave");
    assert!(sandbox.listed().is_empty());
}

#[cfg(unix)]
#[test]
fn a_scope_of_which_nothing_can_be_held_is_no_checkpoint() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = partial::wrapper(&sandbox) else {
        return;
    };
    sandbox
        .write("closed", "1")
        .write("dir/inside", "2")
        .write("open", "3")
        .write("ignored/x.log", "l");
    sandbox
        .write("secret/.env", "K=1")
        .write(".gitignore", "*.log\n")
        .fifo("pipe")
        .mkdir("pipes")
        .fifo("pipes/one")
        .chmod("closed", 0)
        .chmod("dir", 0);
    let create = |scope: &[&str]| {
        let args: Vec<&str> = scope.iter().flat_map(|part| ["--scope", part]).collect();
        sandbox.run_under(
            wrapper,
            &[
                &["create", "--contract", "--format", "json", "-r", "r"],
                &args[..],
            ]
            .concat(),
        )
    };
    for (scope, named) in [
        (vec!["closed"], "closed (cannot be read)"),
        (vec!["dir"], "dir (cannot be read)"),
        (vec!["closed", "dir"], "closed (cannot be read)"),
        (vec!["secret"], "secret/.env (a secret)"),
        (vec!["ignored"], "ignored/x.log (left out by a rule)"),
        (vec!["pipe"], "pipe (a FIFO)"),
        (vec!["pipes"], "pipes/one (a FIFO)"),
    ] {
        let run = create(&scope)
            .code(4)
            .stderr_has("nothing was recorded")
            .stderr_has(named);
        let document: Value = serde_json::from_str(&run.stdout).expect("a document");
        assert_eq!(document["checkpoint_created"], false, "{run}");
        assert!(
            texts(&document, "assumptions").concat().contains(named),
            "{run}"
        );
    }
    assert!(sandbox.listed().is_empty());
    let document: Value =
        serde_json::from_str(&create(&["closed", "open"]).code(5).stdout).expect("a document");
    assert_valid(&sandbox, "contract", &document);
    let actions = texts(&document, "next_safe_actions");
    assert!(
        document["checkpoint_created"] == true && actions.len() == 2,
        "{document}"
    );
    assert!(
        !actions.concat().contains("roceed") && !actions.concat().contains("edit:"),
        "{actions:?}"
    );
    run_printed(
        &sandbox,
        actions[0].strip_prefix("inspect: ").expect("a command"),
    )
    .success()
    .stdout_has("closed");
    drop(create(&["pipe", "open"]).success());
    sandbox.chmod("dir", 0o755);
}

#[cfg(unix)]
#[test]
fn a_base_that_is_not_the_usual_one_is_in_the_command() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let base = sandbox.home().join("else where");
    let args = [
        "create",
        "--contract",
        "--scope",
        "a",
        "--base",
        base.to_str().unwrap(),
    ];
    let document = contract(&sandbox, &args);
    sandbox.write("a", "2");
    run_printed(
        &sandbox,
        document["checkpoint"]["restore_command"].as_str().unwrap(),
    )
    .success();
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn schemas_are_listed_and_an_unknown_one_is_told() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(&["schema"]).success().stdout;
    for name in ["contract", "pipeline-state", "restore-contract"] {
        assert!(listed.lines().any(|line| line == name), "{listed}");
    }
    sandbox
        .run(&["schema", "none"])
        .code(3)
        .stderr_has("checkpoint schema");
}

#[test]
fn a_database_is_in_the_contract_and_said_to_be_restored_last() {
    let Some(sandbox) = project() else { return };
    let database = rusqlite::Connection::open(sandbox.path("data.db")).unwrap();
    database
        .execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
        .unwrap();
    let alone = contract(
        &sandbox,
        &["create", "--contract", "--db", "data.db", "-r", "alone"],
    );
    assert_eq!(alone["checkpoint"]["type"], "database_savepoint");
    assert_eq!(
        alone["checkpoint"]["scope"],
        json!({"files": [], "state_keys": [], "databases": ["data.db"]})
    );
    let both = contract(
        &sandbox,
        &[
            "create",
            "--contract",
            "--db",
            "data.db",
            "--scope",
            "config",
            "-r",
            "both",
        ],
    );
    assert!(
        texts(&both, "assumptions").contains(&"The files are restored first, the databases last")
    );
    assert!(
        both["pre_mutation_state"]["summary"]
            .as_str()
            .unwrap()
            .contains(", 1 database, ")
    );
    database.execute_batch("INSERT INTO t VALUES (2)").unwrap();
    for (more, is_done) in [("--dry-run", false), ("--no-input", true)] {
        let restored = sandbox.restore_data(&["alone", more, "--contract"]);
        let document = &restored["contract"];
        assert_valid(&sandbox, "restore-contract", document);
        let told = ["rolled_back", "changes_reverted"].map(|key| document[key].clone());
        let changed = json!([{"path": "data.db", "path_hex": null, "change": "database"}]);
        assert_eq!(told, [json!(is_done), changed], "{more}");
        assert_eq!(document["verification"]["match"], is_done, "{more}");
    }
    database.execute_batch("INSERT INTO t VALUES (2)").unwrap();
    run_printed(
        &sandbox,
        both["checkpoint"]["restore_command"].as_str().unwrap(),
    )
    .success();
    let count: i64 = database
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
}

#[cfg(unix)]
#[test]
fn the_files_of_the_scope_are_named_as_they_are() {
    let sandbox = Sandbox::new();
    let names = ["a\\b", "f\nl", "t\tab"];
    for name in names {
        sandbox.write(name, "1");
    }
    let document = contract(&sandbox, &["create", "--contract", "--scope", "."]);
    assert_eq!(document["checkpoint"]["scope"]["files"], json!(names));
}

#[test]
fn every_restore_answers_with_a_contract_refused_or_not() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("base");
    sandbox.write("a", "2");
    let one_document = |args: &[&str], code: i32| -> Value {
        let run = sandbox.run(&[args, &["--contract"]].concat()).code(code);
        let begins = |line: &&str| line.starts_with("rolled_back: ");
        assert_eq!(run.stdout.lines().filter(begins).count(), 1, "{run}");
        let args = [args, &["--contract", "--format", "json"]].concat();
        let run = sandbox.run(&args).code(code);
        let document = serde_json::from_str(&run.stdout).expect("one document");
        assert_valid(&sandbox, "restore-contract", &document);
        document
    };
    for (args, code, why) in [
        (&["restore", "nothing"][..], 3, "no checkpoint and no path"),
        (&["restore", &id], 4, "--yes"),
        (&["restore", &id, "--bogus"], 2, "there is no option"),
        (&["restore", "--to", "x", &id], 2, "--contract"),
        (&["restore", "-C", "gone", &id], 3, "gone"),
        (&["undo"], 3, "undo"),
        (&["undo", "many"], 2, "many"),
        (&["redo"], 3, "redo"),
        (&["rewind", "--yes"], 3, ""),
        (&["rewind", "0"], 2, "0"),
    ] {
        let refused = one_document(args, code);
        assert_eq!(refused["rolled_back"], false, "{args:?}");
        assert_eq!(refused["restored_to"], json!(null), "{args:?}");
        assert!(
            texts(&refused, "assumptions").concat().contains(why),
            "{refused}"
        );
        let both = sandbox
            .run(&[args, &["--contract", "--json"]].concat())
            .code(code);
        assert_eq!(
            both.json()["error"]["contract"]["rolled_back"],
            false,
            "{both}"
        );
    }
    let planned = sandbox
        .run(&["restore", &id, "--dry-run", "--json"])
        .success();
    assert_eq!(planned.data()["nothing_to_do"], false);
    let done = ["restore", &id, "--yes", "--contract", "--format", "json"];
    let mut document: Value =
        serde_json::from_str(&sandbox.run(&done).success().stdout).expect("a document");
    let planned = sandbox
        .run(&["restore", &id, "--dry-run", "--json"])
        .success();
    assert_eq!(
        planned.data()["nothing_to_do"],
        true,
        "there is nothing left"
    );
    for (text, verb) in [("2", "undo"), ("1", "redo"), ("2", "undo")] {
        let back = document["undo_command"].as_str().expect("a command");
        assert!(
            back.contains(&format!(" {verb} --yes --contract")),
            "{back}"
        );
        let line = format!("{back} --format json");
        let run = run_printed(&sandbox, &line).success();
        document = serde_json::from_str(&run.stdout).expect("a document");
        assert_valid(&sandbox, "restore-contract", &document);
        assert_eq!(document["rolled_back"], true, "{document}");
        assert_eq!(sandbox.read("a"), text, "{verb}");
    }
}

#[cfg(unix)]
#[test]
fn a_restore_that_left_something_does_not_say_that_all_is_rolled_back() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = partial::wrapper(&sandbox) else {
        return;
    };
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2").write("new", "n").chmod("new", 0);
    let words = ["restore", "one", "--contract", "--yes", "--format", "json"];
    let run = sandbox.run_under(wrapper, &words).code(5);
    let document: Value = serde_json::from_str(&run.stdout).expect("a document");
    let facts = ["rolled_back", "confidence"].map(|key| document[key].clone());
    assert_eq!(facts, [json!(false), json!(0.0)]);
    assert_eq!(document["verification"]["match"], false);
    let anchors = document["evidence_anchors"].to_string();
    assert!(anchors.contains("new stays: cannot be read"), "{anchors}");
}
