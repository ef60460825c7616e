//! `find PATTERN`: shows what happened to a path, newest first, and the command that restores it.

use crate::bench::os::OsStrExt as _;

use serde_json::Value;

use crate::bench::{Git, Run, Sandbox, fixtures};

/// A file that is made, changed, made executable and deleted, with the checkpoints of each.
fn story() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.write("kept", "k").write("src/deep/other.rs", "o");
    let mut ids = vec![sandbox.create("empty")];
    sandbox.write("src/lost.rs", "1");
    ids.push(sandbox.create("added"));
    sandbox.write("src/lost.rs", "22").write("kept", "kk");
    ids.push(sandbox.create("changed"));
    sandbox.chmod("src/lost.rs", 0o755);
    ids.push(sandbox.create("mode"));
    sandbox.remove("src/lost.rs");
    ids.push(sandbox.create("deleted"));
    sandbox.write("kept", "kkk");
    ids.push(sandbox.create("later"));
    (sandbox, ids)
}

#[track_caller]
fn found(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let run = sandbox.run(&[&["find", "--json"], args].concat()).success();
    run.data()["paths"].as_array().expect("a list").clone()
}

fn names(paths: &[Value]) -> Vec<&str> {
    paths
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect()
}

fn events(path: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = path["events"].as_array().unwrap().iter();
    events
        .map(|event| (text(&event["change"]), text(&event["checkpoint"]["short"])))
        .collect()
}

#[test]
fn a_lost_file_is_told_with_the_command_that_brings_it_back() {
    let (sandbox, ids) = story();
    let run = sandbox.run(&["find", "src/lost.rs"]).success();
    let head = format!("src/lost.rs: last in {}, deleted by {}\n", ids[3], ids[4]);
    assert!(run.stdout.starts_with(&head), "{run}");
    let hint = run.stdout.lines().last().unwrap().trim().to_owned();
    assert_eq!(hint, format!("checkpoint restore {} src/lost.rs", ids[3]));
    let mut words: Vec<&str> = hint.split(' ').skip(1).collect();
    words.push("--yes");
    sandbox.run(&words).success();
    assert_eq!(sandbox.read("src/lost.rs"), "22");
    assert_eq!(found(&sandbox, &["src/lost.rs"])[0]["in_directory"], true);
}

#[cfg(unix)]
#[test]
fn every_step_is_told_newest_first_with_size_and_reason() {
    let (sandbox, ids) = story();
    let path = &found(&sandbox, &["src/lost.rs"])[0];
    let expected = [("deleted", 4), ("mode", 3), ("modified", 2), ("added", 1)];
    assert_eq!(
        events(path),
        expected.map(|(change, at)| (change.to_owned(), ids[at].clone()))
    );
    assert_eq!(path["events"][2]["size_bytes"], 2);
    assert!(path["events"][0]["size_bytes"].is_null());
    assert_eq!(path["events"][0]["checkpoint"]["reason"], "deleted");
    assert_eq!(
        (&path["last_in"]["short"], &path["deleted_by"]["short"]),
        (&ids[3].as_str().into(), &ids[4].as_str().into())
    );
    assert_eq!(path["in_directory"], false);
}

#[test]
fn a_path_that_is_still_there_is_last_in_the_newest() {
    let (sandbox, ids) = story();
    let path = &found(&sandbox, &["kept"])[0];
    assert_eq!(
        (&path["last_in"]["short"], &path["deleted_by"]),
        (&ids[5].as_str().into(), &Value::Null)
    );
    assert_eq!(
        (path["in_directory"].as_bool(), events(path).len()),
        (Some(true), 3)
    );
    let run = sandbox.run(&["find", "kept"]).success();
    assert!(!run.stdout.contains("checkpoint restore"), "{run}");
}

#[cfg(unix)]
#[test]
fn a_file_that_came_back_has_both_stories() {
    let (sandbox, _) = story();
    sandbox.write("src/lost.rs", "back");
    let back = sandbox.create("back");
    let path = &found(&sandbox, &["src/lost.rs"])[0];
    assert_eq!(events(path)[0], ("added".to_owned(), back.clone()));
    assert_eq!(
        (path["last_in"]["short"].as_str(), events(path).len()),
        (Some(back.as_str()), 5)
    );
}

#[test]
fn a_directory_and_patterns_mean_what_they_mean_in_an_ignore_file() {
    let (sandbox, _) = story();
    for (pattern, expected) in [
        ("src", &["src/lost.rs", "src/deep/other.rs"][..]),
        ("src/", &["src/lost.rs", "src/deep/other.rs"]),
        ("*.rs", &["src/lost.rs", "src/deep/other.rs"]),
        ("src/*.rs", &["src/lost.rs"]),
        ("/src/*.rs", &["src/lost.rs"]),
        ("**/other.rs", &["src/deep/other.rs"]),
        ("d??p", &["src/deep/other.rs"]),
        ("src/d*", &["src/deep/other.rs"]),
        ("[kl]*t*", &["kept", "src/lost.rs"]),
    ] {
        assert_eq!(names(&found(&sandbox, &[pattern])), expected, "{pattern}");
    }
    let absolute = sandbox.path("kept").display().to_string();
    assert_eq!(names(&found(&sandbox, &[&absolute])), ["kept"]);
}

#[test]
fn a_name_with_the_marks_of_a_pattern_is_found_to_the_letter() {
    let sandbox = Sandbox::new();
    sandbox.write("app/[id].tsx", "1");
    sandbox.create("first");
    assert_eq!(names(&found(&sandbox, &["app/[id].tsx"])), ["app/[id].tsx"]);
}

#[test]
fn nothing_found_is_3_with_a_way_on() {
    let (sandbox, _) = story();
    let run = sandbox.run(&["find", "ther.rs", "--json"]).code(3);
    assert_eq!(run.error_code(), "nothing_found");
    run.stderr_has("*ther.rs*");
    assert_eq!(
        names(&found(&sandbox, &["*ther.rs*"])),
        ["src/deep/other.rs"]
    );
    sandbox.run(&["find", ""]).code(2);
    sandbox.run(&["find"]).code(2);
    sandbox.run(&["find", "../x"]).code(2);
    // A slash at the beginning counts from the root, of a name as of a pattern.
    let other = ["src/deep/other.rs"];
    assert_eq!(names(&found(&sandbox, &["/src/deep/other.rs"])), other);
    assert_eq!(names(&found(&sandbox, &["/src/deep/*.rs"])), other);
    sandbox
        .run(&["find", "/other.rs"])
        .code(3)
        .stderr_has("no checkpoint holds '/other.rs';");
    let deep = sandbox.path("src");
    assert_eq!(
        names(
            sandbox
                .run_in(&deep, &["find", "/src/deep/other.rs", "--json"])
                .data()["paths"]
                .as_array()
                .expect("a list")
        ),
        other
    );
    let root = sandbox.root().display().to_string();
    sandbox
        .run_in(&deep, &["find", "../x"])
        .code(3)
        .stderr_has(&format!(
            "no checkpoint holds '../x'; 'checkpoint -C {root} find x'"
        ));
    // At the root, nothing that was just searched is advised again.
    for (typed, hint) in [
        ("nope*", "a pattern such as '*nope*' looks at the names"),
        ("src/nope*", "a pattern such as '*nope*' looks at the names"),
        ("*nope*", "names are matched exactly, including case"),
        ("/nope", "find nope' searches the whole"),
    ] {
        sandbox.run(&["find", typed]).code(3).stderr_has(hint);
    }
    sandbox.run(&["find", ".git/config"]).code(4);
    let fresh = Sandbox::new();
    assert_eq!(
        fresh.run(&["find", "a", "--json"]).code(3).error_code(),
        "no_store"
    );
}

#[test]
fn a_limit_says_how_many_more_there_are() {
    let (sandbox, _) = story();
    let run = sandbox.run(&["find", "*", "-n", "1", "--json"]).success();
    assert_eq!(
        (
            run.data()["paths"].as_array().unwrap().len(),
            &run.data()["more"]
        ),
        (1, &2.into())
    );
    sandbox
        .run(&["find", "*", "-n", "1"])
        .success()
        .stderr_has("2 paths more");
}

#[test]
fn safety_checkpoints_are_looked_at_and_marked() {
    let (sandbox, ids) = story();
    sandbox.write("only-here", "1");
    sandbox.restore(&ids[5]).success();
    let path = &found(&sandbox, &["only-here"])[0];
    assert_eq!(
        (events(path).len(), &path["events"][0]["checkpoint"]["kind"]),
        (1, &"safety".into())
    );
    sandbox
        .run(&["find", "only-here"])
        .success()
        .stdout_has("[safety]")
        .stdout_has("checkpoint restore");
}

#[cfg(unix)]
#[test]
fn a_damaged_checkpoint_is_passed_over_with_a_warning() {
    let (sandbox, ids) = story();
    let tree = sandbox.shown(&ids[2])["tree_id"]
        .as_str()
        .unwrap()
        .to_owned();
    damage(&sandbox, &ids[2], &tree);
    let run = sandbox.run(&["find", "src/lost.rs", "--json"]).success();
    assert!(
        run.warning_codes().contains(&"passed_over".to_owned()),
        "{run}"
    );
    let path = run.data()["paths"][0].clone();
    let expected = [("deleted", 4), ("modified", 3), ("added", 1)];
    assert_eq!(
        events(&path),
        expected.map(|(change, at)| (change.to_owned(), ids[at].clone()))
    );
}

/// Overwrites the second half of the pack that holds a tree, as long as the commit stays readable.
fn damage(sandbox: &Sandbox, id: &str, tree: &str) {
    for pack in fixtures::files_below(&sandbox.store().join("objects/pack")) {
        if pack.extension().is_none_or(|extension| extension != "pack") {
            continue;
        }
        let whole = std::fs::read(&pack).unwrap();
        crate::bench::os::set_mode(&pack, 0o600).unwrap();
        // The packed tree is longer than a step.
        for at in (12..whole.len() - 20).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            std::fs::write(&pack, &bytes).unwrap();
            let shown = sandbox.run(&["show", id, "--json"]);
            if shown.code == 6
                && shown.stdout.contains(&tree[..8])
                && sandbox.listed_ids().contains(&id.to_owned())
            {
                return;
            }
        }
        std::fs::write(&pack, &whole).unwrap();
    }
    panic!("no byte of any pack damages the tree alone");
}

#[cfg(unix)]
#[test]
fn the_hint_can_be_run_by_a_shell_whatever_the_name() {
    if !std::path::Path::new("/bin/bash").exists() {
        return crate::bench::skipped("needs bash");
    }
    let sandbox = Sandbox::new();
    let odd = [
        &b"it's a 'file'"[..],
        b"-rf",
        b"$(touch hacked)",
        b"new\nline",
        b"caf\xe9",
    ];
    for name in odd {
        sandbox.write(std::ffi::OsStr::from_bytes(name), "x");
    }
    sandbox.create("first");
    for name in odd {
        sandbox.remove(std::ffi::OsStr::from_bytes(name));
    }
    sandbox.create("second");
    sandbox.env(
        "PATH",
        format!(
            "{}:/usr/bin:/bin",
            Sandbox::binary().parent().unwrap().display()
        ),
    );
    let run = sandbox.run(&["find", "*"]).success();
    for line in run
        .stdout
        .lines()
        .filter(|line| line.starts_with("  checkpoint restore"))
    {
        let mut shell = std::process::Command::new("/bin/bash");
        let before = sandbox.command(&[], &[]);
        shell
            .arg("-c")
            .arg(format!("{line} --yes"))
            .current_dir(sandbox.root())
            .env_clear();
        shell.envs(
            before
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        Run::of(shell).success();
    }
    for name in odd {
        assert!(
            sandbox.exists(std::ffi::OsStr::from_bytes(name)),
            "{}",
            name.escape_ascii()
        );
    }
    assert!(!sandbox.exists("hacked"));
}

#[test]
fn it_works_when_the_root_is_gone() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("first");
    fixtures::remove(sandbox.root());
    let root = sandbox.root().display().to_string();
    sandbox
        .run(&["-C", &root, "find", "a"])
        .success()
        .stdout_has("not in the directory");
}

/// A history in which every file changes its content, its mode and its kind now and then.
fn busy_history(restores: bool) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut state = 7_u64;
    let mut random = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let paths = ["a", "a.b", "d/a", "d/e/f", "d/e/g", "d.x", "z/deep/er/file"];
    let mut ids = Vec::new();
    for at in 0..25 {
        for _ in 0..3 {
            let path = paths[usize::try_from(random(7)).unwrap()];
            sandbox.remove(path);
            match random(5) {
                0 => {}
                1 => drop(sandbox.symlink(path, format!("needle{}", random(3)))),
                2 => drop(sandbox.write(path, "needle\n").chmod(path, 0o755)),
                3 => drop(sandbox.write(path, format!("needle {}\n", random(4)))),
                _ => drop(sandbox.write(path, "other\n")),
            }
        }
        ids.push(sandbox.create(&format!("step {at}")));
        if restores && at % 9 == 8 {
            sandbox
                .restore(&ids[usize::try_from(random(5)).unwrap()])
                .success();
        }
    }
    sandbox
}

#[test]
fn find_tells_what_show_tells_of_each_checkpoint() {
    // Without restores: `show` compares with the baseline, `find` with the checkpoint before.
    let sandbox = busy_history(false);
    let mut told: Vec<(String, String, String)> = Vec::new();
    for path in found(&sandbox, &["*"]) {
        let name = path["path"].as_str().unwrap().to_owned();
        told.extend(
            events(&path)
                .into_iter()
                .map(|(change, short)| (short, name.clone(), change)),
        );
    }
    let mut expected = Vec::new();
    for short in sandbox.listed_ids() {
        let shown = sandbox.run(&["show", &short, "--json"]).success().data();
        for change in shown["changes"].as_array().unwrap() {
            let text = |field: &str| change[field].as_str().unwrap().to_owned();
            expected.push((short.clone(), text("path"), text("change")));
        }
    }
    told.sort();
    expected.sort();
    assert!(told.len() > 40, "too little happened: {told:?}");
    assert_eq!(told, expected);
}

#[test]
fn find_text_tells_what_git_grep_tells_of_each_checkpoint() {
    let sandbox = busy_history(true);
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let git = git.with("GIT_DIR", sandbox.store());
    let listed: Vec<String> = sandbox
        .listed()
        .iter()
        .rev()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    let mut expected = Vec::new();
    for id in &listed {
        let grep = git.run(&["grep", "-F", "-n", "needle", id]);
        expected.extend(grep.stdout.lines().map(str::to_owned));
    }
    let at = |value: &Value| {
        listed
            .iter()
            .position(|id| value["id"] == id.as_str())
            .unwrap()
    };
    let mut told = Vec::new();
    let run = sandbox
        .run(&["find", "--json", "--text", "needle", "-n", "1000"])
        .success();
    for one in run.data()["matches"].as_array().unwrap() {
        for id in &listed[at(&one["first_in"])..=at(&one["last_in"])] {
            let line = &one["lines"][0];
            let (path, text) = (
                one["path"].as_str().unwrap(),
                line["text"].as_str().unwrap(),
            );
            told.push(format!("{id}:{path}:{}:{text}", line["number"]));
        }
    }
    told.sort();
    expected.sort();
    assert!(told.len() > 40, "too little was found: {told:?}");
    assert_eq!(told, expected);
}

#[test]
fn a_search_for_nothing_at_all_is_wrong_usage() {
    let (sandbox, _) = story();
    for args in [
        &["find", "kept", "-n", "0"][..],
        &["find", "--text", "k", "-n", "0"],
    ] {
        sandbox.run(args).code(2).stdout_is("").stderr_has("'0'");
    }
}
