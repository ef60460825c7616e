//! Writes a state into a directory with several threads and removes it again on failure; follows no
//! link, replaces nothing.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;

use crate::base::mutex::lock;
use crate::base::threads::{self, work_queue};
use crate::base::{Interrupt, WorkQueue};
use crate::error::{Error, Result};
use crate::model::state::entry::{OWNER_RWX, RWX_BITS, SPECIAL_BITS};
use crate::model::{Entry, Kind, RelPath, Stat};
use crate::worktree::WorkTree;
use crate::worktree::sys::{self, Access, Dir};

/// Number of files of a directory that a thread takes at a time.
const FILES_AT_ONCE: usize = 64;

/// The state to be written.
#[derive(Debug)]
pub struct WantedTree<'w> {
    /// Permission bits for the top; `None` leaves it as it is.
    pub top: Option<u32>,
    /// Directories below the top with their final permission bits.
    pub dirs: &'w BTreeMap<RelPath, u32>,
    pub files: &'w [(RelPath, Entry)],
    /// Whether set-uid, set-gid and sticky bits are set too.
    pub special_bits: bool,
}

/// Writes and verifies the bytes of the file of that number, or the target of a symlink; several
/// threads call it.
pub type Content<'c> = dyn Fn(usize, &mut dyn Write) -> Result<u64> + Sync + 'c;
/// Takes each file that was written.
pub type Keep<'k> = dyn Fn(File) -> io::Result<()> + Sync + 'k;

/// Writes everything below the top of `work`; returns the stat of each file.
///
/// # Errors
/// A path is occupied, the content cannot be read, an I/O error, or a signal; if several threads
/// fail, one of their errors. All that was made is removed again; the error names what could not be
/// removed.
pub fn materialize(
    work: &WorkTree,
    wanted: &WantedTree<'_>,
    content: &Content<'_>,
    keep: &Keep<'_>,
    stop: &Interrupt,
) -> Result<Vec<Stat>> {
    let kept_bits = if wanted.special_bits {
        RWX_BITS | SPECIAL_BITS
    } else {
        RWX_BITS
    };
    let top = RelPath::root();
    let writer = Writer {
        work,
        kept_bits,
        files: wanted.files,
        dirs: by_dir(&top, wanted)?,
        content,
        keep,
        stop,
        made: Mutex::default(),
    };
    let workers = vec![(); threads::workers_for(wanted.files.len())];
    let job = |(): &mut (), job, queue: &WorkQueue<_>| writer.make(&job, queue);
    let made = work_queue::run(workers, vec![FillJob { dir: 0, from: 0 }], &job)
        .and_then(|made| writer.set_last_modes(wanted.top).map(|()| made))
        .map_err(|error| writer.take_back(error))?;
    let mut stats = vec![Stat::default(); wanted.files.len()];
    for (number, stat) in made.into_iter().flatten() {
        stats[number] = stat;
    }
    Ok(stats)
}

/// A directory, and what goes directly into it.
struct DirToFill<'w> {
    path: &'w RelPath,
    perm: u32,
    /// Indexes of its subdirectories.
    dirs: Vec<usize>,
    /// Numbers of its files.
    files: Vec<usize>,
}

/// Groups a state by directory, parents first; the top comes first of all.
fn by_dir<'w>(top: &'w RelPath, wanted: &'w WantedTree<'_>) -> Result<Vec<DirToFill<'w>>> {
    let paths = std::iter::once((top, &OWNER_RWX)).chain(wanted.dirs);
    let mut dirs: Vec<_> = paths
        .map(|(path, perm)| DirToFill {
            path,
            perm: *perm,
            dirs: Vec::new(),
            files: Vec::new(),
        })
        .collect();
    let index: HashMap<&RelPath, usize> = dirs.iter().map(|dir| dir.path).zip(0..).collect();
    let parent_of = |path: &RelPath| {
        let found = path.parent().and_then(|parent| index.get(&parent));
        found
            .copied()
            .ok_or_else(|| Error::unexpected(format!("{path} has no directory to be made in")))
    };
    for at in 1..dirs.len() {
        let parent = parent_of(dirs[at].path)?;
        dirs[parent].dirs.push(at);
    }
    for (number, (path, _)) in wanted.files.iter().enumerate() {
        dirs[parent_of(path)?].files.push(number);
    }
    Ok(dirs)
}

/// A directory to be filled from its file number `from` on; zero: all in it is still to be made.
struct FillJob {
    dir: usize,
    from: usize,
}

/// What was made so far.
#[derive(Default)]
struct Made<'w> {
    dirs: Vec<&'w RelPath>,
    files: Vec<&'w RelPath>,
}

struct Writer<'w> {
    work: &'w WorkTree,
    kept_bits: u32,
    files: &'w [(RelPath, Entry)],
    dirs: Vec<DirToFill<'w>>,
    content: &'w Content<'w>,
    keep: &'w Keep<'w>,
    stop: &'w Interrupt,
    made: Mutex<Made<'w>>,
}

impl<'w> Writer<'w> {
    /// Makes the first files of a directory, and leaves the others and the subdirectories to all.
    fn make(&self, job: &FillJob, queue: &WorkQueue<FillJob>) -> Result<Vec<(usize, Stat)>> {
        let to_fill = &self.dirs[job.dir];
        let dir = self.open(to_fill, job)?;
        if job.from == 0 {
            for at in &to_fill.dirs {
                self.stop.check()?;
                let (path, bits) = (self.dirs[*at].path, self.first_bits(&self.dirs[*at]));
                dir.make_dir_with(path.name(), bits)
                    .map_err(|error| self.work.io("make", path, error))?;
                lock(&self.made).dirs.push(path);
                queue.add(FillJob { dir: *at, from: 0 });
            }
            for from in (FILES_AT_ONCE..to_fill.files.len()).step_by(FILES_AT_ONCE) {
                queue.add(FillJob { from, ..*job });
            }
        }
        let numbers = to_fill.files.iter().skip(job.from).take(FILES_AT_ONCE);
        let make = |number: &usize| {
            self.stop.check()?;
            Ok((*number, self.make_file(&dir, *number)?))
        };
        numbers.map(make).collect()
    }

    fn open(&self, to_fill: &DirToFill<'w>, job: &FillJob) -> Result<Dir> {
        let path = to_fill.path;
        let open = || self.work.root().open_below(path, Access::Read);
        let opened = match open() {
            // The umask may have removed the bits that are needed to fill it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !path.is_root() => {
                within_parent(self.work, path, |dir| {
                    dir.chmod_child(path.name(), OWNER_RWX)
                })
                .and_then(|()| open())
            }
            opened => opened,
        };
        let dir = opened.map_err(|error| self.work.io("open", path, error))?;
        if job.from == 0 && !path.is_root() {
            let bits = self.first_bits(to_fill);
            dir.stat()
                .and_then(|stat| match stat.perm() {
                    perm if perm & self.kept_bits == bits => Ok(()),
                    _ => dir.chmod(bits),
                })
                .map_err(|error| self.work.io("set the mode of", path, error))?;
        }
        Ok(dir)
    }

    /// The bits of a directory while it is filled: its own, unless they get in the way of that.
    fn first_bits(&self, dir: &DirToFill<'_>) -> u32 {
        let bits = dir.perm & self.kept_bits;
        if bits & (OWNER_RWX | SPECIAL_BITS) == OWNER_RWX {
            bits
        } else {
            OWNER_RWX
        }
    }

    fn make_file(&self, dir: &Dir, number: usize) -> Result<Stat> {
        let (path, entry) = &self.files[number];
        let name = path.name();
        let failed = |error: io::Error| self.work.io("write", path, error);
        if entry.kind == Kind::Symlink {
            let mut text = Vec::new();
            (self.content)(number, &mut text)?;
            dir.make_symlink(name, &text).map_err(failed)?;
            lock(&self.made).files.push(path);
            return dir.stat_child(name).map_err(failed);
        }
        let perm = entry.perm & self.kept_bits;
        let created = dir.create_file_with(name, perm & RWX_BITS);
        let mut file = created.map_err(failed)?;
        lock(&self.made).files.push(path);
        let written = (self.content)(number, &mut file)?;
        let mut stat = sys::stat_file(&file).map_err(failed)?;
        if stat.size_bytes != written {
            return Err(failed(io::ErrorKind::WriteZero.into()));
        }
        if stat.perm() != perm {
            sys::set_file_mode(&file, perm).map_err(failed)?;
            stat = sys::stat_file(&file).map_err(failed)?;
        }
        (self.keep)(file).map_err(failed)?;
        Ok(stat)
    }

    /// Children first: a parent may lose its write or search bit.
    fn set_last_modes(&self, top: Option<u32>) -> Result<()> {
        self.stop.check()?;
        let failed = |path: &RelPath, error| self.work.io("set the mode of", path, error);
        for dir in self.dirs.iter().skip(1).rev() {
            let bits = dir.perm & self.kept_bits;
            if bits != self.first_bits(dir) {
                let name = dir.path.name();
                within_parent(self.work, dir.path, |parent| parent.chmod_child(name, bits))
                    .map_err(|error| failed(dir.path, error))?;
            }
        }
        top.map_or(Ok(()), |perm| self.work.root().chmod(perm & self.kept_bits))
            .map_err(|error| failed(&RelPath::root(), error))
    }

    /// Removes only what was made here; foreign files stay, and so do their directories.
    fn take_back(&self, error: Error) -> Error {
        let Made { mut dirs, files } = std::mem::take(&mut *lock(&self.made));
        dirs.sort_unstable();
        for path in &dirs {
            // Needed only where the final mode is already set.
            let _ = within_parent(self.work, path, |dir| {
                dir.chmod_child(path.name(), OWNER_RWX)
            });
        }
        let unlink = |path: &RelPath| within_parent(self.work, path, |dir| dir.unlink(path.name()));
        let rmdir = |path: &RelPath| within_parent(self.work, path, |dir| dir.rmdir(path.name()));
        let files = files.into_iter().map(|path| (path, unlink(path)));
        let dirs = dirs.into_iter().rev().map(|path| (path, rmdir(path)));
        let mut left = None;
        for (path, removed) in files.chain(dirs) {
            left = left.or(removed
                .err()
                .map(|error| self.work.io("remove", path, error)));
        }
        match left {
            None => error,
            Some(left) => Error::unexpected(format!("{error}; then cleaning up failed: {left}")),
        }
    }
}

fn within_parent<T>(
    work: &WorkTree,
    path: &RelPath,
    act: impl Fn(&Dir) -> io::Result<T>,
) -> io::Result<T> {
    let parent = path.parent().unwrap_or_default();
    act(&work.root().open_below(&parent, Access::Search)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::place;
    use crate::model::tests::{file, path};

    fn write(temp: &tempfile::TempDir, fail_at: &str, closed_dir: u32) -> Result<()> {
        let work = WorkTree::open(temp.path()).unwrap();
        let dirs = BTreeMap::from([
            (path("d"), closed_dir),
            (path("d/e"), 0o755),
            (path("x"), 0o700),
        ]);
        let files = ["a", "d/e/f", "d/z"].map(|name| (path(name), file(0, 0o644)));
        let wanted = WantedTree {
            top: None,
            dirs: &dirs,
            files: &files,
            special_bits: false,
        };
        let content = |number: usize, out: &mut dyn Write| {
            out.write_all(b"1").unwrap();
            if files[number].0.to_string() == fail_at {
                Err(Error::unexpected("no such bytes"))
            } else {
                Ok(1)
            }
        };
        let stop = Interrupt::default();
        let stats = materialize(&work, &wanted, &content, &|_| Ok(()), &stop)?;
        assert!(stats.iter().all(|stat| stat.size_bytes == 1));
        Ok(())
    }

    fn names_in(dir: &std::path::Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn all_is_written_or_nothing_is_left() {
        let temp = place("");
        for failing in ["a", "d/e/f", "d/z"] {
            write(&temp, failing, 0o755).unwrap_err();
            assert_eq!(names_in(temp.path()), 0, "{failing}");
        }
        write(&temp, "", 0o500).unwrap();
        assert_eq!(std::fs::read(temp.path().join("d/e/f")).unwrap(), b"1");
        assert_eq!(names_in(&temp.path().join("x")), 0);
    }

    #[test]
    fn what_somebody_else_put_there_is_not_replaced_and_unreadable() {
        let temp = place("x/");
        write(&temp, "", 0o755).unwrap_err();
        assert!(temp.path().join("x").is_dir());
        let temp = place("a=theirs");
        write(&temp, "", 0o755).unwrap_err();
        assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"theirs");
        assert_eq!(names_in(temp.path()), 1);
    }

    #[test]
    fn a_signal_stops_it_and_nothing_is_left() {
        let temp = tempfile::tempdir().unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let stop = Interrupt::default();
        stop.set(15);
        let dirs = BTreeMap::from([(path("d"), 0o755)]);
        let wanted = WantedTree {
            top: None,
            dirs: &dirs,
            files: &[],
            special_bits: false,
        };
        let error = materialize(&work, &wanted, &|_, _| Ok(0), &|_| Ok(()), &stop).unwrap_err();
        assert!(error.code.exit == 143);
        assert_eq!(names_in(temp.path()), 0);
    }
}
