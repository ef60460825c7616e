//! Rows of text in aligned columns, measured as a terminal shows them.

use unicode_width::UnicodeWidthStr;

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
    let room = limit.saturating_sub(1);
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let fitting = ends.take_while(|end| width(&text[..*end]) <= room).last();
    let ending = if limit > 0 { "…" } else { "" };
    format!("{}{ending}", &text[..fitting.unwrap_or_default()])
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
    use super::{aligned, cut, width};

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
