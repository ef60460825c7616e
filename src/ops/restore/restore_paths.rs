//! PATH arguments of a restore: literal names, relative to the root or absolute inside it, all
//! checked first.

use std::borrow::Cow;
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
    let typed = &*with_slashes(typed);
    let shown = || escape_bytes(typed);
    let wrong = |why: &str| Error::Usage {
        what: format!("PATH '{}' {why}", shown()),
    };
    if typed.is_empty() {
        return Err(wrong("is empty"));
    }
    let inside = if is_absolute(typed) {
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

/// Returns what was typed with `/` between names: Windows has two separators.
pub fn with_slashes(typed: &[u8]) -> Cow<'_, [u8]> {
    if cfg!(windows) {
        slashes(typed).into()
    } else {
        typed.into()
    }
}

fn slashes(typed: &[u8]) -> Vec<u8> {
    let of_byte = |byte: &u8| if *byte == b'\\' { b'/' } else { *byte };
    typed.iter().map(of_byte).collect()
}

/// Whether a path with `/` between names counts from the root of a file system.
fn is_absolute(typed: &[u8]) -> bool {
    let has_drive =
        cfg!(windows) && matches!(typed, [letter, b':', ..] if letter.is_ascii_alphabetic());
    typed.first() == Some(&b'/') || has_drive
}

fn below_root<'t>(root: &Root, typed: &'t [u8]) -> Option<&'t [u8]> {
    let under = |top: &Path| {
        let top = with_slashes(top.as_os_str().as_encoded_bytes());
        below(typed, top.strip_suffix(b"/").unwrap_or(&top), cfg!(windows))
    };
    under(root.path()).or_else(|| under(root.logical()?))
}

/// Returns what is left of a path below a directory, from the separator on.
fn below<'t>(typed: &'t [u8], top: &[u8], ignores_case: bool) -> Option<&'t [u8]> {
    let (start, rest) = typed.split_at_checked(top.len())?;
    let is_same = start == top || (ignores_case && start.eq_ignore_ascii_case(top));
    (is_same && (rest.is_empty() || rest[0] == b'/')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_windows_is_found_below_its_root_in_every_spelling() {
        for (typed, expected) in [
            (r"C:\p\a", Some("/a")),
            ("c:/P/a b", Some("/a b")),
            (r"C:\p", Some("")),
            (r"C:\pq", None),
            (r"D:\p\a", None),
            (r"C:", None),
        ] {
            let typed = slashes(typed.as_bytes());
            let found = below(&typed, b"C:/p", true);
            assert_eq!(found, expected.map(str::as_bytes));
        }
        assert_eq!(below(b"/P/a", b"/p", false), None);
    }
}
