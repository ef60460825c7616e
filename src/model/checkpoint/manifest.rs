//! The markdown table of checkpoints: rendered for the user, parsed only for its rows by id.

use crate::base::text::escape;
use crate::base::time::utc_seconds;
use crate::model::{Checkpoint, ObjectId};

/// The lines above the rows.
pub const HEADER: &str = "| Hash | Timestamp | Reason | Source |\n\
                      |----------|---------------------|----------------------|--------------|\n";

/// Renders the header and one row for each checkpoint, in the order given.
pub fn render<'c>(checkpoints: impl IntoIterator<Item = &'c Checkpoint>) -> String {
    render_after("", checkpoints)
}

/// As [`render`], with the `kept` rows first, each including its line end.
pub fn render_after<'c>(
    kept: &str,
    checkpoints: impl IntoIterator<Item = &'c Checkpoint>,
) -> String {
    let rows: String = checkpoints.into_iter().map(row).collect();
    format!("{HEADER}{kept}{rows}")
}

/// Returns a row without its id.
pub fn without_id(row: &str) -> &str {
    row.trim()
        .trim_matches('|')
        .split_once('|')
        .map_or("", |(_, rest)| rest.trim())
}

/// Renders the row of one checkpoint, including its line end.
pub fn row(checkpoint: &Checkpoint) -> String {
    let record = &checkpoint.record;
    format!(
        "| {} | {} | {} | {} |\n",
        checkpoint.id.short(),
        utc_seconds(record.time_ms),
        cell(&record.reason),
        cell(&record.source)
    )
}

/// Returns the id of each row that begins with one of eight digits or more, skipping others.
pub fn ids(manifest: &str) -> Vec<String> {
    rows(manifest).map(|(id, _)| id).collect()
}

/// Returns each row with an id, as (id, row).
pub fn rows(manifest: &str) -> impl Iterator<Item = (String, &str)> {
    manifest.lines().filter_map(|line| {
        let line = line.trim();
        let first = line.strip_prefix('|')?.split('|').next()?;
        let id = first.trim().to_ascii_lowercase();
        let valid = (ObjectId::SHORT_DIGITS..=40).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_hexdigit());
        valid.then_some((id, line))
    })
}

/// The text, if the bytes look like a manifest.
pub fn text_of(bytes: Vec<u8>) -> Option<String> {
    let is_manifest = is_readable(&bytes);
    String::from_utf8(bytes).ok().filter(|_| is_manifest)
}

/// Whether the bytes look like a manifest, possibly edited by hand.
pub fn is_readable(bytes: &[u8]) -> bool {
    let believable = |text: &str| text.contains("| Hash |") || !ids(text).is_empty();
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok_and(believable)
}

/// Escapes free text for one cell: it can neither end the cell or the line, nor act as markup.
pub fn cell(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let escaped = escape(text);
    let mut before = ' ';
    let mut rest = escaped.chars().peekable();
    while let Some(c) = rest.next() {
        // Backslashes stay as they are: escapes must read the same as in `show`.
        let inside_a_word =
            before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric());
        if "|`*<>[]!".contains(c) || (c == '_' && !inside_a_word) {
            shown.push('\\');
        }
        shown.push(c);
        before = c;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::checkpoint;

    #[test]
    fn free_text_breaks_no_row() {
        for (text, shown) in [
            ("pre_wave-3", "pre_wave-3"),
            ("a | b", "a \\| b"),
            ("a\nb\r\t", "a\\x0ab\\x0d\\x09"),
            (
                "`x` <script> ![](http://y)",
                "\\`x\\` \\<script\\> \\!\\[\\](http://y)",
            ),
            ("_em_ **b** -->", "\\_em\\_ \\*\\*b\\*\\* --\\>"),
            ("a\\", "a\\\\"),
        ] {
            assert_eq!(cell(text), shown);
        }
    }

    #[test]
    fn each_checkpoint_is_a_row_below_the_header() {
        let mut made = checkpoint(0xab);
        made.record.time_ms = 1_774_355_130_123;
        (made.record.reason, made.record.source) = ("a|b".into(), "build".into());
        let row = "| abababab | 2026-03-24 12:25:30 | a\\|b | build |\n";
        assert_eq!(render([&made, &made]), format!("{HEADER}{row}{row}"));
        assert!(
            is_readable(HEADER.as_bytes()) && is_readable(row.as_bytes()) && !is_readable(b"notes")
        );
    }

    #[test]
    fn ids_are_read_from_rows_and_from_nothing_else() {
        let text = "| Hash | Timestamp |\n|---|---|\n| a1b2c3d4 | x |\r\n| ../../etc | x |\nnotes\n| E5F60718 | y |\n| e5f6g7h8 | no hex |";
        assert_eq!(ids(text), ["a1b2c3d4", "e5f60718"]);
        assert!(is_readable(text.as_bytes()));
        assert!(!is_readable(b""));
        assert!(!is_readable(b"| Hash |\0"));
    }
}
