//! Normalizes an output: replaces places, ids, times, durations and sizes, which differ each run.

use std::path::Path;

/// Replaces places by their names; then ids, times, durations and sizes by placeholders.
pub fn normalize(text: &str, root: &Path, home: &Path) -> String {
    let text = text
        .replace(&root.display().to_string(), "$ROOT")
        .replace(&home.display().to_string(), "$HOME");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut in_word = false;
    while let Some(first) = rest.chars().next() {
        let found = if in_word {
            None
        } else {
            time(rest)
                .or_else(|| clock(rest))
                .or_else(|| alias(rest))
                .or_else(|| id(rest))
                .or_else(|| measure(rest))
        };
        let taken = if let Some((taken, name)) = found {
            out.push_str(name);
            in_word = false;
            taken
        } else {
            out.push(first);
            in_word = first.is_ascii_alphanumeric() || first == '_';
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    out
}

/// Length and placeholder of a time such as `2026-03-24 12:45:30` and its RFC 3339 relatives.
fn time(text: &str) -> Option<(usize, &'static str)> {
    const SHAPE: &[u8] = b"0000-00-00 00:00:00";
    let bytes = text.as_bytes();
    let fits = |at: usize| match SHAPE[at] {
        b'0' => bytes[at].is_ascii_digit(),
        b' ' => bytes[at] == b' ' || bytes[at] == b'T',
        other => bytes[at] == other,
    };
    if bytes.len() < SHAPE.len() || !(0..SHAPE.len()).all(fits) {
        return None;
    }
    let mut end = SHAPE.len();
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(&bytes[end + 1..]);
    }
    if bytes.get(end) == Some(&b'Z') {
        end += 1;
    }
    Some((end, "<time>"))
}

/// Length and placeholder of `(12:45)`, or with more behind it in the parentheses.
fn clock(text: &str) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let fits =
        is_digit(0) && is_digit(1) && bytes.get(2) == Some(&b':') && is_digit(3) && is_digit(4);
    (fits && matches!(bytes.get(5), Some(b')' | b','))).then_some((5, "<clock>"))
}

/// Length and placeholder of an alias such as `chk_20260324_124530_0f0f0f`.
fn alias(text: &str) -> Option<(usize, &'static str)> {
    const LEN: usize = "chk_20260324_124530_0f0f0f".len();
    let word = text.get(..LEN).filter(|word| word.starts_with("chk_"))?;
    let is_all = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_all.then_some((LEN, "<alias>"))
}

/// Length and placeholder of a word of exactly 8, 16 or 40 lowercase hex digits, with a decimal
/// digit or too long for English.
fn id(text: &str) -> Option<(usize, &'static str)> {
    let len = text
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count();
    let all_hex = text
        .bytes()
        .take(len)
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match len {
        8 if all_hex => Some((len, "<id>")),
        16 if all_hex => Some((len, "<hash>")),
        40 if all_hex => Some((len, "<full-id>")),
        _ => None,
    }
}

/// Length and placeholder of a number with a unit of time or size.
fn measure(text: &str) -> Option<(usize, &'static str)> {
    const UNITS: [(&str, &str); 14] = [
        ("ms", "<duration>"),
        ("seconds", "<duration>"),
        ("second", "<duration>"),
        ("s", "<duration>"),
        ("min", "<duration>"),
        ("h", "<duration>"),
        ("d", "<duration>"),
        ("KiB", "<size>"),
        ("MiB", "<size>"),
        ("GiB", "<size>"),
        ("bytes", "<size>"),
        ("byte", "<size>"),
        ("B", "<size>"),
        ("µs", "<duration>"),
    ];
    let bytes = text.as_bytes();
    let mut end = digits(bytes);
    if end == 0 {
        return None;
    }
    if bytes.get(end) == Some(&b'.') && digits(&bytes[end + 1..]) > 0 {
        end += 1 + digits(&bytes[end + 1..]);
    }
    let after = text[end..].strip_prefix(' ').unwrap_or(&text[end..]);
    let gap = text.len() - end - after.len();
    let ends_word = |unit: &str| !after[unit.len()..].starts_with(|c: char| c.is_alphanumeric());
    let (unit, name) = UNITS
        .iter()
        .find(|(unit, _)| after.starts_with(unit) && ends_word(unit))?;
    Some((end + gap + unit.len(), name))
}

fn digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

#[test]
fn what_differs_between_runs_gets_a_placeholder() {
    let shown = |text| normalize(text, Path::new("/tmp/x/work"), Path::new("/tmp/x/home"));
    assert_eq!(
        shown("at `a1b2c3d4` in /tmp/x/work, 12.3 MiB, 14 ms"),
        "at `<id>` in $ROOT, <size>, <duration>"
    );
    assert_eq!(
        shown("| 2026-03-24 12:45:30 |2026-03-24T12:45:30.123Z"),
        "| <time> |<time>"
    );
    assert_eq!(
        shown("3 files, pre-wave-3, +1 ~2 -3"),
        "3 files, pre-wave-3, +1 ~2 -3"
    );
}
