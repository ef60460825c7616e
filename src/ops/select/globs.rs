//! Parses `--glob` and `--exclude`.

use std::path::Path;

use crate::base::text::escape_bytes;
use crate::error::{Error, Result};
use crate::model::{PathFilter, Scope, ScopePart};
use crate::ops::restore::restore_paths;
use crate::worktree::Root;

/// Patterns as typed.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    pub only: Vec<Vec<u8>>,
    pub except: Vec<Vec<u8>>,
}

impl Globs {
    /// # Errors
    /// A pattern can match nothing.
    pub fn parse(&self, root: &Root) -> Result<PathFilter> {
        let part = |typed: &Vec<u8>| {
            let typed = &*restore_paths::with_slashes(typed);
            check_is_inside(root, typed)?;
            let whole = &*restore_paths::pattern(root, typed);
            let names_something = |typed: &[u8]| !matches!(typed, b"" | b"." | b"./" | b"/");
            let glob = ScopePart::glob(whole);
            glob.filter(|_| names_something(typed) && names_something(whole))
                .ok_or_else(|| {
                    Error::usage(format!(
                        "the pattern '{}' can match nothing",
                        escape_bytes(typed)
                    ))
                })
        };
        let scope = |typed: &[Vec<u8>]| -> Result<Option<Scope>> {
            let parts = typed.iter().map(part).collect::<Result<Vec<_>>>()?;
            Ok((!parts.is_empty()).then(|| Scope::new(parts)))
        };
        let (only, except) = (scope(&self.only)?, scope(&self.except)?);
        Ok(PathFilter { only, except })
    }
}

/// Refuses a pattern of another place, which would silently match nothing. One that begins with a
/// slash counts from the root, unless it is the path of something else.
fn check_is_inside(root: &Root, typed: &[u8]) -> Result<()> {
    let wrong = |why: &str| Error::usage(format!("the pattern '{}' {why}", escape_bytes(typed)));
    if typed.starts_with(b"!") {
        return Err(wrong(
            "begins with !: --exclude leaves paths out, and \\! is the sign itself",
        ));
    }
    let from_root = restore_paths::pattern(root, typed);
    if from_root
        .split(|byte| *byte == b'/')
        .any(|name| name == b"..")
    {
        return Err(wrong("has '..' in it"));
    }
    let Some(rest) = typed.strip_prefix(b"/").filter(|_| *from_root == *typed) else {
        return Ok(());
    };
    let first = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
    // On some systems not every name is possible.
    let first = std::str::from_utf8(first).unwrap_or_default();
    let is_there = |dir: &Path| !first.is_empty() && dir.join(first).symlink_metadata().is_ok();
    if is_there(Path::new("/")) && !is_there(root.path()) {
        return Err(wrong(
            "lies outside the root; from the root on, leave out the first slash",
        ));
    }
    Ok(())
}
