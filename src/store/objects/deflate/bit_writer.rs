//! Writes codes and stored blocks into a buffer, bit by bit from the lowest (RFC 1951).

/// Largest stored block.
pub const STORED_BLOCK_BYTES: usize = u16::MAX as usize;

/// A buffer that ends in the middle of a byte.
#[derive(Default)]
pub struct BitWriter {
    out: Vec<u8>,
    /// Number of whole bytes; the buffer is longer.
    len: usize,
    word: u64,
    /// Number of bits in `word`, below 8 between calls.
    bits: u32,
}

impl BitWriter {
    /// Makes room for `count` bytes more.
    pub fn reserve(&mut self, count: usize) {
        let needed = self.len + count + 2 * size_of::<u64>();
        if self.out.len() < needed {
            self.out.resize(needed, 0);
        }
    }

    /// Writes codes of at most 56 bits, for which room is reserved.
    pub fn extend(&mut self, codes: impl IntoIterator<Item = (u64, u32)>) {
        let (mut len, mut word, mut bits) = (self.len, self.word, self.bits);
        let out = &mut *self.out;
        for (code, code_bits) in codes {
            word |= code << bits;
            bits += code_bits;
            out[len..].as_chunks_mut().0[0] = word.to_le_bytes();
            len += (bits / 8) as usize;
            word >>= bits & !7;
            bits %= 8;
        }
        (self.len, self.word, self.bits) = (len, word, bits);
    }

    /// Writes content uncompressed, in as many blocks as it takes.
    pub fn store(&mut self, data: &[u8], is_last: bool) {
        let count = data.len().div_ceil(STORED_BLOCK_BYTES).max(1);
        for at in 0..count {
            let start = at * STORED_BLOCK_BYTES;
            let block = &data[start..data.len().min(start + STORED_BLOCK_BYTES)];
            self.reserve(block.len() + 8);
            self.extend([(u64::from(is_last && at + 1 == count), 3)]);
            self.align();
            let len = u16::try_from(block.len()).unwrap_or(u16::MAX);
            self.bytes(&[len.to_le_bytes(), (!len).to_le_bytes()].concat());
            self.bytes(block);
        }
    }

    /// Fills up the last byte.
    pub fn align(&mut self) {
        self.reserve(0);
        self.extend([(0, (8 - self.bits) % 8)]);
    }

    /// Writes bytes where none has begun.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.out[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Returns the whole bytes.
    pub fn written(&self) -> &[u8] {
        &self.out[..self.len]
    }

    /// Forgets the whole bytes; a byte that has begun stays.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}
