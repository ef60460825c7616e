//! Destinations of the bytes of files: packs, or only a hash.

use std::io::Read;

use crate::error::{Error, Result};
use crate::model::{ObjectId, WhyNot};
use crate::store::objects::object_hash::hash_object;
use crate::store::{ObjectHasher, ObjectKind, PackError, PackSet, PackWriter};
use crate::worktree::{BlobSink, SinkError};

/// Destination of blobs and trees.
pub enum Sink<'a, 's> {
    /// Only computes ids.
    HashOnly,
    Pack(&'a mut PackSet<'s>),
}

impl<'s> Sink<'_, 's> {
    /// Stores a tree, or only computes its id.
    pub fn tree(&mut self, bytes: &[u8]) -> Result<ObjectId> {
        match self {
            Self::HashOnly => hash_object(ObjectKind::Tree, bytes).map_err(Error::unexpected),
            Self::Pack(packs) => Ok(packs.add(ObjectKind::Tree, bytes)?),
        }
    }

    /// Splits this sink into `count` sinks, one per thread.
    pub fn split<'w>(&'w mut self, count: usize) -> Result<Vec<ThreadSink<'w, 's>>> {
        Ok(match self {
            Self::HashOnly => (0..count).map(|_| ThreadSink::HashOnly).collect(),
            Self::Pack(packs) => packs.writers(count)?.map(ThreadSink::Pack).collect(),
        })
    }
}

/// Destination of one thread's bytes.
pub enum ThreadSink<'w, 's> {
    HashOnly,
    Pack(&'w mut PackWriter<'s>),
}

impl BlobSink for ThreadSink<'_, '_> {
    fn blob(&mut self, bytes: &[u8]) -> std::result::Result<ObjectId, SinkError> {
        match self {
            Self::HashOnly => hash_object(ObjectKind::Blob, bytes)
                .map_err(|_| SinkError::Refused(WhyNot::Collision)),
            Self::Pack(pack) => pack.add(ObjectKind::Blob, bytes).map_err(sink_error),
        }
    }

    fn blob_stream(
        &mut self,
        len: u64,
        reader: &mut dyn Read,
    ) -> std::result::Result<ObjectId, SinkError> {
        match self {
            Self::HashOnly => hash_stream(len, reader),
            Self::Pack(pack) => pack.add_stream(len, reader).map_err(sink_error),
        }
    }
}

fn sink_error(error: PackError) -> SinkError {
    match error {
        PackError::Collision => SinkError::Refused(WhyNot::Collision),
        other => SinkError::Failed(other.into()),
    }
}

fn hash_stream(len: u64, reader: &mut dyn Read) -> std::result::Result<ObjectId, SinkError> {
    let mut hasher = ObjectHasher::new(ObjectKind::Blob, len);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => {
                return hasher
                    .finish()
                    .map_err(|_| SinkError::Refused(WhyNot::Collision));
            }
            Ok(read) => hasher.update(&buffer[..read]),
            Err(e) => {
                return Err(SinkError::Failed(Error::unexpected(format!(
                    "cannot read to the end: {e}"
                ))));
            }
        }
    }
}
