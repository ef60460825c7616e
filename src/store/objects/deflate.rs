//! Makes zlib streams as fast as possible; content that does not shrink is stored.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use libdeflater::{CompressionLvl, Compressor};

use crate::base::Malformed;

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
        if made.len() < room {
            *made = vec![0; room];
        }
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

/// Bytes inflated at a time.
const INFLATED_PIECE_BYTES: usize = 64 << 10;
/// Largest factor by which a deflate stream expands.
const MAX_EXPANSION: u64 = 1032;

thread_local! {
    static INFLATER: RefCell<libdeflater::Decompressor> = RefCell::new(libdeflater::Decompressor::new());
}

/// Inflates a stream whose content has exactly `size` bytes; bytes after its end are ignored.
///
/// # Errors
/// Says what is wrong with the stream; never produces more than `size` bytes.
pub fn inflate(stream: &[u8], size: usize) -> Result<Vec<u8>, Malformed> {
    check_expansion(stream.len() as u64, size as u64)?;
    let mut content = vec![0; size];
    let made = INFLATER
        .with_borrow_mut(|inflater| inflater.zlib_decompress(stream, &mut content))
        .map_err(|_| "its compressed bytes are damaged")?;
    if made != size {
        return Err(format!("inflates to {made} bytes in place of {size}").into());
    }
    Ok(content)
}

/// Inflates a whole stream of unknown size; nothing may follow it.
///
/// # Errors
/// Says what is wrong with the stream; never produces more than `at_most` bytes.
pub fn inflate_unsized(stream: &[u8], at_most: u64) -> Result<Vec<u8>, Malformed> {
    let mut content = Vec::new();
    let mut inflater = StreamInflater::new(at_most);
    let pushed = inflater.push(stream, &mut |piece| {
        content.extend_from_slice(piece);
        Ok::<(), ()>(())
    });
    match pushed {
        Err(StreamError::Zlib(why)) => Err(why.into()),
        _ if !inflater.has_ended() => Err("the compressed stream is cut short".into()),
        _ if inflater.consumed() != stream.len() as u64 => {
            Err("something follows the compressed stream".into())
        }
        _ => Ok(content),
    }
}

/// Inflates the start of a stream, at most `at_most` bytes.
///
/// # Errors
/// The bytes are no zlib stream.
pub fn inflate_start(stream: &[u8], at_most: usize) -> Result<Vec<u8>, Malformed> {
    let mut content = vec![0; at_most];
    let mut state = Decompress::new(true);
    let done = state.decompress(stream, &mut content, FlushDecompress::None);
    done.map_err(|cause| format!("cannot inflate: {cause}"))?;
    content.truncate(in_buffer(0, state.total_out()));
    Ok(content)
}

/// Checks whether a declared size is possible.
///
/// # Errors
/// No stream of that length can have this size, so nothing may be allocated for it.
pub fn check_expansion(stream_len: u64, size: u64) -> Result<(), Malformed> {
    if size > stream_len.saturating_mul(MAX_EXPANSION) {
        return Err(format!(
            "declares {size} bytes, more than {stream_len} compressed ones can hold"
        )
        .into());
    }
    Ok(())
}

/// Inflates a zlib stream in pieces, with a known size of its content.
pub struct StreamInflater {
    state: Decompress,
    out: Vec<u8>,
    size: u64,
    ended: bool,
}

impl StreamInflater {
    pub fn new(size: u64) -> Self {
        let room = usize::try_from(size).map_or(INFLATED_PIECE_BYTES, |size| size.max(64));
        Self {
            state: Decompress::new(true),
            out: vec![0; room.min(INFLATED_PIECE_BYTES)],
            size,
            ended: false,
        }
    }

    /// Feeds compressed bytes; `sink` gets the content, never more than the declared size in all.
    ///
    /// # Errors
    /// `sink` failed, the bytes are no zlib stream, or the content is longer than declared.
    pub fn push<E>(
        &mut self,
        piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), StreamError<E>> {
        let mut rest = piece;
        while !self.ended {
            let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(rest, &mut self.out, FlushDecompress::None)
                .map_err(|cause| StreamError::Zlib(format!("cannot inflate: {cause}")))?;
            rest = &rest[in_buffer(before_in, self.state.total_in())..];
            let made = in_buffer(before_out, self.state.total_out());
            if self.state.total_out() > self.size {
                return Err(StreamError::Zlib(format!(
                    "inflates to more than {} bytes",
                    self.size
                )));
            }
            if made > 0 {
                sink(&self.out[..made]).map_err(StreamError::Sink)?;
            }
            self.ended = status == Status::StreamEnd;
            if rest.is_empty() && made < self.out.len() {
                break;
            }
            if made == 0 && status == Status::BufError {
                break;
            }
        }
        Ok(())
    }

    /// Compressed bytes consumed so far, without those after the end of the stream.
    pub fn consumed(&self) -> u64 {
        self.state.total_in()
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// # Errors
    /// The stream did not end, or its content is shorter than declared.
    pub fn finish(&self) -> Result<(), Malformed> {
        match self.state.total_out() {
            _ if !self.ended => Err("the compressed stream is cut short".into()),
            made if made != self.size => {
                Err(format!("inflates to {made} bytes in place of {}", self.size).into())
            }
            _ => Ok(()),
        }
    }
}

/// Difference of zlib's counters over one call.
#[expect(
    clippy::cast_possible_truncation,
    reason = "one call moves within a buffer, which fits in memory"
)]
pub(super) fn in_buffer(before: u64, after: u64) -> usize {
    (after - before) as usize
}

/// The reason why a stream ended early.
#[derive(Debug)]
pub enum StreamError<E> {
    Zlib(String),
    Sink(E),
}

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
