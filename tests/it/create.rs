//! `create`: what it prints, what it records, and which arguments it refuses.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use crate::bench::trace::trace;
use crate::bench::{Sandbox, strace};

#[test]
fn create_prints_the_short_id_alone_and_talks_on_stderr() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let run = sandbox
        .run(&["create", "--reason", "pre-wave-3", "--source", "build"])
        .success()
        .stderr_has("pre-wave-3");
    assert_eq!(run.stdout.len(), 9, "8 digits and a line break\n{run}");
    assert!(
        run.stdout
            .trim_end()
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit()),
        "{run}"
    );
}

#[test]
fn the_first_create_records_the_whole_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/b", "22").mkdir("empty");
    let data = sandbox.create_data(&["--reason", "first"]);
    assert_eq!(data["counts"]["file_count"], 2);
    assert_eq!(data["counts"]["content_bytes"], 3);
    assert_eq!(data["counts"]["added"], 2);
    assert_eq!(data["created"], true);
    assert_eq!(data["skipped"], serde_json::Value::Null);
    assert_eq!(data["coverage"], "complete");
}

#[test]
fn create_counts_what_changed_against_the_one_before() {
    let sandbox = Sandbox::new();
    sandbox
        .write("same", "s")
        .write("changed", "1")
        .write("gone", "g");
    sandbox.create("before");
    sandbox
        .write("changed", "2")
        .write("new", "n")
        .remove("gone");
    let counts = sandbox.create_data(&["--reason", "after"])["counts"].clone();
    assert_eq!(
        (&counts["added"], &counts["modified"], &counts["deleted"]),
        (&1.into(), &1.into(), &1.into())
    );
}

#[test]
fn reason_and_source_have_defaults() {
    let sandbox = Sandbox::new();
    let data = sandbox.create_data(&[]);
    assert_eq!(
        (data["reason"].as_str(), data["source"].as_str()),
        (Some("manual"), Some("cli"))
    );
    sandbox.env("CHECKPOINT_SOURCE", "build").write("a", "1");
    assert_eq!(sandbox.create_data(&[])["source"], "build");
    sandbox.write("a", "2");
    assert_eq!(
        sandbox.create_data(&["-s", "debugging", "-r", "short"])["source"],
        "debugging"
    );
}

#[test]
fn an_empty_or_overlong_reason_is_wrong_usage() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(4097);
    for args in [
        vec!["create", "--reason", ""],
        vec!["create", "--reason", " \t"],
        vec!["create", "--reason", &long],
    ] {
        sandbox.run(&args).code(2).stdout_is("");
    }
    sandbox
        .run(&["create", "--source", " "])
        .code(2)
        .stdout_is("");
    assert!(!sandbox.store().exists(), "wrong usage made a store");
    let longest = "x".repeat(4096);
    sandbox.run(&["create", "--reason", &longest]).success();
}

#[test]
fn every_reason_comes_back_as_it_was_given() {
    let sandbox = Sandbox::new();
    let reasons = [
        "a | b",
        "line\nbreak",
        "`tick` <b> [x](y) ![z](w) --> |",
        "emoji 🦀",
        "esc \u{1b}[31m",
        "Meta: none",
        "50%",
    ];
    for (at, reason) in reasons.iter().enumerate() {
        sandbox.write("a", at.to_string());
        sandbox.create(reason);
    }
    let listed: Vec<String> = sandbox
        .listed()
        .iter()
        .rev()
        .map(|one| one["reason"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(listed, reasons);
}

#[cfg(unix)]
#[test]
fn a_change_of_mode_alone_is_recorded() {
    let sandbox = Sandbox::new();
    sandbox.write("run.sh", "x").chmod("run.sh", 0o644);
    sandbox.create("plain");
    sandbox.chmod("run.sh", 0o755);
    assert_eq!(
        sandbox.create_data(&["--reason", "executable"])["counts"]["modified"],
        1
    );
}

#[test]
fn edits_that_hide_from_the_clock_are_seen() {
    let sandbox = Sandbox::new();
    sandbox
        .real_clock()
        .write("racy", "1")
        .write("back", "1")
        .write("future", "1");
    let far = std::time::SystemTime::now() + std::time::Duration::from_hours(73 * 365 * 24);
    let touch = |name: &str, time| {
        let file = std::fs::File::options()
            .append(true)
            .open(sandbox.path(name))
            .expect("the file opens");
        file.set_modified(time).expect("a time can be set");
    };
    touch("future", far);
    let old = sandbox
        .path("back")
        .metadata()
        .and_then(|meta| meta.modified())
        .expect("a time");
    sandbox.create("before");
    sandbox
        .write("racy", "2")
        .write("back", "2")
        .write("future", "2");
    touch("back", old);
    touch("future", far);
    let after = sandbox.create("after");
    sandbox
        .write("racy", "3")
        .write("back", "3")
        .write("future", "3");
    sandbox.restore(&after).success();
    for name in ["racy", "back", "future"] {
        assert_eq!(sandbox.read(name), "2", "{name}");
    }
}

#[test]
fn a_file_that_a_long_write_may_still_have_been_at_is_read_again() {
    let sandbox = Sandbox::new();
    // A write stamps the file when it begins, and may take seconds for this size.
    sandbox
        .write("large", vec![0; 32 << 20])
        .write("small", "1");
    std::thread::sleep(Duration::from_millis(50));
    sandbox.create("first");
    let Some(traced) = trace(&sandbox, &["create", "-r", "second"]) else {
        return;
    };
    assert_eq!(traced.run.code, 0, "{}", traced.run);
    let opened = traced.opened(sandbox.root(), "");
    assert!(opened.contains(&sandbox.path("large")), "{opened:?}");
    assert!(!opened.contains(&sandbox.path("small")), "{opened:?}");
}

#[test]
fn a_create_on_an_emptied_root_warns() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("full");
    sandbox.remove("a");
    let run = sandbox.run(&["create", "--json"]).success();
    assert!(
        !run.warning_codes().is_empty(),
        "an emptied root is worth a warning\n{run}"
    );
    assert_eq!(run.data()["counts"]["file_count"], 0);
}

#[test]
fn a_disabled_create_makes_nothing_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.env("CHECKPOINT_DISABLE", "1").write("a", "1");
    let run = sandbox.run(&["create", "--json"]).success();
    let data = run.data();
    assert_eq!(data["skipped"], "disabled");
    assert!(
        data["id"].is_null() && data["short"].is_null() && data["created"] == false,
        "{run}"
    );
    sandbox
        .run(&["create"])
        .success()
        .stdout_is("")
        .stderr_has("CHECKPOINT_DISABLE");
    assert!(!sandbox.store().exists(), "a disabled create made a store");
}

#[test]
fn a_root_that_is_gone_cannot_be_recorded() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("first");
    let root = sandbox.root().display().to_string();
    sandbox.remove("");
    sandbox
        .run_in(sandbox.home(), &["-C", &root, "create"])
        .code(3)
        .stderr_has(&root);
}

#[cfg(unix)]
#[test]
fn a_closed_stdout_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let program = Sandbox::binary().display().to_string();
    let script = format!("'{program}' create --reason piped >&-");
    let mut command = sandbox.command(&["/bin/sh", "-c", &script], &[]);
    command.current_dir(sandbox.root());
    crate::bench::Run::of(command).success().stderr_has("piped");
    assert_eq!(sandbox.listed().len(), 1);
}

#[cfg(unix)]
#[test]
fn files_of_any_time_are_captured_and_their_edits_are_seen() {
    let sandbox = Sandbox::new();
    sandbox.real_clock();
    let seconds = Duration::from_secs;
    let times = [
        UNIX_EPOCH - seconds(1_000_000_000),
        UNIX_EPOCH,
        UNIX_EPOCH + seconds(1 << 31),
        UNIX_EPOCH + seconds(1 << 32),
        UNIX_EPOCH + seconds(13_000_000_000),
    ];
    let write_all = |text: &str| {
        for (at, time) in times.iter().enumerate() {
            sandbox.write(at.to_string(), text);
            let file = std::fs::File::options()
                .append(true)
                .open(sandbox.path(at.to_string()))
                .expect("it opens");
            file.set_modified(*time).expect("a time can be set");
        }
    };
    for round in ["one", "two", "six"] {
        write_all(round);
        sandbox.create(round);
    }
    for at in 0..times.len() {
        for round in ["one", "two", "six"] {
            sandbox
                .run(&["cat", &format!("{round}:{at}")])
                .success()
                .stdout_is(round);
        }
    }
}

#[test]
fn a_file_that_is_gone_before_it_is_read_is_no_failure() {
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox
        .write("d/a", "1")
        .write("d/b", "2")
        .write("d/c", "3");
    let run = strace::failing_at_path(
        &sandbox,
        &sandbox.path("d"),
        "openat",
        "ENOENT",
        "1",
        &["create", "--json"],
    );
    let data = run.success().data();
    assert!(strace::has_struck(&sandbox), "no file was opened");
    assert_eq!(
        (&data["coverage"], &data["counts"]["file_count"]),
        (&"complete".into(), &2.into())
    );
    assert_eq!(
        sandbox.create_data(&["-r", "again"])["counts"]["file_count"],
        3
    );
}

#[test]
fn a_file_that_never_stands_still_is_captured_and_flagged() {
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("busy", vec![b'x'; 17 << 20]);
    let (path, is_over) = (sandbox.path("busy"), Arc::new(AtomicBool::new(false)));
    let writer = {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            let mut file = std::fs::File::options()
                .append(true)
                .open(path)
                .expect("it opens");
            while !is_over.load(Ordering::SeqCst) {
                file.write_all(b"y").expect("it can be written");
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    let run = strace::slowed(&sandbox, "read,pread64", 20_000, &["create", "--json"]);
    is_over.store(true, Ordering::SeqCst);
    writer.join().expect("the writer ends");
    let run = run.success();
    assert!(
        run.warning_codes()
            .contains(&"changed_while_read".to_owned()),
        "{run}"
    );
    // What was read then is not trusted as unchanged.
    sandbox.create("at rest");
    let len = sandbox.run(&["cat", "at rest:busy"]).success().stdout.len();
    assert_eq!(
        Some(len as u64),
        sandbox
            .path("busy")
            .metadata()
            .map(|found| found.len())
            .ok()
    );
}

#[test]
fn a_root_that_is_moved_away_meanwhile_is_not_recorded() {
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::bare();
    let fill = |text: &str| {
        for at in 0..20 {
            sandbox.write(format!("d{at}/{text}"), text);
        }
    };
    fill("old");
    let first = sandbox.create("first");
    fill("new");
    let (root, aside) = (sandbox.root().to_path_buf(), sandbox.top().join("aside"));
    let mover = {
        let (root, aside) = (root.clone(), aside.clone());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            std::fs::rename(root, aside).expect("it can be moved");
        })
    };
    let run = strace::slowed(
        &sandbox,
        "getdents64",
        60_000,
        &["create", "--reason", "second"],
    );
    mover.join().expect("it was moved");
    assert!(!sandbox.root().exists(), "something was made in its place");
    run.code(3).stdout_is("");
    std::fs::rename(&aside, &root).expect("it can be moved back");
    assert_eq!(sandbox.listed_ids(), [first]);
}

#[test]
fn the_reason_may_stand_alone_or_be_called_a_message() {
    let sandbox = Sandbox::new();
    for (at, words) in [
        &["create", "before refactor"][..],
        &["create", "-m", "before refactor"],
        &["create", "--message", "before refactor"],
        &["create", "--", "before refactor"],
    ]
    .into_iter()
    .enumerate()
    {
        sandbox.write("a", at.to_string());
        sandbox.run(words).success();
        assert_eq!(sandbox.shown("latest")["reason"], "before refactor");
    }
    sandbox
        .run(&["create", "one", "-m", "two"])
        .code(2)
        .stdout_is("");
    sandbox
        .run(&["create", ""])
        .code(2)
        .stderr_has("the reason is empty");
    assert_eq!(sandbox.listed_ids().len(), 4);
}

#[cfg(unix)]
#[test]
fn a_word_that_is_a_path_or_lacks_quotes_is_refused_with_the_commands_that_may_be_meant() {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/it's", "1")
        .symlink("dangling", "nowhere");
    for (word, quoted) in [
        ("src", "src"),
        ("src/it's", r"'src/it'\''s'"),
        ("dangling", "dangling"),
    ] {
        sandbox.run(&["create", word]).code(2).stdout_is("").stderr_has(&format!(
            "checkpoint: {quoted} is a path in this directory; 'checkpoint create -m {quoted}' records everything, \
             with this reason, 'checkpoint create --scope {quoted}' only that path\n"
        ));
    }
    let run = sandbox.run(&["create", "src", "--json"]).code(2);
    assert_eq!(run.error_code(), "usage");
    assert_eq!(
        run.json()["error"]["command"],
        serde_json::json!(["checkpoint", "create", "-m", "src"])
    );
    for word in ["/etc", "../home", "src/../.."] {
        sandbox.run(&["create", word]).code(2).stdout_is("").stderr_has(&format!(
            "checkpoint: {word} is a path outside this directory; 'checkpoint create -m {word}' records everything, \
             with this reason\n"
        ));
    }
    let inside = sandbox.path("src").display().to_string();
    let run = sandbox.run(&["create", &inside]).code(2);
    run.stderr_has(&format!(
        "'checkpoint create --scope {inside}' only that path"
    ));
    sandbox
        .run(&["create", "before", "refactor"])
        .code(2)
        .stderr_has(
            "a reason of several words needs quotes; run: checkpoint create 'before refactor'",
        );
    assert!(!sandbox.base().exists());
    sandbox.run(&["create", "-m", "src"]).success();
    assert_eq!(sandbox.shown("latest")["reason"], "src");
}

#[test]
fn a_pattern_for_secrets_that_matches_none_shows_in_what_is_left_out() {
    let sandbox = Sandbox::new();
    let line = "left out as sensitive: .env";
    let create = |more: &[&str]| {
        let run = sandbox.run(&[&["create"], more].concat());
        run.success().stderr.contains(line)
    };
    sandbox.write("a", "1").write(".env", "K=1");
    assert!(create(&["-r", "x"]));
    sandbox.write("a", "2");
    assert!(!create(&["-r", "x"]));
    sandbox.write("a", "3");
    assert!(create(&["--include-sensitive=.evn"]));
}

#[test]
fn a_word_after_a_bare_include_sensitive_is_not_taken_as_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write(".env", "K=1");
    for word in [".env", ".evn"] {
        let run = sandbox.run(&["create", "--include-sensitive", word]);
        run.code(2)
            .stderr_has(&format!("a pattern needs '=' (--include-sensitive={word})"))
            .stderr_has(&format!(
                "run: checkpoint create --include-sensitive={word}\n"
            ));
    }
    let args = ["create", "with env", "--include-sensitive", "--json"];
    let data = sandbox.run(&args).success().data();
    assert_eq!(data["reason"], "with env");
    assert_eq!(data["counts"]["file_count"], 2, "{data}");
    sandbox.write("a", "2");
    let args = ["create", "--include-sensitive", "-m", "with secrets"];
    sandbox.run(&args).success();
}
