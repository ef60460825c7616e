//! Console transcripts: commands with the output that each is to have, in blocks of a page.
//!
//! A `console` block has lines that begin with `$ `, each with its output below; a line `> ` goes on
//! with the command. All of a page, or of a part of it, run in one shell, one after the other. A line
//! `...` is any number of lines. A block marked `console,norun`, or whose commands build or
//! fetch, is not run.

use std::fmt::Write as _;

use super::{Run, Sandbox, os};

/// Lines of the shell around the commands.
#[derive(Default)]
pub struct Shell {
    pub before_all: &'static str,
    pub after_each: &'static str,
}

#[derive(Clone)]
pub struct Step {
    pub command: String,
    pub output: Vec<String>,
}

pub fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(page) {
        let mut inside: Vec<Step> = Vec::new();
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                inside.push(Step {
                    command: command.to_owned(),
                    output: Vec::new(),
                });
            } else if let Some(step) = inside.last_mut() {
                match line.strip_prefix("> ") {
                    Some(more) if step.output.is_empty() => {
                        step.command = format!("{}\n{more}", step.command);
                    }
                    _ => step.output.push(line.trim_end().to_owned()),
                }
            }
        }
        let fetches = |step: &Step| {
            ["cargo ", "git clone "]
                .iter()
                .any(|head| step.command.starts_with(head))
        };
        if !inside.iter().any(fetches) {
            steps.append(&mut inside);
        }
    }
    steps
}

/// The texts of the blocks whose mark is exactly `console`.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
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

/// Runs all commands in one shell and returns the output of each.
pub fn run_all(sandbox: &Sandbox, shell: &Shell, steps: &[Step]) -> Vec<String> {
    let bin = sandbox.top().join("bin");
    os::installed(Sandbox::binary(), &bin);
    let mut script = format!("exec 2>&1\n{}\n", shell.before_all);
    for (at, step) in steps.iter().enumerate() {
        let (command, after) = (&step.command, shell.after_each);
        writeln!(script, "printf '\\n<<<step {at}>>>\\n'\n{command}\n{after}")
            .expect("a string takes all");
    }
    sandbox.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let mut sh = std::process::Command::new("/bin/sh");
    let path = sandbox.command(&[], &[]);
    sh.args(["-c", &script])
        .current_dir(sandbox.root())
        .env_clear();
    sh.envs(
        path.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let run = Run::of(sh);
    let outputs: Vec<String> = run
        .stdout
        .split("\n<<<step ")
        .skip(1)
        .map(|part| part.split_once(">>>\n").map_or("", |p| p.1).to_owned())
        .collect();
    assert_eq!(
        outputs.len(),
        steps.len(),
        "the shell ended before the last example\n{run}"
    );
    outputs
}

/// Whether the output is what the page shows; a line `...` there is any number of lines.
pub fn agree(shown: &[String], found: &[String]) -> bool {
    match shown.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first.trim() == "..." || first.trim() == "…" => {
            (0..=found.len()).any(|skip| agree(rest, &found[skip..]))
        }
        Some((first, rest)) => found
            .split_first()
            .is_some_and(|(line, others)| first == line && agree(rest, others)),
    }
}

/// The parts of an output that are the same in every run; a page may write the home as `~`.
pub fn stable(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let text = sandbox
        .normalized(text)
        .replace("$HOME", "~")
        .replace("$ROOT", "~/project")
        .replace("/home/you", "~");
    let trimmed: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    let end = trimmed
        .iter()
        .rposition(|line| !line.is_empty())
        .map_or(0, |at| at + 1);
    trimmed[..end].to_vec()
}
