//! zlib streams: whole buffers with libdeflate, long ones in pieces with zlib; what does not shrink is stored.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// From this size on, content is looked at before it is compressed.
const PROBE_FROM_BYTES: usize = 64 << 10;
const SAMPLE_BYTES: usize = 4 << 10;
/// Up to this size, building a compressor's tables takes longer than all else, and what it saves is a few percent of a
/// store. A third of the files of a real project are this small.
const STORED_UP_TO_BYTES: usize = 512;
const PIECE_BYTES: usize = 64 << 10;
/// No deflate stream expands more than 1032 times; a few bytes are allowed for tiny ones.
const MAX_EXPANSION: u64 = 1032;

/// A compressor for buffers, to be kept and used many times.
pub struct Deflater {
    fast: libdeflater::Compressor,
    stored: libdeflater::Compressor,
    out: Vec<u8>,
}

impl Default for Deflater {
    fn default() -> Self {
        Self { fast: at_level(1), stored: at_level(0), out: Vec::new() }
    }
}

/// (What the crate calls its fastest level stores without compressing.)
fn at_level(level: i32) -> libdeflater::Compressor {
    libdeflater::Compressor::new(libdeflater::CompressionLvl::new(level).unwrap_or_default())
}

impl Deflater {
    /// The zlib stream of `data`, valid until the next call.
    ///
    /// # Errors
    /// None that is known of; libdeflate can say that it needs more room.
    pub fn compress(&mut self, data: &[u8]) -> Result<&[u8], String> {
        let is_large = data.len() > PROBE_FROM_BYTES;
        let store = data.len() <= STORED_UP_TO_BYTES || (is_large && self.is_incompressible(&samples(data)));
        let compressor = if store { &mut self.stored } else { &mut self.fast };
        let len = deflate_into(compressor, data, &mut self.out)?;
        Ok(&self.out[..len])
    }

    /// The zlib stream of `data` as it is, for what is read often and is too short to be worth more.
    ///
    /// # Errors
    /// As [`Self::compress`].
    pub fn store(&mut self, data: &[u8]) -> Result<&[u8], String> {
        let len = deflate_into(&mut self.stored, data, &mut self.out)?;
        Ok(&self.out[..len])
    }

    /// Whether three samples together shrink by less than 4 %.
    pub fn is_incompressible(&mut self, samples: &[&[u8]]) -> bool {
        let (mut before, mut after) = (0, 0);
        for sample in samples {
            before += sample.len();
            after += deflate_into(&mut self.fast, sample, &mut self.out).unwrap_or(sample.len());
        }
        before > 0 && after * 100 > before * 96
    }
}

fn deflate_into(compressor: &mut libdeflater::Compressor, data: &[u8], out: &mut Vec<u8>) -> Result<usize, String> {
    let bound = compressor.zlib_compress_bound(data.len());
    if out.len() < bound {
        out.resize(bound, 0);
    }
    compressor.zlib_compress(data, out).map_err(|cause| format!("deflate failed: {cause}"))
}

/// The start, the middle and the end of a buffer.
pub fn samples(data: &[u8]) -> [&[u8]; 3] {
    let len = SAMPLE_BYTES.min(data.len());
    let middle = (data.len() - len) / 2;
    [&data[..len], &data[middle..middle + len], &data[data.len() - len..]]
}

/// A zlib stream made in pieces.
pub enum StreamDeflater {
    Fast(FastDeflater),
    Stored(Storer),
}

impl StreamDeflater {
    pub fn new(store: bool) -> Self {
        if store { Self::Stored(Storer::default()) } else { Self::Fast(FastDeflater::default()) }
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

/// Deflates in pieces, at the fastest level that shrinks.
pub struct FastDeflater {
    state: Compress,
    out: Vec<u8>,
}

impl Default for FastDeflater {
    fn default() -> Self {
        Self { state: Compress::new(Compression::new(1), true), out: vec![0; PIECE_BYTES] }
    }
}

impl FastDeflater {
    fn push<E>(&mut self, piece: &[u8], sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), StreamError<E>> {
        let mut rest = piece;
        while !rest.is_empty() {
            let (used, _) = self.step(rest, FlushCompress::None, sink)?;
            rest = &rest[used..];
        }
        Ok(())
    }

    fn finish<E>(mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), StreamError<E>> {
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
        let status =
            self.state.compress(input, &mut self.out, flush).map_err(|cause| StreamError::Zlib(cause.to_string()))?;
        let made = in_buffer(before_out, self.state.total_out());
        if made > 0 {
            sink(&self.out[..made]).map_err(StreamError::Sink)?;
        }
        Ok((in_buffer(before_in, self.state.total_in()), status))
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

    fn finish<E>(mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];
        self.begin(sink)?;
        sink(&LAST_BLOCK)?;
        sink(&self.sum.sum().to_be_bytes())
    }
}

/// How far zlib's counters went in one call.
#[expect(clippy::cast_possible_truncation, reason = "one call moves within a buffer, which fits in memory")]
fn in_buffer(before: u64, after: u64) -> usize {
    (after - before) as usize
}

/// Why a stream ended early.
#[derive(Debug)]
pub enum StreamError<E> {
    Zlib(String),
    Sink(E),
}

thread_local! {
    static INFLATER: RefCell<libdeflater::Decompressor> = RefCell::new(libdeflater::Decompressor::new());
}

/// Inflates a stream whose content has exactly `size` bytes; bytes after the end of the stream are ignored.
///
/// # Errors
/// Says in words why the stream is not that; never more than `size` bytes are made.
pub fn inflate(stream: &[u8], size: usize) -> Result<Vec<u8>, String> {
    check_expansion(stream.len() as u64, size as u64)?;
    let mut content = vec![0; size];
    let made = INFLATER
        .with_borrow_mut(|inflater| inflater.zlib_decompress(stream, &mut content))
        .map_err(|_| "its compressed bytes are damaged".to_owned())?;
    if made != size {
        return Err(format!("inflates to {made} bytes in place of {size}"));
    }
    Ok(content)
}

/// Inflates a whole stream of unknown size, after which nothing follows.
///
/// # Errors
/// Says in words what is wrong with it; more than `at_most` bytes are not made.
pub fn inflate_unsized(stream: &[u8], at_most: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let mut inflater = StreamInflater::new(at_most);
    let pushed = inflater.push(stream, &mut |piece| {
        content.extend_from_slice(piece);
        Ok::<(), ()>(())
    });
    match pushed {
        Err(StreamError::Zlib(why)) => Err(why),
        _ if !inflater.has_ended() => Err("the compressed stream is cut short".into()),
        _ if inflater.consumed() != stream.len() as u64 => Err("something follows the compressed stream".into()),
        _ => Ok(content),
    }
}

/// As much as the start of a stream gives, at most so many bytes.
///
/// # Errors
/// Says in words why it is no stream.
pub fn inflate_start(stream: &[u8], at_most: usize) -> Result<Vec<u8>, String> {
    let mut content = vec![0; at_most];
    let mut state = Decompress::new(true);
    let done = state.decompress(stream, &mut content, FlushDecompress::None);
    done.map_err(|cause| format!("cannot inflate: {cause}"))?;
    content.truncate(in_buffer(0, state.total_out()));
    Ok(content)
}

/// Whether a declared size can be true.
///
/// # Errors
/// A size that no stream of that length can have: a lie that must not make us allocate.
pub fn check_expansion(stream_len: u64, size: u64) -> Result<(), String> {
    if size > stream_len.saturating_mul(MAX_EXPANSION) {
        return Err(format!("declares {size} bytes, more than {stream_len} compressed ones can hold"));
    }
    Ok(())
}

/// A zlib stream read in pieces, with a known size of its content.
pub struct StreamInflater {
    state: Decompress,
    out: Vec<u8>,
    size: u64,
    ended: bool,
}

impl StreamInflater {
    pub fn new(size: u64) -> Self {
        Self { state: Decompress::new(true), out: vec![0; PIECE_BYTES], size, ended: false }
    }

    /// Feeds compressed bytes; `sink` gets content, never more than the declared size in all.
    ///
    /// # Errors
    /// `sink` failed, the bytes are no zlib stream, or it holds more than declared.
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
                return Err(StreamError::Zlib(format!("inflates to more than {} bytes", self.size)));
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

    /// Compressed bytes taken until now; what was pushed after the end of the stream is not among them.
    pub fn consumed(&self) -> u64 {
        self.state.total_in()
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// # Errors
    /// The stream did not end, or its content is shorter than declared.
    pub fn finish(&self) -> Result<(), String> {
        match self.state.total_out() {
            _ if !self.ended => Err("the compressed stream is cut short".into()),
            made if made != self.size => Err(format!("inflates to {made} bytes in place of {}", self.size)),
            _ => Ok(()),
        }
    }
}

/// The CRC-32 that a pack index keeps of each entry, made in pieces.
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
        data.chunks(100_001).for_each(|piece| deflater.push(piece, &mut sink).unwrap());
        deflater.finish(&mut sink).unwrap();
        made
    }

    #[test]
    fn every_way_out_is_undone_by_every_way_in() {
        let text = b"all work and no play\n".repeat(20_000);
        for data in [Vec::new(), b"x".to_vec(), text, noise(300_000)] {
            let whole = Deflater::default().compress(&data).unwrap().to_vec();
            for stream in [whole, streamed(&data, false), streamed(&data, true)] {
                assert_eq!(inflate(&stream, data.len()).unwrap(), data);
                for step in [1_000_000, 7777, 1] {
                    let mut back = Vec::new();
                    let mut inflater = StreamInflater::new(data.len() as u64);
                    let mut sink = |bytes: &[u8]| {
                        back.extend_from_slice(bytes);
                        Ok::<(), ()>(())
                    };
                    stream.chunks(step).for_each(|piece| inflater.push(piece, &mut sink).unwrap());
                    inflater.finish().unwrap();
                    assert_eq!(back, data);
                }
            }
        }
    }

    #[test]
    fn what_does_not_shrink_is_stored_and_what_does_is_not() {
        let mut deflater = Deflater::default();
        let random = noise(200_000);
        assert!(deflater.is_incompressible(&samples(&random)));
        assert!(deflater.compress(&random).unwrap().len() < random.len() + 100);
        let text = b"abc".repeat(40_000);
        assert!(!deflater.is_incompressible(&samples(&text)));
        assert!(deflater.compress(&text).unwrap().len() < text.len() / 50);
        assert!(deflater.compress(&text[..600]).unwrap().len() < 50);
        assert!(deflater.compress(&text[..300]).unwrap().len() < 320, "stored");
    }

    #[test]
    fn a_wrong_size_or_a_bomb_is_refused() {
        let stream = Deflater::default().compress(&vec![0; 50_000]).unwrap().to_vec();
        for size in [0, 49_999, 50_001, usize::MAX] {
            assert!(inflate(&stream, size).is_err(), "{size}");
        }
        let mut inflater = StreamInflater::new(10_000);
        assert!(matches!(inflater.push(&stream, &mut |_| Ok::<(), ()>(())), Err(StreamError::Zlib(_))));
        let mut cut = StreamInflater::new(50_000);
        cut.push(&stream[..stream.len() / 2], &mut |_| Ok::<(), ()>(())).unwrap();
        assert!(cut.finish().is_err());
    }
}
