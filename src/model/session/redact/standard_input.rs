//! Passwords that a command line writes to the standard input of a program that asks for them.

use std::ops::Range;

use crate::model::session::redact::value_text::{bounded, is_placeholder, quoted, run};
use crate::model::session::redact::{has_marker, window};

/// Returns the password behind a word of a command line: after `echo` what `sudo -S` or
/// `--password-stdin` reads, after these what stands behind `<<<` or in a here-document.
pub fn after(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let value = match &text[word.clone()] {
        "echo" | "printf" => piped(text, word),
        "sudo" | "password-stdin" => here(text, word),
        _ => None,
    }?;
    let shown = &text[value.clone()];
    let is_secret = !shown.is_empty() && !is_placeholder(shown) && !has_marker(shown);
    is_secret.then_some(value)
}

/// Whether a command reads a password from its standard input.
fn asks(command: &str) -> bool {
    let command = &command[..command.find(['|', ';', '&', '\n']).unwrap_or(command.len())];
    let mut words = command.split_whitespace();
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let takes_password = |word: &str| word == "--stdin" || (is_short(word) && word.contains('S'));
    let has_option = command
        .split_whitespace()
        .any(|word| word == "--password-stdin");
    has_option || (words.any(|word| word == "sudo") && words.any(takes_password))
}

fn piped(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let rest = window(&text[word.end..]);
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let end = line.find('|').filter(|end| asks(&line[end + 1..]))?;
    let last = word.end + line[..end].trim_end().len();
    let mut start = word.end + bounded(line, 8, " \t");
    for option in ["-n ", "-e ", "-ne ", "-- "] {
        start += if text[start..].starts_with(option) {
            option.len()
        } else {
            0
        };
    }
    let format = one(text, start);
    let behind = format.end + bounded(&text[format.end..], 1, "\"'");
    let next = behind + bounded(&text[behind..], 8, " \t");
    if start >= last {
        return None;
    }
    if next < last && text[format.clone()].contains('%') {
        return Some(one(text, next));
    }
    Some(match quoted(text, start) {
        Some(value) => value,
        None => start..last,
    })
}

fn here(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let rest = window(&text[word.end..]);
    let line_end = rest.find('\n').unwrap_or(rest.len());
    // A replacement may have taken the end of a line.
    let at = rest[..line_end]
        .find("<<")
        .filter(|at| !has_marker(&rest[..*at]))?;
    let from_word = &text[word.clone()];
    if from_word == "sudo" && !asks(&format!("sudo{}", &rest[..at])) {
        return None;
    }
    let behind = &rest[at + 2..];
    if let Some(value) = behind.strip_prefix('<') {
        let start = word.end + at + 3 + bounded(value, 8, " \t");
        return Some(one(text, start));
    }
    let mark = behind
        .split_whitespace()
        .next()?
        .trim_matches(['-', '"', '\'', '\\']);
    let start = line_end + 1;
    let body = rest.get(start..)?;
    let len = body.find(&format!("\n{mark}"))?;
    let is_mark = !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_mark.then(|| word.end + start..word.end + start + len)
}

/// Returns a word of a command line, without its quotes.
fn one(text: &str, start: usize) -> Range<usize> {
    quoted(text, start).unwrap_or_else(|| run(text, start))
}
