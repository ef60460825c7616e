//! Compresses whole buffers with libdeflate.

/// Creates a compressor. (The crate's fastest level only stores.)
pub fn at_level(level: i32) -> libdeflater::Compressor {
    libdeflater::Compressor::new(libdeflater::CompressionLvl::new(level).unwrap_or_default())
}

pub fn deflate_into(
    compressor: &mut libdeflater::Compressor,
    data: &[u8],
    out: &mut Vec<u8>,
) -> std::io::Result<usize> {
    let bound = compressor.zlib_compress_bound(data.len());
    if out.len() < bound {
        out.resize(bound, 0);
    }
    compressor
        .zlib_compress(data, out)
        .map_err(|cause| std::io::Error::other(format!("deflate failed: {cause}")))
}
