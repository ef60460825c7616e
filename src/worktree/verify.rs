//! Whether one path is what a checkpoint says.

use std::io::Read;

use crate::error::Result;
use crate::model::entry::{Entry, Kind, RWX_BITS};
use crate::model::object_id::ObjectId;
use crate::model::rel_path::RelPath;
use crate::worktree::sys::{self, Access, ItemKind};
use crate::worktree::tree_handle::WorkTree;

/// Compares kind, permission bits and content; `hash` is given a reader and how many bytes it yields.
/// Only the bits that the system keeps are compared: on some it is the owner's write bit alone.
///
/// # Errors
/// The path cannot be read, or `hash` failed.
pub fn check(
    work: &WorkTree,
    path: &RelPath,
    expected: &Entry,
    hash: &dyn Fn(&mut dyn Read, u64) -> Result<ObjectId>,
) -> Result<bool> {
    let Some(stat) = work.stat(path)? else { return Ok(false) };
    let kind = match sys::kind_of(&stat) {
        ItemKind::File => Kind::File,
        ItemKind::Symlink => Kind::Symlink,
        _ => return Ok(false),
    };
    if kind != expected.kind {
        return Ok(false);
    }
    let parent = path.parent().unwrap_or_default();
    let dir = work.root().open_below(&parent, Access::Search).map_err(|error| work.io("open", &parent, error))?;
    if kind == Kind::Symlink {
        let text = dir.read_link(path.name()).map_err(|error| work.io("read", path, error))?;
        return Ok(hash(&mut &*text, text.len() as u64)? == expected.id);
    }
    let compared = if cfg!(unix) { RWX_BITS } else { 0o200 };
    if stat.perm() & compared != expected.perm & compared || stat.size_bytes != expected.size_bytes {
        return Ok(false);
    }
    let (mut file, stat) = dir.open_file(path.name()).map_err(|error| work.io("read", path, error))?;
    Ok(hash(&mut file, stat.size_bytes)? == expected.id)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and break files directly")]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::Error;

    /// Stands for a hash: the content itself, cut to the length of an id.
    fn content(reader: &mut dyn Read, _len: u64) -> Result<ObjectId> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(Error::io("read", Path::new("f")))?;
        bytes.resize(20, 0);
        Ok(ObjectId::from_slice(&bytes).unwrap())
    }

    #[test]
    fn kind_mode_and_content_are_compared() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("f"), "abc").unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let path = RelPath::new(b"f").unwrap();
        let stat = work.stat(&path).unwrap().unwrap();
        let id = content(&mut b"abc".as_slice(), 3).unwrap();
        let entry = Entry { kind: Kind::File, perm: stat.perm(), id, size_bytes: 3 };
        let is = |entry: Entry, at: &RelPath| check(&work, at, &entry, &content).unwrap();
        assert!(is(entry, &path));
        assert!(!is(Entry { kind: Kind::Symlink, ..entry }, &path));
        assert!(!is(Entry { perm: entry.perm ^ 0o200, ..entry }, &path));
        assert!(!is(Entry { size_bytes: 4, ..entry }, &path));
        assert!(!is(Entry { id: content(&mut b"abd".as_slice(), 3).unwrap(), ..entry }, &path));
        assert!(!is(entry, &RelPath::new(b"none").unwrap()));
    }
}
