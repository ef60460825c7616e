//! The table of exit codes: each class once, always with one line that says what failed and what to
//! do next.

use crate::bench::{Run, Sandbox};

fn with_one() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    (sandbox, id)
}

#[test]
fn wrong_usage_is_2_and_makes_nothing() {
    let sandbox = Sandbox::new();
    for args in [
        &["frobnicate"][..],
        &["create", "--no-such-flag"],
        &["create", "two", "words"],
        &["list", "word"],
        &["pin"],
        &["restore"],
        &["prune", "--keep", "many"],
        &["list", "--color", "sometimes"],
        &["list", "-n", "-1"],
        &["--lock-timeout", "soon", "list"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, 2, "{run}");
        assert!(
            run.stderr.starts_with("checkpoint: ") && run.stdout.is_empty(),
            "{run}"
        );
        assert!(
            run.stderr.lines().count() == 1
                && ["--help'", "run: "]
                    .iter()
                    .any(|next| run.stderr.contains(next)),
            "{run}"
        );
    }
    assert!(!sandbox.base().exists(), "wrong usage wrote something");
}

#[test]
fn wrong_usage_says_in_one_line_what_and_what_next() {
    let sandbox = Sandbox::new();
    for (args, line) in [
        (&["pin"][..], "pin needs SEL; see 'checkpoint pin --help'"),
        (
            &["list", "--color", "sometimes"],
            "invalid value 'sometimes' for '--color <WHEN>' [possible values: auto, always, never]; see 'checkpoint list --help'",
        ),
        (
            &["verifi"],
            "there is no command 'verifi'; did you mean 'verify'? see 'checkpoint verify --help'",
        ),
    ] {
        let run = sandbox.run(args).code(2);
        assert_eq!(run.stderr, format!("checkpoint: {line}\n"));
        let with_json = sandbox.run(&[args, &["--json"]].concat()).code(2);
        assert_eq!(
            (with_json.error_code().as_str(), with_json.stderr),
            ("usage", run.stderr)
        );
    }
}

#[test]
fn of_an_option_given_twice_the_last_one_counts() {
    let (sandbox, id) = with_one();
    sandbox
        .run(&["-y", "-y", "list", "-y"])
        .success()
        .stdout_has(&id);
    let run = sandbox
        .run(&[
            "list", "--color", "never", "--color", "always", "-n", "5", "-n", "1",
        ])
        .success();
    assert!(run.stdout.contains(&id), "{run}");
    sandbox.write("a", "2");
    let diff = ["diff", &id, "--color", "never", "--color", "always"];
    sandbox.run(&diff).success().stdout_has("\u{1b}[");
    let diff = ["--color", "always", "diff", &id, "--color", "never"];
    assert!(!sandbox.run(&diff).success().stdout.contains('\u{1b}'));
}

#[test]
fn help_and_version_succeed_on_stdout() {
    let sandbox = Sandbox::new();
    sandbox.run(&["--help"]).success().stdout_has("create");
    sandbox
        .run(&["--version"])
        .success()
        .stdout_has("checkpoint ");
}

#[test]
fn nothing_found_is_3() {
    let (sandbox, id) = with_one();
    sandbox
        .run(&["show", "ffffffff"])
        .code(3)
        .stderr_has("ffffffff");
    sandbox
        .restore("no-such-reason")
        .code(3)
        .stderr_has("no-such-reason");
    sandbox
        .run(&["restore", &id, "no/such/path", "--yes"])
        .code(3)
        .stderr_has("no/such/path");
    sandbox.undo().code(3);
}

#[test]
fn a_decision_that_is_needed_is_4() {
    let (sandbox, id) = with_one();
    sandbox.write("a", "2");
    sandbox.run(&["restore", &id]).code(4).stderr_has("--yes");
}

#[test]
fn a_damaged_checkpoint_is_6_and_changes_nothing() {
    let (sandbox, id) = with_one();
    sandbox.write("a", "2").watch(sandbox.root());
    for pack in crate::bench::fixtures::files_below(&sandbox.store().join("objects")) {
        if pack
            .extension()
            .is_some_and(|extension| extension == "pack")
        {
            let mut bytes = std::fs::read(&pack).expect("a pack can be read");
            let middle = 12..bytes.len() - 20;
            bytes[middle].fill(0);
            std::fs::write(&pack, bytes).expect("a pack can be written");
        }
    }
    sandbox.restore(&id).code(6).stderr_has(&id);
}

#[test]
fn a_store_of_a_newer_format_is_6_and_stays_as_it_is() {
    let (sandbox, id) = with_one();
    crate::bench::fixtures::make_newer(&sandbox.store(), 999);
    sandbox
        .write("a", "2")
        .watch(&sandbox.store())
        .watch(sandbox.root());
    let run = sandbox.run(&["create", "--json"]).code(6);
    assert_eq!(run.error_code(), "store_too_new");
    sandbox.restore(&id).code(6);
    sandbox.run(&["list"]).stdout_has(&id);
}

#[test]
fn a_busy_store_is_7_after_the_given_time() {
    let (sandbox, _) = with_one();
    let folder = sandbox.store().join("checkpoint");
    let locks: Vec<_> = crate::bench::fixtures::files_below(&folder)
        .into_iter()
        .filter(|file| {
            file.file_name()
                .is_some_and(|name| name.to_string_lossy().contains("lock"))
        })
        .collect();
    assert_eq!(locks.len(), 1, "one lock file in {}", folder.display());
    let holder = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&locks[0])
        .expect("the lock opens");
    holder.lock().expect("the lock is free");
    sandbox.write("a", "2");
    let run = sandbox
        .run(&["create", "--lock-timeout", "1", "--json"])
        .code(7);
    assert_eq!(run.error_code(), "busy");
    assert_eq!(sandbox.listed().len(), 1, "readers never wait");
    drop(holder);
    sandbox.create("free again");
}

#[test]
fn a_bad_value_in_the_configuration_is_1_and_an_unknown_key_a_warning() {
    let (sandbox, _) = with_one();
    sandbox.user_config("keep = \"many\"\n");
    sandbox
        .run(&["create"])
        .code(1)
        .stderr_has("config.toml")
        .stderr_has("keep");
    sandbox.user_config("keeep = 3\n");
    sandbox
        .run(&["list"])
        .success()
        .stderr_has("keeep")
        .stderr_has("keep");
}

#[test]
fn an_unusable_base_is_1_and_names_the_place() {
    let (sandbox, _) = with_one();
    let file = sandbox.top().join("a-file");
    std::fs::write(&file, "x").expect("a file can be written");
    sandbox
        .run(&["--base", &file.display().to_string(), "create"])
        .code(1)
        .stderr_has("a-file");
}

#[test]
fn a_root_that_is_no_directory_is_named() {
    let (sandbox, _) = with_one();
    let run = sandbox
        .run(&["-C", "a", "create"])
        .stderr_has(&sandbox.path("a").display().to_string());
    assert!([2, 3].contains(&run.code), "{run}");
    sandbox
        .run(&["-C", "/no/such/place", "create"])
        .code(3)
        .stderr_has("/no/such/place");
    let missing = sandbox.top().join("missing").display().to_string();
    for args in [&["create"][..], &["list"], &["status"], &["show", "latest"]] {
        let run = sandbox
            .run(&[&["-C", &missing], args].concat())
            .stderr_has(&missing)
            .stderr_has("with -C");
        assert!(!run.stderr.contains("checkpoint create"), "{run}");
    }
}

#[test]
fn global_options_stand_in_any_position() {
    let (sandbox, _) = with_one();
    let root = sandbox.root().display().to_string();
    for args in [
        ["-C", &root, "--json", "list"],
        ["list", "--json", "-C", &root],
        ["--json", "list", "-C", &root],
    ] {
        let run = sandbox.run_in(sandbox.home(), &args).success();
        assert_eq!(
            run.data()["checkpoints"].as_array().map(Vec::len),
            Some(1),
            "{run}"
        );
    }
}

/// Runs shell commands, in which `$checkpoint` is the program and `$root` the root.
#[cfg(unix)]
fn shell(sandbox: &Sandbox, script: &str) -> Run {
    let script = format!("checkpoint=$0; root=$PWD; {script}");
    sandbox.run_under(&["/bin/sh", "-c", &script], &[])
}

#[cfg(unix)]
#[test]
fn a_current_directory_that_is_gone_is_named() {
    let sandbox = Sandbox::new();
    let gone = |dir: &str, line: &str| {
        let script = format!("mkdir -p {dir}; cd {dir}; rm -r \"$root/gone\"; {line} < /dev/null");
        shell(&sandbox, &script)
    };
    let refused = "checkpoint: the current directory is gone; nothing was changed; \
                   name a directory with -C DIR\n";
    // First without a store above.
    for line in ["create", "status", "delete --all --yes"] {
        for forget in ["", "unset PWD; "] {
            let run = gone("gone", &format!("{forget}$checkpoint {line}")).code(3);
            assert_eq!(run.stderr, refused, "{forget}{line}");
        }
    }
    gone("gone/deep", "$checkpoint create").code(3);
    sandbox.write("a", "1").create("first");
    let before = (sandbox.tree(), sandbox.listed());
    for line in [
        "create",
        "status",
        "list",
        "restore latest --yes",
        "delete --all --yes",
        "workflow list",
        "config",
        "setup claude --project --yes",
        "-C . create",
    ] {
        for (dir, forget) in [("gone", ""), ("gone/deep", ""), ("gone", "unset PWD; ")] {
            let run = gone(dir, &format!("{forget}$checkpoint {line}")).code(3);
            assert_eq!(run.stderr, refused, "{dir} {forget}{line}");
        }
    }
    let run = gone("gone", "$checkpoint list --json").code(3);
    assert_eq!(run.error_code(), "root_missing");
    // An agent is never stopped, and a directory that is named is one to act on.
    gone("gone", "$checkpoint hook").success().stdout_is("");
    gone("gone", "$checkpoint statusline").success();
    gone("gone", "$checkpoint -C \"$root\" list").success();
    sandbox.tree().assert_is(&before.0, "after all of them");
    assert_eq!(sandbox.listed(), before.1);
}

#[cfg(unix)]
#[test]
fn a_current_directory_that_was_made_again_or_has_a_store_is_acted_on() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    let again = "mkdir sub; cd sub; rmdir ../sub; mkdir ../sub; $checkpoint list";
    shell(&sandbox, again).success().stdout_has("first");
    let own = "mkdir own; cd own; echo 1 > b; $checkpoint create --here -q; rm -r ../own; \
               $checkpoint restore latest --yes";
    shell(&sandbox, own).success();
    assert_eq!(sandbox.read("own/b"), "1\n");
}
