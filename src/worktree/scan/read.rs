//! Reads one file while it does not change, or flags it as racy if it keeps changing.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};

use crate::error::{self, Error};
use crate::model::state::entry::STREAM_FROM_BYTES;
use crate::model::{Kind, ListedFile, ObjectId, RelPath, Stat, WhyNot};
use crate::worktree::WorkTree;
use crate::worktree::sys::{self, Dir, ItemKind};

/// Number of attempts to read a file that changes meanwhile.
const READ_TRIES: usize = 3;

/// Why the sink did not take a blob.
#[derive(Debug)]
pub enum SinkError {
    /// Its content must not be captured.
    Refused(WhyNot),
    Failed(Error),
}

impl From<Error> for SinkError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Receives file contents and returns their blob ids.
pub trait BlobSink {
    /// # Errors
    /// The blob could not be taken.
    fn blob(&mut self, bytes: &[u8]) -> Result<ObjectId, SinkError>;

    /// Takes exactly `len` bytes.
    ///
    /// # Errors
    /// The reader failed or ended before, or the blob could not be taken.
    fn blob_stream(&mut self, len: u64, reader: &mut dyn Read) -> Result<ObjectId, SinkError>;
}

/// Outcome of reading one file.
#[derive(Debug)]
pub enum ReadOutcome {
    Captured {
        id: ObjectId,
        /// Taken before reading; the size is that of the blob.
        stat: Stat,
        kind: Kind,
        /// The file changed during every attempt.
        racy: bool,
    },
    Vanished,
    /// By now neither a regular file nor a symlink.
    NotAFile,
    Unreadable(String),
    /// Refused by the sink; see [`SinkError::Refused`].
    Refused(WhyNot),
}

/// Reads one file of a directory; see [`read_in`].
///
/// # Errors
/// See [`read_in`].
pub fn read_file(
    work: &WorkTree,
    dir: &RelPath,
    name: &[u8],
    file: &ListedFile,
    sink: &mut dyn BlobSink,
) -> error::Result<ReadOutcome> {
    match work.root().open_below(dir, sys::Access::Search) {
        Ok(opened) => read_in(work, &opened, dir, name, file, sink),
        Err(error) => no_read(work, dir, error),
    }
}

/// Reads one file of an open directory, up to three times if it changes meanwhile, and passes its
/// bytes to the sink.
///
/// # Errors
/// The sink failed, or there are no descriptors left. A file that cannot be read is no error.
pub fn read_in(
    work: &WorkTree,
    opened: &Dir,
    dir: &RelPath,
    name: &[u8],
    file: &ListedFile,
    sink: &mut dyn BlobSink,
) -> error::Result<ReadOutcome> {
    let mut kind = file.kind;
    for left in (0..READ_TRIES).rev() {
        let is_last = left == 0;
        let tried = match kind {
            Kind::File => read_regular(opened, name, is_last, sink),
            Kind::Symlink => read_symlink(opened, name, is_last, sink),
        };
        match tried {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {}
            Err(StreamFailure::Sink(SinkError::Refused(why))) => {
                return Ok(ReadOutcome::Refused(why));
            }
            Err(StreamFailure::Sink(SinkError::Failed(error))) => return Err(error),
            Err(StreamFailure::Read(error)) => {
                match opened.stat_child(name).as_ref().map(sys::kind_of) {
                    Ok(ItemKind::File) if kind == Kind::Symlink => kind = Kind::File,
                    Ok(ItemKind::Symlink) if kind == Kind::File => kind = Kind::Symlink,
                    Ok(ItemKind::File | ItemKind::Symlink) | Err(_) => {
                        return no_read(work, &dir.join(name), error);
                    }
                    Ok(_) => return Ok(ReadOutcome::NotAFile),
                }
            }
        }
    }
    Ok(ReadOutcome::Unreadable(
        "it kept changing while it was read".into(),
    ))
}

/// What one attempt took; `None` if another one is due.
type ReadAttempt = Result<Option<ReadOutcome>, StreamFailure>;

enum StreamFailure {
    Read(io::Error),
    Sink(SinkError),
}

impl From<io::Error> for StreamFailure {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

fn no_read(work: &WorkTree, path: &RelPath, error: io::Error) -> error::Result<ReadOutcome> {
    if sys::is_exhausted(&error) {
        return Err(work.io("read", path, error));
    }
    if sys::is_absent(&error) {
        return Ok(ReadOutcome::Vanished);
    }
    Ok(ReadOutcome::Unreadable(sys::reason(&error)))
}

fn captured(id: ObjectId, before: Stat, size_bytes: u64, kind: Kind, racy: bool) -> ReadOutcome {
    let stat = Stat {
        size_bytes,
        ..before
    };
    ReadOutcome::Captured {
        id,
        stat,
        kind,
        racy,
    }
}

fn read_symlink(dir: &Dir, name: &[u8], is_last: bool, sink: &mut dyn BlobSink) -> ReadAttempt {
    let before = dir.stat_child(name)?;
    let text = dir.read_link(name)?;
    let after = dir.stat_child(name)?;
    let is_steady = after.same_content_as(&before);
    if !is_steady && !is_last {
        return Ok(None);
    }
    let id = sink.blob(&text).map_err(StreamFailure::Sink)?;
    Ok(Some(captured(
        id,
        before,
        text.len() as u64,
        Kind::Symlink,
        !is_steady,
    )))
}

fn read_regular(dir: &Dir, name: &[u8], is_last: bool, sink: &mut dyn BlobSink) -> ReadAttempt {
    let (mut file, before) = dir.open_file(name)?;
    if before.size_bytes >= STREAM_FROM_BYTES {
        return stream(&file, &before, is_last, sink);
    }
    BUFFER.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.reserve(usize::try_from(before.size_bytes).unwrap_or_default());
        (&mut file).take(before.size_bytes).read_to_end(bytes)?;
        let after = sys::stat_file(&file)?;
        let is_steady = after.same_content_as(&before) && bytes.len() as u64 == before.size_bytes;
        if !is_steady && !is_last {
            return Ok(None);
        }
        let id = sink.blob(bytes).map_err(StreamFailure::Sink)?;
        Ok(Some(captured(
            id,
            before,
            bytes.len() as u64,
            Kind::File,
            !is_steady,
        )))
    })
}

thread_local! {
    /// Buffer for whole files, reused because allocating it each time costs more than reading.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Streams a large file; its blob is made before it is known whether the file changed meanwhile.
fn stream(file: &File, before: &Stat, is_last: bool, sink: &mut dyn BlobSink) -> ReadAttempt {
    let mut reader = WatchedFile {
        file,
        left_bytes: before.size_bytes,
        failed: None,
        is_short: false,
    };
    let id = match sink.blob_stream(before.size_bytes, &mut reader) {
        Ok(id) => id,
        Err(error) => {
            return match reader.failed.take() {
                Some(cause) => Err(StreamFailure::Read(cause)),
                None if reader.is_short => Ok(None),
                None => Err(StreamFailure::Sink(error)),
            };
        }
    };
    let is_steady = sys::stat_file(file)?.same_content_as(before);
    if !is_steady && !is_last {
        return Ok(None);
    }
    Ok(Some(captured(
        id,
        *before,
        before.size_bytes,
        Kind::File,
        !is_steady,
    )))
}

/// Reads at most the announced length; records whether the file, not the sink, caused a failure.
struct WatchedFile<'f> {
    file: &'f File,
    left_bytes: u64,
    failed: Option<io::Error>,
    is_short: bool,
}

impl Read for WatchedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer
            .len()
            .min(usize::try_from(self.left_bytes).unwrap_or(usize::MAX));
        match self.file.read(&mut buffer[..wanted]) {
            Ok(count) => {
                self.is_short |= count == 0 && wanted > 0;
                self.left_bytes -= count as u64;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let shown = io::Error::new(error.kind(), error.to_string());
                self.failed = Some(error);
                Err(shown)
            }
        }
    }
}
