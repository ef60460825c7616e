//! Staging directory in the root: holds new content until it is complete, and replaced files until
//! the apply ends.
//!
//! Single files are named by number. A directory that is new as a whole is staged as a tree,
//! `tree-<number>`, and moved to its path by one rename.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;

use crate::base::mutex::lock;
use crate::error::{Error, Result};
use crate::model::state::entry::{Kind, OWNER_RWX, RWX_BITS, SPECIAL_BITS};
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::Stat;
use crate::worktree::apply::stage_removal::{self, TREE_PREFIX, stage_path};
use crate::worktree::sys::{self, Access, Dir};
use crate::worktree::tree_handle::{WorkTree, in_writable_root};

/// Upper bound on files and directories synced one by one; more are synced by one call for the
/// whole file system.
const FILES_SYNCED_SINGLY: usize = 16;

/// Returns the name of a tree in the stage.
pub fn tree_name(number: usize) -> String {
    format!("{TREE_PREFIX}{number}")
}

/// The permission bits with which a directory is made, to be filled.
fn first_perm(perm: u32) -> u32 {
    if can_be_moved(perm) {
        perm & RWX_BITS
    } else {
        OWNER_RWX
    }
}

/// Makes a file with these bits from the output of `writer`.
///
/// # Errors
/// `writer` failed, or an I/O error, named by `failed`.
pub(in crate::worktree) fn new_file(
    dir: &Dir,
    name: &[u8],
    perm: u32,
    writer: &mut dyn FnMut(&mut dyn Write) -> Result<u64>,
    failed: &dyn Fn(io::Error) -> Error,
) -> Result<(File, Stat)> {
    let created = dir.create_file_with(name, perm & RWX_BITS);
    let mut file = created.map_err(failed)?;
    let written = writer(&mut file)?;
    let mut stat = sys::stat_file(&file).map_err(failed)?;
    if stat.size_bytes != written {
        return Err(failed(io::ErrorKind::WriteZero.into()));
    }
    if stat.perm() != perm {
        sys::set_file_mode(&file, perm).map_err(failed)?;
        stat = sys::stat_file(&file).map_err(failed)?;
    }
    Ok((file, stat))
}

/// Whether a directory with these permission bits can be filled and moved.
pub fn can_be_moved(perm: u32) -> bool {
    perm & OWNER_RWX == OWNER_RWX
}

/// An open stage, usable by several threads. It stays on disk until it is discarded.
#[derive(Debug)]
pub struct Stage {
    dir: Dir,
    path: RelPath,
    kept_bits: u32,
    unsynced: Mutex<Unsynced>,
}

/// Content not yet synced.
#[derive(Debug, Default)]
struct Unsynced {
    /// At most [`FILES_SYNCED_SINGLY`] open files, to be synced one by one.
    files: Vec<File>,
    count: usize,
}

/// An open directory of a stage, to be filled.
#[derive(Debug)]
pub struct StagePlace {
    dir: Dir,
    /// Path from the root, for messages.
    path: RelPath,
}

impl Stage {
    /// Makes `.checkpoint-stage-<hex16>` in the root, accessible to its owner only.
    ///
    /// # Errors
    /// The stage exists, or the root cannot be written.
    pub fn create(work: &WorkTree, hex16: &str) -> Result<Self> {
        let path = stage_path(hex16)?;
        let make = |name: &[u8]| -> io::Result<Dir> {
            work.root().make_dir(name)?;
            let dir = work.root().open_child(name, Access::Read)?;
            dir.chmod(0o700)?;
            Ok(dir)
        };
        let dir = in_writable_root(work, || make(path.name()))
            .map_err(|error| work.io("make", &path, error))?;
        Ok(Self {
            dir,
            path,
            kept_bits: RWX_BITS,
            unsynced: Mutex::default(),
        })
    }

    /// Sets set-uid, set-gid and sticky bits too from now on.
    pub fn keep_special_bits(&mut self) {
        self.kept_bits = RWX_BITS | SPECIAL_BITS;
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Opens a directory in the stage by its path there; the root path is the stage itself.
    ///
    /// # Errors
    /// The directory is missing.
    pub fn place(&self, work: &WorkTree, below: &RelPath) -> Result<StagePlace> {
        let path = self.path.join_all(below);
        let dir = self
            .dir
            .open_below(below, Access::Read)
            .map_err(|error| work.io("open", &path, error))?;
        Ok(StagePlace { dir, path })
    }

    /// Makes the directory `below` in the stage; `place` is its parent.
    ///
    /// # Errors
    /// I/O errors.
    pub fn make_dir(
        &self,
        work: &WorkTree,
        place: &StagePlace,
        below: &RelPath,
        perm: u32,
    ) -> Result<()> {
        let made = place.dir.make_dir_with(below.name(), first_perm(perm));
        made.map_err(|error| work.io("make", &place.path.join(below.name()), error))?;
        lock(&self.unsynced).count += 1;
        Ok(())
    }

    /// Sets the final mode of a directory in a tree, unless it would prevent filling and moving it.
    ///
    /// # Errors
    /// I/O errors.
    pub fn set_mode(&self, work: &WorkTree, place: &StagePlace, perm: u32) -> Result<()> {
        let wanted = perm & self.kept_bits;
        let set = || match place.dir.stat()?.perm() {
            found if found == wanted || !can_be_moved(perm) => Ok(()),
            _ => place.dir.chmod(wanted),
        };
        set().map_err(|error| work.io("set the mode of", &place.path, error))
    }

    /// Makes the file `<index>` in the stage itself; see [`Self::add_in`].
    ///
    /// # Errors
    /// As [`Self::add_in`].
    pub fn add(
        &self,
        work: &WorkTree,
        index: usize,
        kind: Kind,
        perm: u32,
        writer: &mut dyn FnMut(&mut dyn Write) -> Result<u64>,
    ) -> Result<Stat> {
        self.make_file(
            work,
            (&self.dir, &self.path),
            index.to_string().as_bytes(),
            (kind, perm),
            writer,
        )
    }

    /// Makes a file from the output of `writer`; for a symlink that is its target.
    ///
    /// # Errors
    /// `writer` failed, or the file cannot be made.
    pub fn add_in(
        &self,
        work: &WorkTree,
        place: &StagePlace,
        name: &[u8],
        (kind, perm): (Kind, u32),
        writer: &mut dyn FnMut(&mut dyn Write) -> Result<u64>,
    ) -> Result<Stat> {
        self.make_file(work, (&place.dir, &place.path), name, (kind, perm), writer)
    }

    fn make_file(
        &self,
        work: &WorkTree,
        (dir, path): (&Dir, &RelPath),
        name: &[u8],
        (kind, perm): (Kind, u32),
        writer: &mut dyn FnMut(&mut dyn Write) -> Result<u64>,
    ) -> Result<Stat> {
        let failed = |error: io::Error| work.io("write", &path.join(name), error);
        if kind == Kind::Symlink {
            let mut text = Vec::new();
            writer(&mut text)?;
            dir.make_symlink(name, &text).map_err(failed)?;
            return dir.stat_child(name).map_err(failed);
        }
        let (file, stat) = new_file(dir, name, perm & self.kept_bits, writer, &failed)?;
        self.note_unsynced(file).map_err(failed)?;
        Ok(stat)
    }

    /// Returns the path in the stage of a user's file that an emulated exchange moved out and could
    /// not put back.
    pub(in crate::worktree) fn half_exchanged(&self) -> Option<RelPath> {
        let items = self.dir.list().ok()?;
        let found = items
            .iter()
            .find(|item| item.name.ends_with(sys::SWAP_SUFFIX))?;
        Some(self.path.join(&found.name))
    }

    fn note_unsynced(&self, file: File) -> io::Result<()> {
        let mut unsynced = lock(&self.unsynced);
        unsynced.count += 1;
        if unsynced.count <= FILES_SYNCED_SINGLY {
            unsynced.files.push(file);
            return Ok(());
        }
        drop(unsynced);
        if cfg!(target_os = "linux") {
            Ok(())
        } else {
            file.sync_all()
        }
    }

    /// Whether one sync of the whole file system is cheaper than one for each file.
    pub(in crate::worktree) fn holds_many(&self) -> bool {
        lock(&self.unsynced).count > FILES_SYNCED_SINGLY
    }

    /// Syncs the files made in the stage, wherever they are by now.
    ///
    /// # Errors
    /// I/O errors.
    pub(in crate::worktree) fn sync_files(&self) -> io::Result<()> {
        lock(&self.unsynced)
            .files
            .iter()
            .try_for_each(File::sync_all)
    }

    /// Removes the stage and its remaining content.
    ///
    /// # Errors
    /// I/O errors, or the stage holds something that this program never put there.
    pub fn discard(self, work: &WorkTree) -> Result<()> {
        // Some systems cannot remove open files.
        lock(&self.unsynced).files.clear();
        stage_removal::remove(work, &self.dir, &self.path)
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make and break files directly"
)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use crate::worktree::apply::stage_removal::STAGE_PREFIX;
    use crate::worktree::apply::stage_removal::is_stage_name;

    const HEX: &str = "0123456789abcdef";

    fn stage_in(temp: &tempfile::TempDir) -> (WorkTree, Stage) {
        let work = WorkTree::open(temp.path()).unwrap();
        let stage = Stage::create(&work, HEX).unwrap();
        (work, stage)
    }

    #[test]
    fn a_stage_is_made_once_and_removed_whole() {
        let temp = tempfile::tempdir().unwrap();
        let (work, stage) = stage_in(&temp);
        assert!(Stage::create(&work, HEX).is_err());
        let stat = stage
            .add(&work, 0, Kind::File, 0o4751, &mut |out| {
                out.write_all(b"abc").unwrap();
                Ok(3)
            })
            .unwrap();
        assert_eq!(stat.size_bytes, 3);
        if cfg!(unix) {
            assert_eq!(stat.perm(), 0o751);
        }
        stage.sync_files().unwrap();
        drop(stage);
        stage_removal::remove_leftover(&work, HEX).unwrap();
        stage_removal::remove_leftover(&work, HEX).unwrap();
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn removal_of_a_leftover_follows_no_link_and_takes_nobody_elses_directory() {
        let temp = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("keep"), "x").unwrap();
        let (work, stage) = stage_in(&temp);
        let target = outside.path().to_str().unwrap().to_owned();
        let mut write = |out: &mut dyn Write| {
            out.write_all(target.as_bytes()).unwrap();
            Ok(0)
        };
        stage
            .add(&work, 0, Kind::Symlink, 0o777, &mut write)
            .unwrap();
        drop(stage);
        let foreign = temp.path().join(format!("{STAGE_PREFIX}{HEX}/theirs"));
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("f"), "x").unwrap();
        assert!(stage_removal::remove_leftover(&work, HEX).is_err());
        assert!(foreign.join("f").exists());
        std::fs::remove_file(foreign.join("f")).unwrap();
        stage_removal::remove_leftover(&work, HEX).unwrap();
        assert!(outside.path().join("keep").exists());
        std::os::unix::fs::symlink(
            outside.path(),
            temp.path().join(format!("{STAGE_PREFIX}{HEX}")),
        )
        .unwrap();
        assert!(stage_removal::remove_leftover(&work, HEX).is_err());
        assert!(outside.path().join("keep").exists());
    }

    #[test]
    fn only_sixteen_hex_digits_make_a_stage_name() {
        assert!(is_stage_name(b".checkpoint-stage-0123456789abcdef"));
        for name in [
            "x",
            ".checkpoint-stage-",
            ".checkpoint-stage-0123456789abcdeg",
            ".checkpoint-stage-0123456789abcdef0",
        ] {
            assert!(!is_stage_name(name.as_bytes()), "{name}");
        }
    }
}
