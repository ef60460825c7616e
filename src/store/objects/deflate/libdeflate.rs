//! Compresses whole buffers with libdeflate.

use std::io;

/// Creates a compressor. (The crate's fastest level only stores.)
pub fn at_level(level: i32) -> libdeflater::Compressor {
    libdeflater::Compressor::new(libdeflater::CompressionLvl::new(level).unwrap_or_default())
}

pub fn deflate_into(compressor: &mut libdeflater::Compressor, data: &[u8], out: &mut Vec<u8>) -> io::Result<usize> {
    let bound = compressor.zlib_compress_bound(data.len());
    if out.len() < bound {
        out.resize(bound, 0);
    }
    compressor.zlib_compress(data, out).map_err(|cause| io::Error::other(format!("deflate failed: {cause}")))
}
