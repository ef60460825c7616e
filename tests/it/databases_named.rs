//! Databases behind commands of the user's own configuration.

use crate::bench::Sandbox;

fn assert_no_scratch(sandbox: &Sandbox) {
    let own = std::fs::read_dir(sandbox.store().join("checkpoint")).unwrap();
    let left: Vec<String> = own
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        !left.iter().any(|name| name.starts_with("bisect-")),
        "{left:?}"
    );
}

/// A stand-in for a server: its content lies in a file outside the root.
pub fn named() -> Sandbox {
    let sandbox = Sandbox::new();
    let place = sandbox.home().join("server");
    sandbox.write(&place, "state 1").write("a", "1");
    sandbox.user_config(&format!(
        "[database.shop]\ndump = \"cat '{0}'\"\nrestore = \"cat > '{0}'; pwd > '{0}.pwd'\"\n",
        place.display()
    ));
    sandbox.env("PATH", "/usr/bin:/bin");
    sandbox
}

pub fn server(sandbox: &Sandbox) -> String {
    sandbox.read(sandbox.home().join("server"))
}

#[cfg(unix)]
#[test]
fn a_named_database_is_dumped_and_restored_by_the_users_commands_in_the_root() {
    let sandbox = named();
    sandbox.write("shop", "a file of that name");
    let id: String = sandbox
        .ok("create --db shop --scope a")
        .stdout
        .trim()
        .into();
    let shown = sandbox.json(format!("show {id}"));
    assert_eq!(
        (
            &shown["databases"][0]["kind"],
            &shown["databases"][0]["name"]
        ),
        (&"named".into(), &"shop".into())
    );
    sandbox
        .run(&["cat", &format!("{id}:@db/shop")])
        .success()
        .stdout_has("state 1");
    sandbox
        .write(sandbox.home().join("server"), "state 2")
        .write("a", "2");
    sandbox.ok(format!("restore {id} a --yes"));
    assert_eq!(
        (server(&sandbox), sandbox.read("a")),
        ("state 2".into(), "1".into()),
        "PATHs name files alone"
    );
    sandbox.restore(&id).success();
    assert_eq!(server(&sandbox), "state 1");
    assert_eq!(
        sandbox.read(sandbox.home().join("server.pwd")).trim(),
        sandbox.root().display().to_string()
    );
    sandbox.undo().success();
    assert_eq!(server(&sandbox), "state 2");
    sandbox.redo().success();
    assert_eq!(server(&sandbox), "state 1");
    let to = sandbox.top().join("to").display().to_string();
    let run = sandbox
        .run(&["restore", &id, "--to", &to, "--json"])
        .success();
    assert_eq!(run.warning_codes(), ["database_skipped"]);
    assert_no_scratch(&sandbox);
}

#[cfg(unix)]
#[test]
fn a_dump_that_fails_records_nothing_and_its_last_words_are_told() {
    let sandbox = named();
    sandbox.user_config(
        "[database.shop]\ndump = \"echo content; echo first >&2; echo server is down >&2; exit 3\"\nrestore = \"cat\"\n",
    );
    let run = sandbox
        .fails(1, "create --db shop")
        .stderr_has("exit 3: server is down");
    assert!(
        !run.stderr.contains("content") && !run.stderr.contains("first"),
        "{run}"
    );
    assert!(sandbox.listed().is_empty());
    assert_no_scratch(&sandbox);
}

#[cfg(unix)]
#[test]
fn a_restore_command_that_fails_leaves_the_files_done_and_names_the_way_back() {
    let sandbox = named();
    let id: String = sandbox
        .ok("create --db shop --scope a")
        .stdout
        .trim()
        .into();
    let config = sandbox.home().join(".config/checkpoint/config.toml");
    let works = sandbox.read(&config);
    sandbox.write(
        &config,
        works.replace("; pwd", "; echo no such role >&2; false; exit 1; pwd"),
    );
    sandbox
        .write(sandbox.home().join("server"), "state 2")
        .write("a", "2");
    let run = sandbox.restore(&id).code(5);
    let run = run
        .stderr_has("database shop was not restored")
        .stderr_has("exit 1: no such role");
    run.stderr_has("checkpoint undo");
    assert_eq!(sandbox.read("a"), "1");
    assert!(
        sandbox.status()["pending"].is_null(),
        "it is done as far as it goes"
    );
    sandbox.write(&config, works);
    sandbox.undo().success();
    assert_eq!(
        (server(&sandbox), sandbox.read("a")),
        ("state 2".into(), "2".into())
    );
    sandbox.write(&config, "");
    let run = sandbox.fails(4, format!("restore {id} --yes --json"));
    assert_eq!(run.error_code(), "database_not_held");
}

#[test]
fn commands_of_a_project_are_never_run() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".checkpoint.toml",
        "[database.shop]\ndump = \"touch ran\"\nrestore = \"touch ran\"\n",
    );
    sandbox.fails(3, "create --db shop");
    sandbox
        .ok("create")
        .stderr_has("is only allowed in the user's own configuration");
    assert!(!sandbox.exists("ran"));
    for bad in [
        "dump = 'x'",
        "dump = ''\nrestore = 'x'",
        "dump = 'x'\nrestore = 'x'\nother = 1",
    ] {
        sandbox.user_config(&format!("[database.shop]\n{bad}\n"));
        sandbox.fails(1, "create").stderr_has("database");
    }
}

#[cfg(unix)]
#[test]
fn a_name_that_the_configuration_lost_is_found_by_a_dry_run() {
    let sandbox = named();
    sandbox.ok("create -r one --db shop");
    sandbox.user_config("").write("a", "2");
    for how in ["--dry-run", "--yes"] {
        sandbox
            .run(&["restore", "one", how])
            .code(4)
            .stderr_has("no longer has [database.shop]; nothing was changed");
    }
    assert_eq!(sandbox.read("a"), "2");
}
