//! Writes a state into an empty directory and removes it again on failure; follows no link,
//! replaces nothing.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use crate::base::interrupt::Interrupt;
use crate::error::{Error, Result};
use crate::model::state::entry::{Entry, Kind, OWNER_RWX, RWX_BITS, SPECIAL_BITS};
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::worktree::sys::{self, Access, Dir};
use crate::worktree::tree_handle::WorkTree;

const WRITE_BUFFER_BYTES: usize = 64 * 1024;

/// The state to be written.
#[derive(Debug)]
pub struct WantedEntry<'w> {
    /// Permission bits for the top; `None` leaves it as it is.
    pub top: Option<u32>,
    /// Directories below the top with their final permission bits.
    pub dirs: &'w BTreeMap<RelPath, u32>,
    pub files: Vec<(&'w RelPath, Entry)>,
    /// Whether set-uid, set-gid and sticky bits are set too.
    pub special_bits: bool,
}

/// Writes and verifies the bytes of one file, or the target of a symlink.
pub type Content<'c> = dyn FnMut(&RelPath, ObjectId, &mut dyn Write) -> Result<u64> + 'c;

/// Writes everything below the top of `work`.
///
/// # Errors
/// A path is occupied, the content cannot be read, an I/O error, or a signal. All that was made is
/// removed again; the error names what could not be removed.
pub fn materialize(
    work: &WorkTree,
    wanted: &WantedEntry<'_>,
    content: &mut Content<'_>,
    stop: &Interrupt,
) -> Result<()> {
    let kept_bits = if wanted.special_bits {
        RWX_BITS | SPECIAL_BITS
    } else {
        RWX_BITS
    };
    let mut writer = Writer {
        work,
        kept_bits,
        made: Vec::new(),
        holder: None,
    };
    writer
        .write_all(wanted, content, stop)
        .map_err(|error| writer.take_back(error))
}

struct Writer<'w> {
    work: &'w WorkTree,
    kept_bits: u32,
    /// Paths in order of creation, and whether each is a directory.
    made: Vec<(RelPath, bool)>,
    /// The directory last written to, cached.
    holder: Option<(RelPath, Dir)>,
}

impl Writer<'_> {
    fn write_all(
        &mut self,
        wanted: &WantedEntry<'_>,
        content: &mut Content<'_>,
        stop: &Interrupt,
    ) -> Result<()> {
        // Bytewise order: parents come first.
        for path in wanted.dirs.keys() {
            self.make_dir(path)?;
        }
        for (path, entry) in &wanted.files {
            stop.check()?;
            match entry.kind {
                Kind::File => self.write_file(path, entry, content)?,
                Kind::Symlink => self.make_link(path, entry, content)?,
            }
        }
        stop.check()?;
        // Children first: a parent may lose its write or search bit.
        for (path, perm) in wanted.dirs.iter().rev() {
            let bits = perm & self.kept_bits;
            self.within(path, "set the mode of", |dir| {
                dir.chmod_child(path.name(), bits)
            })?;
        }
        let top = wanted
            .top
            .map_or(Ok(()), |perm| self.work.root().chmod(perm & self.kept_bits));
        top.map_err(|error| self.work.io("set the mode of", &RelPath::root(), error))
    }

    fn make_dir(&mut self, path: &RelPath) -> Result<()> {
        self.within(path, "make", |dir| dir.make_dir(path.name()))?;
        self.made.push((path.clone(), true));
        // The umask may have removed bits needed to fill it.
        self.within(path, "set the mode of", |dir| {
            dir.chmod_child(path.name(), OWNER_RWX)
        })
    }

    fn write_file(
        &mut self,
        path: &RelPath,
        entry: &Entry,
        content: &mut Content<'_>,
    ) -> Result<()> {
        let file = self.within(path, "make", |dir| dir.create_file(path.name()))?;
        self.made.push((path.clone(), false));
        let failed = |error: io::Error| self.work.io("write", path, error);
        let mut buffered = BufWriter::with_capacity(WRITE_BUFFER_BYTES, file);
        content(path, entry.id, &mut buffered)?;
        let file = buffered
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        sys::set_file_mode(&file, entry.perm & self.kept_bits).map_err(failed)
    }

    fn make_link(
        &mut self,
        path: &RelPath,
        entry: &Entry,
        content: &mut Content<'_>,
    ) -> Result<()> {
        let mut text = Vec::new();
        content(path, entry.id, &mut text)?;
        self.within(path, "make", |dir| dir.make_symlink(path.name(), &text))?;
        self.made.push((path.clone(), false));
        Ok(())
    }

    /// Runs `act` in the parent directory of a path.
    fn within<T>(
        &mut self,
        path: &RelPath,
        action: &'static str,
        act: impl Fn(&Dir) -> io::Result<T>,
    ) -> Result<T> {
        let parent = path.parent().unwrap_or_default();
        if self.holder.as_ref().is_none_or(|(held, _)| *held != parent) {
            let opened = self.work.root().open_below(&parent, Access::Search);
            let dir = opened.map_err(|error| self.work.io("open", &parent, error))?;
            self.holder = Some((parent, dir));
        }
        let dir = self
            .holder
            .as_ref()
            .map_or_else(|| self.work.root(), |(_, dir)| dir);
        act(dir).map_err(|error| self.work.io(action, path, error))
    }

    /// Removes only what was made here; foreign files stay, and so do their directories.
    fn take_back(&mut self, error: Error) -> Error {
        let made = std::mem::take(&mut self.made);
        for (path, _) in made.iter().filter(|(_, is_dir)| *is_dir) {
            // Needed only where the final mode is already set.
            let _ = self.within(path, "set the mode of", |dir| {
                dir.chmod_child(path.name(), OWNER_RWX)
            });
        }
        let mut left = None;
        for (path, is_dir) in made.iter().rev() {
            let remove = |dir: &Dir| {
                if *is_dir {
                    dir.rmdir(path.name())
                } else {
                    dir.unlink(path.name())
                }
            };
            left = left.or(self.within(path, "remove", remove).err());
        }
        match left {
            None => error,
            Some(left) => Error::unexpected(format!("{error}; and then: {left}")),
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make and break files directly"
)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text.as_bytes()).unwrap()
    }

    fn entry(perm: u32) -> Entry {
        Entry {
            kind: Kind::File,
            perm,
            id: ObjectId::from_bytes([0; 20]),
            size_bytes: 1,
        }
    }

    fn write(temp: &tempfile::TempDir, fail_at: &str, closed_dir: u32) -> Result<()> {
        let work = WorkTree::open(temp.path()).unwrap();
        let dirs = BTreeMap::from([
            (path("d"), closed_dir),
            (path("d/e"), 0o755),
            (path("x"), 0o700),
        ]);
        let paths = [path("a"), path("d/e/f"), path("d/z")];
        let files = paths.iter().map(|path| (path, entry(0o644))).collect();
        let wanted = WantedEntry {
            top: None,
            dirs: &dirs,
            files,
            special_bits: false,
        };
        let mut content = |path: &RelPath, _: ObjectId, out: &mut dyn Write| {
            out.write_all(b"1").unwrap();
            if path.to_string() == fail_at {
                Err(Error::unexpected("no such bytes"))
            } else {
                Ok(1)
            }
        };
        materialize(&work, &wanted, &mut content, &Interrupt::default())
    }

    #[test]
    fn all_is_written_or_nothing_is_left() {
        let temp = tempfile::tempdir().unwrap();
        for failing in ["a", "d/e/f", "d/z"] {
            write(&temp, failing, 0o755).unwrap_err();
            assert_eq!(
                std::fs::read_dir(temp.path()).unwrap().count(),
                0,
                "{failing}"
            );
        }
        write(&temp, "", 0o500).unwrap();
        assert_eq!(std::fs::read(temp.path().join("d/e/f")).unwrap(), b"1");
        assert!(
            std::fs::read_dir(temp.path().join("x"))
                .unwrap()
                .next()
                .is_none()
        );
    }

    #[test]
    fn what_somebody_else_put_there_is_not_replaced_and_unreadable() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("x")).unwrap();
        write(&temp, "", 0o755).unwrap_err();
        assert!(temp.path().join("x").is_dir());
        std::fs::remove_dir(temp.path().join("x")).unwrap();
        std::fs::write(temp.path().join("a"), "theirs").unwrap();
        write(&temp, "", 0o755).unwrap_err();
        assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_signal_stops_it_and_nothing_is_left() {
        let temp = tempfile::tempdir().unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let stop = Interrupt::default();
        stop.set(15);
        let dirs = BTreeMap::from([(path("d"), 0o755)]);
        let wanted = WantedEntry {
            top: None,
            dirs: &dirs,
            files: Vec::new(),
            special_bits: false,
        };
        let error = materialize(&work, &wanted, &mut |_, _, _| Ok(0), &stop).unwrap_err();
        assert!(matches!(error, Error::Interrupted { signal: 15 }));
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}
