//! Checks whether one path is as a checkpoint recorded it.

use std::io::{self, Read};

use crate::error::Result;
use crate::model::state::entry::RWX_BITS;
use crate::model::{Entry, Kind, ObjectId, RelPath, Stat};
use crate::worktree::WorkTree;
use crate::worktree::apply::rollback::is_same_after_rename;
use crate::worktree::sys::{self, Dir, ItemKind};

/// Returns the stat of `name` in `dir` if it is that of the staged file. A rename has changed the
/// ctime of a file that did not come with its directory.
pub fn stat_if_untouched(dir: &Dir, name: &[u8], staged: &Stat, with_dir: bool) -> Option<Stat> {
    let now = dir.stat_child(name).ok()?;
    let is_same = is_same_after_rename(&now, staged);
    (is_same && !(with_dir && now.ctime_ns != staged.ctime_ns)).then_some(now)
}

/// Compares kind, permission bits and content of `path`, given its parent `dir`; `hash` gets a
/// reader and its length in bytes. Returns the stat taken before reading if all is as expected.
/// Only the bits that the system keeps are compared: on some it is the owner's write bit alone.
///
/// # Errors
/// The path cannot be read, or `hash` failed.
pub fn check(
    work: &WorkTree,
    dir: &Dir,
    path: &RelPath,
    expected: &Entry,
    hash: &dyn Fn(&mut dyn Read, u64) -> Result<ObjectId>,
) -> Result<Option<Stat>> {
    let failed = |error: io::Error| work.io("read", path, error);
    if expected.kind == Kind::Symlink {
        let stat = match dir.stat_child(path.name()) {
            Ok(stat) if sys::kind_of(&stat) == ItemKind::Symlink => stat,
            Err(error) if !sys::is_absent(&error) => return Err(failed(error)),
            _ => return Ok(None),
        };
        let text = dir.read_link(path.name()).map_err(failed)?;
        return Ok((hash(&mut &*text, text.len() as u64)? == expected.id).then_some(stat));
    }
    let (mut file, stat) = match dir.open_file(path.name()) {
        Ok(opened) => opened,
        // Missing, a symlink, or otherwise no regular file.
        Err(error) if sys::is_absent(&error) || error.kind() == io::ErrorKind::InvalidInput => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let compared = if cfg!(unix) { RWX_BITS } else { 0o200 };
    if stat.perm() & compared != expected.perm & compared || stat.size_bytes != expected.size_bytes
    {
        return Ok(None);
    }
    Ok((hash(&mut file, stat.size_bytes)? == expected.id).then_some(stat))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::base::tests::place;
    use crate::error::Error;
    use crate::model::tests::path;

    /// Stands for a hash: the content itself, cut to the length of an id.
    fn content(reader: &mut dyn Read, _len: u64) -> Result<ObjectId> {
        let mut bytes = Vec::new();
        reader
            .read_to_end(&mut bytes)
            .map_err(Error::io("read", Path::new("f")))?;
        bytes.resize(20, 0);
        Ok(ObjectId::from_slice(&bytes).unwrap())
    }

    #[test]
    fn a_file_that_was_written_to_or_renamed_is_not_untouched() {
        let temp = place("staged/f=abc");
        let work = WorkTree::open(temp.path()).unwrap();
        let staged = work.stat(&path("staged/f")).unwrap().unwrap();
        std::fs::rename(temp.path().join("staged"), temp.path().join("d")).unwrap();
        let dir = work.dir(&path("d")).unwrap();
        let is = |name: &[u8], with_dir| stat_if_untouched(&dir, name, &staged, with_dir).is_some();
        assert!(is(b"f", true) && is(b"f", false) && !is(b"none", false));
        if cfg!(unix) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            std::fs::rename(temp.path().join("d/f"), temp.path().join("d/g")).unwrap();
            assert!(is(b"g", false) && !is(b"g", true));
        }
        std::fs::write(temp.path().join("d/g"), "abcd").unwrap();
        assert!(!is(b"g", false));
    }

    #[test]
    fn kind_mode_and_content_are_compared() {
        let temp = place("f=abc");
        let work = WorkTree::open(temp.path()).unwrap();
        let stat = work.stat(&path("f")).unwrap().unwrap();
        let id_of = |text: &str| content(&mut text.as_bytes(), 3).unwrap();
        let entry = Entry {
            kind: Kind::File,
            perm: stat.perm(),
            id: id_of("abc"),
            size_bytes: 3,
        };
        let is = |entry: Entry, at: &str| {
            let found = check(&work, work.root(), &path(at), &entry, &content);
            found.unwrap().is_some()
        };
        assert!(is(entry, "f") && !is(entry, "none"));
        let mut others = [entry; 4];
        others[0].kind = Kind::Symlink;
        others[1].perm ^= 0o200;
        others[2].size_bytes = 4;
        others[3].id = id_of("abd");
        for other in others {
            assert!(!is(other, "f"), "{other:?}");
        }
    }
}
