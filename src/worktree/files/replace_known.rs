//! Compare-and-swap for files that another process may be writing at the same time.

use std::io::{self, ErrorKind, Read as _};

use crate::base::random_name::random_hex;
use crate::error::Result;
use crate::model::RelPath;
use crate::worktree::WorkTree;
use crate::worktree::files::state_file::{
    LARGEST_STATE_FILE_BYTES, TEMPORARY_PREFIX, make_parent, open_parent, stat_regular, sweep,
    write_aside,
};
use crate::worktree::sys::Dir;

/// Replaces or makes a file if it still holds `known` (`None`: does not exist); otherwise returns
/// `false` and changes nothing. Concurrent writes of others are detected or replace ours.
///
/// # Errors
/// As [`super::state_file::replace`].
pub fn replace_known(
    work: &WorkTree,
    path: &RelPath,
    known: Option<&[u8]>,
    bytes: &[u8],
) -> Result<bool> {
    let failed = |error| work.io("write", path, error);
    let dir = make_parent(work, path)?;
    let before = stat_regular(work, &dir, path)?;
    if before.is_some() != known.is_some() {
        return Ok(false);
    }
    sweep(&dir).map_err(failed)?;
    let temporary = [TEMPORARY_PREFIX, random_hex().as_bytes()].concat();
    let done = write_aside(&dir, &temporary, before.as_ref(), bytes)
        .and_then(|()| exchange_known(&dir, &temporary, path.name(), known))
        .and_then(|is_done| dir.sync().map(|()| is_done));
    // By now the replaced file, or ours if it was not placed.
    let _ = dir.unlink(&temporary);
    done.map_err(failed)
}

/// Exchanges `ours` with a file that should hold `known`; returns whether it did. The file taken
/// out is checked afterwards, as another process may have written between check and rename.
fn exchange_known(dir: &Dir, ours: &[u8], name: &[u8], known: Option<&[u8]>) -> io::Result<bool> {
    let Some(known) = known else {
        return match dir.rename_no_replace(ours, dir, name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            done => done.map(|()| true),
        };
    };
    match dir.rename_exchange(ours, dir, name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        done => done?,
    }
    let is_known = holds(dir, ours, known);
    if !matches!(is_known, Ok(true)) {
        dir.rename_exchange(ours, dir, name)?;
    }
    is_known
}

fn holds(dir: &Dir, name: &[u8], known: &[u8]) -> io::Result<bool> {
    let (file, _) = dir.open_file(name)?;
    let mut found = Vec::new();
    file.take(LARGEST_STATE_FILE_BYTES)
        .read_to_end(&mut found)?;
    Ok(found == known)
}

/// Removes a file if it still holds `known`; otherwise it stays and `false` is returned.
///
/// # Errors
/// As [`super::state_file::remove`].
pub fn remove_known(work: &WorkTree, path: &RelPath, known: &[u8]) -> Result<bool> {
    let failed = |error| work.io("remove", path, error);
    let Some(dir) = open_parent(work, path)? else {
        return Ok(true);
    };
    let aside = [TEMPORARY_PREFIX, random_hex().as_bytes()].concat();
    match dir.rename_no_replace(path.name(), &dir, &aside) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        done => done.map_err(failed)?,
    }
    let is_known = holds(&dir, &aside, known);
    if !matches!(is_known, Ok(true)) {
        match dir.rename_no_replace(&aside, &dir, path.name()) {
            // Another process wrote the file again; its version is newer.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => done.map_err(failed)?,
        }
    }
    let _ = dir.unlink(&aside);
    dir.sync().and(is_known).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let (path, at) = (
            RelPath::new(b"a/state.json").unwrap(),
            temp.path().join("a/state.json"),
        );
        let write = |known: Option<&str>, bytes: &str| {
            let is_done =
                replace_known(&work, &path, known.map(str::as_bytes), bytes.as_bytes()).unwrap();
            assert_eq!(
                std::fs::read_dir(temp.path().join("a")).unwrap().count(),
                usize::from(at.exists())
            );
            (is_done, std::fs::read_to_string(&at).unwrap_or_default())
        };
        assert_eq!(write(Some("x"), "one"), (false, String::new()));
        assert_eq!(write(None, "one"), (true, "one".into()));
        assert_eq!(write(None, "two"), (false, "one".into()));
        assert_eq!(write(Some("other"), "two"), (false, "one".into()));
        assert_eq!(write(Some("one"), "two"), (true, "two".into()));
        assert!(!remove_known(&work, &path, b"one").unwrap() && at.exists());
        assert!(remove_known(&work, &path, b"two").unwrap() && !at.exists());
        assert!(remove_known(&work, &path, b"two").unwrap());
    }
}
