//! Private directories in the working directory, reached through no symlink, logs in them, and new
//! empty files.

use std::io::{ErrorKind, Write as _};

use crate::error::Result;
use crate::model::RelPath;
use crate::worktree::WorkTree;
use crate::worktree::sys::{Access, Dir, invalid, is_absent, stat_file};

const PRIVATE: u32 = 0o700;

/// Opens or makes a directory right below the top of `work`; an existing one keeps its mode.
///
/// # Errors
/// The directory cannot be made, or the name is taken by something else, such as a symlink.
pub fn open_or_make(work: &WorkTree, path: &RelPath) -> Result<WorkTree> {
    match work.root().make_dir(path.name()) {
        // The umask may have removed bits needed to fill it.
        Ok(()) => {
            let opened = work.root().chmod_child(path.name(), PRIVATE);
            opened.map_err(|error| work.io("set the mode of", path, error))?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(work.io("make", path, error)),
    }
    work.below(path)
}

/// Creates an empty file for its owner only, with missing parent directories.
///
/// # Errors
/// The path exists, a parent is no directory (perhaps a symlink), or an I/O error.
pub fn make_empty(work: &WorkTree, path: &RelPath) -> Result<()> {
    let parent = path.parent().unwrap_or_default();
    let mut dir = work.dir(&RelPath::root())?;
    let mut reached = RelPath::root();
    for name in parent.components() {
        reached = reached.join(name);
        dir = enter(&dir, name).map_err(|error| work.io("make", &reached, error))?;
    }
    dir.create_file(path.name())
        .map(drop)
        .map_err(|error| work.io("make", path, error))
}

pub fn enter(dir: &Dir, name: &[u8]) -> std::io::Result<Dir> {
    match dir.open_child(name, Access::Read) {
        Err(error) if is_absent(&error) => {
            dir.make_dir(name)?;
            dir.open_child(name, Access::Read)
        }
        opened => opened,
    }
}

/// Appends `line`, which includes its line end. Missing directory and file are made.
///
/// # Errors
/// The file is a symlink, has other hard links or is no regular file, or an I/O error.
pub fn append(work: &WorkTree, dir: &RelPath, file: &RelPath, line: &str) -> Result<()> {
    let dir = open_or_make(work, dir)?;
    let written = dir.root().open_to_append(file.name()).and_then(|mut log| {
        if stat_file(&log)?.links > 1 {
            return Err(invalid("it is a hard link, a file with another name too"));
        }
        log.write_all(line.as_bytes())
    });
    written.map_err(|error| dir.io("append to", file, error))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::base::tests::place;
    use crate::model::tests::path;

    #[test]
    fn lines_are_added_and_nothing_is_written_through_a_link() {
        let temp = place("logs/dir/ theirs=1 logs/link@../theirs away@logs");
        let work = WorkTree::open(temp.path()).unwrap();
        let add = |dir: &str, file: &str| append(&work, &path(dir), &path(file), "x\n");
        let read = |name: &str| std::fs::read_to_string(temp.path().join(name)).unwrap();
        add("fresh", "a").unwrap();
        add("fresh", "a").unwrap();
        assert_eq!(read("fresh/a"), "x\nx\n");
        std::fs::hard_link(temp.path().join("theirs"), temp.path().join("logs/hard")).unwrap();
        for refused in ["logs/link", "logs/hard", "away/b", "logs/dir", "theirs/b"] {
            let (dir, file) = refused.split_once('/').unwrap();
            add(dir, file).unwrap_err();
        }
        assert_eq!(read("theirs"), "1");
        assert!(!temp.path().join("logs/b").exists());
    }
}
