//! Rows of text in aligned columns.

/// Formats one row per line, with columns padded to their widest cell; columns in `right` are
/// right-aligned. No line ends in spaces.
pub fn aligned(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let wide = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| wide(column).unwrap_or_default())
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(at, cell)| {
            let width = widths[at];
            if right.contains(&at) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            }
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "x"], ["long", "20", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[1]), "a      1  x\nlong  20\n");
    }
}
