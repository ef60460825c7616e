//! Files that survive a power cut: private files, flushes, replacing a file whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::base::random_name::random_hex;
use crate::base::read_regular;
use crate::base::windows::retry::while_in_use;
use crate::error::{Error, Result};

/// Prefix of the names of temporary files.
pub const TMP_PREFIX: &str = ".tmp-";

/// Creates a file that only its owner can read, open for reading and writing.
///
/// # Errors
/// The name is taken, or the file cannot be created.
pub fn create_private(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(Error::io("create", path))?;
    make_private(&file).map_err(Error::io("set the mode of", path))?;
    Ok(file)
}

/// Sets the mode once more: a hostile umask can take bits away even from the owner.
#[cfg(unix)]
fn make_private(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if file.metadata()?.permissions().mode() & 0o777 == 0o600 {
        return Ok(());
    }
    file.set_permissions(std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the other platforms can fail here"
)]
fn make_private(_file: &File) -> std::io::Result<()> {
    Ok(())
}

/// Flushes content and metadata of a file to the disk.
///
/// # Errors
/// The flush failed: the written data may be lost.
pub fn sync_file(file: &File, path: &Path) -> Result<()> {
    file.sync_all().map_err(Error::io("flush", path))
}

/// Flushes the file at a path, if there is one.
///
/// # Errors
/// The file cannot be opened, or the flush failed.
pub fn sync_if_there(path: &Path) -> Result<()> {
    // Windows flushes only a file that is open for writing.
    match OpenOptions::new()
        .read(true)
        .write(cfg!(windows))
        .open(path)
    {
        Ok(file) => sync_file(&file, path),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(Error::io("open", path)(cause)),
    }
}

/// Flushes several files together: all are queued first, so a journaling file system commits its
/// log only once.
///
/// # Errors
/// One of the flushes failed.
pub fn sync_together(files: &[&TemporaryFile]) -> Result<()> {
    for file in files {
        start_writing(&file.file);
    }
    files.iter().try_for_each(|file| file.sync())
}

/// Starts writeback of a file without waiting for it. `DontNeed` is the only safe call that does
/// so; it drops only pages that are already written.
#[cfg(target_os = "linux")]
fn start_writing(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn start_writing(_file: &File) {}

/// Whether `bytes` of free space are certain, as far as the system tells.
#[cfg(unix)]
pub fn has_room(dir: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(dir)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= bytes)
}

#[cfg(not(unix))]
pub fn has_room(_dir: &Path, _bytes: u64) -> bool {
    true
}

/// Flushes a directory's entries to the disk; Windows has no such call.
///
/// # Errors
/// The flush failed. A file system that cannot flush directories is not an error.
#[cfg(unix)]
pub fn sync_directory(path: &Path) -> Result<()> {
    match File::open(path).and_then(|directory| directory.sync_all()) {
        Err(cause)
            if !matches!(
                cause.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Err(Error::io("flush", path)(cause))
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the other platforms can fail here"
)]
pub fn sync_directory(_path: &Path) -> Result<()> {
    Ok(())
}

/// Renames a file, replacing a file of the new name.
///
/// # Errors
/// The rename failed; both names are as before.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that renames files of a store"
)]
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    while_in_use(|| std::fs::rename(from, to)).map_err(Error::io("rename into place", to))
}

/// Exchanges two names of any kind in one step; `false` where the system cannot do that, or not for
/// these.
///
/// # Errors
/// The exchange failed; both names are as before.
#[cfg(target_os = "linux")]
pub fn exchange(one: &Path, other: &Path) -> Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(
            Errno::NOSYS
            | Errno::INVAL
            | Errno::PERM
            | Errno::OPNOTSUPP
            | Errno::XDEV
            | Errno::BUSY,
        ) => Ok(false),
        Err(cause) => Err(Error::io("exchange", other)(cause.into())),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the other platforms can fail here"
)]
pub fn exchange(_one: &Path, _other: &Path) -> Result<bool> {
    Ok(false)
}

/// Hard-links a file that is never written to again, or copies it where there are no links.
///
/// # Errors
/// Neither could be done.
pub fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let directory = parent_of(to);
    let temporary = TemporaryFile::create(directory, TMP_PREFIX, "-")?;
    let mut source = read_regular::open(from).map_err(Error::io("open", from))?;
    std::io::copy(&mut source, &mut temporary.file()).map_err(Error::io("copy", from))?;
    temporary.sync()?;
    temporary.publish(to)
}

/// Removes a file; a missing one is no error. Afterwards nothing has its name.
///
/// # Errors
/// The file cannot be removed.
pub fn remove_if_there(path: &Path) -> Result<bool> {
    match while_in_use(|| remove(path)) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(Error::io("remove", path)(cause)),
    }
}

#[cfg(not(windows))]
fn remove(path: &Path) -> std::io::Result<()> {
    std::fs::remove_file(path)
}

/// On Windows a removed file can keep its name until all programs have closed it, so that it loses
/// its name first. One that cannot be removed yet is left to the sweep.
#[cfg(windows)]
#[expect(clippy::disallowed_methods, reason = "this file loses its name")]
fn remove(path: &Path) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    if name.starts_with(TMP_PREFIX.as_bytes()) {
        return std::fs::remove_file(path);
    }
    let (pid, random) = (std::process::id(), random_hex());
    let nameless = parent_of(path).join(format!("{TMP_PREFIX}{pid}-{random}"));
    std::fs::rename(path, &nameless)?;
    let _ = std::fs::remove_file(nameless);
    Ok(())
}

/// A file under a temporary name, removed on drop unless it is published.
#[derive(Debug)]
pub struct TemporaryFile {
    path: PathBuf,
    file: File,
    published: bool,
}

impl TemporaryFile {
    /// Creates `<prefix><pid><separator><random>` in `directory`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(directory: &Path, prefix: &str, separator: &str) -> Result<Self> {
        const NAME_TRIES: usize = 8;
        const ACTION: &str = "make a temporary file in";
        let mut last = None;
        for _ in 0..NAME_TRIES {
            let path = directory.join(format!(
                "{prefix}{}{separator}{}",
                std::process::id(),
                random_hex()
            ));
            match create_private(&path) {
                Ok(file) => {
                    return Ok(Self {
                        path,
                        file,
                        published: false,
                    });
                }
                Err(error) if error.io_kind() == Some(std::io::ErrorKind::AlreadyExists) => {
                    last = Some(error.renamed(ACTION, directory));
                }
                Err(other) => return Err(other),
            }
        }
        Err(last.unwrap_or_else(|| Error::io(ACTION, directory)(ErrorKind::AlreadyExists.into())))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// # Errors
    /// The flush failed.
    pub fn sync(&self) -> Result<()> {
        sync_file(&self.file, &self.path)
    }

    /// Renames the file to its final name. The directory is not flushed.
    ///
    /// # Errors
    /// The rename failed; the temporary file is removed.
    pub fn publish(mut self, to: &Path) -> Result<()> {
        rename(&self.path, to)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.published {
            // A leftover is removed by the next sweep.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a write failed because the disk or the quota is full.
pub fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// Adds bytes to the end of a file that has this length; `false` if it is no such plain file. A kill
/// in between can leave it torn, so it is only for derived files.
///
/// # Errors
/// The bytes cannot be written; the file is as before, if it can be cut.
#[cfg(unix)]
pub fn append(path: &Path, length: usize, bytes: &[u8]) -> Result<bool> {
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let mut options = OpenOptions::new();
    let opened = options.append(true).custom_flags(flags.cast_signed());
    let Ok(mut file) = opened.open(path) else {
        return Ok(false);
    };
    let found = file.metadata().map_err(Error::io("look at", path))?;
    if !found.is_file() || found.nlink() != 1 || found.len() != length as u64 {
        return Ok(false);
    }
    if let Err(cause) = file.write_all(bytes) {
        let _ = file.set_len(length as u64);
        return Err(Error::io("write", path)(cause));
    }
    Ok(true)
}

#[cfg(not(unix))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the other platforms can fail here"
)]
pub fn append(_path: &Path, _length: usize, _bytes: &[u8]) -> Result<bool> {
    Ok(false)
}

/// Overwrites a file in place with shorter content, which works on a full disk. A kill in between
/// can leave it torn, so it is only for derived files.
///
/// # Errors
/// The new content is longer than the old, or there is no old file (both: no room), or the file
/// cannot be written.
pub fn shrink(path: &Path, bytes: &[u8]) -> Result<()> {
    let is_other = |found: std::fs::Metadata| !found.is_file();
    if path.symlink_metadata().is_ok_and(is_other) {
        return Err(Error::io("write", path)(ErrorKind::InvalidInput.into()));
    }
    let mut file = match OpenOptions::new().write(true).open(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            return Err(Error::io("write", path)(ErrorKind::StorageFull.into()));
        }
        opened => opened.map_err(Error::io("open", path))?,
    };
    let found = file.metadata().map_err(Error::io("look at", path))?.len();
    if found < bytes.len() as u64 {
        return Err(Error::io("write", path)(ErrorKind::StorageFull.into()));
    }
    file.write_all(bytes).map_err(Error::io("write", path))?;
    file.set_len(bytes.len() as u64)
        .map_err(Error::io("cut", path))?;
    sync_file(&file, path)
}

/// Replaces or creates a file atomically: after a crash it holds the old bytes or the new ones.
///
/// # Errors
/// The file could not be written; then it is as before.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_through(parent_of(path), path, bytes)
}

fn parent_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// As [`replace`], with the temporary file in another directory of the same file system, for
/// directories in which no temporary name may ever appear.
///
/// # Errors
/// The file could not be written; then it is as before.
pub fn replace_through(aside: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = write_temporary(aside, bytes)?;
    temporary.sync()?;
    put_in_place(temporary, aside, path)?;
    sync_directory(parent_of(path))
}

/// As [`replace_through`] for derived files, without a flush: a power cut may leave the old
/// content, or none.
///
/// # Errors
/// The file could not be written; then it is as before.
pub fn replace_derived(aside: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    put_in_place(write_temporary(aside, bytes)?, aside, path)
}

/// Writes a temporary file in `aside` with these bytes; it is not flushed.
///
/// # Errors
/// It cannot be written.
pub fn write_temporary(aside: &Path, bytes: &[u8]) -> Result<TemporaryFile> {
    let temporary = TemporaryFile::create(aside, TMP_PREFIX, "-")?;
    temporary
        .file()
        .write_all(bytes)
        .map_err(Error::io("write", temporary.path()))?;
    Ok(temporary)
}

/// Renames a file to its place, moving a directory that is in the way aside. Nothing is flushed.
///
/// # Errors
/// The rename failed; the old file or directory is as before, or was moved aside.
pub fn put_in_place(temporary: TemporaryFile, aside: &Path, path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        // No path of ours is a directory here; a foreign one is kept.
        rename(path, &aside.join(format!("in-the-way-{}", random_hex())))?;
    }
    temporary.publish(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_full_only_where_the_system_says_so() {
        let said = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        assert!(said.iter().all(|kind| is_full(&(*kind).into())));
        assert!(!is_full(&ErrorKind::ReadOnlyFilesystem.into()));
    }

    #[test]
    fn a_replaced_file_is_private_and_leaves_nothing_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let found = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, 0o600);
        }
    }

    #[test]
    fn a_directory_in_the_way_is_kept_aside() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        std::fs::create_dir_all(path.join("y")).unwrap();
        replace(&path, b"one").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        let kept = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        assert_eq!(kept.filter(|kept| kept.join("y").is_dir()).count(), 1);
    }

    #[test]
    fn a_failed_replacement_keeps_the_old_and_removes_the_new() {
        let place = tempfile::tempdir().unwrap();
        let aside = place.path().join("aside");
        std::fs::create_dir(&aside).unwrap();
        assert!(replace_through(&aside, &place.path().join("missing").join("x"), b"one").is_err());
        assert_eq!(std::fs::read_dir(&aside).unwrap().count(), 0);
    }

    #[test]
    fn writing_over_a_file_that_is_too_short_or_missing_is_for_want_of_room() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        let wants_room = |written: Result<()>| written.is_err_and(|error| error.is_full());
        assert!(wants_room(shrink(&path, b"one")));
        std::fs::write(&path, "1").unwrap();
        assert!(wants_room(shrink(&path, b"one")));
        shrink(&path, b"2").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"2");
    }

    #[test]
    fn two_temporary_names_differ() {
        let place = tempfile::tempdir().unwrap();
        let one = TemporaryFile::create(place.path(), TMP_PREFIX, "-").unwrap();
        let two = TemporaryFile::create(place.path(), TMP_PREFIX, "-").unwrap();
        assert_ne!(one.path(), two.path());
    }
}
