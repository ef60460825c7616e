//! A zlib stream made in pieces, for content that is too long to be in memory.

use super::fast::FastStream;

/// Why a stream ended early.
#[derive(Debug)]
pub enum StreamError<E> {
    Zlib(String),
    Sink(E),
}

/// A zlib stream made in pieces.
pub enum StreamDeflater {
    Fast(FastStream),
    Stored(Storer),
}

impl StreamDeflater {
    pub fn new(store: bool) -> Self {
        if store { Self::Stored(Storer::default()) } else { Self::Fast(FastStream::default()) }
    }

    /// Feeds one piece; `sink` gets what is ready.
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
    pub fn finish<E>(self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), StreamError<E>> {
        match self {
            Self::Fast(fast) => fast.finish(sink),
            Self::Stored(stored) => stored.finish(sink).map_err(StreamError::Sink),
        }
    }
}

/// Puts content that does not shrink into a zlib stream as it is: stored blocks (RFC 1951, 3.2.4) in a zlib frame
/// (RFC 1950).
#[derive(Default)]
pub struct Storer {
    sum: libdeflater::Adler32,
    has_begun: bool,
}

impl Storer {
    fn begin<E>(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];
        if std::mem::replace(&mut self.has_begun, true) { Ok(()) } else { sink(&ZLIB_HEADER) }
    }

    fn push<E>(&mut self, piece: &[u8], sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.begin(sink)?;
        self.sum.update(piece);
        for block in piece.chunks(usize::from(u16::MAX)) {
            let [low, high] = u16::try_from(block.len()).unwrap_or(u16::MAX).to_le_bytes();
            sink(&[0, low, high, !low, !high])?;
            sink(block)?;
        }
        Ok(())
    }

    pub(super) fn finish<E>(mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];
        self.begin(sink)?;
        sink(&LAST_BLOCK)?;
        sink(&self.sum.sum().to_be_bytes())
    }
}
