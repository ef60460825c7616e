//! Makes zlib streams as fast as possible; content that does not shrink is stored.

use libdeflater::{CompressionLvl, Compressor};

pub use crate::store::objects::deflate::inflate::StreamError;
pub use crate::store::objects::deflate::inflate::{
    StreamInflater, check_expansion, inflate, inflate_start, inflate_unsized,
};
pub use crate::store::objects::deflate::stream::StreamDeflater;

/// Size in bytes above which content is sampled before it is compressed.
const PROBE_FROM_BYTES: usize = 64 << 10;
const SAMPLE_BYTES: usize = 4 << 10;
/// Size in bytes up to which content is stored: building a compressor's tables would dominate, and
/// saves a few percent of a store. A third of the files of a real project are this small.
const STORED_UP_TO_BYTES: usize = 512;
/// The fastest level of libdeflate that compresses; the one below stores.
const FASTEST: i32 = 1;

/// A reusable compressor for buffers.
pub struct Deflater {
    fast: Compressor,
    storing: Compressor,
    made: Vec<u8>,
}

impl Default for Deflater {
    fn default() -> Self {
        let level = |level| CompressionLvl::new(level).unwrap_or_default();
        Self {
            fast: Compressor::new(level(FASTEST)),
            storing: Compressor::new(level(FASTEST - 1)),
            made: Vec::new(),
        }
    }
}

impl Deflater {
    /// Returns the zlib stream of `data`, valid until the next call.
    pub fn compress(&mut self, data: &[u8]) -> &[u8] {
        let is_large = data.len() > PROBE_FROM_BYTES;
        let store = data.len() <= STORED_UP_TO_BYTES
            || (is_large && self.is_incompressible(&samples(data)));
        if store {
            return self.store(data);
        }
        made_by(&mut self.fast, data, &mut self.made)
    }

    /// Returns a zlib stream of `data` uncompressed, for short content that is read often.
    pub fn store(&mut self, data: &[u8]) -> &[u8] {
        made_by(&mut self.storing, data, &mut self.made)
    }

    /// Whether three samples together shrink by less than 4 %.
    pub fn is_incompressible(&mut self, samples: &[&[u8]]) -> bool {
        let before: usize = samples.iter().map(|sample| sample.len()).sum();
        let after: usize = samples
            .iter()
            .map(|sample| made_by(&mut self.fast, sample, &mut self.made).len())
            .sum();
        before > 0 && after * 100 > before * 96
    }
}

fn made_by<'m>(compressor: &mut Compressor, data: &[u8], made: &'m mut Vec<u8>) -> &'m [u8] {
    let mut room = compressor.zlib_compress_bound(data.len());
    // The bound suffices.
    let len = loop {
        made.resize(room.max(made.len()), 0);
        match compressor.zlib_compress(data, made) {
            Ok(len) => break len,
            Err(_) => room *= 2,
        }
    };
    &made[..len]
}

/// The start, middle and end of a buffer.
pub fn samples(data: &[u8]) -> [&[u8]; 3] {
    let len = SAMPLE_BYTES.min(data.len());
    let middle = (data.len() - len) / 2;
    [
        &data[..len],
        &data[middle..middle + len],
        &data[data.len() - len..],
    ]
}

/// The CRC-32 of an entry in a pack index, computed in pieces.
#[derive(Default)]
pub struct EntryCrc(libdeflater::Crc);

impl EntryCrc {
    pub fn of(bytes: &[u8]) -> u32 {
        let mut crc = Self::default();
        crc.update(bytes);
        crc.sum()
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn sum(&self) -> u32 {
        self.0.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .flatten()
        .take(len)
        .collect()
    }

    fn streamed(data: &[u8], store: bool) -> Vec<u8> {
        let mut made = Vec::new();
        let mut sink = |bytes: &[u8]| {
            made.extend_from_slice(bytes);
            Ok::<(), ()>(())
        };
        let mut deflater = StreamDeflater::new(store);
        data.chunks(100_001)
            .for_each(|piece| deflater.push(piece, &mut sink).unwrap());
        deflater.finish(&mut sink).unwrap();
        made
    }

    #[test]
    fn every_way_out_is_undone_by_every_way_in() {
        let text = b"all work and no play\n".repeat(20_000);
        for data in [Vec::new(), b"x".to_vec(), text, noise(300_000)] {
            let whole = Deflater::default().compress(&data).to_vec();
            for stream in [whole, streamed(&data, false), streamed(&data, true)] {
                assert_eq!(inflate(&stream, data.len()).unwrap(), data);
                for step in [1_000_000, 7777, 1] {
                    let mut back = Vec::new();
                    let mut inflater = StreamInflater::new(data.len() as u64);
                    let mut sink = |bytes: &[u8]| {
                        back.extend_from_slice(bytes);
                        Ok::<(), ()>(())
                    };
                    stream
                        .chunks(step)
                        .for_each(|piece| inflater.push(piece, &mut sink).unwrap());
                    inflater.finish().unwrap();
                    assert_eq!(back, data);
                }
            }
        }
    }

    #[test]
    fn no_length_is_too_odd_and_no_mixture() {
        let mut deflater = Deflater::default();
        let (text, random) = (
            b"a line of text, and one more\n".repeat(12_000),
            noise(200_000),
        );
        let lengths = (0..40)
            .chain(500..530)
            .chain((16 << 10) - 20..(16 << 10) + 20)
            .chain([65_535, 65_536, 150_001]);
        for len in lengths {
            let (half, quarter) = (len / 2, len / 4);
            let mixed = [
                &text[..half],
                &random[..quarter],
                &text[half..half + len - half - quarter],
            ]
            .concat();
            for data in [&text[..len], &random[..len], &mixed] {
                let stream = deflater.compress(data).to_vec();
                assert!(inflate(&stream, len).unwrap() == data, "{len}");
                assert!(
                    inflate_unsized(&stream, len as u64).unwrap() == data,
                    "{len}"
                );
            }
        }
    }

    #[test]
    fn what_does_not_shrink_is_stored_and_what_does_is_not() {
        let mut deflater = Deflater::default();
        let random = noise(200_000);
        assert!(deflater.is_incompressible(&samples(&random)));
        assert!(deflater.compress(&random).len() < random.len() + 100);
        let text = b"abc".repeat(40_000);
        assert!(!deflater.is_incompressible(&samples(&text)));
        assert!(deflater.compress(&text).len() < text.len() / 50);
        assert!(deflater.compress(&text[..600]).len() < 50);
        assert!(deflater.compress(&text[..300]).len() < 320, "stored");
        // Six random bits per byte, without repetitions.
        let letters: Vec<u8> = random.iter().map(|byte| b'0' + byte % 64).collect();
        assert!(!deflater.is_incompressible(&samples(&letters)));
        assert!(deflater.compress(&letters).len() * 10 < letters.len() * 8);
    }

    #[test]
    fn a_wrong_size_or_a_bomb_is_refused() {
        let stream = Deflater::default().compress(&vec![0; 50_000]).to_vec();
        for size in [0, 49_999, 50_001, usize::MAX] {
            assert!(inflate(&stream, size).is_err(), "{size}");
        }
        let mut inflater = StreamInflater::new(10_000);
        assert!(matches!(
            inflater.push(&stream, &mut |_| Ok::<(), ()>(())),
            Err(StreamError::Zlib(_))
        ));
        let mut cut = StreamInflater::new(50_000);
        cut.push(&stream[..stream.len() / 2], &mut |_| Ok::<(), ()>(()))
            .unwrap();
        assert!(cut.finish().is_err());
    }
}
