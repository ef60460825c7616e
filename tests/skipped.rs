//! Lists at the end of `cargo test` what integration tests skipped: passing ones print nothing.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

fn main() {
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    // The lists that `bench::skipped` writes.
    let lists = ["it", "siege"].map(|tests| {
        let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("skipped-{tests}"));
        let lines = std::fs::read_to_string(&list).unwrap_or_default();
        let _ = std::fs::remove_file(list);
        lines
    });
    let lines: BTreeSet<&str> = lists.iter().flat_map(|list| list.lines()).collect();
    if lines.is_empty() {
        return;
    }
    let mut said =
        "\nskipped, for want of what this machine does not have or was not asked for:\n".to_owned();
    for line in lines {
        said.extend(["  ", line, "\n"]);
    }
    let _ = std::io::stdout().write_all(said.as_bytes());
}
