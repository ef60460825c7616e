//! What commands print, as transcripts: each part of a file in `stories` is run in a directory of its
//! own, and its outputs are compared whole.
//!
//! Both streams are shown as they come, and an exit code other than 0 as `[exit N]`. Each command of
//! the program comes a second after the one before; ids, times and sizes are compared by kind. What
//! comes before the first part is run before each of them, unseen.
//! `STORIES=pin,list` runs these files alone, `UPDATE_SNAPSHOTS=1` writes the outputs anew.
//! An answer in JSON is as its schema says. The stories call programs of GNU, which only Linux has.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::bench::answer::judge;
use crate::bench::sample::is_full;
use crate::bench::transcript::{Shell, Step, agree, run_all, stable, steps};
use crate::bench::{Sandbox, skipped};
use crate::source;

const SHELL: Shell = Shell {
    before_all: "umask 022; checkpoint() {\n\
        CHECKPOINT_NOW=$((CHECKPOINT_NOW + 1000)); export CHECKPOINT_NOW\n\
        command checkpoint \"$@\"\n}",
    after_each: "{ code=$?; [ $code = 0 ] || echo \"[exit $code]\"; } 2>/dev/null",
};

/// Stories of megabytes. Where not every case is tried, only this many pieces of them are run, with
/// the one before the first heading.
const SLOWEST: [&str; 2] = ["deltas.md", "packs.md"];
const FIRST_PARTS: usize = 3;

#[test]
fn each_story_prints_what_it_shows() {
    let dir = source::package().join("tests/it/stories");
    let entries = std::fs::read_dir(dir).expect("the folder can be listed");
    let wanted = std::env::var("STORIES").ok();
    let is_wanted = |file: &PathBuf| {
        let name = file.file_stem().expect("a name").display().to_string();
        (wanted.as_ref()).is_none_or(|wanted| wanted.split(',').any(|one| one == name))
    };
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(is_wanted).collect();
    // The slowest and the longest begin first, and as many again run beside those that wait.
    files.sort_by_key(|file| {
        let is_slow = SLOWEST.iter().any(|name| file.ends_with(name));
        (is_slow, file.metadata().map_or(0, |file| file.len()))
    });
    assert!(!files.is_empty(), "no file has a name of STORIES");
    let files = Mutex::new(files);
    let failures = Mutex::new(String::new());
    let next = || files.lock().expect("no thread failed").pop();
    std::thread::scope(|scope| {
        for _ in 0..2 * std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(file) = next() {
                    let failed = run(&file);
                    failures.lock().expect("no thread failed").push_str(&failed);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread failed");
    let is_update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    assert!(
        failures.is_empty() || is_update,
        "UPDATE_SNAPSHOTS=1 writes them anew\n{failures}"
    );
}

/// Runs each part of a file, which begins with `## `. Returns the outputs that are others.
fn run(file: &PathBuf) -> String {
    let name = file.display();
    let page = std::fs::read_to_string(file).expect("the file of a story");
    let (head, parts) = page.split_at(page.find("\n## ").expect("a part"));
    let (before, mut updated, mut failures) = (steps(head), head.to_owned(), String::new());
    let is_update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let are_all = is_full() || is_update || !SLOWEST.iter().any(|name| file.ends_with(name));
    let most = if are_all { usize::MAX } else { FIRST_PARTS };
    for part in parts.split_inclusive("\n## ").take(most) {
        let (steps, sandbox) = (
            [before.clone(), steps(part)].concat(),
            Sandbox::rooted_at("home/project"),
        );
        let calls = |program: &str| {
            let words = |step: &Step| {
                step.command
                    .split([' ', '(', ';', '|'])
                    .any(|word| word == program)
            };
            steps.iter().any(words)
        };
        let is_missing = |program: &&str| !Path::new("/usr/bin").join(program).exists();
        let mut needed = ["git", "setpriv"].into_iter().filter(is_missing);
        if let Some(program) = needed.find(|program| calls(program)) {
            skipped(&format!("{program} is not in /usr/bin: a part of {name}"));
            updated += part;
            continue;
        }
        let asks_git = |step: &Step| step.command.contains("/usr/bin/git");
        if is_missing(&"git") && steps.iter().any(asks_git) {
            skipped(&format!("git is not in /usr/bin: its checks in {name}"));
        }
        let outputs = run_all(&sandbox, &SHELL, &steps);
        let mut left = part;
        for (step, output) in steps.iter().zip(outputs).skip(before.len()) {
            for line in output.lines() {
                judge(line).unwrap_or_else(|flaw| panic!("{name}: {line}\n{flaw}"));
            }
            let found = stable(&sandbox, &output);
            let shown = stable(&sandbox, &step.output.join("\n"));
            let command = format!("$ {}\n", step.command.replace('\n', "\n> "));
            let (before, rest) = left.split_once(&command).expect("the command is there");
            let is_output = |line: &&str| !line.starts_with("$ ") && !line.starts_with("```");
            let output = rest.split_inclusive('\n').take_while(is_output);
            updated.extend([before, &command]);
            left = &rest[output.map(str::len).sum()..];
            if agree(&shown, &found) {
                updated += &rest[..rest.len() - left.len()];
                continue;
            }
            let found: String = found.iter().map(|line| format!("{line}\n")).collect();
            updated += &found;
            let (title, shown) = (part.lines().next().unwrap_or_default(), shown.join("\n"));
            write!(
                failures,
                "{title}\n{command}--- {name} ---\n{shown}\n--- run ---\n{found}\n"
            )
            .expect("a string takes all");
        }
        updated += left;
    }
    if is_update {
        std::fs::write(file, updated).expect("the file of a story");
    }
    failures
}
