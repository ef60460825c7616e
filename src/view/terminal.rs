//! Content of files on its way to a terminal: nothing in it may act there.

use crate::model::text::escape_content;

/// Escapes content that comes in pieces of any length.
#[derive(Debug, Default)]
pub struct Escaper {
    /// The beginning of a character whose end has not come yet.
    held: Vec<u8>,
}

impl Escaper {
    /// What can be shown by now.
    pub fn push(&mut self, piece: &[u8]) -> String {
        self.held.extend_from_slice(piece);
        let cut = self.held.len() - unfinished(&self.held);
        let shown = escape_content(&self.held[..cut]);
        self.held.drain(..cut);
        shown
    }

    /// The rest.
    pub fn finish(&mut self) -> String {
        escape_content(&std::mem::take(&mut self.held))
    }
}

/// Bytes at the end that may be the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        Some(chunk) if !chunk.invalid().is_empty() => match std::str::from_utf8(chunk.invalid()) {
            Err(cause) if cause.error_len().is_none() => chunk.invalid().len(),
            _ => 0,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Escaper;

    #[test]
    fn characters_cut_in_two_come_out_whole_and_broken_ones_escaped() {
        let content = "grün ✓ \u{1b}[31m 🎈".as_bytes();
        for cut in 0..content.len() {
            let mut escaper = Escaper::default();
            let shown = escaper.push(&content[..cut]) + &escaper.push(&content[cut..]) + &escaper.finish();
            assert_eq!(shown, "grün ✓ \\x1b[31m 🎈", "cut at {cut}");
        }
        let mut escaper = Escaper::default();
        assert_eq!(escaper.push(b"a\xe2\x82") + &escaper.finish(), "a\\xe2\\x82");
    }
}
