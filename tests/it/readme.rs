//! Every example of the README is run, and its output is compared with what the README shows.
//!
//! A `console` block holds lines that begin with `$ ` and the output below each of them. All blocks run in one shell, one
//! after the other. A block marked `console,norun`, or whose commands build or fetch, is not run.

use std::fmt::Write as _;

use crate::bench::{Run, Sandbox};

struct Step {
    command: String,
    output: Vec<String>,
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(readme) {
        let mut inside: Vec<Step> = Vec::new();
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                inside.push(Step { command: command.to_owned(), output: Vec::new() });
            } else if let Some(step) = inside.last_mut() {
                match line.strip_prefix("> ") {
                    Some(more) if step.output.is_empty() => step.command = format!("{}\n{more}", step.command),
                    _ => step.output.push(line.trim_end().to_owned()),
                }
            }
        }
        let fetches = |step: &Step| ["cargo ", "git clone "].iter().any(|head| step.command.starts_with(head));
        if !inside.iter().any(fetches) {
            steps.append(&mut inside);
        }
    }
    steps
}

/// The texts of the blocks whose mark is exactly `console`.
fn blocks(readme: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in readme.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (Some((is_console, text)), Some("")) => {
                if *is_console {
                    blocks.push(std::mem::take(text));
                }
                open = None;
            }
            (Some((_, text)), _) => text.extend([line, "\n"]),
            (None, Some(mark)) => open = Some((mark == "console", String::new())),
            (None, None) => {}
        }
    }
    blocks
}

/// Runs all commands in one shell and gives the output of each.
fn run_all(sandbox: &Sandbox, steps: &[Step]) -> Vec<String> {
    let bin = sandbox.top().join("bin");
    std::fs::create_dir(&bin).expect("a directory can be made");
    std::os::unix::fs::symlink(Sandbox::binary(), bin.join("checkpoint")).expect("a link can be made");
    let mut script = "exec 2>&1\n".to_owned();
    for (at, step) in steps.iter().enumerate() {
        writeln!(script, "printf '\\n<<<step {at}>>>\\n'\n{}", step.command).expect("a string takes all");
    }
    sandbox.real_clock().env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let mut shell = std::process::Command::new("/bin/sh");
    let path = sandbox.command(&[], &[]);
    shell.args(["-c", &script]).current_dir(sandbox.root()).env_clear();
    shell.envs(path.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = Run::of(shell);
    let outputs: Vec<String> = run
        .stdout
        .split("\n<<<step ")
        .skip(1)
        .map(|part| part.split_once(">>>\n").map_or("", |p| p.1).to_owned())
        .collect();
    assert_eq!(outputs.len(), steps.len(), "the shell ended before the last example\n{run}");
    outputs
}

/// Whether the lines are those of the README; a line `...` there stands for any number of lines.
fn agree(shown: &[String], found: &[String]) -> bool {
    match shown.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first.trim() == "..." || first.trim() == "…" => {
            (0..=found.len()).any(|skip| agree(rest, &found[skip..]))
        }
        Some((first, rest)) => found.split_first().is_some_and(|(line, others)| first == line && agree(rest, others)),
    }
}

/// What stays the same from run to run; the README may write the home directory as `~`.
fn stable(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let text = sandbox.normalized(text).replace("$HOME", "~").replace("$ROOT", "~/project").replace("/home/you", "~");
    let trimmed: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    let end = trimmed.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    trimmed[..end].to_vec()
}

#[test]
fn every_example_of_the_readme_does_what_it_shows() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let steps = steps(&readme);
    assert!(steps.iter().any(|step| step.command.contains("checkpoint create")), "the README shows no example to run");
    let sandbox = Sandbox::rooted_at("home/project");
    let outputs = run_all(&sandbox, &steps);
    for (step, output) in steps.iter().zip(outputs) {
        let (shown, found) = (stable(&sandbox, &step.output.join("\n")), stable(&sandbox, &output));
        let both = format!("--- README ---\n{}\n--- run ---\n{}", shown.join("\n"), found.join("\n"));
        assert!(agree(&shown, &found), "$ {}\n{both}", step.command);
    }
}

#[test]
fn only_console_blocks_are_examples() {
    let readme = "```console\n$ a\nout\n\n$ b\n> more\n```\n```console,norun\n$ c\n```\n```sh\n$ d\n```\n```console\n$ cargo x\n$ e\n```\n";
    let found: Vec<String> = steps(readme).into_iter().map(|step| step.command).collect();
    assert_eq!(found, ["a", "b\nmore"]);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(agree(&lines("a\n...\nd"), &lines("a\nb\nc\nd")) && !agree(&lines("a\n..."), &lines("b")));
}
