//! Searches streamed content for literal bytes and returns the matching lines. The door to memchr.

use std::io::{self, Write};

use memchr::memmem::Finder;

use crate::base::text::BINARY_PROBE_BYTES;
use crate::model::json::{self, JsonSchema, Serialize};

/// Maximum bytes kept of a line, and how many of them before the match.
const LINE_BYTES: usize = 240;
const BYTES_BEFORE: usize = 80;
/// Number of bytes that are buffered before they are searched.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes after which a line is cut instead of waiting for its end.
const LONGEST_LINE_BYTES: usize = 64 << 10;

/// A line that contains the text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextLine {
    /// Counted from 1.
    pub number: u64,
    /// The line without its end, cut around the match.
    #[serde(serialize_with = "json::bytes")]
    #[schemars(with = "String")]
    pub text: Vec<u8>,
    /// Whether a part of it is missing.
    pub cut: bool,
}

/// Matches in one content.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct FoundText {
    pub binary: bool,
    pub lines: Vec<TextLine>,
    /// Number of further lines that match.
    pub more_lines: usize,
}

impl FoundText {
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// The text to search for, prepared once.
pub struct Needle(Finder<'static>);

impl Needle {
    pub fn new(text: &[u8]) -> Self {
        Self(Finder::new(text).into_owned())
    }
}

/// Receives content and remembers the matching lines.
pub struct Search<'n> {
    finder: &'n Finder<'static>,
    /// Maximum number of lines kept; more are only counted.
    keep: usize,
    /// Received bytes that are still needed.
    buffer: Vec<u8>,
    /// Line number of the start of the buffer, counted from 0.
    line: u64,
    /// Offset in the buffer before which no new match begins.
    searched: usize,
    is_first: bool,
    found: FoundText,
}

impl<'n> Search<'n> {
    pub fn new(needle: &'n Needle, keep: usize) -> Self {
        Self {
            finder: &needle.0,
            keep,
            buffer: Vec::new(),
            line: 0,
            searched: 0,
            is_first: true,
            found: FoundText::default(),
        }
    }

    pub fn finish(mut self) -> FoundText {
        self.search_buffer(true);
        self.found
    }

    fn search_buffer(&mut self, is_end: bool) {
        if std::mem::take(&mut self.is_first) {
            let head = &self.buffer[..self.buffer.len().min(BINARY_PROBE_BYTES)];
            self.found.binary = memchr::memchr(0, head).is_some();
        }
        let mut counted_to = 0;
        while let Some(at) = self
            .finder
            .find(&self.buffer[self.searched..])
            .map(|at| at + self.searched)
        {
            let rest = &self.buffer[at..];
            let Some(end) = end_of_line(rest, self.finder.needle().len(), is_end) else {
                // The end of this line has not arrived yet.
                self.searched = at;
                return self.forget(counted_to);
            };
            self.line += memchr::memchr_iter(b'\n', &self.buffer[counted_to..at]).count() as u64;
            counted_to = at;
            self.note(at, at + end);
            self.searched = at + end;
        }
        let unsure = self.finder.needle().len().saturating_sub(1);
        self.searched = self.searched.max(self.buffer.len().saturating_sub(unsure));
        self.forget(counted_to);
    }

    fn note(&mut self, at: usize, end: usize) {
        if self.found.lines.len() == self.keep {
            self.found.more_lines += 1;
            return;
        }
        let begin = memchr::memrchr(b'\n', &self.buffer[..at]).map_or(0, |newline| newline + 1);
        let from = begin.max(at.saturating_sub(BYTES_BEFORE));
        let to = end.min(from + LINE_BYTES);
        let text = self.buffer[from..to]
            .strip_suffix(b"\r")
            .unwrap_or(&self.buffer[from..to])
            .to_vec();
        self.found.lines.push(TextLine {
            number: self.line + 1,
            text,
            cut: from > begin || to < end,
        });
    }

    /// Drops bytes no longer needed, except the beginning of the line that is still open.
    fn forget(&mut self, counted_to: usize) {
        let newline = memchr::memrchr(b'\n', &self.buffer[..self.searched]);
        let begin = newline.map_or(0, |newline| newline + 1);
        let drop = begin
            .max(self.searched.saturating_sub(LONGEST_LINE_BYTES))
            .max(counted_to.min(self.searched));
        self.line +=
            memchr::memchr_iter(b'\n', &self.buffer[counted_to.min(drop)..drop]).count() as u64;
        self.buffer.drain(..drop);
        self.searched -= drop;
    }
}

/// Returns where the line of a match ends; `None` while that is not known.
fn end_of_line(rest: &[u8], needle_len: usize, is_end: bool) -> Option<usize> {
    // The needle may contain line breaks, or be one.
    let after = needle_len.max(1) - 1;
    match memchr::memchr(b'\n', rest.get(after..).unwrap_or_default()) {
        Some(newline) => Some((newline + after).max(1)),
        None if is_end || rest.len() > LONGEST_LINE_BYTES => Some(rest.len()),
        None => None,
    }
}

impl Write for Search<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let taken = &piece[..piece.len().min(CHUNK_BYTES)];
        self.buffer.extend_from_slice(taken);
        if self.buffer.len() - self.searched >= CHUNK_BYTES {
            self.search_buffer(false);
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES_KEPT: usize = 50;

    fn search(needle: &str, content: &[u8], piece: usize) -> FoundText {
        let needle = Needle::new(needle.as_bytes());
        let mut search = Search::new(&needle, LINES_KEPT);
        for piece in content.chunks(piece) {
            search.write_all(piece).unwrap();
            search.search_buffer(false);
        }
        search.finish()
    }

    /// Searches line by line, as the reference.
    fn expected(needle: &str, content: &str) -> Vec<(u64, String)> {
        let numbered = content.split('\n').zip(1_u64..);
        let hits = numbered.filter(|(line, _)| line.contains(needle));
        hits.map(|(line, number)| (number, line.to_owned()))
            .collect()
    }

    #[test]
    fn every_line_with_the_text_is_found_once_however_the_pieces_fall() {
        let content = "needle\n\nno\nxneedle needle\nneedl\ne\nnneedle\nneeneedle\n\nlast needle";
        for piece in 1..=content.len() + 1 {
            let found = search("needle", content.as_bytes(), piece);
            let lines: Vec<(u64, String)> = found
                .lines
                .iter()
                .map(|line| (line.number, String::from_utf8(line.text.clone()).unwrap()))
                .collect();
            assert_eq!(lines, expected("needle", content), "pieces of {piece}");
            assert!(!found.binary);
        }
    }

    #[test]
    fn long_lines_are_cut_and_many_are_counted() {
        let long = format!("{}needle{}", "x".repeat(200_000), "y".repeat(200_000));
        for piece in [1000, 70_000, 1_000_000] {
            let found = search("needle", long.as_bytes(), piece);
            assert_eq!(found.lines.len(), 1, "{piece}");
            assert!(found.lines[0].cut && found.lines[0].text.len() <= LINE_BYTES);
        }
        let found = search("n", "n\n".repeat(LINES_KEPT + 5).as_bytes(), 4096);
        assert_eq!((found.lines.len(), found.more_lines), (LINES_KEPT, 5));
    }

    #[test]
    fn a_nul_early_on_makes_it_binary_and_a_text_over_several_lines_is_found() {
        assert!(search("needle", b"\0needle", 100).binary);
        let found = search("a\nb", b"x\na\nb\n", 100);
        assert_eq!(found.lines[0].number, 2);
        assert!(search("\n", b"\n\n", 100).lines.len() == 2);
    }
}
