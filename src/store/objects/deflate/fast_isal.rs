//! The compressor of the feature `isal`: Intel's ISA-L, in assembly, which takes half the time.
//! Reading is the same.

use std::io::{self, Write};

use isal::write::Encoder;
use isal::{Codec, CompressionLevel};

use super::inflate::StreamError;
use crate::store::objects::deflate::storer::Storer;

/// Size in bytes up to which the next level's tables take longer to build than they save.
const FIXED_TABLES_UPTO_BYTES: usize = 16 << 10;
/// Smallest size of a stored block, for content that does not shrink; the next two are overheads.
const STORED_BLOCK_BYTES: usize = 16 << 10;
const STORED_HEADER_BYTES: usize = 8;
const FRAME_BYTES: usize = 512;

/// Compresses buffers.
pub struct Fast {
    short: CompressionLevel,
    other: CompressionLevel,
}

impl Default for Fast {
    fn default() -> Self {
        Self {
            short: CompressionLevel::Zero,
            other: CompressionLevel::One,
        }
    }
}

impl Fast {
    /// Compresses into the start of `out`, which grows as needed, and returns the length.
    pub fn compress(&mut self, data: &[u8], out: &mut Vec<u8>) -> io::Result<usize> {
        let is_short = data.len() <= FIXED_TABLES_UPTO_BYTES;
        deflate_into(if is_short { self.short } else { self.other }, data, out)
    }

    /// Compresses a sample with tables made for the data, however short, and returns the length.
    pub fn try_out(&mut self, sample: &[u8], out: &mut Vec<u8>) -> io::Result<usize> {
        deflate_into(self.other, sample, out)
    }
}

fn deflate_into(level: CompressionLevel, data: &[u8], out: &mut Vec<u8>) -> io::Result<usize> {
    // The library counts a buffer in 32 bits.
    u32::try_from(data.len())
        .map_err(|_| failed(format!("{} bytes are too many at once", data.len())))?;
    let bound =
        data.len() + (data.len() / STORED_BLOCK_BYTES + 1) * STORED_HEADER_BYTES + FRAME_BYTES;
    if out.len() < bound {
        out.resize(bound, 0);
    }
    isal::compress_into(data, out, level, Codec::Zlib).map_err(failed)
}

fn failed(why: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("deflate failed: {why}"))
}

/// Compresses pieces. The encoder is made with the first piece: the library has no input buffer
/// before, and an encoder without one must not be finished.
#[derive(Default)]
pub struct FastStream(Option<Box<Encoder<Vec<u8>>>>);

impl FastStream {
    pub fn push<E>(
        &mut self,
        piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), StreamError<E>> {
        if piece.is_empty() {
            return Ok(());
        }
        let new = || Box::new(Encoder::new(Vec::new(), CompressionLevel::One, Codec::Zlib));
        let encoder = self.0.get_or_insert_with(new);
        encoder
            .write_all(piece)
            .map_err(|cause| StreamError::Zlib(cause.to_string()))?;
        let made = encoder.get_ref_mut();
        if !made.is_empty() {
            sink(made).map_err(StreamError::Sink)?;
            made.clear();
        }
        Ok(())
    }

    pub fn finish<E>(
        self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), StreamError<E>> {
        let Some(encoder) = self.0 else {
            return Storer::default().finish(sink).map_err(StreamError::Sink);
        };
        let made = encoder
            .finish()
            .map_err(|cause| StreamError::Zlib(cause.to_string()))?;
        sink(&made).map_err(StreamError::Sink)
    }
}
