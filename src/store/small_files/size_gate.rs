//! Remembers which sessions are over the size gate, so that files are not counted again.

use crate::base::json::{self, Deserialize, Serialize};
use crate::store::Layout;
use crate::store::files::{atomic_file, read_regular};

/// Sessions remembered; the oldest are forgotten first and count again.
const REMEMBERED: usize = 64;

/// The inputs of a decision: the same session, limit and rules give the same answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateKey {
    pub session: String,
    pub limit: u64,
    /// Digest of the rules that decide which files count.
    pub rules: u64,
}

/// Decisions, the latest last; each says whether the session is over the limit.
fn decided(layout: &Layout) -> Vec<(GateKey, bool)> {
    let text = read_regular::read(&layout.size_gate()).unwrap_or_default();
    json::read(&text).unwrap_or_default()
}

/// Whether this session is over the limit, if already decided.
pub fn recall(layout: &Layout, key: &GateKey) -> Option<bool> {
    let mut decided = decided(layout).into_iter();
    decided.find_map(|(known, over)| (known == *key).then_some(over))
}

/// Remembers a decision. A failure only costs another count and is not reported.
pub fn remember(layout: &Layout, key: &GateKey, over: bool) {
    let mut decided = decided(layout);
    let latest = (key.clone(), over);
    if decided.last() == Some(&latest) {
        return;
    }
    decided.retain(|(known, _)| known != key);
    decided.drain(..(decided.len() + 1).saturating_sub(REMEMBERED));
    decided.push(latest);
    let text = json::document(&decided, false);
    let _ = atomic_file::replace_derived(&layout.own(), &layout.size_gate(), text.as_bytes());
}
