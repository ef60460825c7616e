//! Figures of one row, and what is computed from them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::contender::Who;
use crate::place::Size;

/// A path on a tree, measured.
#[derive(Clone, Debug)]
pub struct Row {
    pub path: String,
    pub tree: char,
    /// Milliseconds of each run; a contender with fewer runs took part in the first ones.
    pub ms: BTreeMap<Who, Vec<f64>>,
    pub size: BTreeMap<Who, Size>,
    /// Peak memory of the largest process in KiB, from an untimed run.
    pub peak: BTreeMap<Who, u64>,
    /// Contenders that failed, each with its last message.
    pub out: BTreeMap<Who, String>,
}

impl Row {
    pub fn new(path: &str, tree: char) -> Self {
        let (ms, size, peak, out) = (
            BTreeMap::new(),
            BTreeMap::new(),
            BTreeMap::new(),
            BTreeMap::new(),
        );
        Self {
            path: path.to_owned(),
            tree,
            ms,
            size,
            peak,
            out,
        }
    }

    pub fn push(&mut self, who: Who, elapsed: Duration) {
        self.ms
            .entry(who)
            .or_default()
            .push(elapsed.as_secs_f64() * 1000.0);
    }

    /// Takes a contender out of this row.
    pub fn drop_out(&mut self, who: Who, why: &anyhow::Error) {
        let text = format!("{why:#}");
        let last = text.lines().last().unwrap_or_default().to_owned();
        crate::report::say(&format!(
            "{} {}: {} is out: {text}",
            self.path,
            self.tree,
            who.name()
        ));
        self.ms.remove(&who);
        self.out.insert(who, last);
    }

    pub fn runs(&self, who: Who) -> usize {
        self.ms.get(&who).map_or(0, Vec::len)
    }

    pub fn median(&self, who: Who) -> Option<f64> {
        median(self.ms.get(&who)?)
    }

    /// The time of `other` relative to `who`: the median of the ratios of runs side by side.
    pub fn ratio(&self, other: Who, who: Who) -> Option<f64> {
        ratio(self.ms.get(&other)?, self.ms.get(&who)?)
    }
}

/// The median of the ratios of two series, pair by pair.
pub fn ratio(above: &[f64], below: &[f64]) -> Option<f64> {
    let pairs: Vec<f64> = above
        .iter()
        .zip(below)
        .map(|(above, below)| above / below)
        .collect();
    median(&pairs)
}

pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(sorted[middle - 1], upper)
    })
}
