//! Lists at the end of `cargo test` what integration tests skipped: passing ones print nothing.

use std::io::Write as _;

/// Path of the list that `bench::skipped` writes.
const LIST: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/skipped");

fn main() {
    let is_asked_for_names = std::env::args().any(|arg| arg == "--list");
    let Some(list) = std::fs::read_to_string(LIST)
        .ok()
        .filter(|_| !is_asked_for_names)
    else {
        return;
    };
    let lines: std::collections::BTreeSet<&str> = list.lines().collect();
    let mut said =
        "\nskipped, for want of what this machine does not have or was not asked for:\n".to_owned();
    for line in lines {
        said.extend(["  ", line, "\n"]);
    }
    let _ = std::io::stdout().write_all(said.as_bytes());
    let _ = std::fs::remove_file(LIST);
}
