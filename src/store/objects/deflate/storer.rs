//! Stored blocks: wraps content that does not shrink in a zlib frame.

/// Writes content uncompressed into a zlib stream: stored blocks (RFC 1951, 3.2.4) in a zlib frame
/// (RFC 1950).
#[derive(Default)]
pub struct Storer {
    sum: libdeflater::Adler32,
    has_begun: bool,
}

impl Storer {
    fn begin<E>(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];
        if std::mem::replace(&mut self.has_begun, true) {
            Ok(())
        } else {
            sink(&ZLIB_HEADER)
        }
    }

    pub(super) fn push<E>(
        &mut self,
        piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.begin(sink)?;
        self.sum.update(piece);
        for block in piece.chunks(usize::from(u16::MAX)) {
            let [low, high] = u16::try_from(block.len()).unwrap_or(u16::MAX).to_le_bytes();
            sink(&[0, low, high, !low, !high])?;
            sink(block)?;
        }
        Ok(())
    }

    pub(super) fn finish<E>(
        mut self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];
        self.begin(sink)?;
        sink(&LAST_BLOCK)?;
        sink(&self.sum.sum().to_be_bytes())
    }
}
