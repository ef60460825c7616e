//! PATH arguments: literal names, relative to the current directory or absolute inside the root, all
//! checked first; and patterns, which begin there too.

use std::borrow::Cow;
use std::path::Path;

use crate::base::text::escape_bytes;
use crate::error::{Code, Error, Result, behind_link};
use crate::model::RelPath;
use crate::model::state::rel_path::is_dot_git;
use crate::worktree::root::canonical;
use crate::worktree::sys::{ItemKind, kind_of};
use crate::worktree::{Root, WorkTree};

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

/// Returns a path typed in the current directory as it is called in the root; what lies outside
/// stays as it is.
pub fn from_root(root: &Root, typed: &str) -> String {
    let inside = parse_one(root, typed.as_bytes()).ok();
    let inside = inside.filter(|_| !root.current().is_root());
    inside.map_or_else(
        || typed.to_owned(),
        |path| String::from_utf8_lossy(path.as_bytes()).into_owned(),
    )
}

/// Limits that these paths set: naming the root means everything, like naming no path.
pub fn limits(paths: Vec<RelPath>) -> Vec<RelPath> {
    if paths.iter().any(RelPath::is_root) {
        Vec::new()
    } else {
        paths
    }
}

/// Parses one path as typed by the user.
pub fn parse_one(root: &Root, typed: &[u8]) -> Result<RelPath> {
    let typed = &*with_slashes(typed);
    let shown = || escape_bytes(typed);
    let wrong = |why: &str| Error::usage(format!("PATH '{}' {why}", shown()));
    if typed.is_empty() {
        return Err(wrong("is empty"));
    }
    let (mut path, names) = if is_absolute(typed) {
        let inside = below_root(root, typed).ok_or_else(|| wrong("lies outside the root"))?;
        (RelPath::root(), inside)
    } else {
        (root.current().clone(), typed)
    };
    let mut left = Vec::new();
    for name in split(names).filter(|name| !matches!(*name, [] | [b'.'])) {
        if name == b".." {
            // Of `SEL:dir/../file` with a mistyped SEL, the file would be left.
            if path.name().contains(&b':') {
                return Err(wrong("has '..' in it"));
            }
            let above = path.parent();
            let above = above.ok_or_else(|| wrong("has '..' in it and leads out of the root"))?;
            left.push(std::mem::replace(&mut path, above));
        } else if is_dot_git(name) {
            return Err(Error::dot_git_path(&shown()));
        } else {
            let name = RelPath::new(name).map_err(|why| wrong(&why.to_string()))?;
            path = path.join_all(&name);
        }
    }
    if path.components().any(is_dot_git) {
        return Err(Error::dot_git_path(&shown()));
    }
    // Behind a link, `..` is another directory than the one that was named before it.
    left.iter()
        .try_for_each(|dir| refuse_linked(root, dir, &|_| false))?;
    if typed.ends_with(b"/") || typed.ends_with(b"/.") {
        refuse_linked(root, &path, &|_| false)?;
    }
    Ok(path)
}

/// Refuses a path at or behind a symlink, as no checkpoint holds under that name what it leads to,
/// unless that `is_held` by its own.
///
/// # Errors
/// `linked_path`, with that name.
pub fn refuse_linked(
    root: &Root,
    path: &RelPath,
    is_held: &dyn Fn(&RelPath) -> bool,
) -> Result<()> {
    let Ok(work) = WorkTree::open_root(root) else {
        return Ok(());
    };
    let is_link = |path: &RelPath| {
        let found = work.stat(path).ok().flatten();
        found.is_some_and(|found| kind_of(&found) == ItemKind::Symlink)
    };
    let Some(link) = path.self_and_ancestors().filter(is_link).last() else {
        return Ok(());
    };
    // What is named may not exist yet.
    let rest = path.components().skip(link.components().count());
    let from_link = || {
        let top = canonical(&work.shown(&link)).ok()?;
        let below = rest.map(|name| String::from_utf8_lossy(name).into_owned());
        Some(below.fold(top, |above, name| above.join(name)))
    };
    let there = canonical(&work.shown(path)).ok().or_else(from_link);
    let below = there
        .as_ref()
        .and_then(|there| there.strip_prefix(root.path()).ok());
    let behind = below
        .and_then(|below| RelPath::new(&with_slashes(below.as_os_str().as_encoded_bytes())).ok());
    if (link == *path && there.is_none()) || behind.as_ref().is_some_and(is_held) {
        return Ok(());
    }
    let behind = behind_link(behind.as_ref());
    let what = format!(
        "'{path}' leads through the symlink {link}, and a checkpoint holds only the link; {behind}"
    );
    Err(Error::new(Code::LINKED_PATH, what))
}

fn split(typed: &[u8]) -> impl Iterator<Item = &[u8]> {
    typed.split(|byte| *byte == b'/')
}

/// Follows `..` at the beginning of what was typed upwards from the current directory; returns the
/// names that are left. `None` if it leads out of the root.
fn climbed<'t>(root: &Root, typed: &'t [u8]) -> Option<(RelPath, Vec<&'t [u8]>)> {
    let mut above = root.current().clone();
    let mut names = split(typed).peekable();
    while let Some(name) = names.next_if(|name| matches!(*name, b"." | b"..")) {
        if name == b".." {
            above = above.parent()?;
        }
    }
    Some((above, names.collect()))
}

/// Returns a pattern as it is from the root on: `/root/src/*.rs` becomes `/src/*.rs`, and in `src`
/// `*.rs` matches below it alone.
pub fn pattern<'t>(root: &Root, typed: &'t [u8]) -> Cow<'t, [u8]> {
    if let Some(inside) = below_root(root, typed) {
        return inside.into();
    }
    let is_of_root = root.current().is_root() || typed.starts_with(b"/");
    let Some((above, names)) = climbed(root, typed).filter(|_| !is_of_root) else {
        return typed.into();
    };
    let above = escaped(&above);
    let is_name = matches!(&*names, [_] | [_, b""]);
    let start = [&*above].into_iter().filter(|above| !above.is_empty());
    let start = start.chain(is_name.then_some(&b"**"[..]));
    start.chain(names).collect::<Vec<_>>().join(&b'/').into()
}

/// Returns what begins with a slash, but lies outside the root, as counted from the root.
pub fn anchored<'t>(root: &Root, typed: &'t [u8]) -> Cow<'t, [u8]> {
    if !typed.starts_with(b"/") || below_root(root, typed).is_some() {
        return typed.into();
    }
    [root.path().as_os_str().as_encoded_bytes(), typed]
        .concat()
        .into()
}

/// Returns a pattern that matches a path alone.
pub fn escaped(path: &RelPath) -> Vec<u8> {
    let escaped = |byte: &u8| match byte {
        b'*' | b'?' | b'[' | b']' | b'\\' => vec![b'\\', *byte],
        byte => vec![*byte],
    };
    path.as_bytes().iter().flat_map(escaped).collect()
}

/// Returns a path as it is called in the current directory.
pub fn from_here(root: &Root, path: &RelPath) -> Vec<u8> {
    let here = || root.current().components();
    let pairs = here().zip(path.components());
    let shared = pairs.take_while(|(one, other)| one == other).count();
    let up = here().skip(shared).map(|_| &b".."[..]);
    let parts: Vec<&[u8]> = up.chain(path.components().skip(shared)).collect();
    match parts.as_slice() {
        [] => b".".to_vec(),
        parts => parts.join(&b'/'),
    }
}

/// As [`from_here`], to be typed: no list and no option.
pub fn as_typed(root: &Root, path: &RelPath) -> Vec<u8> {
    let path = from_here(root, path);
    let is_plain = !path.starts_with(b"@") && !path.starts_with(b"-");
    [if is_plain { &b""[..] } else { b"./" }, &path].concat()
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
