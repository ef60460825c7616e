//! Every command has two examples in its help, and each of them works in a prepared project.

use std::process::Command;

use checkpoint::shell::grammar;

use crate::bench::remote::Remote;
use crate::bench::{Git, Run, Sandbox, fixtures};
use crate::help::commands;
use crate::hook::Agent;

const MAIN: &str = "fn main() {}\n";

/// Returns the examples of a command, without their remarks.
fn examples(words: &[String]) -> Vec<String> {
    grammar::examples(&words.join(" "))
        .map(|line| line.split("   ").next().unwrap_or_default().to_owned())
        .collect()
}

/// Makes a project with what the examples name, and what this command needs.
fn prepared(words: &[String]) -> Sandbox {
    let sandbox = Sandbox::new();
    let run = |args: &[&str]| drop(sandbox.run(args).success());
    sandbox
        .write("README.md", "read me\n")
        .write("src/main.rs", MAIN)
        .write("test.sh", "#!/bin/sh\n! grep -q TODO src/main.rs\n")
        .chmod("test.sh", 0o755)
        .write(sandbox.top().join("bin/man"), "#!/bin/sh\ncat >/dev/null\n")
        .chmod(sandbox.top().join("bin/man"), 0o755);
    for (at, reason) in ["before refactor", "wave-1", "wave-2"].iter().enumerate() {
        if at > 0 {
            sandbox.write("src/main.rs", format!("{MAIN}// TODO {at}\n"));
        }
        if words[0] != "relink" {
            sandbox.create(reason);
        }
    }
    match words[0].as_str() {
        "undo" => run(&["restore", "wave-1", "--yes"]),
        "redo" => {
            run(&["restore", "wave-1", "--yes"]);
            run(&["undo", "--yes"]);
        }
        "rewind" => {
            let agent = Agent {
                sandbox: &sandbox,
                name: "claude",
                session: "session",
            };
            agent.prompt("fix it");
            sandbox.write("src/main.rs", MAIN);
            agent.prompt("go on");
        }
        "import" => run(&["export", "-o", "work.bundle"]),
        "remote" | "push" | "fetch" | "clone" => with_a_remote(&sandbox, words),
        "restore" => drop(sandbox.write("src/main.rs", MAIN)),
        "diff" => drop(sandbox.write("src/main.rs", "fn main() { }\n")),
        "release" => run(&["hold", "nightly"]),
        "unpin" => ["@", "before refactor"]
            .iter()
            .for_each(|sel| run(&["pin", sel])),
        "relink" => {
            let old = sandbox.top().join("old-name");
            sandbox.write(old.join("a"), "1");
            let _ = sandbox.run_in(&old, &["create"]).success();
            std::fs::remove_dir_all(old).expect("it can be removed");
        }
        "workflow" | "phase" | "task" => with_a_run(&sandbox, words),
        _ => {}
    }
    sandbox
}

/// Makes a repository beside the project, and puts git where the examples find it.
fn with_a_remote(sandbox: &Sandbox, words: &[String]) {
    let remote = Remote::bare_directory(sandbox).expect("git is here");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|dir| dir.join("git"));
    let git = programs
        .find(|program| program.is_file())
        .expect("git is here");
    sandbox.symlink(sandbox.top().join("bin/git"), git);
    std::fs::rename(remote.place(), sandbox.top().join("server.git")).expect("it is moved");
    remote.reach_from(sandbox);
    if words.get(1).is_none_or(|word| word != "add") {
        sandbox.ok("remote add origin ../server.git");
        sandbox.ok("push");
    }
    if words.get(1).is_some_and(|word| word == "remove") {
        let lines = sandbox.top().join("server.git/refs/lines");
        let line = fixtures::files_below(&lines).remove(0);
        let copy = lines.join("0123456789abcdef").join("0123456789abcdef");
        std::fs::create_dir_all(copy.parent().expect("a folder")).expect("it is made");
        std::fs::copy(line, copy).expect("it is copied");
    }
}

fn with_a_run(sandbox: &Sandbox, words: &[String]) {
    let run = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        sandbox.run(&words).success()
    };
    let _ = run("workflow init --type implement --phase plan --phase build:Build:plan");
    let export = run("workflow export --format pipeline").stdout;
    sandbox.write("state.json", export);
    let last = words.get(1).map(String::as_str);
    match (words[0].as_str(), last) {
        ("phase", Some("start") | None) => return,
        _ => drop(run("phase start plan")),
    }
    match (words[0].as_str(), last) {
        ("task", Some("add") | None) => {}
        ("task", Some("start" | "list")) => drop(run("task add parser")),
        ("task", _) => {
            let _ = run("task add parser");
            let _ = run("task start parser");
        }
        ("workflow", Some("note")) => drop(run("workflow note --set owner=bob")),
        ("workflow", Some("cleanup")) => drop(run("workflow end --abandon")),
        _ => {}
    }
}

/// Runs an example in a shell, for a user who answers each question with yes.
fn run_example(sandbox: &Sandbox, example: &str) -> Run {
    // A server that no page asks for anything.
    let last = if example.contains(" ui") {
        "--no-open --idle 1s"
    } else {
        ""
    };
    let script = format!("checkpoint() {{ \"$PROGRAM\" --yes \"$@\" {last}; }}\n{example}\n");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).current_dir(sandbox.root());
    let of_program = sandbox.command(&[], &[]);
    for (name, value) in of_program.get_envs() {
        command.env(name, value.expect("a value"));
    }
    let path = format!("{}:/usr/bin:/bin", sandbox.top().join("bin").display());
    command.env("PATH", path).env("PROGRAM", Sandbox::binary());
    Run::of(command)
}

fn check(is_wanted: &dyn Fn(&str) -> bool) {
    let mut wrong = Vec::new();
    let has_git = Git::find(Sandbox::bare().root()).is_some();
    let needs_git = |word: &str| matches!(word, "remote" | "push" | "fetch" | "clone");
    for words in commands().into_iter().filter(|words| is_wanted(&words[0])) {
        if needs_git(&words[0]) && !has_git {
            continue;
        }
        let examples = examples(&words);
        if examples.len() < 2 {
            wrong.push(format!("{words:?} has {} examples", examples.len()));
        }
        for example in examples {
            if !example.contains(&format!("checkpoint {}", words[0])) || example.len() > 78 {
                wrong.push(format!("{words:?}: {example}"));
            }
            let run = run_example(&prepared(&words), &example);
            if run.code != 0 {
                wrong.push(format!("{example}\n{run}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const OF_RUNS: [&str; 3] = ["workflow", "phase", "task"];

#[cfg(unix)]
#[test]
fn each_command_has_two_examples_and_they_work() {
    check(&|name| !OF_RUNS.contains(&name));
}

#[cfg(unix)]
#[test]
fn each_command_of_workflows_has_two_examples_and_they_work() {
    check(&|name| name == "workflow");
}

#[cfg(unix)]
#[test]
fn each_command_of_phases_and_tasks_has_two_examples_and_they_work() {
    check(&|name| OF_RUNS[1..].contains(&name));
}
