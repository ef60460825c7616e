//! Makes a zlib stream in pieces, for content too long for memory.

use crate::store::objects::deflate::bit_writer::BitWriter;
use crate::store::objects::deflate::compressor::Compressor;

/// A zlib stream made in pieces. No piece refers to an earlier one.
pub struct StreamDeflater {
    bits: BitWriter,
    sum: libdeflater::Adler32,
    /// `None` stores what does not shrink.
    compressor: Option<Compressor>,
}

impl StreamDeflater {
    pub fn new(store: bool) -> Self {
        let mut bits = BitWriter::default();
        bits.bytes(&super::zlib::ZLIB_HEADER);
        Self {
            bits,
            sum: libdeflater::Adler32::new(),
            compressor: (!store).then(Compressor::default),
        }
    }

    /// Feeds one piece; `sink` gets the compressed bytes that are ready.
    ///
    /// # Errors
    /// `sink` failed.
    pub fn push<E>(
        &mut self,
        piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sum.update(piece);
        match &mut self.compressor {
            Some(compressor) => compressor.compress(piece, false, &mut self.bits),
            None => self.bits.store(piece, false),
        }
        sink(self.bits.written())?;
        self.bits.clear();
        Ok(())
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// `sink` failed.
    pub fn finish<E>(mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.bits.store(&[], true);
        self.bits.bytes(&self.sum.sum().to_be_bytes());
        sink(self.bits.written())
    }
}
