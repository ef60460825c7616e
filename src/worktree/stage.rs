//! The place in the root where new content is made complete before it goes to its path, and where what it replaces waits.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use crate::error::{Error, Result};
use crate::model::entry::{Kind, RWX_BITS, SPECIAL_BITS};
use crate::model::listing::Stat;
use crate::model::rel_path::RelPath;
use crate::worktree::sys::{self, Access, Dir};
use crate::worktree::tree_handle::WorkTree;

const PREFIX: &str = ".checkpoint-stage-";
const HEX_DIGITS: usize = 16;
/// So few files are made durable one by one; more are left to one call for the whole file system.
const SYNCED_SINGLY: usize = 16;
/// What the owner of a directory needs to make and remove names in it.
const OWNER_WX: u32 = 0o300;
const WRITE_BUFFER_BYTES: usize = 64 * 1024;

/// Whether a directory of this name is one of ours.
pub fn is_stage_name(name: &[u8]) -> bool {
    let digits = name.strip_prefix(PREFIX.as_bytes());
    digits.is_some_and(|hex| hex.len() == HEX_DIGITS && hex.iter().all(u8::is_ascii_hexdigit))
}

/// A stage directory that is open for use. It stays on disk until it is discarded.
#[derive(Debug)]
pub struct Stage {
    dir: Dir,
    path: RelPath,
    keeps_special_bits: bool,
    /// Files that still have to be made durable, while they are few.
    unsynced: Vec<File>,
    file_count: usize,
}

impl Stage {
    /// Makes `.checkpoint-stage-<hex16>` in the root, for its owner only.
    ///
    /// # Errors
    /// It exists, or the root cannot be written.
    pub fn create(work: &WorkTree, hex16: &str) -> Result<Self> {
        let path = stage_path(hex16)?;
        let make = |name: &[u8]| -> io::Result<Dir> {
            work.root().make_dir(name)?;
            let dir = work.root().open_child(name, Access::Read)?;
            dir.chmod(0o700)?;
            Ok(dir)
        };
        let dir = in_writable_root(work, || make(path.name())).map_err(|error| work.io("make", &path, error))?;
        Ok(Self { dir, path, keeps_special_bits: false, unsynced: Vec::new(), file_count: 0 })
    }

    /// From now on set-uid, set-gid and sticky bits are put on files too.
    pub fn keep_special_bits(&mut self) {
        self.keeps_special_bits = true;
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Makes the file `<index>` with what `writer` writes; for a symlink that is its text. A file gets its permission
    /// bits once it is complete; until then only its owner can read it.
    ///
    /// # Errors
    /// `writer` failed, or the file cannot be made.
    pub fn add(
        &mut self,
        work: &WorkTree,
        index: usize,
        kind: Kind,
        perm: u32,
        writer: &mut dyn FnMut(&mut dyn Write) -> Result<u64>,
    ) -> Result<Stat> {
        let name = index.to_string();
        let path = self.path.join(name.as_bytes());
        let failed = |error: io::Error| work.io("write", &path, error);
        if kind == Kind::Symlink {
            let mut text = Vec::new();
            writer(&mut text)?;
            self.dir.make_symlink(name.as_bytes(), &text).map_err(failed)?;
            return self.dir.stat_child(name.as_bytes()).map_err(failed);
        }
        let mut buffered =
            BufWriter::with_capacity(WRITE_BUFFER_BYTES, self.dir.create_file(name.as_bytes()).map_err(failed)?);
        writer(&mut buffered)?;
        let file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
        let kept_bits = if self.keeps_special_bits { RWX_BITS | SPECIAL_BITS } else { RWX_BITS };
        sys::set_file_mode(&file, perm & kept_bits).map_err(failed)?;
        let stat = sys::stat_file(&file).map_err(failed)?;
        self.note_unsynced(file).map_err(failed)?;
        Ok(stat)
    }

    /// A file of the user's that an exchange by renames took out and could not put back, with the stage's path.
    pub(super) fn half_exchanged(&self) -> Option<RelPath> {
        let items = self.dir.list().ok()?;
        let found = items.iter().find(|item| item.name.ends_with(sys::SWAP_SUFFIX))?;
        Some(self.path.join(&found.name))
    }

    fn note_unsynced(&mut self, file: File) -> io::Result<()> {
        self.file_count += 1;
        if self.file_count <= SYNCED_SINGLY {
            self.unsynced.push(file);
            return Ok(());
        }
        if cfg!(target_os = "linux") { Ok(()) } else { file.sync_all() }
    }

    /// Makes all files of the stage durable, and the directory itself.
    ///
    /// # Errors
    /// The system cannot write them.
    pub fn sync(&mut self, work: &WorkTree) -> Result<()> {
        self.sync_files().map_err(|error| work.io("write", &self.path, error))?;
        work.root().sync().map_err(|error| work.io("write", &RelPath::root(), error))
    }

    fn sync_files(&mut self) -> io::Result<()> {
        if self.file_count > SYNCED_SINGLY && cfg!(target_os = "linux") {
            self.unsynced.clear();
            if self.dir.sync_file_system()? {
                return Ok(());
            }
            for item in self.dir.list()? {
                if let Ok((file, _)) = self.dir.open_file(&item.name) {
                    file.sync_all()?;
                }
            }
        }
        for file in self.unsynced.drain(..) {
            file.sync_all()?;
        }
        self.dir.sync()
    }

    /// Removes the stage with all that is still in it.
    ///
    /// # Errors
    /// The system refuses, or something stands in it that this program never put there.
    pub fn discard(self, work: &WorkTree) -> Result<()> {
        remove(work, &self.dir, &self.path)
    }

    /// Whether a stage that a killed run left holds a file of which `is_known` says that its bytes are nowhere else.
    ///
    /// # Errors
    /// The system refuses, or `is_known` failed.
    pub fn leftover_holds_news(
        work: &WorkTree,
        hex16: &str,
        is_known: &dyn Fn(&mut dyn Read, u64) -> Result<bool>,
    ) -> Result<bool> {
        let path = stage_path(hex16)?;
        let dir = match work.root().open_child(path.name(), Access::Read) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(work.io("open", &path, error)),
        };
        for item in dir.list().map_err(|error| work.io("read", &path, error))? {
            // Only what was the user's counts: our own half-written files can be made again.
            let Ok((mut file, stat)) = dir.open_file(&item.name) else { continue };
            if stat.size_bytes > 0 && !is_known(&mut file, stat.size_bytes)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes the stage that a killed run left; nothing happens if there is none. No symlink in it is followed.
    ///
    /// # Errors
    /// It is no directory, the system refuses, or a directory that is not empty stands in it: no run of this program
    /// puts one there, so it belongs to somebody.
    pub fn remove_leftover(work: &WorkTree, hex16: &str) -> Result<()> {
        let path = stage_path(hex16)?;
        match work.root().open_child(path.name(), Access::Read) {
            Ok(dir) => remove(work, &dir, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(work.io("open", &path, error)),
        }
    }
}

fn remove(work: &WorkTree, dir: &Dir, path: &RelPath) -> Result<()> {
    let items = dir.list().map_err(|error| work.io("read", path, error))?;
    for item in items {
        let removed = match dir.unlink(&item.name) {
            Err(_) if dir.stat_child(&item.name).is_ok_and(|stat| sys::kind_of(&stat) == sys::ItemKind::Dir) => {
                dir.rmdir(&item.name)
            }
            removed => removed,
        };
        removed.map_err(|error| work.io("remove", &path.join(&item.name), error))?;
    }
    in_writable_root(work, || work.root().rmdir(path.name())).map_err(|error| work.io("remove", path, error))
}

/// Does something in the root; one that its owner may not write is opened up for just that time.
fn in_writable_root<T>(work: &WorkTree, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let root = work.root();
    match act() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let perm = root.stat()?.perm();
            if perm & OWNER_WX == OWNER_WX || root.chmod(perm | OWNER_WX).is_err() {
                return Err(error);
            }
            let done = act();
            root.chmod(perm)?;
            done
        }
        done => done,
    }
}

fn stage_path(hex16: &str) -> Result<RelPath> {
    let name = format!("{PREFIX}{hex16}");
    if !is_stage_name(name.as_bytes()) {
        return Err(Error::Unexpected(anyhow::anyhow!("'{name}' is no name of a stage")));
    }
    Ok(RelPath::root().join(name.as_bytes()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and break files directly")]
mod tests {
    use super::*;

    const HEX: &str = "0123456789abcdef";

    fn stage_in(temp: &tempfile::TempDir) -> (WorkTree, Stage) {
        let work = WorkTree::open(temp.path()).unwrap();
        let stage = Stage::create(&work, HEX).unwrap();
        (work, stage)
    }

    #[test]
    fn a_stage_is_made_once_and_removed_whole() {
        let temp = tempfile::tempdir().unwrap();
        let (work, mut stage) = stage_in(&temp);
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
        stage.sync(&work).unwrap();
        drop(stage);
        Stage::remove_leftover(&work, HEX).unwrap();
        Stage::remove_leftover(&work, HEX).unwrap();
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn many_files_are_made_durable_too() {
        let temp = tempfile::tempdir().unwrap();
        let (work, mut stage) = stage_in(&temp);
        for index in 0..2 * SYNCED_SINGLY {
            stage.add(&work, index, Kind::File, 0o600, &mut |_| Ok(0)).unwrap();
        }
        stage.sync(&work).unwrap();
        stage.discard(&work).unwrap();
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn removal_of_a_leftover_follows_no_link_and_takes_nobody_elses_directory() {
        let temp = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("keep"), "x").unwrap();
        let (work, mut stage) = stage_in(&temp);
        let target = outside.path().to_str().unwrap().to_owned();
        let mut write = |out: &mut dyn Write| {
            out.write_all(target.as_bytes()).unwrap();
            Ok(0)
        };
        stage.add(&work, 0, Kind::Symlink, 0o777, &mut write).unwrap();
        drop(stage);
        let foreign = temp.path().join(format!("{PREFIX}{HEX}/theirs"));
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("f"), "x").unwrap();
        assert!(Stage::remove_leftover(&work, HEX).is_err());
        assert!(foreign.join("f").exists());
        std::fs::remove_file(foreign.join("f")).unwrap();
        Stage::remove_leftover(&work, HEX).unwrap();
        assert!(outside.path().join("keep").exists());
        std::os::unix::fs::symlink(outside.path(), temp.path().join(format!("{PREFIX}{HEX}"))).unwrap();
        assert!(Stage::remove_leftover(&work, HEX).is_err());
        assert!(outside.path().join("keep").exists());
    }

    #[test]
    fn only_sixteen_hex_digits_make_a_stage_name() {
        assert!(is_stage_name(b".checkpoint-stage-0123456789abcdef"));
        for name in
            ["x", ".checkpoint-stage-", ".checkpoint-stage-0123456789abcdeg", ".checkpoint-stage-0123456789abcdef0"]
        {
            assert!(!is_stage_name(name.as_bytes()), "{name}");
        }
    }
}
