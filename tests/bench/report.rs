//! Everything that is printed: progress on stderr, the table on stdout in the end.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::contender::{PROGRAM, Who};
use crate::contest::Args;
use crate::job::Job;

/// A path on a tree, measured.
pub struct Row {
    pub path: &'static str,
    pub tree: char,
    /// Milliseconds of each run.
    pub ms: BTreeMap<Who, Vec<f64>>,
    /// Bytes of the store, and those allocated.
    pub sizes: BTreeMap<Who, (u64, u64)>,
    /// Peak memory of the largest process in KiB, from an untimed run.
    pub peaks: BTreeMap<Who, u64>,
}

impl Row {
    pub fn new(path: &'static str, tree: char) -> Self {
        let (ms, sizes, peaks) = Default::default();
        Self {
            path,
            tree,
            ms,
            sizes,
            peaks,
        }
    }

    pub fn push(&mut self, who: Who, elapsed: Duration) {
        let ms = elapsed.as_secs_f64() * 1000.0;
        self.ms.entry(who).or_default().push(ms);
    }

    /// The median of the recipe's time over ours in the same round.
    fn ratio(&self) -> f64 {
        let [ours, recipe] = [Who::Checkpoint, Who::Recipe].map(|who| &self.ms[&who]);
        let pairs = ours.iter().zip(recipe);
        median(pairs.map(|(ours, recipe)| recipe / ours).collect())
    }

    fn line(&self) -> String {
        let ms = |who| {
            let runs = self.ms.get(&who).cloned();
            runs.map_or("-".to_owned(), |runs| digits(median(runs)))
        };
        let both = |of: &dyn Fn(Who) -> Option<f64>| {
            let [ours, git] = [Who::Checkpoint, Who::Recipe].map(of);
            let pair = ours.zip(git);
            pair.map_or("-".to_owned(), |(ours, git)| {
                format!("{} / {}", digits(ours), digits(git))
            })
        };
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let disk = both(&|who| Some(self.sizes.get(&who)?.0 as f64 / 1e6));
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let allocated = both(&|who| Some(self.sizes.get(&who)?.1 as f64 / 1e6));
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let peak = both(&|who| Some(*self.peaks.get(&who)? as f64 * 1024.0 / 1e6));
        let runs = self.ms[&Who::Checkpoint].len();
        format!(
            "| {} | {} | {runs} | {} | {} | **{:.2}x** | {} | {disk} | {allocated} | {peak} |",
            self.path,
            self.tree,
            ms(Who::Checkpoint),
            ms(Who::Recipe),
            self.ratio(),
            ms(Who::Best)
        )
    }
}

pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Reports one round while it runs.
pub fn round(row: &Row, round: usize, rounds: usize) {
    let last = |(who, ms): (&Who, &Vec<f64>)| {
        let ms = ms.last().copied().unwrap_or_default();
        format!("{} {} ms", who.name(), digits(ms))
    };
    let took: Vec<String> = row.ms.iter().map(last).collect();
    let (path, tree, took) = (row.path, row.tree, took.join(", "));
    say(&format!("{path} {tree} {}/{rounds}: {took}", round + 1));
}

/// Three significant digits.
fn digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// Prints the machine, the trees and the table.
///
/// # Errors
/// The JSON file cannot be written.
pub fn all(args: &Args, top: &Path, trees: &[String], rows: &[Row]) -> Result<()> {
    let mut text = format!("{}\n\n", machine(top));
    text += &format!("{}\n\n", trees.join("\n"));
    text += "| path | tree | runs | checkpoint ms | recipe ms | ratio | git best ms | disk MB ours / git | allocated MB | peak MB |\n";
    text += "|---|---|---|---|---|---|---|---|---|---|\n";
    for row in rows {
        text += &format!("{}\n", row.line());
    }
    if args.small {
        text += "\nsmall trees: the times mean nothing\n";
    }
    let _ = writeln!(
        std::io::stdout(),
        "{text}everything is in {}",
        top.display()
    );
    let Some(file) = &args.json else {
        return Ok(());
    };
    let rows = rows.iter().map(|row| {
        let ms = row
            .ms
            .iter()
            .map(|(who, ms)| (who.name().to_owned(), json!(ms)));
        let ms: serde_json::Map<_, _> = ms.collect();
        json!({"path": row.path, "tree": row.tree.to_string(), "ms": ms})
    });
    let document = json!(rows.collect::<Vec<_>>());
    std::fs::write(file, document.to_string()).context("cannot write the JSON")
}

/// One line: processor, memory, kernel, file system, versions.
fn machine(top: &Path) -> String {
    let said = |line: &str| {
        let (line, env, dir) = (line.to_owned(), Vec::new(), top.to_path_buf());
        let done = Job { line, env, dir }.run();
        done.map_or_else(|_| "unknown".to_owned(), |done| done.text())
    };
    let field = |path: &str, name: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let disk = said("df --output=fstype .");
    [
        field("/proc/cpuinfo", "model name"),
        format!("{cores} cores"),
        field("/proc/meminfo", "MemTotal"),
        said("uname -sr"),
        disk.lines().last().unwrap_or_default().to_owned(),
        said("git --version"),
        said(&format!("{PROGRAM} --version")),
    ]
    .join(", ")
}
