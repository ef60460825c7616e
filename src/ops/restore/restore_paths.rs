//! PATH arguments of a restore: literal names, relative to the root or absolute inside it, all
//! checked first.

use std::path::Path;

use crate::base::text::escape_bytes;
use crate::error::{Error, Result};
use crate::model::state::rel_path::{RelPath, is_dot_git};
use crate::worktree::root::Root;

/// Parses paths as typed by the user.
pub fn parse(root: &Root, typed: &[Vec<u8>]) -> Result<Vec<RelPath>> {
    let mut paths = typed
        .iter()
        .map(|path| parse_one(root, path))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Limits that these paths set: naming the root means everything, like naming no path.
pub fn limits(paths: Vec<RelPath>) -> Vec<RelPath> {
    if paths.iter().any(RelPath::is_root) {
        Vec::new()
    } else {
        paths
    }
}

fn parse_one(root: &Root, typed: &[u8]) -> Result<RelPath> {
    #[cfg(windows)]
    let typed = &*typed
        .iter()
        .map(|b| if *b == b'\\' { b'/' } else { *b })
        .collect::<Vec<u8>>();
    let shown = || escape_bytes(typed);
    let wrong = |why: &str| Error::Usage {
        what: format!("PATH '{}' {why}", shown()),
    };
    if typed.is_empty() {
        return Err(wrong("is empty"));
    }
    let inside = if typed[0] == b'/' {
        below_root(root, typed).ok_or_else(|| wrong("lies outside the root"))?
    } else {
        typed
    };
    let names: Vec<&[u8]> = inside
        .split(|b| *b == b'/')
        .filter(|name| !matches!(**name, [] | [b'.']))
        .collect();
    if names.contains(&b"..".as_slice()) {
        return Err(wrong("has '..' in it"));
    }
    if names.iter().any(|name| is_dot_git(name)) {
        return Err(Error::DotGitPath { path: shown() });
    }
    RelPath::new(&names.join(&b'/')).map_err(|why| wrong(&why.to_string()))
}

/// Strips the root from what was typed: `/root/src/*.rs` becomes `/src/*.rs`.
pub fn inside<'t>(root: &Root, typed: &'t [u8]) -> &'t [u8] {
    below_root(root, typed).unwrap_or(typed)
}

fn below_root<'t>(root: &Root, typed: &'t [u8]) -> Option<&'t [u8]> {
    let under = |top: &Path| {
        let rest = typed.strip_prefix(top.as_os_str().as_encoded_bytes())?;
        (rest.is_empty() || rest[0] == b'/').then_some(rest)
    };
    under(root.path()).or_else(|| under(root.logical()?))
}
