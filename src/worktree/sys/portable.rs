//! The same calls by path, with the standard library, and on Windows what an open file tells beside it.
//!
//! Limits: another process can put a symlink at a path between check and use; an exchange is three
//! renames; overlong paths fail but on Windows; mounts are detected by device, if at all.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(not(unix))]
use winapi_util::file::information;

use super::item::{Access, Item, ItemKind, Rights, is_same_place, kind_of};
use super::{exchange_by_renames, invalid};
use crate::base::time::SECOND_NS;
use crate::base::windows::retry::while_in_use;
use crate::base::windows::verbatim::verbatim_path;
use crate::model::state::entry::SYMLINK_BITS;
#[cfg(unix)]
use crate::model::state::entry::TYPE_BITS;
use crate::model::{RelPath, Stat};

/// A directory, identified by its path.
#[derive(Debug)]
pub struct Dir {
    path: PathBuf,
}

impl Dir {
    /// # Errors
    /// I/O errors, also if the last component is a symlink.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let path = verbatim_path(path);
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path })
    }

    /// Opens the directory at a canonical path, if it still is one.
    pub fn open_canonical(path: &Path) -> io::Result<Self> {
        if path.canonicalize()? != verbatim_path(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Self::open_root(path)
    }

    pub fn open_child(&self, name: &[u8], _access: Access) -> io::Result<Self> {
        Self::open_root(&self.child(name)?)
    }

    /// Opens the parent directory.
    pub fn open_parent(&self) -> io::Result<Self> {
        Self::open_root(self.path.parent().ok_or(io::ErrorKind::NotFound)?)
    }

    /// Opens the directory at a path below this one; the root path is this one.
    ///
    /// # Errors
    /// I/O errors; [`super::is_absent`] also if a component is a symlink.
    pub fn open_below(&self, path: &RelPath, access: Access) -> io::Result<Self> {
        let start = Self {
            path: self.path.clone(),
        };
        path.components()
            .try_fold(start, |dir, name| dir.open_child(name, access))
    }

    /// Lists all names except `.` and `..`, unordered.
    pub fn list(&self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let kind = entry.file_type().map_or(ItemKind::Unknown, kind_of_type);
            items.push(match to_bytes(entry.file_name()) {
                Ok(name) => Item {
                    name: name.into(),
                    kind,
                },
                Err(name) => Item {
                    name: name.to_string_lossy().as_bytes().into(),
                    kind: ItemKind::Unnameable,
                },
            });
        }
        Ok(items)
    }

    pub fn stat(&self) -> io::Result<Stat> {
        stat_at(&self.path)
    }

    /// Returns the stat and the mount id, which is unknown without descriptors; callers compare the
    /// device instead.
    pub fn stat_with_mount(&self) -> io::Result<(Stat, Option<u64>)> {
        Ok((self.stat()?, None))
    }

    /// Returns the device of a path.
    pub fn mount_of(path: &Path) -> Option<u64> {
        stat_at(path).ok().map(|stat| stat.dev)
    }

    pub fn stat_child(&self, name: &[u8]) -> io::Result<Stat> {
        stat_at(&self.child(name)?)
    }

    /// Who may change an entry is known here only by trying.
    pub fn rights(&self, name: Option<&[u8]>) -> io::Result<Rights> {
        Ok(Rights {
            stat: name.map_or_else(|| self.stat(), |name| self.stat_child(name))?,
            is_owned: true,
            ..Rights::default()
        })
    }

    pub fn refusal_to_write(&self) -> Option<io::Error> {
        None
    }

    /// Opens a regular file for reading, with its stat.
    ///
    /// # Errors
    /// `InvalidInput` if it is no regular file.
    pub fn open_file(&self, name: &[u8]) -> io::Result<(File, Stat)> {
        self.open_regular(name, File::options().read(true))
    }

    /// Syncs the content of a regular file.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn sync_file(&self, name: &[u8]) -> io::Result<()> {
        // Windows flushes only files open for writing.
        self.open_regular(name, File::options().read(true).write(cfg!(windows)))?
            .0
            .sync_all()
    }

    fn open_regular(&self, name: &[u8], options: &fs::OpenOptions) -> io::Result<(File, Stat)> {
        let path = self.child(name)?;
        // Checked before opening: opening a FIFO would block.
        let before = to_stat(&fs::symlink_metadata(&path)?);
        if kind_of(&before) != ItemKind::File {
            return Err(invalid("not a regular file"));
        }
        let file = options.open(&path)?;
        let stat = stat_file(&file)?;
        if !is_same_place(&before, &stat) {
            return Err(invalid("replaced while it was opened"));
        }
        Ok((file, stat))
    }

    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        let text = fs::read_link(self.child(name)?)?;
        to_bytes(text.into_os_string())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not Unicode"))
    }

    /// Creates a file that only its owner can read and write.
    pub fn create_file(&self, name: &[u8]) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.child(name)?)
    }

    /// Creates a file with at most these permission bits.
    pub fn create_file_with(&self, name: &[u8], _perm: u32) -> io::Result<File> {
        self.create_file(name)
    }

    /// Opens a regular file for appending; a new one is private to its owner.
    pub fn open_to_append(&self, name: &[u8]) -> io::Result<File> {
        let path = self.child(name)?;
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(invalid("not a regular file"));
        }
        let mut options = File::options();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    }

    pub fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        self.make_dir_with(name, 0o700)
    }

    /// Creates a directory with at most these permission bits, which only Unix has.
    #[cfg_attr(
        not(unix),
        expect(unused_variables, reason = "only Unix has a mode to set")
    )]
    pub fn make_dir_with(&self, name: &[u8], perm: u32) -> io::Result<()> {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, perm);
        builder.create(self.child(name)?)
    }

    #[cfg(unix)]
    pub fn make_symlink(&self, name: &[u8], text: &[u8]) -> io::Result<()> {
        std::os::unix::fs::symlink(to_os(text)?, self.child(name)?)
    }

    #[cfg(windows)]
    pub fn make_symlink(&self, name: &[u8], text: &[u8]) -> io::Result<()> {
        // Windows has two kinds of symlinks; the current target decides which one is needed.
        let text = to_os(text)?;
        let place = self.child(name)?;
        if self.path.join(&text).is_dir() {
            return std::os::windows::fs::symlink_dir(text, place);
        }
        std::os::windows::fs::symlink_file(text, place)
    }

    #[cfg(not(any(unix, windows)))]
    pub fn make_symlink(&self, _name: &[u8], _text: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Renames unless the new name exists, as far as a prior check can tell.
    pub fn rename_no_replace(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        let place = to.child(to_name)?;
        match fs::symlink_metadata(&place) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let old = self.child(name)?;
                while_in_use(|| fs::rename(&old, &place))
            }
            Err(error) => Err(error),
        }
    }

    /// As [`Self::rename_no_replace`], for a directory.
    pub fn rename_dir_no_replace(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        self.rename_no_replace(name, to, to_name)
    }

    pub fn rename_exchange(&self, name: &[u8], with: &Dir, with_name: &[u8]) -> io::Result<()> {
        exchange_by_renames(self, name, with, with_name)
    }

    /// Renames, replacing the new name if it exists.
    pub fn rename_over(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        let (old, new) = (self.child(name)?, to.child(to_name)?);
        while_in_use(|| fs::rename(&old, &new))
    }

    pub fn unlink(&self, name: &[u8]) -> io::Result<()> {
        let path = self.child(name)?;
        // A link to a directory is removed as one there.
        #[cfg(windows)]
        if std::os::windows::fs::FileTypeExt::is_symlink_dir(
            &fs::symlink_metadata(&path)?.file_type(),
        ) {
            return fs::remove_dir(path);
        }
        while_in_use(|| fs::remove_file(&path))
    }

    pub fn rmdir(&self, name: &[u8]) -> io::Result<()> {
        let path = self.child(name)?;
        while_in_use(|| fs::remove_dir(&path))
    }

    /// Sets the permission bits of a regular file or directory; follows no symlink.
    pub fn chmod_child(&self, name: &[u8], perm: u32) -> io::Result<()> {
        let path = self.child(name)?;
        if !matches!(
            kind_of(&self.stat_child(name)?),
            ItemKind::File | ItemKind::Dir
        ) {
            return Err(invalid("neither a file nor a directory"));
        }
        fs::set_permissions(&path, to_permissions(&fs::symlink_metadata(&path)?, perm))
    }

    pub fn chmod(&self, perm: u32) -> io::Result<()> {
        fs::set_permissions(
            &self.path,
            to_permissions(&fs::symlink_metadata(&self.path)?, perm),
        )
    }

    /// Syncs the entries of this directory, where the system allows that.
    pub fn sync(&self) -> io::Result<()> {
        if cfg!(unix) {
            File::open(&self.path)?.sync_all()
        } else {
            Ok(())
        }
    }

    /// Returns `false` always: the standard library has no call for it.
    pub fn sync_file_system(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns the path of an entry, refusing names that lead elsewhere, as `\` and `:` on Windows.
    fn child(&self, name: &[u8]) -> io::Result<PathBuf> {
        let name = to_os(name)?;
        // On Windows, a colon leads to another stream of a file.
        if cfg!(windows) && name.as_encoded_bytes().contains(&b':') {
            return Err(unusable_name());
        }
        let mut components = Path::new(&name).components();
        match (components.next(), components.next()) {
            (Some(Component::Normal(only)), None) if only == name => Ok(self.path.join(name)),
            _ => Err(unusable_name()),
        }
    }
}

fn unusable_name() -> io::Error {
    invalid("this name cannot be used on this system")
}

fn kind_of_type(kind: fs::FileType) -> ItemKind {
    match kind {
        kind if kind.is_symlink() => ItemKind::Symlink,
        kind if kind.is_dir() => ItemKind::Dir,
        kind if kind.is_file() => ItemKind::File,
        _ => ItemKind::Unknown,
    }
}

#[cfg(unix)]
fn to_bytes(name: OsString) -> Result<Vec<u8>, OsString> {
    Ok(std::os::unix::ffi::OsStringExt::into_vec(name))
}

#[cfg(not(unix))]
fn to_bytes(name: OsString) -> Result<Vec<u8>, OsString> {
    name.into_string().map(String::into_bytes)
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "names of other systems are Unicode"
)]
fn to_os(name: &[u8]) -> io::Result<OsString> {
    Ok(std::os::unix::ffi::OsStringExt::from_vec(name.to_vec()))
}

#[cfg(not(unix))]
fn to_os(name: &[u8]) -> io::Result<OsString> {
    let text = std::str::from_utf8(name)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    Ok(text.into())
}

#[cfg(unix)]
fn to_permissions(_now: &Metadata, perm: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(perm & 0o7777)
}

#[cfg(not(unix))]
fn to_permissions(now: &Metadata, perm: u32) -> fs::Permissions {
    let mut permissions = now.permissions();
    permissions.set_readonly(perm & 0o200 == 0);
    permissions
}

#[cfg(unix)]
fn to_stat(metadata: &Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt;
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    let is_symlink = metadata.mode() & TYPE_BITS == SYMLINK_BITS;
    Stat {
        dev: metadata.dev(),
        ino: metadata.ino(),
        mode: if is_symlink {
            SYMLINK_BITS | 0o777
        } else {
            metadata.mode()
        },
        size_bytes: metadata.size(),
        mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        links: metadata.nlink(),
    }
}

/// Returns the stat of what a path names, itself if it is a symlink.
fn stat_at(path: &Path) -> io::Result<Stat> {
    let metadata = fs::symlink_metadata(path)?;
    #[cfg_attr(unix, expect(unused_mut, reason = "on Unix it is complete"))]
    let mut stat = to_stat(&metadata);
    #[cfg(not(unix))]
    if let (true, Some((dev, ino))) = (metadata.is_dir(), identity(path)) {
        (stat.dev, stat.ino) = (dev, ino);
    }
    Ok(stat)
}

/// Converts metadata; the creation time stands in for the ctime, and for the inode of a file, which
/// Windows tells of open ones only.
#[cfg(not(unix))]
fn to_stat(metadata: &Metadata) -> Stat {
    let write = if metadata.permissions().readonly() {
        0
    } else {
        0o200
    };
    let mode = match metadata.file_type() {
        kind if kind.is_symlink() => SYMLINK_BITS | 0o777,
        kind if kind.is_dir() => super::item::DIR_BITS | 0o755,
        _ => crate::model::state::entry::FILE_BITS | 0o444 | write,
    };
    let created = metadata.created().map_or(0, since_1970);
    Stat {
        dev: 0,
        ino: created.unsigned_abs(),
        mode,
        size_bytes: metadata.len(),
        mtime_ns: metadata.modified().map_or(0, since_1970),
        ctime_ns: created,
        links: 1,
    }
}

/// Returns volume and index of what a path leads to; `None` if it cannot be opened.
///
/// Source: Microsoft, `BY_HANDLE_FILE_INFORMATION`.
#[cfg(not(unix))]
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = information(winapi_util::Handle::from_path_any(path).ok()?).ok()?;
    Some((found.volume_serial_number(), found.file_index()))
}

/// Returns nanoseconds since 1970, saturating.
fn since_1970(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// Returns the stat of a path, following symlinks; for paths outside the root.
pub fn stat_path(path: &Path) -> io::Result<Stat> {
    Ok(to_stat(&fs::metadata(path)?))
}

pub fn stat_file(file: &File) -> io::Result<Stat> {
    #[cfg_attr(unix, expect(unused_mut, reason = "on Unix it is complete"))]
    let mut stat = to_stat(&file.metadata()?);
    #[cfg(not(unix))]
    {
        stat.links = information(file)?.number_of_links();
    }
    Ok(stat)
}

pub fn set_file_mode(file: &File, perm: u32) -> io::Result<()> {
    file.set_permissions(to_permissions(&file.metadata()?, perm))
}

/// Returns a time not earlier than the timestamp of any file written before.
pub fn fine_now_ns() -> i64 {
    since_1970(SystemTime::now())
}

/// Returns a time not later than the timestamp that a file written now would get.
pub fn coarse_now_ns() -> i64 {
    let now = since_1970(SystemTime::now());
    now - now.rem_euclid(SECOND_NS) - 2 * SECOND_NS
}

/// Whether opening failed because the last component is a symlink.
pub fn is_symlink_error(error: &io::Error) -> bool {
    const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };
    cfg!(unix) && error.raw_os_error() == Some(ELOOP)
}

/// Whether the process, not the file, is the cause: no descriptors or memory left.
pub fn is_exhausted(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    error.kind() == io::ErrorKind::OutOfMemory
        || cfg!(unix) && matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}
