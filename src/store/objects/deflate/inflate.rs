//! Inflates zlib streams: whole buffers with libdeflate, long ones in pieces with zlib. No declared
//! size is trusted.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};

use crate::base::Malformed;

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
