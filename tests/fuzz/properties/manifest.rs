//! The manifest: the ids of its rows are read back, and no free text breaks a row.

use checkpoint::model::checkpoint::manifest::{cell, ids, is_readable, render};

use super::draw::Draw;

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for id in ids(&text) {
        assert!(
            (8..=40).contains(&id.len())
                && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
            "{id}"
        );
        assert!(text.contains('\0') || is_readable(text.as_bytes()));
    }
    let shown = cell(&text);
    assert!(shown.chars().all(|c| !c.is_control()), "{shown:?}");
    assert_eq!(ends_of_cells(&shown), 0, "{shown}");
    let mut draw = Draw::new(data);
    let checkpoints = draw.several(Draw::checkpoint);
    let manifest = render(&checkpoints);
    let expected: Vec<String> = checkpoints
        .iter()
        .map(|checkpoint| checkpoint.id.short())
        .collect();
    assert_eq!(ids(&manifest), expected);
    assert!(is_readable(manifest.as_bytes()));
    assert_eq!(manifest.lines().count(), 2 + checkpoints.len());
    assert!(
        manifest.lines().all(|line| ends_of_cells(line) == 5),
        "{manifest}"
    );
}

/// Number of cell ends: Markdown takes a `|` for one unless a backslash precedes it.
fn ends_of_cells(line: &str) -> usize {
    let bytes = line.as_bytes();
    (0..bytes.len())
        .filter(|at| bytes[*at] == b'|' && (*at == 0 || bytes[at - 1] != b'\\'))
        .count()
}
