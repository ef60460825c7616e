//! `statusline`: one line, nothing where there is no store, and never a failure; `status --brief`.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench::{Run, Sandbox, Tree, limit};

/// Runs a command with these bytes on its standard input; it ends with 0, silently.
fn fed(sandbox: &Sandbox, words: &[&str], input: &[u8]) -> String {
    let mut command = sandbox.command(&[], words);
    let output = limit::output_fed(&mut command, input).expect("it can be started");
    let run = Run::from_output(format!("{command:?}"), &output);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
    run.stdout
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.at("2026-03-24T12:00:00Z").write("a", "1");
    sandbox.create("first");
    sandbox.write("a", "2").create("before \u{1b}[31mrefactor");
    sandbox.at("2026-03-24T12:04:30Z");
    sandbox
}

/// Returns the line of the project.
fn line_of(sandbox: &Sandbox) -> String {
    let latest = sandbox.status()["latest"]["short"].clone();
    sandbox.at("2026-03-24T12:04:30Z");
    let id = latest.as_str().expect("an id");
    format!("2 checkpoints, latest {id} before \\x1b[31mrefactor (4 min ago)\n")
}

#[test]
fn the_line_has_number_age_and_reason_of_the_latest() {
    let sandbox = project();
    let line = line_of(&sandbox);
    assert_eq!(fed(&sandbox, &["statusline"], b""), line);
    sandbox.at("2026-03-24T12:04:30Z");
    assert_eq!(fed(&sandbox, &["status", "--brief"], b""), line);
}

#[test]
fn the_directory_is_that_of_the_document_or_one_above() {
    let sandbox = project();
    let inside = sandbox.mkdir("src/deep").path("src/deep");
    let elsewhere = sandbox.top();
    let line = line_of(&sandbox);
    for document in [
        json!({ "workspace": { "current_dir": sandbox.root() }, "cwd": "/" }),
        json!({ "cwd": sandbox.root() }),
        json!({ "workspace": {}, "cwd": inside }),
    ] {
        sandbox.at("2026-03-24T12:04:30Z");
        let mut command = sandbox.command(&[], &["statusline"]);
        command.current_dir(&elsewhere);
        let output = limit::output_fed(&mut command, document.to_string().as_bytes());
        let output = output.expect("it can be started");
        assert_eq!(String::from_utf8_lossy(&output.stdout), line, "{document}");
    }
}

#[test]
fn an_unfinished_workflow_shows_its_phase() {
    let sandbox = project();
    let plan = [
        "workflow",
        "init",
        "--phase",
        "plan",
        "--phase",
        "build::plan",
    ];
    sandbox.run(&plan).success();
    sandbox.run(&["phase", "start", "plan"]).success();
    let line = fed(&sandbox, &["statusline"], b"");
    assert!(line.ends_with(" ago), in plan\n"), "{line}");
    let brief = || fed(&sandbox, &["status", "--brief"], b"");
    assert!(brief().ends_with(", in plan\n"), "{}", brief());
    sandbox.run(&["workflow", "end", "--abandon"]).success();
    assert!(!brief().contains("in plan"), "{}", brief());
}

#[cfg(unix)]
#[test]
fn a_wrapped_command_reads_the_same_input_and_comes_first() {
    let sandbox = project();
    let line = line_of(&sandbox);
    let wrapped = |command: &str, input: &[u8]| {
        sandbox.at("2026-03-24T12:04:30Z");
        fed(&sandbox, &["statusline", "--wrap", command], input)
    };
    let document = json!({ "cwd": sandbox.root() }).to_string();
    let theirs = wrapped("cat; echo", document.as_bytes());
    assert_eq!(theirs, format!("{document} | {line}"));
    assert_eq!(
        wrapped("printf '\\033[1mbold\\n'", b""),
        format!("\u{1b}[1mbold\u{1b}[0m | {line}")
    );
    for silent in ["true", "exit 3", "no-such-command", "echo talk >&2"] {
        assert_eq!(wrapped(silent, b""), line, "{silent}");
    }
    let elsewhere = Sandbox::new();
    let line = fed(&elsewhere, &["statusline", "--wrap", "echo mine"], b"");
    assert_eq!(line, "mine\n");
}

#[cfg(unix)]
#[test]
fn a_wrapped_command_that_hangs_is_killed_after_a_second() {
    let sandbox = project();
    let ours = line_of(&sandbox);
    let began = Instant::now();
    let hangs = "echo begun; (sleep 60; touch late) & sleep 60";
    let line = fed(&sandbox, &["statusline", "--wrap", hangs], b"");
    assert_eq!(line, format!("begun | {ours}"));
    let taken = began.elapsed();
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[test]
fn nothing_is_printed_where_nothing_can_be_read() {
    let sandbox = Sandbox::new();
    for words in [
        &["statusline"][..],
        &["statusline", "--bogus"],
        &["statusline", "--wrap"],
        &["-C", "/nope", "statusline"],
        &["--lock-timeout", "soon", "statusline"],
    ] {
        for input in [
            &b""[..],
            b"{",
            b"{\"cwd\": 3}",
            b"\xff\xfe",
            b"{\"cwd\": \"/nope\"}",
        ] {
            assert_eq!(fed(&sandbox, words, input), "", "{words:?}");
        }
    }
    assert!(!sandbox.store().exists());
    let sandbox = project();
    fs::write(sandbox.store().join("HEAD"), "damaged").expect("it can be written");
    fs::remove_dir_all(sandbox.store().join("refs")).expect("it can be removed");
    fed(&sandbox, &["statusline"], b"");
    sandbox.write(".checkpoint.toml", "nonsense = [");
    fed(&sandbox, &["statusline"], b"");
}

#[test]
fn neither_writes_nor_waits() {
    let sandbox = project();
    let before = Tree::capture(&sandbox.store());
    let lock = File::open(sandbox.store().join("checkpoint/lock")).expect("a lock");
    lock.lock().expect("it is free");
    fed(&sandbox, &["statusline"], b"");
    assert_eq!(Tree::capture(&sandbox.store()), before);
}
