//! Scenarios whose store has enough checkpoints that refs are packed.

use crate::field::Field;
use crate::scenario::{made, three_states};

/// Number of refs of checkpoints that may be files.
const MOST_LOOSE: usize = 128;
/// How many of them a prune drops beside the first three, and their reason.
const OLD_ONES: usize = 16;
pub const OLD: &str = "old";

/// A store in which the next checkpoint is the one too many.
pub fn about_to_pack(field: &Field) {
    fill(field, MOST_LOOSE);
    assert!(!packed_refs(field).exists(), "it is too early");
}

/// A store with packed refs, and a directory that differs from each checkpoint.
pub fn packed(field: &Field) {
    fill(field, MOST_LOOSE + 1);
    assert!(packed_refs(field).exists(), "its refs are packed");
}

fn fill(field: &Field, count: usize) {
    let config = field.home().join(".config/checkpoint");
    std::fs::create_dir_all(&config).expect("a directory");
    let settings = "keep = 1000\ndedup_window = \"0s\"\n";
    std::fs::write(config.join("config.toml"), settings).expect("settings");
    three_states(field);
    for number in 3..count {
        field.write("d0/number", number.to_string());
        let is_old = number < 3 + OLD_ONES;
        made(field, if is_old { OLD } else { "more" });
    }
    field.write("d3/text", "edited");
    field.write("later", "later");
}

fn packed_refs(field: &Field) -> std::path::PathBuf {
    field.store().join("packed-refs")
}
