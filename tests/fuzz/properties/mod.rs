//! What must hold of whatever bytes reach a reader of ours: one check for each target, which panics where it does not.
//!
//! The fuzzer calls them with what it makes up, `tests/it/fuzz_corpus.rs` with the committed corpus.

mod delta;
mod draw;
mod ignore;
mod journal;
mod manifest;
mod message;
mod meta;
mod naive_glob;
mod pack;
mod pack_index;
mod selector;
mod stat_cache;
mod terminal;
mod tree;

pub type Check = fn(&[u8]);

/// Each target by its name, which is also that of its corpus.
pub const TARGETS: [(&str, Check); 12] = [
    ("delta", delta::check),
    ("ignore", ignore::check),
    ("journal", journal::check),
    ("manifest", manifest::check),
    ("message", message::check),
    ("meta", meta::check),
    ("pack", pack::check),
    ("pack_index", pack_index::check),
    ("selector", selector::check),
    ("stat_cache", stat_cache::check),
    ("terminal", terminal::check),
    ("tree", tree::check),
];

/// The check of a target.
///
/// # Panics
/// There is no target of that name, or the check fails.
pub fn check(target: &str, data: &[u8]) {
    let found = TARGETS.iter().find(|(name, _)| *name == target);
    found.unwrap_or_else(|| panic!("no target {target}")).1(data);
}
