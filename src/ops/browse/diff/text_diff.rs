//! The hunks of two texts, as `git diff` prints them, by libgit2's xdiff alone: no repository is
//! opened, so no configuration, attribute or filter applies.

use crate::base::text::BINARY_PROBE_BYTES;
use crate::error::{Error, Result};

/// Upper bound on context lines; libgit2 doubles the number in 32 bits on some systems.
const MOST_CONTEXT: u32 = 1 << 28;

/// Hunks from `@@` on, and the numbers of lines added and deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextDiff {
    pub hunks: Vec<u8>,
    pub insertions: usize,
    pub deletions: usize,
}

pub fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

/// Compares two texts line by line, with `context` unchanged lines around each change.
pub fn text_diff(old: &[u8], new: &[u8], context: u32) -> Result<TextDiff> {
    let (old, new) = if context == 0 {
        without_common_tail(old, new)
    } else {
        (old, new)
    };
    let mut options = git2::DiffOptions::new();
    options
        .context_lines(context.min(MOST_CONTEXT))
        .interhunk_lines(0)
        .indent_heuristic(true)
        .force_text(true);
    let patch = git2::Patch::from_buffers(old, None, new, None, Some(&mut options))
        .map_err(|cause| failed(&cause))?;
    let mut found = TextDiff::default();
    for at in 0..patch.num_hunks() {
        let (hunk, lines) = patch.hunk(at).map_err(|cause| failed(&cause))?;
        found
            .hunks
            .extend_from_slice(valid_start(hunk.header().trim_ascii_end()));
        found.hunks.push(b'\n');
        for line in 0..lines {
            let line = patch
                .line_in_hunk(at, line)
                .map_err(|cause| failed(&cause))?;
            let sign = line.origin();
            match sign {
                '+' => found.insertions += 1,
                '-' => found.deletions += 1,
                _ => {}
            }
            // Other origins mark a missing final line break, whose content is complete.
            if matches!(sign, '+' | '-' | ' ') {
                found.hunks.push(sign as u8);
            }
            found.hunks.extend_from_slice(line.content());
        }
    }
    Ok(found)
}

fn failed(cause: &git2::Error) -> Error {
    Error::unexpected(format!(
        "libgit2 cannot compare two texts: {}",
        cause.message()
    ))
}

/// Drops the common tail: without context git does so first, which may choose other lines.
fn without_common_tail<'t>(old: &'t [u8], new: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    const TRIMMED_BYTES: usize = 1024;
    let blocks = old
        .rchunks_exact(TRIMMED_BYTES)
        .zip(new.rchunks_exact(TRIMMED_BYTES));
    let trimmed = blocks.take_while(|(one, two)| one == two).count() * TRIMMED_BYTES;
    let tail = &old[old.len() - trimmed..];
    let kept = tail
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(trimmed, |at| at + 1);
    let cut = trimmed - kept;
    (&old[..old.len() - cut], &new[..new.len() - cut])
}

/// Returns the bytes before the first that git does not accept as UTF-8.
fn valid_start(bytes: &[u8]) -> &[u8] {
    let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let end = valid.find(['\u{fffe}', '\u{ffff}']).unwrap_or(valid.len());
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunks(old: &str, new: &str, context: u32) -> String {
        String::from_utf8(
            text_diff(old.as_bytes(), new.as_bytes(), context)
                .unwrap()
                .hunks,
        )
        .unwrap()
    }

    #[test]
    fn the_end_without_a_line_break_is_told() {
        let expected = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert_eq!(hunks("a", "a\n", 3), expected);
        assert_eq!(
            hunks("", "a", 3),
            "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn a_heading_is_the_nearest_definition_above_the_hunk() {
        let old = "fn one() {  \n    1\n    2\n    3\n    4\n    5\n}\n";
        assert!(
            hunks(old, &old.replace('5', "x"), 1)
                .starts_with("@@ -5,3 +5,3 @@ fn one() {\n     4\n-    5\n+    x\n")
        );
        for (line, heading) in [
            ("long ".repeat(20), "long ".repeat(16).trim_end().to_owned()),
            ("caf\u{ffff} x".to_owned(), "caf".to_owned()),
        ] {
            let old = format!("{line}\n1\n2\n");
            let expected = format!("@@ -3 +3 @@ {heading}\n");
            assert!(hunks(&old, &old.replace('2', "x"), 0).starts_with(&expected));
        }
        assert!(hunks(" indented\n1\n", " indented\n2\n", 0).starts_with("@@ -2 +2 @@\n"));
    }

    #[test]
    fn counts_are_those_of_the_lines() {
        let found = text_diff(b"a\nb\nc\n", b"a\nx\ny\nc\n", 3).unwrap();
        assert_eq!((found.insertions, found.deletions), (2, 1));
        assert!(is_binary(b"a\0b") && !is_binary(b"") && !is_binary(&[b'a'; 9000]));
    }

    #[test]
    fn equal_tails_are_left_out_in_blocks_and_to_the_next_line() {
        let tail = "line\n".repeat(1000);
        let (old, new) = (format!("a\n{tail}"), format!("b\n{tail}"));
        let (old, new) = without_common_tail(old.as_bytes(), new.as_bytes());
        assert!(old.len() < 1024 + 16 && old.len() == new.len() && old.ends_with(b"\n"));
    }
}
