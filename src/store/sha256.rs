//! SHA-256 of contents on their way to somewhere: the sum that every other tool can compute too.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

/// Passes bytes on and sums them up.
pub struct Summing<'w> {
    to: &'w mut dyn Write,
    sum: Sha256,
}

impl<'w> Summing<'w> {
    pub fn new(to: &'w mut dyn Write) -> Self {
        Self { to, sum: Sha256::new() }
    }

    /// In hex.
    pub fn finish(self) -> String {
        self.sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.to.write(bytes)?;
        self.sum.update(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_summed_up() {
        let mut to = Vec::new();
        let mut summing = Summing::new(&mut to);
        summing.write_all(b"abc").unwrap();
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(summing.finish(), sum);
        assert_eq!(to, b"abc");
    }
}
