//! Reads regular files only; a FIFO in place of one does not block. The one door to small files.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Upper bound on the size of a file read at once, in bytes; a larger one is no work of ours.
pub const UPTO_BYTES: u64 = 2 << 30;

/// Metadata of a path, links not followed; `None` if it does not exist.
///
/// # Errors
/// The metadata cannot be read.
pub fn lstat(path: &Path) -> io::Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(cause) => Err(cause),
    }
}

/// # Errors
/// The file is missing, not a regular file or larger than [`UPTO_BYTES`] (`InvalidData`), or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_opened(open(path)?, UPTO_BYTES)
}

/// Reads a file of the user's, to which a link may lead.
///
/// # Errors
/// As [`read`]; `InvalidData` also for one of more bytes than `most`.
pub fn read_linked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_opened(open_linked(path)?, most)
}

/// # Errors
/// As [`read_linked`]; `InvalidData` also for text that is not UTF-8.
pub fn read_linked_text(path: &Path) -> io::Result<String> {
    text(read_linked(path, UPTO_BYTES)?)
}

fn read_opened(mut file: File, most: u64) -> io::Result<Vec<u8>> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(not_plain());
    }
    if found.len() > most {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is too large"));
    }
    let mut bytes = vec![0; usize::try_from(found.len()).map_err(io::Error::other)?];
    let mut done = 0;
    while done < bytes.len() {
        match file.read(&mut bytes[done..]) {
            Ok(0) => bytes.truncate(done),
            Ok(read) => done += read,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(bytes)
}

/// Opens a file without following a link or blocking, which saves a check of the path beforehand.
///
/// # Errors
/// As [`read`], but the kind of the file is not checked.
#[cfg(unix)]
pub fn open(path: &Path) -> io::Result<File> {
    let opened = open_with(path, rustix::fs::OFlags::NOFOLLOW);
    opened.map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => cause,
        _ => match std::fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => not_plain(),
            _ => cause,
        },
    })
}

/// Opens a file, to which a link may lead, without blocking; its kind is not checked.
#[cfg(unix)]
fn open_linked(path: &Path) -> io::Result<File> {
    open_with(path, rustix::fs::OFlags::empty())
}

#[cfg(unix)]
fn open_with(path: &Path, more: rustix::fs::OFlags) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let mut options = File::options();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    options.open(path)
}

#[cfg(not(unix))]
pub fn open(path: &Path) -> io::Result<File> {
    if std::fs::symlink_metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(not_plain())
    }
}

#[cfg(not(unix))]
fn open_linked(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(not_plain())
    }
}

/// # Errors
/// As [`read`]; `InvalidData` also for text that is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read(path)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Whether a file belongs to the user of this process.
#[cfg(unix)]
pub fn is_ours(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub fn is_ours(_found: &Metadata) -> bool {
    true
}

fn not_plain() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it is not a regular file")
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [link.as_path(), place.path(), Path::new("/dev/zero")] {
            let refused = [read(path), read_linked(path, UPTO_BYTES)];
            let kinds = refused.map(|read| read.unwrap_err().kind());
            assert_eq!(kinds, [ErrorKind::InvalidData; 2], "{}", path.display());
        }
        let found = read(&place.path().join("none")).unwrap_err().kind();
        assert_eq!(found, ErrorKind::NotFound);
        let huge = place.path().join("huge");
        File::create(&huge)
            .unwrap()
            .set_len(UPTO_BYTES + 1)
            .unwrap();
        assert_eq!(read(&huge).unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(lstat(&link.join("below")).unwrap().is_none());
        std::fs::write(place.path().join("f"), "1").unwrap();
        let linked = place.path().join("linked");
        std::os::unix::fs::symlink("f", &linked).unwrap();
        assert_eq!(read_linked(&linked, 1).unwrap(), b"1");
        let refused = [read(&linked), read_linked(&linked, 0)];
        assert!(refused.iter().all(Result::is_err));
    }
}
