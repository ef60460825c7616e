//! Where a value ends, and whether it has the look of a secret.

use std::ops::Range;

use crate::model::session::redact::{WINDOW, has_marker, length_of, window};

/// Whether a value stands for another: a variable, a gap to fill, a row of the same sign.
pub fn is_placeholder(value: &str) -> bool {
    let bytes = value.as_bytes();
    let is_upper_name = |name: &str| {
        name.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let is_between =
        |open: u8, close: u8| bytes.first() == Some(&open) && bytes.last() == Some(&close);
    let is_variable = value.strip_prefix('$').is_some_and(|name| {
        name.starts_with(['{', '(']) || (!name.is_empty() && is_upper_name(name))
    });
    let is_path = ["/", "~/", "./", "../"]
        .iter()
        .any(|head| value.starts_with(head));
    let is_one_sign = bytes.iter().all(|byte| *byte == bytes[0]);
    let is_gap = ["your", "YOUR", "Your", "REDACTED", "redacted", "…", "..."]
        .iter()
        .any(|head| value.starts_with(head));
    let is_in_brackets = [(b'{', b'}'), (b'<', b'>'), (b'%', b'%'), (b'[', b']')]
        .into_iter()
        .any(|(open, close)| is_between(open, close));
    let is_one = is_variable || is_one_sign || is_gap || is_in_brackets;
    !is_long(value) && (is_one || (is_path && !has_digit_and_letter(value)))
}

/// Whether a value is a call or names another value of a program.
pub fn is_code(value: &str) -> bool {
    const OWNERS: [&str; 18] = [
        "os", "process", "env", "self", "this", "config", "settings", "args", "opts", "options",
        "secrets", "vars", "var", "req", "request", "ctx", "std", "local",
    ];
    const SECRETS: [&str; 6] = [
        "credentials",
        "key",
        "passphrase",
        "password",
        "secret",
        "token",
    ];
    let path = length_of(value, |byte| {
        byte.is_ascii_alphabetic() || b"_.:".contains(&byte)
    });
    let owner = length_of(value, |byte| byte.is_ascii_alphabetic());
    let is_call = path > 0 && value[path..].starts_with(['(', '[', '!', '{']);
    let is_field = OWNERS.contains(&&value[..owner]) && value[owner..].starts_with(['.', ':']);
    let last = value
        .rsplit(['_', '.'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let names_a_secret = last.len() < value.len() && SECRETS.contains(&&*last);
    is_call || is_field || names_a_secret
}

/// Whether a value may be longer than the view of it; no placeholder is so.
pub fn is_long(value: &str) -> bool {
    const LONGEST_CHAR: usize = 4;
    value.len() + LONGEST_CHAR > WINDOW
}

pub fn has_digit_and_letter(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether this many letters and digits stand in a row, both among them.
pub fn has_dense_part(value: &str, least: usize) -> bool {
    let mut parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| part.len() >= least && has_digit_and_letter(part))
}

pub fn is_number(value: &str, least: usize) -> bool {
    value.len() >= least && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether no word is so: letters with digits or signs.
pub fn is_strong(value: &str, least: usize) -> bool {
    let has_sign = || {
        let is_sign = |c: char| "!#$%^&*+?~@".contains(c);
        value.contains(is_sign) && value.contains(|c: char| c.is_alphabetic())
    };
    value.len() >= least && (has_digit_and_letter(value) || has_sign())
}

/// Whether small letters and capitals alternate more often than in names.
pub fn is_mixed(value: &str) -> bool {
    let letters = value.as_bytes();
    let rises = letters
        .windows(2)
        .filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    rises.count() >= 2
}

/// Returns the range between the quotes at a place, on one line.
pub fn quoted(text: &str, at: usize) -> Option<Range<usize>> {
    let mut start = at;
    let rest = &text.as_bytes()[at..];
    // b"…", f"…", @"…".
    if rest.len() > 1 && b"bfru@$".contains(&rest[0]) && b"\"'`".contains(&rest[1]) {
        start += 1;
    }
    start += bounded(&text[start..], 4, "\\");
    let quote = text[start..]
        .chars()
        .next()
        .filter(|c| "\"'`".contains(*c))?;
    start += 1;
    let rest = &text[start..text.floor_char_boundary(start + 2 * WINDOW)];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let len = line.find(quote)?;
    let value = line[..len].trim_end_matches('\\');
    Some(start..start + value.len())
}

/// Returns the value without quotes at a place.
pub fn run(text: &str, at: usize) -> Range<usize> {
    let is_end = |c: char| c.is_whitespace() || "\"'`;&<>\\".contains(c);
    let rest = &text[at..];
    let near = window(rest);
    let len = match near.find(is_end) {
        Some(len) => len,
        None if near.len() < rest.len() && !has_marker(near) => {
            rest.find(is_end).unwrap_or(rest.len())
        }
        None => near.len(),
    };
    let value = rest[..len].trim_end_matches([',', ')', ']', '}', '.']);
    at..at + value.len()
}

/// Returns how many bytes at the beginning are of the signs, up to a bound.
pub fn bounded(text: &str, most: usize, signs: &str) -> usize {
    let is_sign = |byte: &u8| signs.as_bytes().contains(byte);
    text.bytes().take(most).take_while(is_sign).count()
}
