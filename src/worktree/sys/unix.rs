//! System calls by descriptor, for Linux, macOS and other Unixes.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::sync::OnceLock;

use rustix::fs::{self, AtFlags, Mode, OFlags, RawMode};
use rustix::io::{Errno, retry_on_intr};

use crate::model::state::entry::{SYMLINK_BITS, TYPE_BITS};
use crate::model::{RelPath, Stat};
use crate::worktree::sys::item::{Access, Item, ItemKind, Rights, kind_of};
use crate::worktree::sys::{exchange_by_renames, invalid};

/// An open directory; it stays the same when its path is renamed or replaced.
#[derive(Debug)]
pub struct Dir {
    pub(super) fd: OwnedFd,
}

pub(super) const NEVER_FOLLOW: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
const TO_APPEND: OFlags = NEVER_FOLLOW
    .union(OFlags::WRONLY)
    .union(OFlags::APPEND)
    .union(OFlags::CREATE)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);
const TO_READ_FILE: OFlags = NEVER_FOLLOW
    .union(OFlags::RDONLY)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);
const NEW_FILE: OFlags = NEVER_FOLLOW
    .union(OFlags::WRONLY)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL);
/// Upper bound on the path passed to one call; the limit is 4096 with the closing NUL on Linux,
/// 1024 on macOS.
const PATH_CHUNK_BYTES: usize = 1000;

/// Opens a directory by `openat2`, following no link; `None` where the kernel or a seccomp filter does not offer it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn open_without_links(
    at: impl std::os::fd::AsFd,
    path: impl rustix::path::Arg + Copy,
    access: Access,
    also: fs::ResolveFlags,
) -> Option<io::Result<Dir>> {
    const TRIES: usize = 8;
    let resolve = fs::ResolveFlags::NO_SYMLINKS | fs::ResolveFlags::NO_MAGICLINKS | also;
    for _ in 0..TRIES {
        match fs::openat2(&at, path, dir_flags(access), Mode::empty(), resolve) {
            Ok(fd) => return Some(Ok(Dir { fd })),
            // `EAGAIN`: a concurrent rename made the lookup unsafe.
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG) => return None,
            Err(error) => return Some(Err(error.into())),
        }
    }
    None
}

fn dir_flags(access: Access) -> OFlags {
    let flags = NEVER_FOLLOW | OFlags::DIRECTORY;
    match access {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        Access::Search => flags | OFlags::PATH,
        _ => flags | OFlags::RDONLY,
    }
}

impl Dir {
    /// # Errors
    /// I/O errors, also if the last component is a symlink.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let fd = retry_on_intr(|| fs::open(path, dir_flags(Access::Read), Mode::empty()))?;
        Ok(Self { fd })
    }

    /// Opens the directory at a canonical path: none of its components is a symlink.
    ///
    /// # Errors
    /// I/O errors; [`super::is_absent`] also if a component became a symlink meanwhile. Where the
    /// kernel offers no `openat2`, only the last component is looked at.
    pub fn open_canonical(path: &Path) -> io::Result<Self> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(opened) =
            open_without_links(fs::CWD, path, Access::Read, fs::ResolveFlags::empty())
        {
            return opened;
        }
        Self::open_root(path)
    }

    pub fn open_child(&self, name: &[u8], access: Access) -> io::Result<Self> {
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, dir_flags(access), Mode::empty()))?;
        Ok(Self { fd })
    }

    /// Opens the present parent, which is another one if this directory was moved.
    pub fn open_parent(&self) -> io::Result<Self> {
        self.open_child(b"..", Access::Read)
    }

    /// Opens the directory at a path below this one; at the root path, this one again.
    ///
    /// # Errors
    /// I/O errors; [`super::is_absent`] also if a component is a symlink.
    pub fn open_below(&self, path: &RelPath, access: Access) -> io::Result<Self> {
        let mut chunks = path_chunks(path.as_bytes());
        let Some(first) = chunks.next() else {
            return self.open_child(b".", access);
        };
        let mut next = first;
        let mut dir: Option<Self> = None;
        loop {
            let after = chunks.next();
            let wanted = if after.is_some() {
                Access::Search
            } else {
                access
            };
            dir = Some(dir.as_ref().unwrap_or(self).open_chunk(next, wanted)?);
            match (after, dir) {
                (Some(chunk), held) => (next, dir) = (chunk, held),
                (None, Some(last)) => return Ok(last),
                (None, None) => return self.open_child(b".", access),
            }
        }
    }

    /// Opens a piece of a path by one `openat2` where possible, otherwise component by component.
    fn open_chunk(&self, chunk: &[u8], access: Access) -> io::Result<Self> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if chunk.contains(&b'/')
            && let Some(opened) =
                open_without_links(&self.fd, chunk, access, fs::ResolveFlags::BENEATH)
        {
            return opened;
        }
        let mut dir: Option<Self> = None;
        let mut names = chunk.split(|b| *b == b'/').peekable();
        while let Some(name) = names.next() {
            let wanted = if names.peek().is_some() {
                Access::Search
            } else {
                access
            };
            dir = Some(dir.as_ref().unwrap_or(self).open_child(name, wanted)?);
        }
        dir.ok_or_else(|| Errno::NOENT.into())
    }

    /// Lists all names except `.` and `..`, unordered.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn list(&self) -> io::Result<Vec<Item>> {
        const BUFFER_BYTES: usize = 32 * 1024;
        fs::seek(&self.fd, fs::SeekFrom::Start(0))?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        let mut entries = fs::RawDir::new(&self.fd, buffer.spare_capacity_mut());
        let mut items = Vec::new();
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => push_item(&mut items, entry.file_name().to_bytes(), entry.file_type()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(items)
    }

    /// Lists all names except `.` and `..`, unordered.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub fn list(&self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        for entry in fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            push_item(&mut items, entry.file_name().to_bytes(), entry.file_type());
        }
        Ok(items)
    }

    pub fn stat(&self) -> io::Result<Stat> {
        Ok(to_stat(&fs::fstat(&self.fd)?))
    }

    /// Returns the stat and the mount id, which tells mounts of one device apart, if the system has one.
    pub fn stat_with_mount(&self) -> io::Result<(Stat, Option<u64>)> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::StatxFlags;
            let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
            if let Ok(stat) = fs::statx(&self.fd, c"", AtFlags::EMPTY_PATH, wanted) {
                let has_mount = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
                return Ok((from_statx(&stat), has_mount.then_some(stat.stx_mnt_id)));
            }
        }
        Ok((self.stat()?, None))
    }

    /// Returns the mount in which a path lies, or its device where mounts have no ids.
    pub fn mount_of(path: &Path) -> Option<u64> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::StatxFlags;
            let found = fs::statx(fs::CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok();
            let has_id = |stat: &fs::Statx| stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
            if let Some(stat) = found.filter(has_id) {
                return Some(stat.stx_mnt_id);
            }
        }
        fs::stat(path).ok().map(|stat| to_stat(&stat).dev)
    }

    pub fn stat_child(&self, name: &[u8]) -> io::Result<Stat> {
        Ok(to_stat(&fs::statat(
            &self.fd,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }

    /// Opens a regular file for reading, with its stat. Never blocks.
    ///
    /// # Errors
    /// [`super::is_symlink_error`] for a symlink; `InvalidInput` for any other kind that is no
    /// regular file.
    pub fn open_file(&self, name: &[u8]) -> io::Result<(File, Stat)> {
        let file = File::from(retry_on_intr(|| {
            fs::openat(&self.fd, name, TO_READ_FILE, Mode::empty())
        })?);
        let stat = stat_file(&file)?;
        if kind_of(&stat) != ItemKind::File {
            return Err(invalid("not a regular file"));
        }
        Ok((file, stat))
    }

    /// Syncs the content of a regular file.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn sync_file(&self, name: &[u8]) -> io::Result<()> {
        self.open_file(name)?.0.sync_all()
    }

    /// Opens a regular file for appending; a new one is private to its owner. Never blocks.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_to_append(&self, name: &[u8]) -> io::Result<File> {
        let file = File::from(retry_on_intr(|| {
            fs::openat(&self.fd, name, TO_APPEND, to_mode(0o600))
        })?);
        if kind_of(&stat_file(&file)?) != ItemKind::File {
            return Err(invalid("not a regular file"));
        }
        Ok(file)
    }

    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// Creates a file that only its owner can read and write.
    pub fn create_file(&self, name: &[u8]) -> io::Result<File> {
        self.create_file_with(name, 0o600)
    }

    /// Creates a file with at most these permission bits.
    pub fn create_file_with(&self, name: &[u8], perm: u32) -> io::Result<File> {
        let mode = to_mode(perm);
        Ok(File::from(retry_on_intr(|| {
            fs::openat(&self.fd, name, NEW_FILE, mode)
        })?))
    }

    pub fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        self.make_dir_with(name, 0o700)
    }

    /// Creates a directory with at most these permission bits.
    pub fn make_dir_with(&self, name: &[u8], perm: u32) -> io::Result<()> {
        Ok(fs::mkdirat(&self.fd, name, to_mode(perm))?)
    }

    pub fn make_symlink(&self, name: &[u8], text: &[u8]) -> io::Result<()> {
        Ok(fs::symlinkat(text, &self.fd, name)?)
    }

    /// Renames unless the new name exists.
    ///
    /// On file systems without `RENAME_NOREPLACE`, links the new name and unlinks the old one,
    /// which replaces nothing either.
    pub fn rename_no_replace(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match fs::renameat_with(&self.fd, name, &to.fd, to_name, fs::RenameFlags::NOREPLACE) {
            Err(error) if may_fall_back(error) => {}
            done => return Ok(done?),
        }
        fs::linkat(&self.fd, name, &to.fd, to_name, AtFlags::empty())?;
        // If the old name cannot be removed, the new one must not stay.
        self.unlink(name).inspect_err(|_| drop(to.unlink(to_name)))
    }

    /// As [`Self::rename_no_replace`], for a directory. Without `RENAME_NOREPLACE`, an empty
    /// directory that another process makes there at that moment is replaced, nothing else.
    pub fn rename_dir_no_replace(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match fs::renameat_with(&self.fd, name, &to.fd, to_name, fs::RenameFlags::NOREPLACE) {
            Err(error) if may_fall_back(error) => {}
            done => return Ok(done?),
        }
        match to.stat_child(to_name) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.rename_over(name, to, to_name)
            }
            Err(error) => Err(error),
        }
    }

    /// Exchanges two names, atomically where possible, else by [`exchange_by_renames`].
    pub fn rename_exchange(&self, name: &[u8], with: &Dir, with_name: &[u8]) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match fs::renameat_with(
            &self.fd,
            name,
            &with.fd,
            with_name,
            fs::RenameFlags::EXCHANGE,
        ) {
            Err(error) if may_fall_back(error) => {}
            done => return Ok(done?),
        }
        exchange_by_renames(self, name, with, with_name)
    }

    /// Renames, replacing the new name if it exists.
    pub fn rename_over(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, name, &to.fd, to_name)?)
    }

    pub fn unlink(&self, name: &[u8]) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    pub fn rmdir(&self, name: &[u8]) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Sets the permission bits of a regular file or directory; follows no symlink.
    pub fn chmod_child(&self, name: &[u8], perm: u32) -> io::Result<()> {
        if !matches!(
            kind_of(&self.stat_child(name)?),
            ItemKind::File | ItemKind::Dir
        ) {
            return Err(invalid("neither a file nor a directory"));
        }
        match retry_on_intr(|| fs::openat(&self.fd, name, TO_READ_FILE, Mode::empty())) {
            Ok(fd) => Ok(fs::fchmod(fd, to_mode(perm))?),
            Err(Errno::ACCESS) => self.chmod_unreadable(name, perm),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the mode of an unreadable file through /proc: `fchmod` refuses an `O_PATH` descriptor.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn chmod_unreadable(&self, name: &[u8], perm: u32) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let fd = fs::openat(&self.fd, name, NEVER_FOLLOW | OFlags::PATH, Mode::empty())?;
        if kind_of(&to_stat(&fs::fstat(&fd)?)) == ItemKind::Symlink {
            return Err(Errno::LOOP.into());
        }
        Ok(fs::chmod(
            format!("/proc/self/fd/{}", fd.as_raw_fd()),
            to_mode(perm),
        )?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn chmod_unreadable(&self, name: &[u8], perm: u32) -> io::Result<()> {
        Ok(fs::chmodat(
            &self.fd,
            name,
            to_mode(perm),
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    pub fn chmod(&self, perm: u32) -> io::Result<()> {
        match fs::fchmod(&self.fd, to_mode(perm)) {
            // `fchmod` refuses an `O_PATH` descriptor; chmod `.` relative to it instead.
            Err(Errno::BADF) => Ok(fs::chmodat(
                &self.fd,
                c".",
                to_mode(perm),
                AtFlags::empty(),
            )?),
            changed => Ok(changed?),
        }
    }
}

/// Whether a rename with flags failed because the kernel, the file system or a seccomp filter does
/// not support it. A filter answers `EPERM`; where permission is missing, the fallback fails too.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn may_fall_back(error: Errno) -> bool {
    matches!(
        error,
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM
    )
}

/// Splits a path at component boundaries into pieces short enough for one call.
fn path_chunks(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = path;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if rest.len() <= PATH_CHUNK_BYTES {
            return Some(std::mem::take(&mut rest));
        }
        let is_slash = |b: &u8| *b == b'/';
        let within = rest[..PATH_CHUNK_BYTES].iter().rposition(is_slash);
        let end = within
            .or_else(|| rest.iter().position(is_slash))
            .unwrap_or(rest.len());
        let chunk = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(chunk)
    })
}

fn push_item(items: &mut Vec<Item>, name: &[u8], kind: fs::FileType) {
    if name == b"." || name == b".." {
        return;
    }
    let kind = match kind {
        fs::FileType::RegularFile => ItemKind::File,
        fs::FileType::Directory => ItemKind::Dir,
        fs::FileType::Symlink => ItemKind::Symlink,
        fs::FileType::Fifo => ItemKind::Fifo,
        fs::FileType::Socket => ItemKind::Socket,
        fs::FileType::CharacterDevice | fs::FileType::BlockDevice => ItemKind::Device,
        fs::FileType::Unknown => ItemKind::Unknown,
    };
    items.push(Item {
        name: name.into(),
        kind,
    });
}

fn to_mode(perm: u32) -> Mode {
    Mode::from_raw_mode(RawMode::try_from(perm & 0o7777).unwrap_or_default())
}

pub fn set_file_mode(file: &File, perm: u32) -> io::Result<()> {
    Ok(fs::fchmod(file, to_mode(perm))?)
}

/// Whether opening failed because the last component is a symlink.
pub fn is_symlink_error(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Whether the process, not the file, is the cause: no descriptors or memory left.
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM)
    )
}

impl Dir {
    /// Returns who may change an entry of this directory; of the directory itself without a name.
    pub fn rights(&self, name: Option<&[u8]>) -> io::Result<Rights> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let (at, flags) = match name {
                Some(name) => (name, AtFlags::SYMLINK_NOFOLLOW),
                None => (&b""[..], AtFlags::EMPTY_PATH),
            };
            if let Ok(found) = fs::statx(&self.fd, at, flags, fs::StatxFlags::BASIC_STATS) {
                let has = |flag| found.stx_attributes.contains(flag);
                let stat = from_statx(&found);
                return Ok(Rights {
                    is_owned: self.acts_as_owner(name, found.stx_uid, kind_of(&stat)),
                    stat,
                    is_frozen: has(fs::StatxAttributes::IMMUTABLE)
                        || has(fs::StatxAttributes::APPEND),
                    is_mounted: has(fs::StatxAttributes::MOUNT_ROOT),
                });
            }
        }
        let found = match name {
            Some(name) => fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?,
            None => fs::fstat(&self.fd)?,
        };
        let stat = to_stat(&found);
        Ok(Rights {
            is_owned: self.acts_as_owner(name, found.st_uid, kind_of(&stat)),
            stat,
            ..Rights::default()
        })
    }

    /// Whether the system treats this user as the owner. Where an owner is another, a privilege may
    /// count, or not for this owner: only an owner may open a file without noting the time.
    fn acts_as_owner(&self, name: Option<&[u8]>, owner: u32, kind: ItemKind) -> bool {
        let me = rustix::process::geteuid();
        if owner == me.as_raw() {
            return true;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if matches!(kind, ItemKind::File | ItemKind::Dir) {
            let flags = NEVER_FOLLOW | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOATIME;
            let opened = fs::openat(&self.fd, name.unwrap_or(b"."), flags, Mode::empty());
            return match opened {
                Err(Errno::PERM) => false,
                Ok(_) => true,
                Err(_) => me.is_root(),
            };
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = (name, kind);
        me.is_root()
    }

    /// Returns why names in this directory cannot be changed, if so.
    pub fn refusal_to_write(&self) -> Option<io::Error> {
        let asked = fs::Access::WRITE_OK | fs::Access::EXEC_OK;
        let answer = fs::accessat(&self.fd, c".", asked, AtFlags::EACCESS);
        answer
            .err()
            .filter(|error| *error != Errno::NOSYS)
            .map(io::Error::from)
    }
}

pub fn to_stat(stat: &fs::Stat) -> Stat {
    let mode = u32::try_from(natural(stat.st_mode)).unwrap_or_default();
    let is_symlink = mode & TYPE_BITS == SYMLINK_BITS;
    Stat {
        dev: natural(stat.st_dev),
        ino: natural(stat.st_ino),
        mode: if is_symlink {
            SYMLINK_BITS | 0o777
        } else {
            mode
        },
        size_bytes: natural(stat.st_size),
        mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        links: natural(stat.st_nlink),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn from_statx(stat: &fs::Statx) -> Stat {
    Stat {
        dev: fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        ino: stat.stx_ino,
        mode: stat.stx_mode.into(),
        size_bytes: stat.stx_size,
        mtime_ns: nanoseconds(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
        ctime_ns: nanoseconds(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        links: stat.stx_nlink.into(),
    }
}

/// Converts a stat field, whose width and sign differ between systems.
fn natural(field: impl Into<i128>) -> u64 {
    u64::try_from(field.into()).unwrap_or_default()
}

/// Returns nanoseconds since 1970, saturating.
fn nanoseconds(seconds: impl Into<i128>, rest: impl Into<i128>) -> i64 {
    let total = seconds.into() * 1_000_000_000 + rest.into();
    i64::try_from(total).unwrap_or(if total < 0 { i64::MIN } else { i64::MAX })
}

/// Returns the stat of a path, following symlinks; for paths outside the root.
pub fn stat_path(path: &Path) -> io::Result<Stat> {
    Ok(to_stat(&fs::stat(path)?))
}

pub fn stat_file(file: &File) -> io::Result<Stat> {
    Ok(to_stat(&fs::fstat(file)?))
}

/// Returns a time not earlier than the timestamp of any file written before: Linux also stamps
/// files with the fine clock, which runs ahead of [`coarse_now_ns`].
pub fn fine_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    nanoseconds(now.tv_sec, now.tv_nsec)
}

/// Returns a time not later than the timestamp that a file written now would get.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn coarse_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    nanoseconds(now.tv_sec, now.tv_nsec)
}

/// Returns a time not later than the timestamp that a file written now would get.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn coarse_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    nanoseconds(i128::from(now.tv_sec) - 2, 0)
}

impl Dir {
    /// Syncs the entries of this directory.
    pub fn sync(&self) -> io::Result<()> {
        match retry_on_intr(|| fs::fsync(&self.fd)) {
            // Some file systems cannot sync directories.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Syncs the whole file system, with what others wrote there; returns `false` if this system
    /// has no call for it that reports failed writes.
    pub fn sync_file_system(&self) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if reports_failed_writes() {
            match retry_on_intr(|| fs::syncfs(&self.fd)) {
                Ok(()) => return Ok(true),
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

/// Whether `syncfs` reports failed writes, as it does since Linux 5.8.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reports_failed_writes() -> bool {
    static REPORTS: OnceLock<bool> = OnceLock::new();
    *REPORTS.get_or_init(|| {
        let name = rustix::system::uname();
        is_at_least_5_8(&name.release().to_string_lossy())
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_at_least_5_8(release: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut numbers = release.split(|c| !is_digit(c)).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (5, 8))
}

#[cfg(test)]
#[cfg(any(target_os = "linux", target_os = "android"))]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_cut_at_its_components_and_nothing_is_lost() {
        let long = vec![b'x'; PATH_CHUNK_BYTES + 50];
        let path = [&b"a/b/"[..], &long, b"/c/", &[b'y'; 990], b"/d"].concat();
        let chunks: Vec<&[u8]> = path_chunks(&path).collect();
        assert_eq!(chunks.join(&b'/'), path);
        assert_eq!(chunks[0], b"a/b");
        assert_eq!(path_chunks(b"").count(), 0);
    }

    #[test]
    fn times_beyond_what_fits_are_the_last_that_fits() {
        assert_eq!(nanoseconds(i64::MAX, 0), i64::MAX);
        assert_eq!(nanoseconds(i64::MIN, 0), i64::MIN);
        assert_eq!(nanoseconds(-1, 999_999_999), -1);
    }

    #[test]
    fn releases_are_compared_by_number() {
        for (release, expected) in [
            ("5.8.0-63-generic", true),
            ("5.10.1", true),
            ("6.18.44-fc", true),
            ("5.7.19", false),
            ("4.19.0-amd64", false),
            ("strange", false),
        ] {
            assert_eq!(is_at_least_5_8(release), expected, "{release}");
        }
    }
}
