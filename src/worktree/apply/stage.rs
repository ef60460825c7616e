//! Staging directory in the root: holds new content until it is complete, and replaced files until
//! the apply ends.
//!
//! Single files are named by number. A directory that is new as a whole is staged as a tree,
//! `tree-<number>`, and moved to its path by one rename.

use std::fs::File;
use std::io;
use std::sync::Mutex;

use crate::base::Interrupt;
use crate::base::mutex::lock;
use crate::error::Result;
use crate::model::state::entry::OWNER_RWX;
use crate::model::{RelPath, Stat};
use crate::worktree::apply::materialize::{Content, materialize};
use crate::worktree::apply::stage_removal::{self, TREE_PREFIX, stage_path};
use crate::worktree::sys::{self, Access, Dir};
use crate::worktree::tree_handle::in_writable_root;
use crate::worktree::{WantedTree, WorkTree};

/// Upper bound on files and directories synced one by one; more are synced by one call for the
/// whole file system.
const FILES_SYNCED_SINGLY: usize = 16;

/// Returns the name of a tree in the stage.
pub fn tree_name(number: usize) -> String {
    format!("{TREE_PREFIX}{number}")
}

/// Whether a directory with these permission bits can be filled and moved.
pub fn can_be_moved(perm: u32) -> bool {
    perm & OWNER_RWX == OWNER_RWX
}

/// An open stage. It stays on disk until it is discarded.
#[derive(Debug)]
pub struct Stage {
    inside: WorkTree,
    path: RelPath,
    unsynced: Mutex<Unsynced>,
}

/// Content not yet synced.
#[derive(Debug, Default)]
struct Unsynced {
    /// At most [`FILES_SYNCED_SINGLY`] open files, to be synced one by one.
    files: Vec<File>,
    count: usize,
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
            inside: work.with_root(&path, dir)?,
            path,
            unsynced: Mutex::default(),
        })
    }

    pub fn dir(&self) -> &Dir {
        self.inside.root()
    }

    pub fn inside(&self) -> &WorkTree {
        &self.inside
    }

    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Fills it; see [`materialize`].
    ///
    /// # Errors
    /// As [`materialize`].
    pub fn fill(
        &self,
        wanted: &WantedTree<'_>,
        content: &Content<'_>,
        stop: &Interrupt,
    ) -> Result<Vec<Stat>> {
        lock(&self.unsynced).count += wanted.dirs.len();
        let keep = |file| self.note_unsynced(file);
        materialize(&self.inside, wanted, content, &keep, stop)
    }

    /// Returns the path in the stage of a user's file that an emulated exchange moved out and could
    /// not put back.
    pub(in crate::worktree) fn half_exchanged(&self) -> Option<RelPath> {
        let items = self.dir().list().ok()?;
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
        stage_removal::remove(work, self.dir(), &self.path)
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make and break files directly"
)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::state::entry::{Entry, Kind};
    use crate::model::state::object_id::ObjectId;
    #[cfg(unix)]
    use crate::worktree::apply::stage_removal::STAGE_PREFIX;
    use crate::worktree::apply::stage_removal::is_stage_name;

    const HEX: &str = "0123456789abcdef";

    fn stage_in(temp: &tempfile::TempDir) -> (WorkTree, Stage) {
        let work = WorkTree::open(temp.path()).unwrap();
        let stage = Stage::create(&work, HEX).unwrap();
        (work, stage)
    }

    fn put(stage: &Stage, kind: Kind, text: &str) -> Stat {
        let entry = Entry {
            kind,
            perm: 0o4751,
            id: ObjectId::from_bytes([0; 20]),
            size_bytes: 0,
        };
        let wanted = WantedTree {
            top: None,
            dirs: &BTreeMap::new(),
            files: &[(RelPath::root().join(b"0"), entry)],
            special_bits: false,
        };
        let content = |_: usize, out: &mut dyn std::io::Write| {
            out.write_all(text.as_bytes()).unwrap();
            Ok(text.len() as u64)
        };
        let stats = stage.fill(&wanted, &content, &Interrupt::default());
        stats.unwrap()[0]
    }

    #[test]
    fn a_stage_is_made_once_and_removed_whole() {
        let temp = tempfile::tempdir().unwrap();
        let (work, stage) = stage_in(&temp);
        assert!(Stage::create(&work, HEX).is_err());
        let stat = put(&stage, Kind::File, "abc");
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
        put(&stage, Kind::Symlink, &target);
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
