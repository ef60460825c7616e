//! One grammar of checkpoints, paths and times in every command; wrong ones say what was meant.

use crate::bench::os::QUOTE;
use crate::bench::{Run, Sandbox};

/// Three checkpoints, each a minute after the other, and it is a minute later.
fn three() -> (Sandbox, [String; 3]) {
    let sandbox = Sandbox::new();
    let mut minute = 40;
    let ids = ["wave 1", "Wave 2: api", "plan"].map(|reason| {
        sandbox.at(&format!("2026-03-24T12:{minute}:30Z"));
        minute += 1;
        sandbox
            .write("src/a.rs", format!("// {reason}\n"))
            .write("src/deep/b.rs", "// b\n")
            .write("README.md", format!("# {reason}\n"));
        sandbox.create(reason)
    });
    sandbox.at("2026-03-24T12:43:30Z");
    (sandbox, ids)
}

fn run(sandbox: &Sandbox, line: &str) -> Run {
    let words: Vec<&str> = line.split('|').collect();
    sandbox.run(&words)
}

fn check_line(run: &Run, told: &str) {
    assert_eq!(run.stderr, format!("checkpoint: {told}\n"), "{run}");
}

/// Runs `pin` with each wrong selector; it must end with that code and say that.
fn check_wrong(sandbox: &Sandbox, wrong: &[(&str, i32, String)]) {
    for (typed, code, told) in wrong {
        let run = sandbox.run(&["pin", typed]).code(*code).stdout_is("");
        check_line(&run, told);
    }
}

#[test]
fn a_wrong_selector_says_what_was_meant() {
    let (sandbox, ids) = three();
    let newest = &ids[2];
    sandbox.write("only-here", "x");
    let restore = sandbox.run(&["restore", "@{1}", "--yes"]).code(3);
    let _ = restore.stderr_has("did you mean @~1?");
    let no =
        |typed: &str, hint: &str| (typed.to_owned(), format!("no checkpoint '{typed}'; {hint}"));
    let wrong = [
        no("HEAD", "did you mean @?"),
        no("HEAD~1", "did you mean @~1?"),
        no("@^", "did you mean @~1?"),
        no("latest~~", "did you mean latest~2?"),
        no("first", "did you mean latest~2?"),
        no("2h", &format!("did you mean {QUOTE}2h ago{QUOTE}?")),
        no("wave", "did you mean 'Wave 2: api' or 'wave 1'?"),
        no("WAVE 1", "did you mean 'wave 1'?"),
        no("api", "did you mean 'Wave 2: api'?"),
        no(
            "nope",
            &format!("'checkpoint list' shows them all; the newest is {newest}"),
        ),
    ];
    let wrong = wrong.map(|(typed, told)| (typed, 3, told));
    let wrong: Vec<_> = wrong
        .iter()
        .map(|(typed, code, told)| (typed.as_str(), *code, told.clone()))
        .collect();
    check_wrong(&sandbox, &wrong);
    let short = &newest[..3];
    let too_short = format!(
        "'{short}' is too short for an id: give 4 digits or more; did you mean {newest} (plan)?"
    );
    check_wrong(
        &sandbox,
        &[
            (short, 3, too_short),
            (
                "latest~99",
                3,
                "'latest~99' goes back too far: there are 3 checkpoints; the oldest is latest~2"
                    .into(),
            ),
            (
                "only-here",
                3,
                "'only-here' is a path, not a checkpoint; 'checkpoint list' shows the checkpoints"
                    .into(),
            ),
            (
                "",
                2,
                "the selector is empty: no checkpoint is named; see 'checkpoint pin --help'".into(),
            ),
        ],
    );
    for typed in [short, "wave"] {
        let answer = sandbox.run(&["pin", typed, "--json"]).code(3).json();
        assert!(
            !answer["error"]["candidates"][0]["id"].is_null(),
            "{answer}"
        );
    }
}

#[test]
fn a_time_that_names_nothing_says_why() {
    let (sandbox, [first, _, newest]) = three();
    let too_old = |typed: &str| {
        format!("no checkpoint is as old as '{typed}'; the oldest is {first}, made 3 min ago")
    };
    check_wrong(
        &sandbox,
        &[
            ("10m ago", 3, too_old("10m ago")),
            ("2026-03-23", 3, too_old("2026-03-23")),
            (
                "15:40",
                3,
                format!(
                    "'15:40' is in the future; did you mean 'yesterday 15:40'? the newest is {newest}"
                ),
            ),
            (
                "2099-01-01",
                3,
                format!("'2099-01-01' is in the future; the newest is {newest}"),
            ),
        ],
    );
}

#[test]
fn the_newest_in_a_hint_is_no_safety_checkpoint() {
    let (sandbox, ids) = three();
    sandbox.run(&["restore", "wave 1", "--yes"]).success();
    assert!(sandbox.listed().len() > 3);
    sandbox
        .run(&["show", "nope"])
        .code(3)
        .stderr_has(&format!("the newest is {}", ids[2]));
}

#[test]
fn a_word_of_the_other_kind_is_named_with_the_command_that_is_meant() {
    let (sandbox, ids) = three();
    for (line, code, told) in [
        ("restore|nope", 3, format!("no checkpoint and no path 'nope'; 'checkpoint list' shows them all; the newest is {}", ids[2])),
        ("pin|README.md", 3, "'README.md' is a path, not a checkpoint; 'checkpoint list' shows the checkpoints".to_owned()),
        ("restore|wave 1|plan", 3, format!("'plan' is a checkpoint, and no path in {0}; 'checkpoint show {1}' shows it, 'checkpoint diff {0} {1}' compares the two", ids[0], ids[2])),
        ("diff|wave 1|plan|wave 1", 3, format!("'wave 1' is a checkpoint, and no path in {0}; 'checkpoint show {0}' shows it", ids[0])),
        ("diff|nope", 3, format!("no checkpoint and no path 'nope'; 'checkpoint list' shows them all; the newest is {}", ids[2])),
        ("ls|@|nope", 3, format!("checkpoint {} does not hold 'nope'; 'checkpoint ls {}' lists what it holds", ids[2], ids[2])),
        ("restore|@|src/*", 3, format!("checkpoint {} does not hold 'src/*'; PATHs are literal; give a pattern with --glob", ids[2])),
        ("cat|plan", 2, format!("{} is a checkpoint: name one of its files, SEL:PATH; 'checkpoint ls {}' lists them", ids[2], ids[2])),
        ("find|plan", 3, format!("no checkpoint holds 'plan'; it names a checkpoint itself; run: checkpoint show {}", ids[2])),
        ("find|@:src/a.rs", 3, "'@:src/a.rs' names a path of one checkpoint, and all are searched here; run: checkpoint find src/a.rs".to_owned()),
        ("diff|@:README.md|@~1:src", 2, "two checkpoints are compared in the same path; see 'checkpoint diff --help'".to_owned()),
        ("cat|@:src/../../x", 2, "PATH 'src/../../x' has '..' in it and leads out of the root; see 'checkpoint cat --help'".to_owned()),
        ("restore|@:../x", 2, "PATH '../x' has '..' in it and leads out of the root; see 'checkpoint restore --help'".to_owned()),
    ] {
        let run = run(&sandbox, line).code(code).stdout_is("");
        check_line(&run, &told);
        let hint = run.stderr.rsplit(['(', ';']).next().unwrap_or_default();
        if let Some((_, command)) = hint.split_once("checkpoint ") {
            let command = command.split(['\'', ')', '\n']).next().unwrap_or_default();
            let words: Vec<&str> = command.split(' ').collect();
            sandbox.run(&words).success();
        }
    }
}

#[test]
fn a_path_is_written_the_same_way_everywhere() {
    let (sandbox, ids) = three();
    let id = &ids[0];
    let same = |lines: &[&str]| {
        let first = run(&sandbox, lines[0]).success().stdout;
        assert!(!first.is_empty(), "{}", lines[0]);
        for line in &lines[1..] {
            assert_eq!(run(&sandbox, line).success().stdout, first, "{line}");
        }
    };
    same(&[
        "cat|wave 1:src/a.rs",
        &format!("cat|{id}:src/a.rs"),
        "cat|wave 1|src/a.rs",
        "cat|2026-03-24 12:40:30:src/a.rs",
    ]);
    same(&["cat|@:README.md", "cat|README.md", "cat|@|./README.md"]);
    same(&[
        "diff|wave 1|--|README.md",
        "diff|wave 1|README.md",
        "diff|wave 1:README.md",
    ]);
    same(&[
        "diff|wave 1|plan|--|src",
        "diff|wave 1|plan|src",
        "diff|wave 1:src|plan:src",
        "diff|wave 1:src|plan",
    ]);
    same(&[
        "ls|wave 1|src",
        "ls|wave 1:src",
        "ls|wave 1|src/",
        "ls|--|src",
        "ls|src",
    ]);
    same(&["show|wave 1|README.md", "show|wave 1:README.md"]);
    for words in [
        "cat|wave 1|",
        "cat|wave 1:",
        "ls|wave 1|",
        "ls|wave 1:",
        "show|wave 1|",
        "find|",
        "list|--path|",
        "diff|wave 1|plan|",
        "restore|wave 1|--dry-run|",
    ] {
        let root = sandbox.root().display().to_string();
        let spelled = [
            "src/a.rs",
            "./src/../src/a.rs",
            "src//a.rs",
            "src/./a.rs/",
            "nowhere/../src/a.rs",
            &format!("{root}/src/../src/a.rs"),
        ];
        let lines = spelled.map(|path| format!("{words}{path}"));
        same(&lines.each_ref().map(String::as_str));
    }
    run(&sandbox, "create|--scope|./src/../src/a.rs/").success();
    sandbox.write("README.md", "now");
    same(&[
        "diff|--|README.md",
        "diff|README.md",
        "diff|@:README.md",
        "diff|@|README.md",
        "diff|--glob|*.md",
    ]);
    same(&[
        "restore|wave 1|README.md|src|--dry-run",
        "restore|wave 1:README.md|src|--dry-run",
        "restore|wave 1:README.md|wave 1:src|--dry-run",
        "restore|wave 1|--glob|README.md|--glob|src|--dry-run",
    ]);
}

#[test]
fn a_word_that_could_be_both_is_the_checkpoint_unless_it_stands_behind_dashes() {
    let (sandbox, ids) = three();
    sandbox.write("plan", "a file");
    sandbox.at("2026-03-24T12:44:00Z").create("later");
    sandbox.write("plan", "another");
    sandbox
        .run(&["diff", "plan", "--name-only"])
        .success()
        .stdout_is("plan\n");
    sandbox
        .run(&["ls", "plan"])
        .success()
        .stdout_is("README.md\nsrc/\n");
    sandbox
        .run(&["ls", "--", "plan"])
        .success()
        .stdout_is("plan\n");
    sandbox.run(&["cat", "plan"]).success().stdout_is("a file");
    run(&sandbox, "cat|--|plan").success().stdout_is("a file");
    run(&sandbox, "cat|@|--|plan").success().stdout_is("a file");
    for line in ["show|--|plan", "show|@|--|plan"] {
        run(&sandbox, line).success().stdout_has("later");
    }
    // A restore of the wrong one would replace files.
    let id = &ids[2];
    check_line(
        &run(&sandbox, "restore|plan|src|--overlay|--dry-run").code(2),
        &format!(
            "plan is a checkpoint and a path; 'checkpoint restore {id} src --overlay --dry-run' takes \
             the checkpoint, 'checkpoint restore --overlay --dry-run -- plan src' the path"
        ),
    );
    check_line(
        &run(&sandbox, "restore|plan|--check|exit 9|--verify|--yes").code(2),
        &format!(
            "plan is a checkpoint and a path; 'checkpoint restore {id} --check 'exit 9' --verify' takes \
             the checkpoint, 'checkpoint restore --check 'exit 9' --verify -- plan' the path"
        ),
    );
    sandbox.write("plan:src", "a file");
    run(&sandbox, "restore|plan:src|--yes")
        .code(2)
        .stderr_has(&format!(
            "'checkpoint restore {id}:src' takes the checkpoint"
        ));
    sandbox.remove("plan:src");
    let words = format!("restore|{id}|src|--dry-run|--overlay");
    run(&sandbox, &words).success();
    run(&sandbox, "restore|--dry-run|--overlay|--|plan|src").success();
    // Behind an option that ends the words, or as it is printed, it is plain.
    sandbox.write(id, "a file called like a checkpoint");
    for line in [
        &format!("restore|{id}|--dry-run"),
        "restore|plan|--dry-run|--",
    ] {
        let run = run(&sandbox, line).success();
        assert!(run.stdout.contains(&format!("Restoring `{id}`")), "{run}");
    }
    run(&sandbox, "restore|latest|--yes|--|plan").success();
    assert_eq!(sandbox.read("plan"), "a file");
    sandbox.write("plan", "another").write("latest", "");
    run(&sandbox, "restore|latest|--yes").code(2);
    run(&sandbox, "restore|./plan|--yes").success();
    assert_eq!(sandbox.read("plan"), "a file");
    // Also where only the checkpoint has that path.
    sandbox.remove("plan");
    run(&sandbox, "restore|plan|--yes").code(2);
    run(&sandbox, "restore|--yes|--|plan").success();
    assert_eq!(sandbox.read("plan"), "a file");
}

#[test]
fn paths_alone_are_restored_from_where_the_directory_stands() {
    let (sandbox, _) = three();
    let read = |name: &str| sandbox.read(name);
    let old = read("README.md");
    sandbox.write("README.md", "edited").remove("src/a.rs");
    run(&sandbox, "restore|src/a.rs|README.md|--yes").success();
    assert_eq!(
        (read("README.md"), sandbox.exists("src/a.rs")),
        (old.clone(), true)
    );
    sandbox.write("README.md", "edited");
    for line in [
        "restore|--yes|--|README.md",
        "restore|.|--yes",
        "restore|--glob|*.md|--yes",
    ] {
        sandbox.write("README.md", "edited");
        run(&sandbox, line).success();
        assert_eq!(read("README.md"), old, "{line}");
    }
    // After a restore, what was restored counts, not what was made last.
    run(&sandbox, "restore|wave 1|--yes").success();
    let first = read("README.md");
    sandbox.write("README.md", "edited");
    run(&sandbox, "restore|README.md|--yes").success();
    assert_eq!(read("README.md"), first);
    let out = sandbox.top().join("out").to_string_lossy().into_owned();
    sandbox
        .run(&["restore", "--to", &out, "README.md"])
        .success();
    assert_eq!(sandbox.read(format!("{out}/README.md")), first);
    run(&sandbox, "show|README.md").success();
}

#[test]
fn an_empty_path_is_refused_and_a_dot_is_the_whole() {
    let (sandbox, _) = three();
    sandbox.write("README.md", "edited");
    for line in [
        "restore|@:|--yes",
        "restore|@:|--to|../out",
        "ls|@:",
        "diff|wave 1:|plan:",
        "diff|@:",
        "show|@:",
        "cat|@:",
    ] {
        let told = run(&sandbox, line).code(2).stdout_is("");
        told.stderr_has("no PATH stands after the colon; '.' is the whole checkpoint");
    }
    assert_eq!(sandbox.read("README.md"), "edited");
    let out = |line: &str| run(&sandbox, line).success().stdout;
    assert_eq!(out("ls|@:."), out("ls|@"));
    assert_eq!(
        out("restore|wave 1:.|--dry-run"),
        out("restore|wave 1|--dry-run")
    );
    sandbox.create("fix:");
    run(&sandbox, "ls|fix:").success();
}

#[cfg(unix)]
#[test]
fn a_word_of_any_bytes_is_shown_as_names_are() {
    use crate::bench::os::OsStrExt as _;
    let (sandbox, ids) = three();
    let all = format!("'checkpoint list' shows them all; the newest is {}", ids[2]);
    for (typed, shown) in [
        (&b"\xff\xfe"[..], r"\xff\xfe"),
        (b"back\\slash", r"back\\slash"),
        (b"a\tb", r"a\x09b"),
    ] {
        let run = |args: &[&str]| {
            let mut command = sandbox.command(&[], args);
            command.arg(std::ffi::OsStr::from_bytes(typed));
            Run::of(command).code(3)
        };
        check_line(
            &run(&["restore"]),
            &format!("no checkpoint and no path '{shown}'; {all}"),
        );
        run(&["restore", "@"]).stderr_has(&format!("does not hold '{shown}';"));
        run(&["cat", "@"]).stderr_has(&format!("does not hold '{shown}';"));
    }
    sandbox.write("back\\slash", "1");
    run(&sandbox, "pin|back\\slash")
        .code(3)
        .stderr_has(r"'back\\slash' is a path, not a checkpoint;");
}

#[test]
fn a_pattern_with_a_slash_at_its_end_is_a_directory() {
    let (sandbox, _) = three();
    sandbox
        .write("x/src", "a file")
        .mkdir("y/src")
        .create("files");
    sandbox
        .write("x/src", "edited")
        .write("src/a.rs", "edited")
        .remove("y");
    run(&sandbox, "restore|@|--glob|src/|--yes").success();
    assert_eq!(sandbox.read("x/src"), "edited");
    assert_ne!(sandbox.read("src/a.rs"), "edited");
    assert!(sandbox.exists("y/src"));
    run(&sandbox, "diff|--name-only|--exclude|src/")
        .success()
        .stdout_is("x/src\n");
    run(&sandbox, "ls|--glob|src/")
        .success()
        .stdout_is("src/\nsrc/a.rs\nsrc/deep/\nsrc/deep/b.rs\ny/src/\n");
}

#[test]
fn what_an_exclude_keeps_is_not_called_held_by_no_checkpoint() {
    let (sandbox, _) = three();
    sandbox
        .write("new/m/keep.log", "1")
        .write("new/m/drop", "1");
    let run = run(&sandbox, "restore|plan|--exclude|*.log|--yes").success();
    assert!(!run.stderr.contains("left unchanged"), "{run}");
    assert!(sandbox.exists("new/m/keep.log") && !sandbox.exists("new/m/drop"));
    sandbox.write(".gitignore", "*.tmp").create("ignoring");
    sandbox.write("new/m/x.tmp", "1").write("other/x.tmp", "1");
    let run = self::run(&sandbox, "restore|ignoring|--exclude|*.log|--yes").success();
    run.stderr_has("left unchanged: other: it is not captured");
}

#[test]
fn a_pattern_of_another_place_is_refused() {
    let (sandbox, _) = three();
    sandbox.write("src/a.rs", "edited");
    let root = sandbox.root().display().to_string();
    for (pattern, why) in [
        ("/etc/x", "lies outside the root"),
        ("../x", "has '..' in it"),
        ("src/../../x", "has '..' in it"),
        ("/", "can match nothing"),
        (".", "can match nothing"),
        (&*root, "can match nothing"),
        ("!*.rs", "begins with !: --exclude leaves paths out"),
    ] {
        for option in ["--glob", "--exclude"] {
            let run = sandbox.run(&["restore", "@", "--yes", option, pattern]);
            run.code(2).stderr_has(why);
        }
    }
    assert_eq!(sandbox.read("src/a.rs"), "edited");
    for pattern in ["/src", "./src", &format!("{root}/src"), "/nowhere-at-all"] {
        let run = sandbox.run(&["restore", "@", "--dry-run", "--exclude", pattern]);
        let _ = run.success();
    }
}

#[cfg(unix)]
#[test]
fn an_hour_that_comes_twice_is_found_whole() {
    let sandbox = Sandbox::new();
    sandbox.env("TZ", "EST5EDT,M3.2.0,M11.1.0");
    for (hour, reason) in [
        (4, "00:30"),
        (5, "01:30 first"),
        (6, "01:30 again"),
        (7, "02:30"),
    ] {
        sandbox.at(&format!("2026-11-01T0{hour}:30:00Z"));
        sandbox.write("a", reason).create(reason);
    }
    sandbox.at("2026-11-01T08:00:00Z");
    let listed = |args: &[&str]| {
        let run = sandbox.run(&[&["list", "--json"], args].concat()).success();
        let rows = run.data()["checkpoints"]
            .as_array()
            .expect("a list")
            .clone();
        rows.iter()
            .map(|row| row["reason"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        listed(&["--until", "01:45"]),
        ["01:30 again", "01:30 first", "00:30"]
    );
    assert_eq!(
        listed(&["--since", "01:15", "--until", "01:30"]),
        ["01:30 again", "01:30 first"]
    );
    assert_eq!(sandbox.shown("01:30")["reason"], "01:30 again");
    assert_eq!(sandbox.shown("00:30")["reason"], "00:30");
    assert_eq!(
        sandbox.shown("2026-11-01 05:30:00")["reason"],
        "01:30 first"
    );
}

#[test]
fn patterns_narrow_a_restore_and_its_undo() {
    let (sandbox, _) = three();
    sandbox
        .write("src/a.rs", "new a")
        .write("src/a.log", "log")
        .write("README.md", "new readme")
        .write("logs/x.log", "x");
    sandbox
        .run(&["restore", "plan", "--glob", "*.rs", "--yes"])
        .success()
        .stdout_has("Restored `*.rs` from checkpoint");
    let read = |path: &str| std::fs::read_to_string(sandbox.path(path)).unwrap_or_default();
    assert_eq!(
        (read("src/a.rs").as_str(), read("README.md").as_str()),
        ("// plan\n", "new readme")
    );
    assert_eq!(
        (read("src/a.log").as_str(), read("logs/x.log").as_str()),
        ("log", "x")
    );
    sandbox
        .run(&["restore", "plan", "--exclude", "*.log", "--yes"])
        .success();
    assert_eq!(
        (read("README.md").as_str(), read("logs/x.log").as_str()),
        ("# plan\n", "x")
    );
    // What came later and was excluded is not for the undo to take.
    sandbox.write("logs/x.log", "y").write("new.log", "z");
    sandbox.run(&["undo", "--yes"]).success();
    assert_eq!(
        (read("README.md").as_str(), read("logs/x.log").as_str()),
        ("new readme", "y")
    );
    assert_eq!(read("new.log"), "z");
    sandbox.run(&["redo", "--yes"]).success();
    sandbox.run(&["undo", "--yes"]).success();
    sandbox.run(&["undo", "--yes"]).success();
    assert_eq!(
        (read("src/a.rs").as_str(), read("logs/x.log").as_str()),
        ("new a", "y")
    );
    sandbox
        .run(&["restore", "plan", "--glob", "*.nope", "--yes"])
        .code(3)
        .stderr_has("no path of");
    sandbox
        .run(&["restore", "plan", "--glob", "[", "--yes"])
        .code(2)
        .stderr_has("can match nothing");
    let to = sandbox.top().join("copy");
    sandbox
        .run(&[
            "restore",
            "plan",
            "--exclude",
            "src",
            "--to",
            &to.display().to_string(),
        ])
        .success();
    assert!(to.join("README.md").is_file() && !to.join("src").exists());
}

#[test]
fn what_is_to_stay_is_not_deleted_to_make_room() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "a file");
    sandbox.create("file");
    sandbox.remove("x").write("x/a.log", "stays");
    let run = sandbox
        .run(&["restore", "file", "--exclude", "*.log", "--yes"])
        .code(4);
    assert!(run.stderr.contains("is to stay"), "{run}");
    assert!(sandbox.path("x/a.log").is_file());
}

#[test]
fn ls_lists_what_a_checkpoint_holds() {
    let (sandbox, ids) = three();
    sandbox.mkdir("empty/inner").symlink("link", "src/a.rs");
    sandbox.at("2026-03-24T12:44:00Z").create("more");
    sandbox.remove("src").remove("empty");
    sandbox
        .run(&["ls"])
        .success()
        .stdout_is("README.md\nempty/\nlink\nsrc/\n");
    sandbox.run(&["ls", "-R", "@"]).success().stdout_is(
        "README.md\nempty/\nempty/inner/\nlink\nsrc/\nsrc/a.rs\nsrc/deep/\nsrc/deep/b.rs\n",
    );
    sandbox
        .run(&["ls", "@", "src", "README.md"])
        .success()
        .stdout_is("README.md\nsrc/a.rs\nsrc/deep/\n");
    sandbox
        .run(&["ls", "--glob", "*.rs"])
        .success()
        .stdout_is("src/a.rs\nsrc/deep/b.rs\n");
    sandbox
        .run(&["ls", "-R", "--exclude", "deep", "src"])
        .success()
        .stdout_is("src/a.rs\n");
    sandbox
        .run(&["ls", "empty/inner"])
        .success()
        .stdout_is("")
        .stderr_has("nothing there");
    let long = sandbox.run(&["ls", "-l", "@"]).success().stdout;
    assert_eq!(
        long,
        "-rw-r--r--  7  README.md\ndrwxr-xr-x  -  empty/\nlrwxrwxrwx  8  link\ndrwxr-xr-x  -  src/\n"
    );
    let data = sandbox
        .run(&["ls", &ids[0], "src", "--json"])
        .success()
        .data();
    assert_eq!(
        data["entries"][0],
        serde_json::json!({"kind": "file", "mode": "0644", "path": "src/a.rs", "path_hex": null, "size_bytes": 10})
    );
    assert_eq!(data["checkpoint"]["reason"], "wave 1");
    // Each path can be handed on.
    for path in sandbox.run(&["ls", "--glob", "*"]).success().stdout.lines() {
        if !path.ends_with('/') {
            sandbox.run(&["cat", path]).success();
        }
    }
}

#[test]
fn find_looks_for_a_name_in_every_directory() {
    let (sandbox, _) = three();
    for pattern in ["b.rs", "src/deep/b.rs", "deep", "*.rs"] {
        sandbox
            .run(&["find", pattern])
            .success()
            .stdout_has("src/deep/b.rs: ");
    }
    sandbox.run(&["find", "./b.rs"]).code(3);
}

#[test]
fn every_printed_time_names_its_checkpoint() {
    for zone in ["UTC", "America/New_York", "Asia/Tokyo"] {
        let sandbox = Sandbox::new();
        sandbox.env("TZ", zone);
        for (hour, reason) in ["one", "two", "three"].iter().enumerate() {
            sandbox.at(&format!("2026-03-24T{:02}:15:40.5Z", 9 + 4 * hour));
            sandbox.write("a", reason);
            sandbox.create(reason);
        }
        sandbox.at("2026-03-24T20:00:00Z");
        sandbox.run(&["restore", "one", "--yes"]).success();
        sandbox.at("2026-03-24T22:00:00Z");
        let rows = sandbox.run(&["list", "--json"]).success().data();
        for row in rows["checkpoints"].as_array().unwrap() {
            let (id, time) = (row["id"].as_str().unwrap(), row["time"].as_str().unwrap());
            let seconds = time[..19].replace('T', " ");
            for typed in [time.to_owned(), seconds.clone(), format!("{seconds} UTC")] {
                let told = sandbox.run(&["show", &typed, "--json"]).success().data();
                assert_eq!(told["checkpoint"]["id"], id, "{zone}: {typed}");
            }
        }
        let shown = sandbox.run(&["show", "two"]).success().stdout;
        let time = shown
            .lines()
            .find_map(|line| line.strip_prefix("time "))
            .unwrap();
        let (stamp, age) = time.trim().split_once(" (").unwrap();
        for typed in [stamp, age.trim_end_matches(')')] {
            sandbox
                .run(&["show", typed])
                .success()
                .stdout_has("reason     two");
        }
    }
}

#[test]
fn periods_and_durations_have_one_grammar() {
    let (sandbox, _) = three();
    let count = |args: &[&str]| {
        let data = sandbox
            .run(&[&["list", "--json"], args].concat())
            .success()
            .data();
        data["checkpoints"].as_array().unwrap().len()
    };
    for (args, expected) in [
        (&["--since", "1h"][..], 3),
        (&["--since", "an hour ago"], 3),
        (&["--since", "yesterday"], 3),
        (&["--since", "12:42"], 1),
        (&["--until", "12:41"], 2),
        (&["--until", "yesterday"], 0),
        (&["--since", "12:41", "--until", "12:41"], 1),
        (&["--since", "1 month ago", "--until", "2m"], 2),
    ] {
        assert_eq!(count(args), expected, "{args:?}");
    }
    sandbox
        .run(&["find", "a.rs", "--until", "12:40"])
        .success()
        .stdout_has("added");
    sandbox
        .run(&["find", "deep/b.rs", "--since", "12:41"])
        .code(3);
    sandbox
        .run(&["find", "--text", "wave 1", "--since", "12:41"])
        .code(3);
    sandbox.run(&["guard", "--max-age", "1h30m"]).success();
    for (line, told) in [
        (
            "list|--since|soon",
            "cannot read 'soon' of --since; write 2h, '2h ago', yesterday, 15:40, 2026-03-24 or 2026-03-24T12:45",
        ),
        (
            "find|a|--until|25:00",
            "cannot read '25:00' of --until; write 2h, '2h ago', yesterday, 15:40, 2026-03-24 or 2026-03-24T12:45",
        ),
        (
            "guard|--max-age|soon",
            "cannot read 'soon' of --max-age; write 30m, 24h, 7d or 1h30m",
        ),
        (
            "hold|x|--for|soon",
            "cannot read 'soon' of --for; write 30m, 24h, 7d or 1h30m",
        ),
        (
            "create|--scope|src|--expires|soon",
            "cannot read 'soon' of --expires; write 24h, 7d, 2026-12-24, '2026-12-24 18:00' or never",
        ),
    ] {
        let run = run(&sandbox, line).code(2);
        assert_eq!(
            run.stderr,
            format!("checkpoint: {told}; 'checkpoint help selectors' names every form\n"),
            "{line}"
        );
    }
}

#[test]
fn latest_says_so_where_all_checkpoints_are_scoped() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "1");
    let run = sandbox.run(&["create", "--scope", "src", "-r", "part"]);
    let id = run.success().stdout.trim().to_owned();
    for word in ["@", "latest", "@~2"] {
        sandbox
            .run(&["restore", word, "--yes"])
            .code(3)
            .stderr_has(&format!("'{word}' names no scoped checkpoint"))
            .stderr_has(&format!("the newest is {id}"));
    }
}

#[test]
fn show_names_a_path_that_is_not_there() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").create("one");
    sandbox.write("b", "2").create("two");
    sandbox.run(&["show", "@", "a"]).success();
    sandbox.remove("a").create("three");
    sandbox.run(&["show", "@", "a"]).success().stdout_has("- a");
    sandbox
        .run(&["show", "@", "nope"])
        .code(3)
        .stderr_has("nope");
}

#[test]
fn a_word_that_is_mistyped_beside_damage_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let packs = || crate::bench::damaged::packs_of(&sandbox.store());
    let first = packs();
    sandbox.write("a", "2").create("two");
    for pack in packs().iter().filter(|pack| !first.contains(pack)) {
        crate::bench::fixtures::remove(pack);
    }
    sandbox
        .run(&["show", "threee"])
        .code(6)
        .stderr_has("no readable checkpoint is 'threee', and checkpoint ");
}

#[test]
fn after_an_undo_the_place_is_the_checkpoint_that_the_list_marks() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = ["1", "2", "3"]
        .map(|n| sandbox.write("a", n).create(n))
        .into();
    sandbox.restore(&ids[1]).success();
    sandbox.restore(&ids[0]).success();
    sandbox.run(&["undo", "--yes"]).success();
    for (selector, id) in [("@", &ids[1]), ("@~1", &ids[0])] {
        let shown = sandbox.run(&["show", selector, "--json"]).success().data();
        assert_eq!(shown["checkpoint"]["short"], id.as_str(), "{selector}");
    }
}

#[test]
fn a_path_that_leads_out_is_refused_as_a_path() {
    let (sandbox, _) = three();
    for (path, code, name) in [
        (".git", 4, "dot_git_path"),
        ("/etc/passwd", 2, "usage"),
        ("../..", 2, "usage"),
    ] {
        for args in [
            &["restore", path][..],
            &["diff", path],
            &["show", "@", path],
        ] {
            let run = sandbox.run(&[args, &["--json"]].concat()).code(code);
            assert_eq!(run.error_code(), name, "{run}");
        }
    }
}

#[test]
fn below_the_root_a_checkpoint_in_place_of_a_path_is_named_too() {
    let (sandbox, ids) = three();
    let below = sandbox.mkdir("below").path("below");
    for args in [["show", "wave 1", "plan"], ["ls", "wave 1", "plan"]] {
        sandbox
            .run_in(&below, &args)
            .code(3)
            .stderr_has(&format!("'checkpoint show {}' shows it", ids[2]));
    }
}

#[test]
fn what_names_a_prompt_or_session_is_no_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for reason in ["prompt:1", "prompt:~1", "session:s", "session:@", "@~1"] {
        let run = sandbox.run(&["create", reason]).code(2);
        run.stderr_has("cannot be a reason");
    }
    sandbox.create("prompt: fix it");
}

/// A restore reads such a word as `@FILE`.
#[test]
fn what_a_restore_reads_as_a_list_is_no_reason() {
    let sandbox = Sandbox::new();
    let id = sandbox.write("a", "1").create("v2@");
    for args in [["create", "@v2"], ["create", "-m@v2"]] {
        let run = sandbox.run(&args).code(2);
        run.stderr_has("'@v2' names a list of paths and cannot be a reason");
    }
    let run = sandbox.run(&["reword", &id, "@v2"]).code(2);
    run.stderr_has("cannot be a reason");
    sandbox.run(&["restore", "v2@"]).success();
}

/// The advice ends, in either order of the two.
#[test]
fn what_is_advised_for_two_checkpoints_works() {
    let (sandbox, ids) = three();
    for [one, other] in [[0, 2], [2, 0]].map(|pair| pair.map(|at| &*ids[at])) {
        for command in ["restore", "ls", "show"] {
            let run = sandbox.run(&[command, one, other]).code(3);
            for next in [vec!["show", other], vec!["diff", one, other]] {
                let advice = format!("'checkpoint {}'", next.join(" "));
                assert!(run.stderr.contains(&advice), "{run}");
                sandbox.run(&next).success();
            }
        }
    }
}
