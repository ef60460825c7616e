//! Escapes free text and raw bytes: user-chosen names cannot act on a terminal or break a line.

use std::fmt::Write as _;
use std::path::Path;

/// Number of leading bytes in which a NUL marks content as binary: git's rule.
pub const BINARY_PROBE_BYTES: usize = 8000;

/// Escapes bytes for display: UTF-8 is kept, characters that could act on a terminal or deceive the
/// eye become `\xNN` or `\u{…}`, and backslashes are doubled, so that different names never look
/// the same.
pub fn escape_bytes(bytes: &[u8]) -> String {
    escape_but(bytes, "")
}

/// As [`escape_bytes`], but for some characters.
fn escape_but(bytes: &[u8], kept: &str) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if kept.contains(c) {
                shown.push(c);
            } else {
                push_escaped(&mut shown, c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// As [`escape_bytes`], for text that is UTF-8, such as a reason.
pub fn escape(text: &str) -> String {
    escape_bytes(text.as_bytes())
}

/// Escapes a message that may contain escaped names, as one line; existing escapes stay.
pub fn escape_line(text: &str) -> String {
    let pieces: Vec<String> = text.split('\\').map(escape).collect();
    pieces.join("\\")
}

/// Escapes a path for display on one line; backslashes stay single.
pub fn escape_path(path: &Path) -> String {
    let pieces = path
        .as_os_str()
        .as_encoded_bytes()
        .split(|byte| *byte == b'\\')
        .map(escape_bytes);
    pieces.collect::<Vec<_>>().join("\\")
}

/// Escapes file content for a terminal, as [`escape_bytes`] but for tab, line break and backslash.
pub fn escape_content(bytes: &[u8]) -> String {
    let is_plain = |byte| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    if bytes.iter().copied().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    escape_but(bytes, "\t\n\\")
}

fn push_escaped(shown: &mut String, c: char) {
    match c {
        '\\' => shown.push_str("\\\\"),
        c if c.is_ascii_control() => {
            let _ = write!(shown, "\\x{:02x}", u32::from(c));
        }
        EMOJI_STYLE if shown.ends_with(is_symbol) => shown.push(c),
        c if is_deceptive(c) => {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        }
        c => shown.push(c),
    }
}

/// Asks for the colourful form of the symbol before it.
const EMOJI_STYLE: char = '\u{fe0f}';

fn is_symbol(c: char) -> bool {
    matches!(c, '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a character is a C1 control, a blank that looks like the usual one, or an invisible,
/// joining or reordering format character.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{1680}'
        | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Percent-encodes everything but unreserved ASCII and `/`: one line, no spaces, lossless.
pub fn percent_encode(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            encoded.push(char::from(*byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Decodes [`percent_encode`]; `None` if a `%` is not followed by two hex digits.
pub fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        // The standard parser would accept a sign.
        let digits = std::str::from_utf8(digits)
            .ok()
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = tail;
    }
    Some(bytes)
}

/// Returns how many letters of one word are added, dropped or replaced to give the other.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Whether a typed word is probably a misspelling of a known one: two letters differ at most, and
/// no more than a third of them; or only their order does; or one begins the other.
pub fn is_similar(typed: &str, known: &str) -> bool {
    const MOST_SLIPS: usize = 2;
    const SHORTEST_BEGINNING: usize = 3;
    let plain = |word: &str| word.to_ascii_lowercase().replace(['_', '-'], "");
    let (typed, known) = (plain(typed), plain(known));
    let shorter = typed.len().min(known.len());
    let letters = |word: &str| {
        let mut letters: Vec<u8> = word.bytes().collect();
        letters.sort_unstable();
        letters
    };
    let begins = typed.starts_with(&known) || known.starts_with(&typed);
    edit_distance(&typed, &known) <= MOST_SLIPS.min(shorter.max(3) / 3)
        || (shorter >= SHORTEST_BEGINNING && begins)
        || letters(&typed) == letters(&known)
}

/// Removes the numbers of errors of the system: ` (os error 13)`.
pub fn without_numbers(text: &str) -> String {
    let mut pieces = text.split(" (os error ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |whole, piece| {
        let rest = piece.split_once(')').map_or("", |(_, rest)| rest);
        whole + rest
    })
}

/// `50,000`: digits in groups of three.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats `1 file`, `3,000 files`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", thousands(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_on_a_terminal_passes() {
        assert_eq!(escape("a\x1b]0;x\x07b\n"), "a\\x1b]0;x\\x07b\\x0a");
        assert_eq!(escape("\u{202e}abc\u{200b}"), "\\u{202e}abc\\u{200b}");
        assert_eq!(escape_bytes(b"a\xffb\\"), "a\\xffb\\\\");
        assert_eq!(escape("grün ✓ | x ♻\u{fe0f}"), "grün ✓ | x ♻\u{fe0f}");
        let found = escape("a\u{a0}b\u{fe0f}c\u{202f}d\u{e0100}");
        assert_eq!(found, "a\\u{a0}b\\u{fe0f}c\\u{202f}d\\u{e0100}");
    }

    #[test]
    fn words_with_names_in_them_are_one_line_and_not_escaped_twice() {
        let found = escape_line("no 'a\\x0ab' in C:\\x\n\u{9b}31m");
        assert_eq!(found, "no 'a\\x0ab' in C:\\x\\x0a\\u{9b}31m");
        let found = escape_path(Path::new("/a\nb\\c\u{202e}"));
        assert_eq!(found, "/a\\x0ab\\c\\u{202e}");
    }

    #[test]
    fn content_keeps_its_lines_and_loses_its_power() {
        let found = escape_content(b"\tprintf(\"\\n\");\r\n");
        assert_eq!(found, "\tprintf(\"\\n\");\\x0d\n");
        let found = escape_content("\x1b[2J\u{9b}x\u{202e}".as_bytes());
        assert_eq!(found, "\\x1b[2J\\u{9b}x\\u{202e}");
        assert_eq!(escape_content(b"\xe2\x82"), "\\xe2\\x82");
    }

    #[test]
    fn digits_are_in_groups_of_three() {
        let found = [7, 50_000, 1_234_567].map(thousands);
        assert_eq!(found, ["7", "50,000", "1,234,567"]);
        assert_eq!([count(1, "a", "b"), count(2, "a", "b")], ["1 a", "2 b"]);
    }

    #[test]
    fn percent_encoding_is_lossless_and_one_word() {
        let every: Vec<u8> = (0..=255).collect();
        let encoded = percent_encode(&every);
        assert!(encoded.bytes().all(|b| b.is_ascii_graphic()));
        assert_eq!(percent_decode(&encoded).unwrap(), every);
        assert_eq!(percent_encode(b"aZ09-._~/ %\xfc"), "aZ09-._~/%20%25%FC");
        assert_eq!(percent_decode("%4"), None);
        assert_eq!(percent_decode("%zz"), None);
        assert_eq!(percent_decode("%+4"), None, "a sign is no digit");
    }
}
