//! The README and the pages of `src/docs`: every example is run, and its output compared with what
//! the page shows.

use std::collections::BTreeSet;
use std::path::Path;

use crate::bench::Sandbox;
use crate::bench::transcript::{Shell, agree, run_all, stable, steps};
use crate::source;

/// Upper bound on the lines of the README: a few screens.
const LONGEST_README: usize = 120;
/// Width of a usual terminal in columns, where `checkpoint help` shows the page; tables and blocks
/// may be wider.
const WIDEST_PROSE: usize = 80;
/// Pages without an example that runs everywhere.
const WITHOUT_EXAMPLES: [&str; 4] = ["agents", "performance", "platforms", "watching"];

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn readme() -> String {
    read(&source::package().join("README.md"))
}

/// The pages of `src/docs` by the names of their files.
fn pages() -> Vec<(String, String)> {
    let dir =
        std::fs::read_dir(source::package().join("src/docs")).expect("the folder can be listed");
    let paths = dir.map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<(String, String)> = paths
        .map(|path| {
            (
                path.file_stem().expect("a name").display().to_string(),
                read(&path),
            )
        })
        .collect();
    pages.sort();
    pages
}

/// Runs a page in an empty directory and returns how many commands it has.
fn check_examples(name: &str, page: &str) -> usize {
    let steps = steps(page);
    let sandbox = Sandbox::rooted_at("home/project");
    sandbox.real_clock();
    let outputs = run_all(&sandbox, &Shell::default(), &steps);
    for (step, output) in steps.iter().zip(outputs) {
        let (shown, found) = (
            stable(&sandbox, &step.output.join("\n")),
            stable(&sandbox, &output),
        );
        let both = format!(
            "--- {name} ---\n{}\n--- run ---\n{}",
            shown.join("\n"),
            found.join("\n")
        );
        assert!(agree(&shown, &found), "$ {}\n{both}", step.command);
    }
    steps.len()
}

#[cfg(unix)]
#[test]
fn every_example_of_the_readme_does_what_it_shows() {
    assert!(
        check_examples("README.md", &readme()) > 5,
        "the README shows too little"
    );
}

#[cfg(unix)]
#[test]
fn every_example_of_a_page_does_what_it_shows() {
    for (name, page) in pages() {
        let commands = check_examples(&name, &page);
        assert_eq!(
            commands == 0,
            WITHOUT_EXAMPLES.contains(&name.as_str()),
            "{name}: {commands} commands were run"
        );
    }
}

#[test]
fn the_readme_has_at_most_120_lines_and_links_to_every_page_of_help() {
    let (readme, sandbox) = (readme(), Sandbox::new());
    let lines = readme.lines().count();
    assert!(lines <= LONGEST_README, "{lines} lines");
    let topics_of_help: BTreeSet<&str> = checkpoint::commands::help::topic_names()
        .into_iter()
        .collect();
    let pages = pages();
    assert_eq!(
        pages
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<BTreeSet<_>>(),
        topics_of_help
    );
    for (name, page) in pages {
        sandbox.run(&["help", &name]).success().stdout_is(&page);
        assert!(
            readme.contains(&format!("(src/docs/{name}.md)")),
            "the README does not link to {name}"
        );
    }
}

#[test]
fn every_link_of_the_readme_and_of_a_page_leads_somewhere() {
    let in_docs = pages()
        .into_iter()
        .map(|(name, page)| (format!("src/docs/{name}.md"), page));
    for (name, page) in in_docs.chain([("README.md".to_owned(), readme())]) {
        let from = source::package().join(&name);
        let targets = page
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains("://")) {
            let path = from.parent().expect("a folder").join(target);
            assert!(path.exists(), "{name}: {target} is not there");
        }
    }
}

#[test]
fn a_page_says_what_it_is_and_its_prose_fits_on_a_terminal() {
    for (name, page) in pages() {
        assert!(page.starts_with("# "), "{name} has no title");
        let mut in_block = false;
        for line in page.lines() {
            in_block ^= line.starts_with("```");
            let is_prose = !in_block && !line.starts_with('|');
            assert!(
                !is_prose || line.chars().count() <= WIDEST_PROSE,
                "{name}: this line is too wide:\n{line}"
            );
        }
    }
}

#[test]
fn only_console_blocks_are_examples() {
    let readme = "```console\n$ a\nout\n\n$ b\n> more\n```\n```console,norun\n$ c\n```\n```sh\n$ d\n```\n```console\n$ cargo x\n$ e\n```\n";
    let found: Vec<String> = steps(readme).into_iter().map(|step| step.command).collect();
    assert_eq!(found, ["a", "b\nmore"]);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(
        agree(&lines("a\n...\nd"), &lines("a\nb\nc\nd")) && !agree(&lines("a\n..."), &lines("b"))
    );
}
