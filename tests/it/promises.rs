//! Every promise has a test: each row of `tests/PROMISES.md` names existing tests, or says why
//! there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::source;

/// Number of faults: `B1` to this, without a gap.
const FAULTS: usize = 146;
/// Numbers of the failures, which keep those of a longer list.
const FAILURES: [usize; 23] = [
    1, 2, 3, 8, 10, 12, 14, 25, 26, 37, 40, 45, 49, 60, 71, 74, 80, 81, 95, 96, 99, 100, 106,
];
/// Number of faults of workflows: `W1` to this.
const OF_WORKFLOWS: usize = 20;
/// Number of faults of restores by habit: `R1` to this.
const OF_RESTORES: usize = 22;
/// Number of rows about JSON.
const OF_JSON: u32 = 3;
const OF_MCP: u32 = 6;
const OF_PAGE: u32 = 6;
const OF_TRANSFER: u32 = 14;
const OUT_OF_SCOPE: &str = "out of scope:";
/// Prefix of a test in the program's own source.
const UNIT: &str = "lib: ";

fn page() -> String {
    let path = source::package().join("tests/PROMISES.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything wrong with a page.
fn complaints(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for line in page.lines().filter(|line| is_row(line)) {
        let cells = cells(line);
        let [id, .., held_by] = cells.as_slice() else {
            continue;
        };
        *seen.entry(*id).or_default() += 1;
        if cells.len() != 4 {
            found.push(format!("{id}: {} cells", cells.len()));
        } else if cells.iter().any(|cell| cell.is_empty()) {
            found.push(format!("{id}: an empty cell"));
        } else {
            found.extend(
                complaints_about_tests(held_by)
                    .into_iter()
                    .map(|why| format!("{id}: {why}")),
            );
        }
    }
    found.extend(complaints_about_ids(&seen));
    found
}

/// Whether a line is a row: neither the head of a table nor the rule below it.
fn is_row(line: &str) -> bool {
    line.starts_with('|') && !line.starts_with("| # |") && !line.starts_with("|--")
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn complaints_about_ids(seen: &BTreeMap<&str, usize>) -> Vec<String> {
    let faults = (1..=FAULTS).map(|n| format!("B{n}"));
    let failures = FAILURES.iter().map(|n| format!("U{n}"));
    let others = (1..=OF_WORKFLOWS)
        .map(|n| format!("W{n}"))
        .chain((1..=OF_RESTORES).map(|n| format!("R{n}")))
        .chain((1..=OF_JSON).map(|n| format!("J{n}")))
        .chain((1..=OF_MCP).map(|n| format!("M{n}")))
        .chain((1..=OF_PAGE).map(|n| format!("P{n}")))
        .chain((1..=OF_TRANSFER).map(|n| format!("T{n}")));
    let wanted: BTreeSet<String> = faults.chain(failures).chain(others).collect();
    let missing = wanted
        .iter()
        .filter(|id| !seen.contains_key(id.as_str()))
        .map(|id| format!("{id} is missing"));
    let unknown = seen
        .keys()
        .filter(|id| !wanted.contains(**id))
        .map(|id| format!("{id} is no id"));
    let repeated = seen
        .iter()
        .filter(|(_, times)| **times > 1)
        .map(|(id, times)| format!("{id} stands there {times} times"));
    missing.chain(unknown).chain(repeated).collect()
}

fn complaints_about_tests(held_by: &str) -> Vec<String> {
    let names = quoted(held_by);
    let reason = held_by.strip_prefix(OUT_OF_SCOPE).map(str::trim);
    match reason {
        Some("") => return vec!["no reason is given".to_owned()],
        None if names.is_empty() => return vec!["no test is named".to_owned()],
        _ => {}
    }
    names
        .into_iter()
        .filter(|name| !is_test(name))
        .map(|name| format!("there is no test {name}"))
        .collect()
}

/// The texts between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Whether there is a test of this name, a part of a story such as `story pin: Pinning twice`, or a
/// `transcript` of `formats`, or a scenario of the siege such as `siege: prune`.
fn is_test(name: &str) -> bool {
    if let Some((file, title)) = name
        .strip_prefix("story ")
        .and_then(|it| it.split_once(": "))
    {
        let path = source::package().join(format!("tests/it/stories/{file}.md"));
        let page = std::fs::read_to_string(path).unwrap_or_default();
        return page.contains(&format!("\n## {title}\n"));
    }
    if let Some(file) = name.strip_prefix("transcript ") {
        let path = source::package().join(format!("tests/it/formats/{file}.txt"));
        return path.exists();
    }
    if let Some(scenario) = name.strip_prefix("siege: ") {
        let path = source::package().join("tests/siege/scenario.rs");
        let table = std::fs::read_to_string(path).unwrap_or_default();
        return table.contains(&format!("\"{scenario}\","));
    }
    let (top, name) = match name.strip_prefix(UNIT) {
        Some(name) => ("src", name),
        None => ("tests/it", name),
    };
    let mut modules: Vec<&str> = name.split("::").collect();
    let Some(function) = modules.pop() else {
        return false;
    };
    // A module `tests` is at the end of its parent's file, or a file of its own.
    let inside = modules
        .split_last()
        .filter(|(last, _)| **last == "tests")
        .map(|(_, above)| above);
    let top = source::package().join(top);
    let mut files = files_of(&top, &modules);
    files.extend(inside.into_iter().flat_map(|above| files_of(&top, above)));
    files
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .any(|text| tests_in(&text).contains(function))
}

fn files_of(top: &Path, modules: &[&str]) -> Vec<PathBuf> {
    let Some((last, above)) = modules.split_last() else {
        return Vec::new();
    };
    let dir = above
        .iter()
        .fold(top.to_path_buf(), |dir, module| dir.join(module));
    vec![
        dir.join(format!("{last}.rs")),
        dir.join(last).join("mod.rs"),
    ]
}

/// The names of the functions below a `#[test]`, with or without attributes and comments between.
fn tests_in(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut is_marked = false;
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            is_marked = true;
        } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| is_marked) {
            found.extend(rest.split('(').next());
            is_marked = false;
        } else {
            is_marked &= line.starts_with("#[") || line.starts_with("//");
        }
    }
    found
}

#[test]
fn every_promise_names_a_test_that_exists_or_says_why_not() {
    let page = page();
    assert!(
        page.starts_with("# "),
        "the first line does not say what the page is"
    );
    let complaints = complaints(&page);
    assert!(
        complaints.is_empty(),
        "tests/PROMISES.md:\n{}",
        complaints.join("\n")
    );
}

#[test]
fn a_page_that_is_wrong_is_told_so() {
    let page = page();
    let line = page
        .lines()
        .find(|line| line.starts_with("| B1 |"))
        .expect("a first row");
    let cells = cells(line);
    let with =
        |held_by: &str| format!("| {} | {} | {} | {held_by} |", cells[0], cells[1], cells[2]);
    for (harmed, complaint) in [
        (
            with("`create::no_such_test`"),
            "B1: there is no test create::no_such_test",
        ),
        (
            with("`no_such_file::a_root_that_is_gone`"),
            "B1: there is no test no_such_file::a_root_that_is_gone",
        ),
        (
            with("`lib: store::lock::tests::write_holder`"),
            "B1: there is no test lib: store::lock::tests::write_holder",
        ),
        (
            with("`promises::is_test`"),
            "B1: there is no test promises::is_test",
        ),
        (with("some day"), "B1: no test is named"),
        (with("out of scope: "), "B1: no reason is given"),
        (with(""), "B1: an empty cell"),
        (
            format!("| B1 |  | {} | {} |", cells[2], cells[3]),
            "B1: an empty cell",
        ),
        (format!("{line} more |"), "B1: 5 cells"),
        (String::new(), "B1 is missing"),
        (format!("{line}\n{line}"), "B1 stands there 2 times"),
        (
            format!("{line}\n| B0 | a | b | out of scope: c |"),
            "B0 is no id",
        ),
    ] {
        assert_eq!(complaints(&page.replace(line, &harmed)), [complaint]);
    }
    assert_eq!(
        complaints(&page.replace(line, &with("out of scope: a reason"))),
        [""; 0]
    );
}
