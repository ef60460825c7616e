//! Every command has two examples in its help, and each of them works in a prepared project.

use std::process::Command;

use checkpoint::shell::grammar;

use crate::bench::remote::Remote;
use crate::bench::{Git, Run, Sandbox, fixtures};
use crate::help::commands;
use crate::hook::Agent;

const MAIN: &str = "fn main() {}\n";

/// Returns the examples of a command, without their remarks.
fn examples(words: &str) -> Vec<String> {
    grammar::examples(words)
        .map(|line| line.split("   ").next().unwrap_or_default().to_owned())
        .collect()
}

/// Makes a project with what the examples name, and what this command needs.
fn prepared(words: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let run = |line: &str| drop(sandbox.ok(line));
    let (group, last) = words.split_once(' ').unwrap_or((words, ""));
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
        if group != "relink" {
            sandbox.create(reason);
        }
    }
    match group {
        "undo" => run("restore wave-1 --yes"),
        "redo" => {
            run("restore wave-1 --yes");
            run("undo --yes");
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
        "run" => {
            let script = "#!/bin/sh\necho done > migrated\n";
            sandbox
                .write("migrate.sh", script)
                .chmod("migrate.sh", 0o755);
        }
        "import" => run("export -o work.bundle"),
        "remote" | "push" | "fetch" | "clone" => with_a_remote(&sandbox, last),
        "restore" => drop(sandbox.write("src/main.rs", MAIN)),
        "diff" => drop(sandbox.write("src/main.rs", "fn main() { }\n")),
        "release" => run("hold nightly"),
        "unpin" => ["pin @", "pin 'before refactor'"].into_iter().for_each(run),
        "relink" => {
            let old = sandbox.top().join("old-name");
            sandbox.write(old.join("a"), "1");
            let _ = sandbox.run_in(&old, &["create"]).success();
            std::fs::remove_dir_all(old).expect("it can be removed");
        }
        "workflow" | "phase" | "task" => with_a_run(&sandbox, group, last),
        _ => {}
    }
    sandbox
}

/// Makes a repository beside the project, and puts git where the examples find it.
fn with_a_remote(sandbox: &Sandbox, last: &str) {
    let remote = Remote::bare_directory(sandbox).expect("git is here");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|dir| dir.join("git"));
    let git = programs
        .find(|program| program.is_file())
        .expect("git is here");
    sandbox.symlink(sandbox.top().join("bin/git"), git);
    std::fs::rename(remote.place(), sandbox.top().join("server.git")).expect("it is moved");
    remote.reach_from(sandbox);
    if last != "add" {
        sandbox.ok("remote add origin ../server.git");
        sandbox.ok("push");
    }
    if last == "remove" {
        let lines = sandbox.top().join("server.git/refs/lines");
        let line = fixtures::files_below(&lines).remove(0);
        let copy = lines.join("0123456789abcdef").join("0123456789abcdef");
        std::fs::create_dir_all(copy.parent().expect("a folder")).expect("it is made");
        std::fs::copy(line, copy).expect("it is copied");
    }
}

fn with_a_run(sandbox: &Sandbox, group: &str, last: &str) {
    let run = |line: &str| drop(sandbox.ok(line));
    run("workflow init --type implement --phase plan --phase build:Build:plan");
    let export = sandbox.ok("workflow export --format pipeline").stdout;
    sandbox.write("state.json", export);
    if (group, last) == ("phase", "start") || (group, last) == ("phase", "") {
        return;
    }
    run("phase start plan");
    match (group, last) {
        ("task", "add" | "") => {}
        ("task", "start" | "list") => run("task add parser"),
        ("task", _) => ["task add parser", "task start parser"]
            .into_iter()
            .for_each(run),
        ("workflow", "note") => run("workflow note --set owner=bob"),
        ("workflow", "cleanup") => run("workflow end --abandon"),
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
    // A watcher is asked to stop after a second.
    let first = if example.contains(" watch") {
        "timeout --preserve-status 1"
    } else {
        ""
    };
    let script =
        format!("checkpoint() {{ {first} \"$PROGRAM\" --yes \"$@\" {last}; }}\n{example}\n");
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
    for words in commands() {
        let group = words.split(' ').next().expect("a word");
        let needs_git = matches!(group, "remote" | "push" | "fetch" | "clone");
        if !is_wanted(group) || (needs_git && !has_git) {
            continue;
        }
        let examples = examples(&words);
        if examples.len() < 2 {
            wrong.push(format!("{words} has {} examples", examples.len()));
        }
        for example in examples {
            if !example.contains(&format!("checkpoint {group}")) || example.len() > 78 {
                wrong.push(format!("{words}: {example}"));
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
