//! Numbers of payment cards.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::model::session::redact::{REMOVED, length_of};

/// First digits and numbers of digits of the kinds of cards.
const KINDS: [(RangeInclusive<u32>, RangeInclusive<usize>); 11] = [
    (2200..=2204, 16..=19),
    (2221..=2720, 16..=16),
    (3000..=3059, 14..=19),
    (3400..=3499, 15..=15),
    (3528..=3589, 16..=19),
    (3600..=3699, 14..=19),
    (3700..=3799, 15..=15),
    (3800..=3999, 14..=19),
    (4000..=4999, 13..=19),
    (5100..=5599, 16..=16),
    (6000..=6999, 16..=19),
];
/// Numbers of digits of all kinds, and those of a group of digits.
const DIGITS: RangeInclusive<usize> = 13..=19;
const GROUP: RangeInclusive<usize> = 3..=7;

/// Returns the text without the numbers of cards.
pub fn removed(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(len) = text[at..].find(|c: char| c.is_ascii_digit()) {
        at += len;
        let is_within = |c: char| c.is_alphanumeric() || "_+.".contains(c);
        let begins = !text[..at].ends_with(is_within);
        if let Some(len) = number(&text[at..]).filter(|_| begins) {
            out.push_str(&text[copied..at]);
            out.push_str(REMOVED);
            at += len;
            copied = at;
        } else {
            at += length_of(&text[at..], |byte| byte.is_ascii_digit());
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Returns the length of the number of a card at the beginning of a text, which may be in groups of
/// digits with a blank or a dash between them.
fn number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut digits = Vec::new();
    let (mut at, mut group, mut sign) = (0, 0, None);
    let mut found = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' if digits.len() < *DIGITS.end() => {
                digits.push(u32::from(byte - b'0'));
                group += 1;
            }
            b' ' | b'-' if sign.is_none_or(|sign| sign == byte) && GROUP.contains(&group) => {
                sign = Some(byte);
                group = 0;
            }
            _ => break,
        }
        at += 1;
        let is_end = bytes
            .get(at)
            .is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_');
        if is_end && (sign.is_none() || GROUP.contains(&group)) && is_card(&digits) {
            found = Some(at);
        }
    }
    found
}

fn is_card(digits: &[u32]) -> bool {
    if !DIGITS.contains(&digits.len()) {
        return false;
    }
    let first = digits[..4]
        .iter()
        .fold(0, |number, digit| number * 10 + digit);
    let is_of = |(firsts, lengths): &(RangeInclusive<u32>, RangeInclusive<usize>)| {
        firsts.contains(&first) && lengths.contains(&digits.len())
    };
    // The sum of Luhn: each second digit from the right counts double, without its nines.
    let weighed = digits.iter().rev().enumerate().map(|(at, digit)| {
        let double = digit * (1 + u32::from(at % 2 == 1));
        double / 10 + double % 10
    });
    KINDS.iter().any(is_of) && weighed.sum::<u32>().is_multiple_of(10)
}
