//! Tree objects: encoding and parsing. Reads no store.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::io::Write as _;

use crate::base::Malformed;
use crate::base::text::escape_bytes;
use crate::model::ObjectId;
use crate::model::state::rel_path::is_dot_git;

pub const MODE_FILE: u32 = 0o100_644;
pub const MODE_EXECUTABLE: u32 = 0o100_755;
pub const MODE_SYMLINK: u32 = 0o120_000;
pub const MODE_DIRECTORY: u32 = 0o40_000;
/// A gitlink: the commit of a nested repository, which plain git records.
pub const MODE_GITLINK: u32 = 0o160_000;
/// Group-writable file, as written by the first versions of git.
const MODE_FILE_OLD: u32 = 0o100_664;

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Git's mode: `100644`, `100755`, `120000`, `40000`, `160000` (octal).
    pub mode: u32,
    /// One component, any bytes but `/` and NUL.
    pub name: Box<[u8]>,
    pub id: ObjectId,
}

impl TreeEntry {
    pub fn is_directory(&self) -> bool {
        self.mode == MODE_DIRECTORY
    }
}

/// Encodes a tree; sorts the entries in git's order.
pub fn encode(entries: &mut [TreeEntry]) -> Vec<u8> {
    entries.sort_unstable_by(in_git_order);
    let len = entries.iter().map(|entry| entry.name.len() + 28).sum();
    let mut tree = Vec::with_capacity(len);
    for entry in entries {
        // Writing to a vector cannot fail.
        let _ = write!(tree, "{:o} ", entry.mode);
        tree.extend_from_slice(&entry.name);
        tree.push(0);
        tree.extend_from_slice(entry.id.as_bytes());
    }
    tree
}

fn in_git_order(a: &TreeEntry, b: &TreeEntry) -> Ordering {
    compare((&a.name, a.is_directory()), (&b.name, b.is_directory()))
}

/// Compares two names bytewise, with `/` appended to a directory's name.
fn compare((a, a_is_dir): (&[u8], bool), (b, b_is_dir): (&[u8], bool)) -> Ordering {
    let common = a.len().min(b.len());
    let next = |name: &[u8], is_dir: bool| name.get(common).copied().or(is_dir.then_some(b'/'));
    a[..common]
        .cmp(&b[..common])
        .then_with(|| next(a, a_is_dir).cmp(&next(b, b_is_dir)))
        .then_with(|| a.cmp(b))
}

/// Finds the entry of a name in a tree returned by [`parse`].
pub fn find<'t>(tree: &'t [TreeEntry], name: &[u8]) -> Option<&'t TreeEntry> {
    let found = |is_dir| {
        let at = tree
            .binary_search_by(|entry| compare((&entry.name, entry.is_directory()), (name, is_dir)))
            .ok()?;
        tree.get(at)
    };
    found(false).or_else(|| found(true))
}

/// Parses a tree strictly: a result can be written below a directory without leaving it.
///
/// # Errors
/// Says what is wrong: truncated, unknown mode, a name that is empty, `.`, `..`, contains `/` or
/// means `.git` on some file system, a duplicate name, or the wrong order.
pub fn parse(tree: &[u8]) -> Result<Vec<TreeEntry>, Malformed> {
    let mut entries: Vec<TreeEntry> = Vec::with_capacity(tree.len() / 32);
    let mut rest = tree;
    while !rest.is_empty() {
        let (line, tail) = split_line(rest)?;
        check_name(line.name)?;
        let entry = TreeEntry {
            mode: line.mode,
            name: line.name.into(),
            id: line.id,
        };
        if entries
            .last()
            .is_some_and(|last| in_git_order(last, &entry) != Ordering::Less)
        {
            return Err(format!(
                "the tree entry '{}' is out of order",
                escape_bytes(&entry.name)
            )
            .into());
        }
        entries.push(entry);
        rest = tail;
    }
    check_unique(&entries)?;
    Ok(entries)
}

/// An entry borrowed from a tree. Its name is unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLine<'t> {
    pub mode: u32,
    pub name: &'t [u8],
    pub id: ObjectId,
}

/// Iterates over the entries of a tree, for callers that only follow ids: names and order are not
/// checked. Ends after the first error, a message.
pub fn lines(tree: &[u8]) -> impl Iterator<Item = Result<TreeLine<'_>, Malformed>> {
    let mut rest = tree;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let split = split_line(rest);
        rest = split.as_ref().map_or(&[], |(_, tail)| tail);
        Some(split.map(|(line, _)| line))
    })
}

fn split_line(bytes: &[u8]) -> Result<(TreeLine<'_>, &[u8]), Malformed> {
    const CUT: &str = "the tree is cut short";
    let blank = bytes
        .iter()
        .take(8)
        .position(|b| *b == b' ')
        .ok_or("a tree entry has no mode")?;
    let mode = parse_mode(&bytes[..blank])?;
    let rest = &bytes[blank + 1..];
    let nul = rest.iter().position(|b| *b == 0).ok_or(CUT)?;
    let (id, tail) = rest[nul + 1..].split_at_checked(20).ok_or(CUT)?;
    let id = ObjectId::from_slice(id).ok_or(CUT)?;
    Ok((
        TreeLine {
            mode,
            name: &rest[..nul],
            id,
        },
        tail,
    ))
}

fn parse_mode(digits: &[u8]) -> Result<u32, Malformed> {
    let mode = match digits {
        [] | [b'0', ..] => None,
        digits => digits.iter().try_fold(0_u32, |mode, digit| {
            matches!(digit, b'0'..=b'7').then(|| mode * 8 + u32::from(digit - b'0'))
        }),
    };
    match mode {
        Some(
            known @ (MODE_FILE | MODE_EXECUTABLE | MODE_SYMLINK | MODE_DIRECTORY | MODE_GITLINK
            | MODE_FILE_OLD),
        ) => Ok(known),
        _ => Err(format!("the tree has the unknown mode '{}'", escape_bytes(digits)).into()),
    }
}

fn check_name(name: &[u8]) -> Result<(), Malformed> {
    let bad = matches!(name, b"" | b"." | b"..") || name.contains(&b'/') || is_dot_git(name);
    if bad {
        Err(format!("the tree has the forbidden name '{}'", escape_bytes(name)).into())
    } else {
        Ok(())
    }
}

/// Checks that no name is used twice: a file and a directory of one name need not be neighbours in
/// git's order.
fn check_unique(entries: &[TreeEntry]) -> Result<(), Malformed> {
    if !entries.iter().any(TreeEntry::is_directory) {
        return Ok(());
    }
    let mut seen = HashSet::with_capacity(entries.len());
    match entries.iter().find(|entry| !seen.insert(&*entry.name)) {
        Some(twice) => Err(format!("the tree has '{}' twice", escape_bytes(&twice.name)).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(mode: u32, name: &[u8]) -> TreeEntry {
        TreeEntry {
            mode,
            name: name.into(),
            id: ObjectId::from_bytes([7; 20]),
        }
    }

    fn raw(entries: &[(&str, &[u8])]) -> Vec<u8> {
        entries
            .iter()
            .flat_map(|(mode, name)| [mode.as_bytes(), b" ", name, b"\0", &[7; 20]].concat())
            .collect()
    }

    #[test]
    fn directories_sort_as_if_they_ended_in_a_slash() {
        let mut entries = vec![
            entry(MODE_FILE, b"a0"),
            entry(MODE_DIRECTORY, b"a"),
            entry(MODE_FILE, b"a.b"),
            entry(MODE_FILE, b"\xff"),
            entry(MODE_SYMLINK, b"B"),
        ];
        let tree = encode(&mut entries);
        let names: Vec<_> = entries.iter().map(|e| &*e.name).collect();
        assert_eq!(names, [b"B".as_slice(), b"a.b", b"a", b"a0", b"\xff"]);
        assert_eq!(parse(&tree).unwrap(), entries);
        for entry in &entries {
            assert_eq!(find(&entries, &entry.name), Some(entry));
        }
        for name in [&b""[..], b"a.", b"a/", b"a1", b"b", b"\xff\xff"] {
            assert_eq!(find(&entries, name), None, "{name:?}");
        }
    }

    #[test]
    fn names_that_could_lead_out_of_a_directory_are_refused() {
        let names = "|.|..|a/b|.git|.GIT|git~1|.git |.git::$INDEX_ALLOCATION|.g\u{200c}it";
        for name in names.split('|') {
            let tree = raw(&[("100644", name.as_bytes())]);
            assert!(parse(&tree).is_err(), "{name:?}");
        }
        assert!(parse(&raw(&[("100644", b".gitignore")])).is_ok());
    }

    #[test]
    fn what_git_would_not_write_is_refused() {
        for tree in [
            raw(&[("100644", b"b"), ("100644", b"a")]),
            raw(&[("100644", b"a"), ("100644", b"a")]),
            raw(&[("100644", b"a"), ("100644", b"a.b"), ("40000", b"a")]),
            raw(&[("040000", b"a")]),
            raw(&[("100600", b"a")]),
            raw(&[("", b"a")]),
            raw(&[("10064x", b"a")]),
            b"100644 a".to_vec(),
            b"100644 a\0short".to_vec(),
            b"garbage".to_vec(),
            vec![0; 40],
        ] {
            assert!(parse(&tree).is_err(), "{}", escape_bytes(&tree));
        }
        assert_eq!(parse(b"").unwrap(), []);
    }
}
