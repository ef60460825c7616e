//! Contracts by their schemas, refused and with databases; `stories/contract.md` has the rest.

use serde_json::{Value, json};

use crate::bench::{Git, Run, Sandbox, given};

/// A small project with git, as an agent finds it; `None` where there is no git.
fn project() -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/user.py", "a\n")
        .write("config/production.yaml", "k: v\n");
    let git = Git::find(sandbox.root())?;
    git.ok("init -q");
    git.ok("add src");
    sandbox.renew_watches();
    Some(sandbox)
}

fn contract(sandbox: &Sandbox, line: &str) -> Value {
    let run = sandbox.ok(format!("{line} --contract --format json"));
    let document: Value = serde_json::from_str(&run.stdout).expect("a document");
    assert_valid(sandbox, "contract", &document);
    document
}

#[track_caller]
fn assert_valid(sandbox: &Sandbox, schema: &str, document: &Value) {
    let schema = sandbox.ok(format!("schema {schema}")).stdout;
    let schema: Value = serde_json::from_str(&schema).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema is valid");
    let wrong: Vec<String> = validator
        .iter_errors(document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{document:#}");
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
fn each_contract_is_valid_by_its_schema() {
    let sandbox = given!(project());
    for (schema, line) in [
        (
            "contract",
            "create --contract --type git_stash --scope src -r tracked --expires 24h",
        ),
        (
            "contract",
            "create --contract --type file_backup --scope config --copies",
        ),
        ("contract", "create --contract --max-files 1"),
        ("contract", "create --contract -r whole"),
        (
            "contract",
            "create --contract --type state_snapshot --state n=1E5 -r values",
        ),
        ("restore-contract", "restore values --yes --contract"),
        ("restore-contract", "restore tracked --dry-run --contract"),
        ("restore-contract", "restore tracked --yes --contract"),
        ("restore-contract", "undo --yes --contract"),
        ("restore-contract", "redo --yes --contract"),
    ] {
        sandbox.write("src/user.py", line);
        let both = sandbox.ok(format!("{line} --json")).data();
        assert_valid(&sandbox, schema, &both["contract"]);
        if !line.contains("do --yes") {
            let alone = sandbox.ok(format!("{line} --format json")).stdout;
            assert_valid(
                &sandbox,
                schema,
                &serde_json::from_str(&alone).expect("a document"),
            );
        }
    }
}

/// Asserts that a command is refused for this reason, with one contract in each format.
#[track_caller]
fn is_refused(sandbox: &Sandbox, line: &str, code: i32, why: &str) {
    let (schema, done, place) = if line.starts_with("create") {
        ("contract", "checkpoint_created", "checkpoint")
    } else {
        ("restore-contract", "rolled_back", "restored_to")
    };
    let yaml = sandbox.fails(code, format!("{line} --contract"));
    assert!(
        yaml.stdout.starts_with(&format!("{done}: false\n")),
        "{yaml}"
    );
    assert_eq!(
        yaml.stdout.matches(&format!("\n{done}: ")).count(),
        0,
        "{yaml}"
    );
    let run = sandbox.fails(code, format!("{line} --contract --format json"));
    let document: Value = serde_json::from_str(&run.stdout).expect("one document");
    assert_valid(sandbox, schema, &document);
    assert_eq!(
        (&document[done], &document[place]),
        (&json!(false), &json!(null))
    );
    let said = texts(&document, "assumptions").concat();
    assert!(said.contains(why) && !run.stderr.is_empty(), "{run}");
    let both = sandbox.fails(code, format!("{line} --contract --json"));
    assert_eq!(both.json()["error"]["contract"][done], false, "{both}");
}

#[test]
fn a_create_that_is_refused_answers_with_a_contract_too() {
    let sandbox = given!(project());
    sandbox.write("untracked", "1").write("list", "untracked\n");
    for (words, code, why) in [
        ("--scope nothing/*.x", 3, "matches nothing"),
        (
            "--type git_stash --scope untracked",
            2,
            "untracked not tracked",
        ),
        ("--type no-such-type", 2, "no-such-type"),
        ("--reason ' '", 2, "the reason is empty"),
        ("--scope @no-such-list", 3, "no-such-list"),
        ("--state-file no-such-state", 3, "no-such-state"),
        ("--state-file list", 2, "list: the state is not JSON"),
        ("-C / --scope x", 4, "refusing /"),
    ] {
        is_refused(&sandbox, &format!("create {words}"), code, why);
    }
    sandbox.ok("hold wave");
    is_refused(&sandbox, "create", 4, "checkpoint release wave");
    assert!(sandbox.listed().is_empty());
}

#[test]
fn every_restore_answers_with_a_contract_refused_or_not() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("base");
    sandbox.write("a", "2");
    for (line, code, why) in [
        ("restore nothing", 3, "no checkpoint and no path"),
        ("restore base", 4, "--yes"),
        ("restore base --bogus", 2, "there is no option"),
        ("restore --to x base", 2, "--contract"),
        ("restore -C gone base", 3, "gone"),
        ("undo", 3, "undo"),
        ("undo many", 2, "many"),
        ("redo", 3, "redo"),
        ("rewind --yes", 3, ""),
        ("rewind 0", 2, "0"),
    ] {
        is_refused(&sandbox, line, code, why);
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn a_database_is_in_the_contract_and_said_to_be_restored_last() {
    let sandbox = given!(project());
    let database = rusqlite::Connection::open(sandbox.path("data.db")).unwrap();
    database
        .execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
        .unwrap();
    let alone = contract(&sandbox, "create --db data.db -r alone");
    assert_eq!(alone["checkpoint"]["type"], "database_savepoint");
    assert_eq!(
        alone["checkpoint"]["scope"],
        json!({"files": [], "state_keys": [], "databases": ["data.db"]})
    );
    let both = contract(&sandbox, "create --db data.db --scope config -r both");
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
    let line = both["checkpoint"]["restore_command"].as_str().unwrap();
    let mut printed = sandbox.command(&["/bin/sh", "-c", line], &[]);
    printed.current_dir("/");
    Run::of(printed).success();
    let count: i64 = database
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
}
