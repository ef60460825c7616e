//! The default compressor: libdeflate, and zlib for streams, at the fastest level that shrinks.

use flate2::{Compress, Compression, FlushCompress, Status};

use super::inflate::{StreamError, in_buffer};
use crate::store::objects::deflate::libdeflate::at_level;

/// Bytes deflated at a time.
const DEFLATED_PIECE_BYTES: usize = 64 << 10;

/// Compresses buffers.
pub struct Fast(libdeflater::Compressor);

impl Default for Fast {
    fn default() -> Self {
        Self(at_level(1))
    }
}

impl Fast {
    /// Compresses into the start of `out`, which grows as needed, and returns the length.
    pub fn compress(&mut self, data: &[u8], out: &mut Vec<u8>) -> std::io::Result<usize> {
        super::libdeflate::deflate_into(&mut self.0, data, out)
    }

    /// Compresses a sample and returns the length.
    pub fn try_out(&mut self, sample: &[u8], out: &mut Vec<u8>) -> std::io::Result<usize> {
        self.compress(sample, out)
    }
}

/// Compresses pieces.
pub struct FastStream {
    state: Compress,
    out: Vec<u8>,
}

impl Default for FastStream {
    fn default() -> Self {
        Self {
            state: Compress::new(Compression::new(1), true),
            out: vec![0; DEFLATED_PIECE_BYTES],
        }
    }
}

impl FastStream {
    pub fn push<E>(
        &mut self,
        piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), StreamError<E>> {
        let mut rest = piece;
        while !rest.is_empty() {
            let (used, _) = self.step(rest, FlushCompress::None, sink)?;
            rest = &rest[used..];
        }
        Ok(())
    }

    pub fn finish<E>(
        mut self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), StreamError<E>> {
        while self.step(&[], FlushCompress::Finish, sink)?.1 != Status::StreamEnd {}
        Ok(())
    }

    fn step<E>(
        &mut self,
        input: &[u8],
        flush: FlushCompress,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(usize, Status), StreamError<E>> {
        let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
        let status = self
            .state
            .compress(input, &mut self.out, flush)
            .map_err(|cause| StreamError::Zlib(cause.to_string()))?;
        let made = in_buffer(before_out, self.state.total_out());
        if made > 0 {
            sink(&self.out[..made]).map_err(StreamError::Sink)?;
        }
        Ok((in_buffer(before_in, self.state.total_in()), status))
    }
}
