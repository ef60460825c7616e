//! Escapes output for a terminal.

use crate::answer::format::Paint;
use crate::base::text::escape_content;

/// Escapes our own text with inserted names; newlines are kept, and colours if enabled.
pub fn harmless(text: &str, paint: Paint) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code)) = rest
        .find(Paint::MARK)
        .filter(|_| paint.enabled)
        .map(|at| rest.split_at(at))
    {
        shown.push_str(&escape_content(before.as_bytes()));
        let passed = Paint::length_of_code(code).map(|length| code.split_at(length));
        let (passed, after) = passed.unwrap_or_else(|| ("\\x1b", &code[1..]));
        shown.push_str(passed);
        rest = after;
    }
    shown + &escape_content(rest.as_bytes())
}

/// Escapes content that arrives in pieces of any length.
#[derive(Debug, Default)]
pub struct Escaper {
    /// An incomplete UTF-8 sequence at the end of the last piece.
    held: Vec<u8>,
}

impl Escaper {
    /// Returns what can be shown so far.
    pub fn push(&mut self, piece: &[u8]) -> String {
        self.held.extend_from_slice(piece);
        let cut = self.held.len() - unfinished(&self.held);
        let shown = escape_content(&self.held[..cut]);
        self.held.drain(..cut);
        shown
    }

    /// Returns the rest.
    pub fn finish(&mut self) -> String {
        escape_content(&std::mem::take(&mut self.held))
    }
}

/// Returns the length of an incomplete UTF-8 sequence at the end.
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
    use super::{Escaper, harmless};
    use crate::answer::format::Paint;

    #[test]
    fn only_colours_of_ours_pass_and_only_where_there_are_any() {
        let (plain, coloured) = (Paint { enabled: false }, Paint { enabled: true });
        let text = format!(
            "{}:\t\u{9b}2J\x1b]0;x\x07\x7f\\\u{202e}\x1b[5m\x1b[\n",
            coloured.red("checkpoint")
        );
        let rest = "\t\\u{9b}2J\\x1b]0;x\\x07\\x7f\\\\u{202e}\\x1b[5m\\x1b[\n";
        assert_eq!(
            harmless(&text, coloured),
            format!("\x1b[31mcheckpoint\x1b[0m:{rest}")
        );
        assert_eq!(
            harmless(&text, plain),
            format!("\\x1b[31mcheckpoint\\x1b[0m:{rest}")
        );
    }

    #[test]
    fn characters_cut_in_two_come_out_whole_and_broken_ones_escaped() {
        let content = "grün ✓ \u{1b}[31m 🎈".as_bytes();
        for cut in 0..content.len() {
            let mut escaper = Escaper::default();
            let shown =
                escaper.push(&content[..cut]) + &escaper.push(&content[cut..]) + &escaper.finish();
            assert_eq!(shown, "grün ✓ \\x1b[31m 🎈", "cut at {cut}");
        }
        let mut escaper = Escaper::default();
        assert_eq!(
            escaper.push(b"a\xe2\x82") + &escaper.finish(),
            "a\\xe2\\x82"
        );
    }
}
