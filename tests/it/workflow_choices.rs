//! Resuming without a terminal: asks nothing, names the answers, and each does what it says.

use std::path::Path;

use serde_json::{Value, json};

use crate::bench::terminal::dialogue;
use crate::bench::{Run, Sandbox};

const PROFILES: [&str; 4] = ["phases", "pipeline", "registry", ""];

/// A run with one phase done and the second started; only the third depends on another, the second.
fn story(profile: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let dir = Sandbox::binary()
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
        .to_string();
    sandbox.env("PATH", format!("{dir}:/usr/bin:/bin"));
    let mut args = vec![
        "workflow",
        "init",
        "--type",
        "t",
        "--project",
        "p",
        "--id",
        "t_p_20260324_120000",
    ];
    args.extend([
        "--phase", "a:A", "--phase", "b:B:a", "--phase", "c:C:b", "--phase", "d e:D",
    ]);
    if !profile.is_empty() {
        args.extend(["--profile", profile]);
    }
    sandbox.run(&args).success();
    for args in [
        ["phase", "start", "a"],
        ["phase", "done", "a"],
        ["phase", "start", "b"],
    ] {
        sandbox.run(&args).success();
    }
    sandbox
}

/// Runs a printed command line.
fn shell(sandbox: &Sandbox, line: &str) -> Run {
    sandbox.run_under(&["/bin/sh", "-c", line, "sh"], &[])
}

fn options(run: &Run) -> Vec<(String, String)> {
    let error = run.json()["error"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let options = error["options"]
        .as_array()
        .unwrap_or_else(|| panic!("no options\n{run}"))
        .clone();
    assert!(
        options
            .iter()
            .all(|option| !text(&option["label"]).is_empty()),
        "{run}"
    );
    options
        .iter()
        .map(|option| (text(&option["key"]), text(&option["command_line"])))
        .collect()
}

fn keys(run: &Run) -> Vec<String> {
    options(run).into_iter().map(|(key, _)| key).collect()
}

fn raw(sandbox: &Sandbox) -> String {
    sandbox.ok("workflow export --format state").stdout
}

/// The status of all runs, archived ones after the others.
fn words(sandbox: &Sandbox) -> Vec<String> {
    let data = sandbox.json("workflow list --all");
    data["workflows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["status"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_decision_is_named_and_not_made() {
    for profile in PROFILES {
        let sandbox = story(profile);
        let before = (raw(&sandbox), sandbox.tree());
        let run = sandbox.fails(4, "workflow resume --json");
        assert_eq!(run.error_code(), "decision_needed");
        let expected: &[&str] = match profile {
            "phases" => &["y", "n"],
            "registry" => &["r", "s", "v", "d"],
            _ => &["y", "n", "restart"],
        };
        assert_eq!(keys(&run), expected, "{profile}");
        assert_eq!(run.json()["error"]["command"], Value::Null, "{run}");
        sandbox.fails(4, "workflow resume").stderr_has("--choose");
        assert_eq!((raw(&sandbox), sandbox.tree()), before, "{profile}");
    }
}

#[cfg(unix)]
#[test]
fn each_command_that_is_named_does_what_it_says() {
    for profile in PROFILES {
        let named = options(&sandbox_resume(&story(profile)));
        for (key, command) in named {
            let sandbox = story(profile);
            let before = raw(&sandbox);
            let run = shell(&sandbox, &command);
            let told = format!("{profile} {key}\n{run}");
            match (profile, key.as_str()) {
                (_, "y" | "r") => {
                    assert_eq!(
                        (run.code, words(&sandbox)),
                        (0, vec!["in_progress".to_owned()]),
                        "{told}"
                    );
                    assert_eq!(
                        sandbox.cmd("workflow status --json").data()["resume_count"],
                        1,
                        "{told}"
                    );
                }
                ("phases", "n") | (_, "s" | "restart") => {
                    assert_eq!(
                        (run.code, words(&sandbox)),
                        (0, vec!["pending".to_owned(), "abandoned".to_owned()]),
                        "{told}"
                    );
                }
                (_, "n") => assert_eq!((run.code, raw(&sandbox)), (4, before), "{told}"),
                (_, "v") => {
                    assert_eq!((run.code, raw(&sandbox)), (0, before), "{told}");
                    assert!(run.stdout.contains("\"t_p_20260324_120000\""), "{told}");
                }
                (_, "d") => assert_eq!(
                    (run.code, words(&sandbox)),
                    (0, vec!["abandoned".to_owned()]),
                    "{told}"
                ),
                other => panic!("{other:?} was not expected"),
            }
        }
    }
}

fn sandbox_resume(sandbox: &Sandbox) -> Run {
    sandbox.fails(4, "workflow resume --json")
}

#[cfg(unix)]
#[test]
fn after_a_no_what_can_be_begun_is_named() {
    let no = |sandbox: &Sandbox| sandbox.fails(4, "workflow resume --choose n --json");
    let named = options(&no(&story("pipeline")));
    let keys: Vec<&str> = named.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["abandon", "pick:d e"], "c waits for b");
    for (key, command) in &named {
        let sandbox = story("pipeline");
        let run = shell(&sandbox, command);
        assert_eq!(run.code, 0, "{run}");
        if key == "abandon" {
            assert_eq!(words(&sandbox), ["abandoned"]);
        } else {
            let data = sandbox.json("workflow status");
            assert_eq!(
                (&data["current"], &data["remaining"]),
                (&json!("d e"), &json!(["b", "c"]))
            );
        }
    }
}

#[test]
fn a_pick_that_cannot_begin_leaves_what_is_under_way() {
    let sandbox = story("pipeline");
    let before = (raw(&sandbox), sandbox.tree());
    for (word, code) in [("pick:c", 4), ("pick:a", 4), ("pick:x", 3), ("pick:", 3)] {
        let run = sandbox
            .run(&["workflow", "resume", "--choose", word, "--json"])
            .code(code);
        assert_eq!(run.json()["error"]["run"]["current"], "b", "{run}");
        assert_eq!((raw(&sandbox), sandbox.tree()), before, "{word}");
    }
}

#[test]
fn a_wrong_word_is_refused_with_the_answers() {
    for profile in PROFILES {
        let sandbox = story(profile);
        let before = (raw(&sandbox), sandbox.tree());
        let wrong: &[&str] = if profile == "registry" {
            &["y", "n", "x", ""]
        } else {
            &["r", "s", "v", "d", "x", ""]
        };
        for word in wrong {
            let run = sandbox
                .run(&["workflow", "resume", "--choose", word, "--json"])
                .code(4);
            assert_eq!(run.error_code(), "no_answer", "{profile} {word}");
            assert_eq!(
                keys(&run),
                keys(&sandbox_resume(&sandbox)),
                "{profile} {word}"
            );
        }
        assert_eq!((raw(&sandbox), sandbox.tree()), before, "{profile}");
    }
}

#[test]
fn long_words_are_understood() {
    let cases = [
        ("registry", "Resume", "in_progress"),
        ("registry", "view", "in_progress"),
        ("registry", "delete", "abandoned"),
        ("pipeline", "YES", "in_progress"),
        ("pipeline", "abandon", "abandoned"),
        ("phases", "yes", "in_progress"),
    ];
    for (profile, word, expected) in cases {
        let sandbox = story(profile);
        sandbox
            .run(&["workflow", "resume", "--choose", word])
            .success();
        assert_eq!(words(&sandbox), [expected], "{profile} {word}");
    }
}

#[test]
fn nothing_is_asked_of_a_program_at_a_terminal() {
    for flag in ["--json", "--no-input"] {
        let sandbox = story("registry");
        let before = raw(&sandbox);
        let Some(run) = dialogue(
            &sandbox,
            &format!("$checkpoint workflow resume {flag}"),
            &[],
        ) else {
            return;
        };
        let run = run.code(4);
        assert!(!run.stdout.contains("Choice [r/s/v/d]: "), "{run}");
        assert_eq!(raw(&sandbox), before);
        sandbox.write(".claude/checkpoints/t_p_20260324_120000.json", "{");
        let run = dialogue(
            &sandbox,
            &format!("$checkpoint workflow recover {flag}"),
            &[],
        )
        .expect("a terminal");
        assert!(!run.code(6).stdout.contains("[y/N] "));
    }
}
