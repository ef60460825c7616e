//! A reader that counts bytes as they pass and stops at a signal, even in the middle of a large file.

use std::io::{self, Read};

use crate::base::{Interrupt, Progress};
use crate::error::Error;

/// A reader that polls for signals between pieces.
pub struct Pieces<'h> {
    pub interrupt: &'h Interrupt,
    pub progress: &'h Progress,
    pub reader: &'h mut dyn Read,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let checked = self.interrupt.check().map_err(Error::from);
        checked.map_err(io::Error::other)?;
        let count = self.reader.read(buffer)?;
        self.progress.add(0, count as u64);
        Ok(count)
    }
}
