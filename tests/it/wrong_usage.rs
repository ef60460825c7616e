//! Wrong usages: one line says what is wrong, which word it is about and what to do next, on stderr
//! and in JSON alike, and the next step works as it is printed. `stories/wrong_usage.md` has the lines
//! and what is said to each.

use std::collections::BTreeSet;

use crate::bench::transcript::{Shell, Step, run_all, steps};
use crate::bench::{Run, Sandbox};

const PAGE: &str = include_str!("stories/wrong_usage.md");

fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    let (head, _) = PAGE.split_once("\n## ").expect("a part");
    run_all(&sandbox, &Shell::default(), &steps(head));
    sandbox
}

/// Runs a printed command line as a user would paste it.
pub fn pasted(sandbox: &Sandbox, line: &str) -> Run {
    let dir = Sandbox::binary().parent().expect("a folder").display();
    sandbox.env("PATH", format!("{dir}:/usr/bin:/bin"));
    sandbox.run_under(&["/bin/sh", "-c", line, "sh"], &[])
}

/// The command lines of a message that can be run as they are: without a placeholder.
fn next_steps(line: &str) -> Vec<String> {
    let bare = line
        .split_once("; run: ")
        .map(|(_, command)| command.trim().to_owned());
    let quoted = line.split("'checkpoint ").skip(1);
    let quoted = quoted.filter_map(|rest| Some(format!("checkpoint {}", rest.split('\'').next()?)));
    let has_placeholder = |line: &String| {
        line.contains('…')
            || line
                .split(' ')
                .any(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    let found: Vec<String> = match bare {
        Some(bare) => vec![bare],
        None => quoted.collect(),
    };
    found
        .into_iter()
        .filter(|line| !has_placeholder(line))
        .collect()
}

/// Words with which a line tells what to do without naming a command.
const ADVICE: &str = "captures them|looks at|matched exactly|cannot start|cannot create|add |active|choose|\
    did you mean|fix|give |is older|it has|its phases|move |name |needs |never |nothing was|\
    one of|print|see '|takes |the oldest|use |write|is active";

const JARGON: [&str; 6] = [
    "invalid digit",
    "non-zero type",
    "were not provided",
    "nobody",
    "os error",
    ") (",
];

#[cfg(unix)]
#[test]
fn what_is_refused_says_what_which_and_what_next() {
    let (sandbox, mut wrong, mut next) = (story(), Vec::new(), BTreeSet::new());
    let before = sandbox.tree();
    let (_, parts) = PAGE.split_once("\n## ").expect("a part");
    let steps = steps(parts);
    let line = |step: &Step| step.command.split(" 2>&1 |").next().map(str::to_owned);
    let lines: Vec<String> = steps.iter().filter_map(line).collect();
    assert!(lines.len() > 250, "only {} lines", lines.len());
    for line in &lines {
        let run = pasted(&sandbox, line);
        let mut complain = |why: &str| wrong.push(format!("{why}: {line}\n{run}"));
        // A bisection reports each test that it made.
        let said = run
            .stderr
            .lines()
            .filter(|line| !line.starts_with("testing "));
        let said: String = said.map(|line| format!("{line}\n")).collect();
        if !said.starts_with("checkpoint: ") || said.lines().count() != 1 {
            complain("no single line");
        }
        if !run.stdout.is_empty() && !line.contains("--contract") {
            complain("more than one line");
        }
        let found = next_steps(&said);
        if found.is_empty() && !ADVICE.split('|').any(|word| said.contains(word)) {
            complain("no next step");
        }
        for jargon in JARGON.iter().filter(|jargon| said.contains(**jargon)) {
            complain(jargon);
        }
        next.extend(found);
        // Shell words before `--` are ours; a command of the user's may follow.
        let (ours, theirs) = line.split_once(" -- ").unwrap_or((line, ""));
        let end = if theirs.is_empty() { "" } else { " -- " };
        let with_json = pasted(&sandbox, &format!("{ours} --json{end}{theirs}"));
        if line.contains("--json") || line.ends_with("--color") || with_json.code != run.code {
            continue;
        }
        let error = with_json.json()["error"].clone();
        let is_said = |key: &str| said.contains(error[key].as_str().unwrap_or_default());
        if !is_said("message") || !is_said("hint") || (run.code == 2) != (error["code"] == "usage")
        {
            complain(&format!("JSON says other words: {error}"));
        }
    }
    sandbox.tree().assert_is(&before, "after the refusals");
    for step in next {
        // Without --yes a restore or deletion is refused for lack of a terminal, which is no usage
        // error; a command may have nothing to do.
        let fresh = (!step.ends_with("--help")).then(story);
        let run = pasted(fresh.as_ref().unwrap_or(&sandbox), &step);
        let has_nothing_to_do = [" undo", "--resume", " cat "];
        if !matches!(run.code, 0 | 4) && !has_nothing_to_do.iter().any(|word| step.contains(word)) {
            wrong.push(format!("the next step fails: {step}\n{run}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
