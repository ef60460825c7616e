//! Makes a zlib stream in pieces, for content too long for memory.

use super::fast::FastStream;
use crate::store::objects::deflate::inflate::StreamError;
use crate::store::objects::deflate::storer::Storer;

/// A zlib stream made in pieces.
pub enum StreamDeflater {
    Fast(FastStream),
    Stored(Storer),
}

impl StreamDeflater {
    pub fn new(store: bool) -> Self {
        if store {
            Self::Stored(Storer::default())
        } else {
            Self::Fast(FastStream::default())
        }
    }

    /// Feeds one piece; `sink` gets the compressed bytes that are ready.
    ///
    /// # Errors
    /// `sink` failed, or zlib did.
    pub fn push<E>(
        &mut self,
        piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), StreamError<E>> {
        match self {
            Self::Fast(fast) => fast.push(piece, sink),
            Self::Stored(stored) => stored.push(piece, sink).map_err(StreamError::Sink),
        }
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish<E>(
        self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), StreamError<E>> {
        match self {
            Self::Fast(fast) => fast.finish(sink),
            Self::Stored(stored) => stored.finish(sink).map_err(StreamError::Sink),
        }
    }
}
