//! Everything that is printed: progress on stderr, the tables on stdout in the end.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::args::Args;
use crate::contender::Who;
use crate::figures::{self, Row};
use crate::place;
use crate::stage::Stage;
use crate::trees::Tree;

/// Contenders with a column of medians, besides the two that are compared.
const PEERS: [(Who, &str); 4] = [
    (Who::Best, "git best ms"),
    (Who::Libgit2, "libgit2 ms"),
    (Who::Stepback, "stepback ms"),
    (Who::Restic, "restic ms"),
];

pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

pub fn answer(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Reports one round while it runs.
pub fn round(row: &Row, round: usize, rounds: usize, took: &[(Who, Duration)]) {
    if rounds > 100 && !(round + 1).is_multiple_of(100) {
        return;
    }
    let mut took = took.to_vec();
    took.sort_by_key(|(who, _)| *who);
    let times: Vec<String> = took
        .iter()
        .map(|(who, t)| format!("{} {}", who.name(), ms(t.as_secs_f64() * 1e3)))
        .collect();
    say(&format!(
        "{} {} {}/{rounds}: {} ms",
        row.path,
        row.tree,
        round + 1,
        times.join(", ")
    ));
}

/// Reports one finished row.
pub fn row(row: &Row) {
    say(&line(row));
}

/// Milliseconds with three significant digits.
fn ms(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let value = bytes as f64 / 1e6;
    ms(value)
}

fn line(row: &Row) -> String {
    let median = |who: Who| or_dash(row.median(who).map(ms));
    let pair = |one: Option<String>, other: Option<String>| match (one, other) {
        (None, None) => "-".to_owned(),
        (one, other) => format!("{} / {}", or_dash(one), or_dash(other)),
    };
    let size = |who: Who, part: fn(&place::Size) -> u64| {
        row.size.get(&who).map(|size| megabytes(part(size)))
    };
    let peak = |who: Who| row.peak.get(&who).map(|kib| megabytes(kib * 1024));
    let both =
        |part: fn(&place::Size) -> u64| pair(size(Who::Checkpoint, part), size(Who::Recipe, part));
    let mut cells = vec![
        row.path.clone(),
        row.tree.to_string(),
        row.runs(Who::Checkpoint).to_string(),
    ];
    cells.extend([median(Who::Checkpoint), median(Who::Recipe)]);
    cells.push(or_dash(
        row.ratio(Who::Recipe, Who::Checkpoint)
            .map(|ratio| format!("**{ratio:.2}x**")),
    ));
    cells.extend(PEERS.iter().map(|(who, _)| median(*who)));
    cells.extend([both(|size| size.apparent), both(|size| size.allocated)]);
    cells.push(pair(peak(Who::Checkpoint), peak(Who::Recipe)));
    format!("| {} |", cells.join(" | "))
}

fn table(rows: &[Row]) -> String {
    let peers: Vec<&str> = PEERS.iter().map(|(_, title)| *title).collect();
    let mut text = format!(
        "| path | tree | runs | checkpoint ms | recipe ms | ratio | {} | disk MB ours / git | allocated MB | peak MB |\n",
        peers.join(" | ")
    );
    text.push_str(&format!("|{}\n", "---|".repeat(9 + PEERS.len())));
    for row in rows {
        text.push_str(&format!("{}\n", line(row)));
    }
    text
}

fn trees_table(trees: &[Tree]) -> String {
    let mut text =
        "| tree | files | directories | MB | files left out | what |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for tree in trees {
        let (files, size) = (tree.captured.len(), megabytes(tree.bytes));
        text.push_str(&format!(
            "| {} | {files} | {} | {size} | {} | {} |\n",
            tree.name, tree.dirs, tree.left_out, tree.what
        ));
    }
    text
}

/// The warm paths relative to what the kernel allows and to each other, and a long series' spread.
fn limits(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.ms.contains_key(&Who::Walk)) {
        let walk = or_dash(row.median(Who::Walk).map(ms));
        let part = or_dash(
            row.ratio(Who::Checkpoint, Who::Walk)
                .map(|part| format!("{part:.2}")),
        );
        text.push_str(&format!(
            "* tree {}: reading every directory and stat of every file with two threads takes {walk} ms; nothing changed takes {part} of that",
            row.tree
        ));
        let ten = rows
            .iter()
            .find(|other| other.tree == row.tree && other.path == "10 changed");
        let both = ten
            .and_then(|ten| Some((ten.ms.get(&Who::Checkpoint)?, row.ms.get(&Who::Checkpoint)?)));
        if let Some(more) = both.and_then(|(ten, nothing)| figures::ratio(ten, nothing)) {
            text.push_str(&format!(", ten changed {more:.2} of nothing changed"));
        }
        text.push_str(".\n");
    }
    for row in rows.iter().filter(|row| row.ms.contains_key(&Who::Bare)) {
        let bare = or_dash(row.median(Who::Bare).map(ms));
        let part = or_dash(
            row.ratio(Who::Checkpoint, Who::Bare)
                .map(|part| format!("{part:.2}")),
        );
        text.push_str(&format!(
            "* tree {}, {}: a bare scan-and-record takes {bare} ms; ours takes {part} of that.\n",
            row.tree, row.path
        ));
    }
    for row in rows.iter().filter(|row| row.path.starts_with("series")) {
        let all = row
            .ms
            .get(&Who::Checkpoint)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let worst = all.iter().copied().fold(0.0, f64::max);
        if let Some(median) = figures::median(all) {
            let (runs, times) = (all.len(), worst / median);
            text.push_str(&format!(
                "* series of {runs}: the slowest took {} ms, {times:.2} of the median.\n",
                ms(worst)
            ));
        }
    }
    text
}

/// Prints the whole result to stdout, to `results.md` in the current directory and, if told, JSON.
///
/// # Errors
/// A file cannot be written.
pub fn all(
    args: &Args,
    machine: &str,
    stage: &Stage,
    trees: &[Tree],
    rows: &[Row],
    checked: usize,
) -> Result<()> {
    let mut text = format!(
        "{machine}\n\n{}\n{}\n{}",
        trees_table(trees),
        table(rows),
        limits(rows)
    );
    for row in rows {
        for (who, why) in &row.out {
            text.push_str(&format!(
                "* {} could not do *{}* on tree {}: {why}.\n",
                who.name(),
                row.path,
                row.tree
            ));
        }
    }
    for note in stage.notes() {
        text.push_str(&format!("* {}.\n", note.lines().next().unwrap_or_default()));
    }
    for (who, why) in &stage.contenders.absent {
        text.push_str(&format!("* {}: {why}.\n", who.name()));
    }
    text.push_str(&format!(
        "* every tree id, every restored byte was checked; `git fsck --full --strict` found nothing wrong in {checked} stores.\n"
    ));
    if args.small {
        text.push_str("* --small: a test of the benchmark itself, its times mean nothing.\n");
    }
    let top = stage.place.top();
    place::write(&top.join("results.md"), &text)?;
    if let Some(path) = &args.json {
        let bytes = serde_json::to_vec_pretty(&as_json(machine, trees, rows))
            .context("cannot write JSON")?;
        place::write(path, bytes)?;
    }
    answer(&text);
    say(&format!(
        "all of it is in {}: trees, stores, results.md; nothing was removed. When no other run is to follow soon, remove it by hand",
        top.display()
    ));
    Ok(())
}

fn as_json(machine: &str, trees: &[Tree], rows: &[Row]) -> serde_json::Value {
    let trees: Vec<_> = trees
        .iter()
        .map(|tree| {
            json!({"tree": tree.name, "what": tree.what, "files": tree.captured.len(), "directories": tree.dirs,
                "bytes": tree.bytes, "left_out": tree.left_out})
        })
        .collect();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let named = |value: fn(&Row, Who) -> serde_json::Value| -> serde_json::Map<String, serde_json::Value> {
                let all = row.ms.keys().map(|who| (who.name().to_owned(), value(row, *who)));
                all.filter(|(_, value)| !value.is_null()).collect()
            };
            json!({"path": row.path, "tree": row.tree,
                "ms": named(|row, who| json!(row.ms.get(&who))),
                "median_ms": named(|row, who| json!(row.median(who))),
                "recipe_ratio": row.ratio(Who::Recipe, Who::Checkpoint),
                "apparent_bytes": named(|row, who| json!(row.size.get(&who).map(|size| size.apparent))),
                "allocated_bytes": named(|row, who| json!(row.size.get(&who).map(|size| size.allocated))),
                "peak_kib": named(|row, who| json!(row.peak.get(&who)))})
        })
        .collect();
    json!({"machine": machine, "trees": trees, "rows": rows})
}
