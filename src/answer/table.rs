//! Rows of text in aligned columns, measured as a terminal shows them, and what tables say in a cell.

use unicode_width::UnicodeWidthStr;

use crate::base::text::escape;
use crate::model::{ChangeCounts, RestoreStory, Verb};

/// Formats `+2 ~6 -2`.
pub fn change_words(counts: ChangeCounts) -> String {
    let (added, modified, deleted) = (counts.added, counts.modified, counts.deleted);
    format!("+{added} ~{modified} -{deleted}")
}

/// Formats the state that the safety checkpoint holds: `the state before the restore to f76ff8f6
/// (wave 1)`.
pub fn state_words(story: &RestoreStory, reason: Option<&str>) -> String {
    let (what, target) = story_parts(story, reason);
    let verb = match story.verb {
        Verb::Undo => "undo of the ",
        Verb::Redo => "redo of the ",
        Verb::Restore | Verb::Resume => "",
    };
    let of = if what.is_empty() { "" } else { "of " };
    format!("the state before the {verb}restore {of}{what}{target}")
}

/// The paths of a restore, if it was limited to some, and what it went to.
pub fn story_parts(story: &RestoreStory, reason: Option<&str>) -> (String, String) {
    let reason = reason.map_or("since dropped".to_owned(), escape);
    let target = format!("{} ({reason})", story.target.short());
    match story.paths.as_slice() {
        [] => (String::new(), format!("to {target}")),
        [one] => (format!("{one} "), format!("from {target}")),
        [first, rest @ ..] => (
            format!("{first} and {} more ", rest.len()),
            format!("from {target}"),
        ),
    }
}

/// Number of terminal columns that a text takes; wide characters take two.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Pads a text with spaces up to a width.
pub fn padded(text: &str, wanted: usize, to_the_right: bool) -> String {
    let blanks = " ".repeat(wanted.saturating_sub(width(text)));
    if to_the_right {
        format!("{blanks}{text}")
    } else {
        format!("{text}{blanks}")
    }
}

/// Cuts a text off at a width, ending in `…`.
pub fn cut(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let ending = if limit > 0 { "…" } else { "" };
    let fitting = fitting(text, limit.saturating_sub(1));
    format!("{}{ending}", &text[..fitting])
}

/// Returns the length of the beginning that fits into a width.
fn fitting(text: &str, room: usize) -> usize {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let fitting = ends.take_while(|end| width(&text[..*end]) <= room).last();
    fitting.unwrap_or_default()
}

/// Breaks a text into lines of at most this width, at blanks where there are some.
pub fn wrapped(text: &str, room: usize) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), text);
    while width(rest) > room {
        let end = match fitting(rest, room) {
            0 => break,
            end => rest[..end].rfind(' ').map_or(end, |blank| blank + 1),
        };
        lines.push(rest[..end].trim_end());
        rest = &rest[end..];
    }
    lines.push(rest);
    lines
}

/// Formats rows below their titles, as [`aligned`] does.
pub fn titled<const N: usize>(
    titles: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    right: &[usize],
) -> String {
    let titles = std::iter::once(titles.map(str::to_owned));
    let rows: Vec<_> = titles.chain(rows).map(Vec::from).collect();
    aligned(&rows, right)
}

/// Formats one row per line, with columns padded to their widest cell; columns in `right` are
/// right-aligned. No line ends in spaces.
pub fn aligned(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(at, cell)| padded(cell, widths[at], right.contains(&at)));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "x"], ["long", "20", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[1]), "a      1  x\nlong  20\n");
        let rows = [["波1", "x"], ["abc", "y"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[]), "波1  x\nabc  y\n");
    }

    #[test]
    fn a_text_that_is_cut_off_takes_no_more_than_its_room() {
        for (text, limit, expected) in [
            ("wave", 4, "wave"),
            ("wave 1", 4, "wav…"),
            ("波波波", 6, "波波波"),
            ("波波波", 5, "波波…"),
            ("波波波", 4, "波…"),
            ("🎈x", 2, "…"),
            ("x", 0, ""),
        ] {
            assert_eq!(cut(text, limit), expected, "{text} {limit}");
            assert!(width(&cut(text, limit)) <= limit, "{text} {limit}");
        }
    }
}
