//! Remembers which sessions are over the size gate, so that files are not counted again.

use crate::base::text::percent_encode;
use crate::store::Layout;
use crate::store::files::{atomic_file, read_regular};

/// Sessions remembered; the oldest are forgotten first and count again.
const REMEMBERED: usize = 64;

/// The inputs of a decision: the same session, limit and rules give the same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateKey {
    pub session: String,
    pub limit: u64,
    /// Digest of the rules that decide which files count.
    pub rules: u64,
}

impl GateKey {
    fn words(&self) -> String {
        format!(
            "{} {} {:016x}",
            percent_encode(self.session.as_bytes()),
            self.limit,
            self.rules
        )
    }
}

/// Whether this session is over the limit, if already decided.
pub fn recall(layout: &Layout, key: &GateKey) -> Option<bool> {
    let text = read_regular::read_text(&layout.size_gate()).ok()?;
    let prefix = format!("{} ", key.words());
    text.lines()
        .rev()
        .find_map(|line| line.strip_prefix(&prefix))
        .map(|verdict| verdict == "over")
}

/// Remembers a decision. A failure only costs another count and is not reported.
pub fn remember(layout: &Layout, key: &GateKey, over: bool) {
    let text = read_regular::read_text(&layout.size_gate()).unwrap_or_default();
    let words = key.words();
    let line = format!("{words} {}", if over { "over" } else { "under" });
    if text.lines().next_back() == Some(&line) {
        return;
    }
    let others: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with(&format!("{words} ")))
        .collect();
    let kept = &others[others.len().saturating_sub(REMEMBERED - 1)..];
    let text = kept
        .iter()
        .copied()
        .chain([line.as_str()])
        .flat_map(|line| [line, "\n"])
        .collect::<String>();
    let _ = atomic_file::replace_derived(&layout.own(), &layout.size_gate(), text.as_bytes());
}
