//! The oracle of exit code 0: the directory is the target of the restore, except for named paths
//! that have to stay.

use std::collections::BTreeSet;

use crate::bench::{Run, Tree};

/// Prefix of a restore's line about a path it left, with the reason after a colon.
const LEFT: &str = "left unchanged: ";

/// # Errors
/// A difference that is not named, or that a checkpoint could have held.
pub fn reached(target: &Tree, now: &Tree, run: &Run) -> Result<(), String> {
    let left: BTreeSet<&[u8]> = run
        .stderr
        .lines()
        .filter_map(left_alone)
        .map(str::as_bytes)
        .collect();
    for (path, node) in &now.nodes {
        let is_right = match target.nodes.get(path) {
            Some(wanted) => wanted == node,
            // Each of these restores prints something: if nothing arrived, stderr failed.
            None => node.is_dir() && (left.contains(&path[..]) || run.stderr.is_empty()),
        };
        if !is_right {
            return Err(format!(
                "{} is not what was restored: {run}",
                path.escape_ascii()
            ));
        }
    }
    match target
        .nodes
        .keys()
        .find(|path| !now.nodes.contains_key(*path))
    {
        Some(path) => Err(format!("{} did not come back: {run}", path.escape_ascii())),
        None => Ok(()),
    }
}

fn left_alone(line: &str) -> Option<&str> {
    line.trim_start()
        .strip_prefix(LEFT)?
        .rsplit_once(": ")
        .map(|(path, _)| path)
}
