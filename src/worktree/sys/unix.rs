//! System calls by descriptor, for Linux, macOS and their kin: the only file that knows rustix.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Mode, OFlags, RawMode};
use rustix::io::{Errno, retry_on_intr};

use super::{Access, Item, ItemKind, SYMLINK_BITS, TYPE_BITS, kind_of};
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::Stat;

/// An open directory. It stays the same one when its path is renamed or replaced.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

const NEVER_FOLLOW: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
const TO_APPEND: OFlags = NEVER_FOLLOW
    .union(OFlags::WRONLY)
    .union(OFlags::APPEND)
    .union(OFlags::CREATE)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);
const TO_READ_FILE: OFlags = NEVER_FOLLOW.union(OFlags::RDONLY).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const NEW_FILE: OFlags = NEVER_FOLLOW.union(OFlags::WRONLY).union(OFlags::CREATE).union(OFlags::EXCL);
/// Below what one call takes as a path (4096 with the closing NUL on Linux, 1024 on macOS).
const PATH_CHUNK_BYTES: usize = 1000;

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
    /// The system's, also when the last component is a symlink.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let fd = retry_on_intr(|| fs::open(path, dir_flags(Access::Read), Mode::empty()))?;
        Ok(Self { fd })
    }

    pub fn open_child(&self, name: &[u8], access: Access) -> io::Result<Self> {
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, dir_flags(access), Mode::empty()))?;
        Ok(Self { fd })
    }

    /// The directory that holds this one now, wherever it was moved: to be compared with the one expected.
    pub fn open_parent(&self) -> io::Result<Self> {
        self.open_child(b"..", Access::Read)
    }

    /// A second descriptor of the directory at a path below this one; of this one for the root path.
    ///
    /// # Errors
    /// The system's; [`super::is_absent`] also when a component is a symlink.
    pub fn open_below(&self, path: &RelPath, access: Access) -> io::Result<Self> {
        let mut chunks = path_chunks(path.as_bytes());
        let Some(first) = chunks.next() else { return self.open_child(b".", access) };
        let mut next = first;
        let mut dir: Option<Self> = None;
        loop {
            let after = chunks.next();
            let wanted = if after.is_some() { Access::Search } else { access };
            dir = Some(dir.as_ref().unwrap_or(self).open_chunk(next, wanted)?);
            match (after, dir) {
                (Some(chunk), held) => (next, dir) = (chunk, held),
                (None, Some(last)) => return Ok(last),
                (None, None) => return self.open_child(b".", access),
            }
        }
    }

    /// One call where the system can be told to follow no symlink, one call for each component otherwise.
    fn open_chunk(&self, chunk: &[u8], access: Access) -> io::Result<Self> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if chunk.contains(&b'/')
            && let Some(opened) = self.open_beneath(chunk, access)
        {
            return opened;
        }
        let mut dir: Option<Self> = None;
        let mut names = chunk.split(|b| *b == b'/').peekable();
        while let Some(name) = names.next() {
            let wanted = if names.peek().is_some() { Access::Search } else { access };
            dir = Some(dir.as_ref().unwrap_or(self).open_child(name, wanted)?);
        }
        dir.ok_or_else(|| Errno::NOENT.into())
    }

    /// `None` where the kernel, or a filter in front of it, does not offer `openat2`.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn open_beneath(&self, chunk: &[u8], access: Access) -> Option<io::Result<Self>> {
        use rustix::fs::ResolveFlags as Resolve;
        const TRIES: usize = 8;
        let resolve = Resolve::BENEATH | Resolve::NO_SYMLINKS | Resolve::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match fs::openat2(&self.fd, chunk, dir_flags(access), Mode::empty(), resolve) {
                Ok(fd) => return Some(Ok(Self { fd })),
                // Somebody renames directories while the kernel looks: it asks to be called again.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
        None
    }

    /// All names but `.` and `..`, in no order.
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

    /// All names but `.` and `..`, in no order.
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

    /// What it is, and the number of its mount if the system has such: both at once where it can.
    pub fn look(&self) -> io::Result<(Stat, Option<u64>)> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::StatxFlags;
            let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
            if let Ok(stat) = fs::statx(&self.fd, c"", AtFlags::EMPTY_PATH, wanted) {
                let has_mount = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
                return Ok((from_statx(&stat), has_mount.then_some(stat.stx_mnt_id)));
            }
        }
        Ok((self.stat()?, self.mount_id()))
    }

    /// A number that differs where another mount begins, also when the device is the same; `None` if the system has none.
    pub fn mount_id(&self) -> Option<u64> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::StatxFlags;
            let stat = fs::statx(&self.fd, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
            (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        None
    }

    pub fn stat_child(&self, name: &[u8]) -> io::Result<Stat> {
        Ok(to_stat(&fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Opens a regular file for reading and says what it is. Never waits, whatever stands there.
    ///
    /// # Errors
    /// [`super::is_symlink_met`] for a symlink; `InvalidInput` for any other kind that is no regular file.
    pub fn open_file(&self, name: &[u8]) -> io::Result<(File, Stat)> {
        let file = File::from(retry_on_intr(|| fs::openat(&self.fd, name, TO_READ_FILE, Mode::empty()))?);
        let stat = stat_file(&file)?;
        if kind_of(&stat) != ItemKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok((file, stat))
    }

    /// Makes the content of a regular file durable.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn sync_file(&self, name: &[u8]) -> io::Result<()> {
        self.open_file(name)?.0.sync_all()
    }

    /// Opens a regular file to write at its end, private where it is made. Never waits, whatever stands there.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_to_append(&self, name: &[u8]) -> io::Result<File> {
        let file = File::from(retry_on_intr(|| fs::openat(&self.fd, name, TO_APPEND, to_mode(0o600)))?);
        if kind_of(&stat_file(&file)?) != ItemKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(file)
    }

    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// A new file that only its owner can read and write.
    pub fn create_file(&self, name: &[u8]) -> io::Result<File> {
        self.create_file_with(name, 0o600)
    }

    /// A new file with these permission bits, or fewer.
    pub fn create_file_with(&self, name: &[u8], perm: u32) -> io::Result<File> {
        let mode = to_mode(perm);
        Ok(File::from(retry_on_intr(|| fs::openat(&self.fd, name, NEW_FILE, mode))?))
    }

    pub fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        self.make_dir_with(name, 0o700)
    }

    /// A new directory with these permission bits, or fewer.
    pub fn make_dir_with(&self, name: &[u8], perm: u32) -> io::Result<()> {
        Ok(fs::mkdirat(&self.fd, name, to_mode(perm))?)
    }

    pub fn make_symlink(&self, name: &[u8], text: &[u8]) -> io::Result<()> {
        Ok(fs::symlinkat(text, &self.fd, name)?)
    }

    /// Renames unless something stands at the new name.
    ///
    /// File systems that cannot do so in one step get a second link and lose the first one: nothing is replaced either.
    pub fn rename_no_replace(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match fs::renameat_with(&self.fd, name, &to.fd, to_name, fs::RenameFlags::NOREPLACE) {
            Err(error) if may_do_otherwise(error) => {}
            done => return Ok(done?),
        }
        fs::linkat(&self.fd, name, &to.fd, to_name, AtFlags::empty())?;
        // Where the first name may not go, the second one must not stay.
        self.unlink(name).inspect_err(|_| drop(to.unlink(to_name)))
    }

    /// The same for a directory. Where that cannot be done in one step, an empty directory that somebody makes at the new
    /// name in that very moment is replaced, and nothing else ever.
    pub fn rename_dir_no_replace(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match fs::renameat_with(&self.fd, name, &to.fd, to_name, fs::RenameFlags::NOREPLACE) {
            Err(error) if may_do_otherwise(error) => {}
            done => return Ok(done?),
        }
        match to.stat_child(to_name) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.rename_over(name, to, to_name),
            Err(error) => Err(error),
        }
    }

    /// Exchanges two names in one step where the file system can, by [`super::exchange_by_renames`] otherwise.
    pub fn rename_exchange(&self, name: &[u8], with: &Dir, with_name: &[u8]) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match fs::renameat_with(&self.fd, name, &with.fd, with_name, fs::RenameFlags::EXCHANGE) {
            Err(error) if may_do_otherwise(error) => {}
            done => return Ok(done?),
        }
        super::exchange_by_renames(self, name, with, with_name)
    }

    /// Renames and replaces what stands at the new name.
    pub fn rename_over(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, name, &to.fd, to_name)?)
    }

    pub fn unlink(&self, name: &[u8]) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    pub fn rmdir(&self, name: &[u8]) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Sets the permission bits of a regular file or directory, never those of what a symlink points to.
    pub fn chmod_child(&self, name: &[u8], perm: u32) -> io::Result<()> {
        if !matches!(kind_of(&self.stat_child(name)?), ItemKind::File | ItemKind::Dir) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a directory"));
        }
        match retry_on_intr(|| fs::openat(&self.fd, name, TO_READ_FILE, Mode::empty())) {
            Ok(fd) => Ok(fs::fchmod(fd, to_mode(perm))?),
            Err(Errno::ACCESS) => self.chmod_unreadable(name, perm),
            Err(error) => Err(error.into()),
        }
    }

    /// A descriptor that only names the file cannot be given to `fchmod`, but its entry in /proc leads to the same file.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn chmod_unreadable(&self, name: &[u8], perm: u32) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let fd = fs::openat(&self.fd, name, NEVER_FOLLOW | OFlags::PATH, Mode::empty())?;
        if kind_of(&to_stat(&fs::fstat(&fd)?)) == ItemKind::Symlink {
            return Err(Errno::LOOP.into());
        }
        Ok(fs::chmod(format!("/proc/self/fd/{}", fd.as_raw_fd()), to_mode(perm))?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn chmod_unreadable(&self, name: &[u8], perm: u32) -> io::Result<()> {
        Ok(fs::chmodat(&self.fd, name, to_mode(perm), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub fn chmod(&self, perm: u32) -> io::Result<()> {
        match fs::fchmod(&self.fd, to_mode(perm)) {
            // A descriptor that only names the directory is taken as the place to start from.
            Err(Errno::BADF) => Ok(fs::chmodat(&self.fd, c".", to_mode(perm), AtFlags::empty())?),
            changed => Ok(changed?),
        }
    }

    /// Makes the names in this directory durable.
    pub fn sync(&self) -> io::Result<()> {
        match retry_on_intr(|| fs::fsync(&self.fd)) {
            // Some file systems have no such thing for directories.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes all that was written to this file system durable. `false`: this system has no call for it.
    pub fn sync_file_system(&self) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        match retry_on_intr(|| fs::syncfs(&self.fd)) {
            Ok(()) => return Ok(true),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(false)
    }
}

/// Whether a rename with flags failed because the kernel, the file system or a filter in front of them does not offer it.
/// A filter refuses as if we lacked the right; where we do lack it, the other way meets the same refusal.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn may_do_otherwise(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM)
}

/// Pieces of a path that end at a component, each short enough for one call.
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
        let end = within.or_else(|| rest.iter().position(is_slash)).unwrap_or(rest.len());
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
    items.push(Item { name: name.into(), kind });
}

fn to_mode(perm: u32) -> Mode {
    Mode::from_raw_mode(RawMode::try_from(perm & 0o7777).unwrap_or_default())
}

fn to_stat(stat: &fs::Stat) -> Stat {
    let mode = u32::try_from(natural(stat.st_mode)).unwrap_or_default();
    let is_symlink = mode & TYPE_BITS == SYMLINK_BITS;
    Stat {
        dev: natural(stat.st_dev),
        ino: natural(stat.st_ino),
        mode: if is_symlink { SYMLINK_BITS | 0o777 } else { mode },
        size_bytes: natural(stat.st_size),
        mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        links: natural(stat.st_nlink),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn from_statx(stat: &fs::Statx) -> Stat {
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

/// The fields of a stat have another width and sign on every system.
fn natural(field: impl Into<i128>) -> u64 {
    u64::try_from(field.into()).unwrap_or_default()
}

/// Nanoseconds since 1970; a time that does not fit becomes the last one that does.
fn nanoseconds(seconds: impl Into<i128>, rest: impl Into<i128>) -> i64 {
    let total = seconds.into() * 1_000_000_000 + rest.into();
    i64::try_from(total).unwrap_or(if total < 0 { i64::MIN } else { i64::MAX })
}

/// What stands at a path, through symlinks: for what does not belong to the directory.
pub fn stat_path(path: &Path) -> io::Result<Stat> {
    Ok(to_stat(&fs::stat(path)?))
}

pub fn stat_file(file: &File) -> io::Result<Stat> {
    Ok(to_stat(&fs::fstat(file)?))
}

pub fn set_file_mode(file: &File, perm: u32) -> io::Result<()> {
    Ok(fs::fchmod(file, to_mode(perm))?)
}

/// A time that no file written before has passed: Linux also stamps files with the fine clock, which runs ahead of
/// [`coarse_now_ns`].
pub fn fine_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    nanoseconds(now.tv_sec, now.tv_nsec)
}

/// The time that a file written now would get, or an earlier one; never a later one.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn coarse_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    nanoseconds(now.tv_sec, now.tv_nsec)
}

/// The time that a file written now would get, or an earlier one; never a later one.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn coarse_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    nanoseconds(i128::from(now.tv_sec) - 2, 0)
}

/// Whether the last component was a symlink, which is never followed.
pub fn is_symlink_met(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Whether we, not the file, are the cause: no descriptors or no memory left.
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

#[cfg(test)]
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
}
