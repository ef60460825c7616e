//! Makes a zlib stream in pieces, for content too long for memory.

use flate2::{Compress, Compression, FlushCompress, Status};

/// Bytes made before they are passed on.
const BUFFER_BYTES: usize = 64 << 10;

/// A zlib stream made in pieces.
pub struct StreamDeflater {
    stream: Compress,
    made: Vec<u8>,
}

impl StreamDeflater {
    /// `store` leaves the content as it is, for what does not shrink.
    pub fn new(store: bool) -> Self {
        let level = if store {
            Compression::none()
        } else {
            Compression::fast()
        };
        Self {
            stream: Compress::new(level, true),
            made: Vec::with_capacity(BUFFER_BYTES),
        }
    }

    /// Feeds one piece; `sink` gets the compressed bytes that are ready.
    ///
    /// # Errors
    /// `sink` failed.
    pub fn push<E>(
        &mut self,
        mut piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !piece.is_empty() {
            let before = self.stream.total_in();
            self.step(piece, FlushCompress::None);
            let taken = usize::try_from(self.stream.total_in() - before).unwrap_or_default();
            piece = &piece[taken.min(piece.len())..];
            sink(&self.made)?;
        }
        Ok(())
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// `sink` failed.
    pub fn finish<E>(mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        loop {
            let is_over = self.step(&[], FlushCompress::Finish);
            sink(&self.made)?;
            if is_over {
                return Ok(());
            }
        }
    }

    /// Fills the buffer anew; returns whether the stream has ended.
    fn step(&mut self, piece: &[u8], flush: FlushCompress) -> bool {
        self.made.clear();
        let status = self.stream.compress_vec(piece, &mut self.made, flush);
        // A stream with room in its buffer does not fail.
        !matches!(status, Ok(Status::Ok | Status::BufError))
    }
}
