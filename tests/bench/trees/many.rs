//! Tree d: 300,000 files, several copies of tree b under names of their own.

use std::path::Path;

use anyhow::Result;

use super::{captured, make as make_tree};
use crate::args::Args;
use crate::place::{self, Place};

pub fn make(root: &Path, args: &Args, place: &Place, list: &Path) -> Result<String> {
    // Makes tree b if need be.
    let b = make_tree('b', args, place, list)?;
    let wanted = if args.small {
        2 * b.captured.len()
    } else {
        300_000
    };
    let copies = wanted.div_ceil(captured(&b.root, list)?.len());
    for number in 0..copies {
        let to = root.join(format!("copy-{number}"));
        let mut from = Vec::new();
        for entry in std::fs::read_dir(&b.root)? {
            let entry = entry?;
            if entry.file_name() != "node_modules" {
                from.push(entry.path());
            }
        }
        place::copy(&from, &to)?;
    }
    Ok(format!("{copies} copies of tree b"))
}
