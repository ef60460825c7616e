//! The user's directory through the library: scans, rules, reading and changing.

mod apply;
mod extend;
mod read;
mod rules;
mod scan;

use checkpoint::model::state::rel_path::RelPath;

fn path(text: &str) -> RelPath {
    RelPath::new(text.as_bytes()).unwrap()
}
