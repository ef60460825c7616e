//! Makes and reads zlib streams fast; content that does not shrink is stored.

mod bit_writer;
mod compressor;
mod huffman;
mod inflate;
mod stream;
pub mod zlib;
