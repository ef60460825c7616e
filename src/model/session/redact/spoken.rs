//! Passwords and codes that the words of a sentence announce, in several languages.

use std::ops::Range;

use crate::model::session::redact::value_text::{
    is_number, is_placeholder, is_strong, quoted, run,
};
use crate::model::session::redact::{has_marker, window};

/// Words for a password that are no names in programs, in small letters.
const PASSWORDS: [&str; 13] = [
    "mot de passe",
    "contraseña",
    "palavra-passe",
    "hasło",
    "lösenord",
    "salasana",
    "şifre",
    "пароль",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
];
/// Words for a code of digits that lets in.
const CODES: [&str; 14] = [
    "pin",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "pin code",
    "pin-code",
    "otp code",
    "2fa code",
    "mfa code",
    "one-time code",
    "security code",
    "verification code",
    "пин-код",
];
/// Words between a name and its value.
pub const VERBS: [&str; 9] = [
    "is ", "was ", "ist ", "lautet ", "est ", "es ", "é ", "jest ", "是",
];
/// Upper bounds on a name and on what stands between a name and its value, in bytes.
const LONGEST_NAME: usize = 24;
const LONGEST_GAP: usize = 48;

/// Returns the secret that the words at a place announce.
pub fn after(text: &str, at: usize) -> Option<Range<usize>> {
    let near = &text[at..text.floor_char_boundary(at + LONGEST_NAME)];
    let lower = near.to_lowercase();
    let longest = |names: &[&'static str]| {
        let names = names.iter().filter(|name| lower.starts_with(**name));
        names.max_by_key(|name| name.len()).copied()
    };
    let password = longest(&PASSWORDS);
    let name = password.or_else(|| longest(&CODES))?;
    // A letter may be longer in the other case.
    let len = near.char_indices().nth(name.chars().count());
    let end = at + len.map_or(near.len(), |(len, _)| len);
    let is_written_on = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_ascii() && text[end..].starts_with(is_written_on) {
        return None;
    }
    let (start, has_sign) = value_start(text, end)?;
    let value = quoted(text, start).unwrap_or_else(|| trimmed(text, run(text, start)));
    let shown = &text[value.clone()];
    let is_secret = match password {
        Some(_) if has_sign => shown.chars().count() >= 3,
        Some(_) => is_strong(shown, 5) || is_number(shown, 4),
        None => {
            is_number(shown, 4) && shown.len() <= 8
                || (name.starts_with("cv") && is_number(shown, 3))
        }
    };
    (is_secret && !is_placeholder(shown) && !has_marker(shown)).then_some(value)
}

/// Returns where the value begins behind a name, and whether a sign such as a colon precedes it.
fn value_start(text: &str, end: usize) -> Option<(usize, bool)> {
    let rest = &text[end..];
    let behind = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}', '\t']);
    // A URL is read as one.
    if behind.starts_with("://") {
        return None;
    }
    let sign = behind.chars().next().filter(|c| ":=：".contains(*c));
    let value = match sign {
        Some(sign) => &behind[sign.len_utf8()..],
        None => VERBS
            .iter()
            .find_map(|verb| behind.strip_prefix(verb))
            .unwrap_or(behind),
    };
    let value = value.trim_start_matches([' ', '\u{a0}', '\t']);
    let start = text.len() - value.len();
    let is_near = start - end <= 16 && (sign.is_some() || start > end);
    (is_near && !value.is_empty()).then_some((start, sign.is_some()))
}

fn trimmed(text: &str, value: Range<usize>) -> Range<usize> {
    let shown =
        text[value.clone()].trim_end_matches(['.', ',', '!', '?', ':', ')', '。', '，', '；']);
    value.start..value.start + shown.len()
}

/// Whether a word is no state of a password, as in `the password is swordfish`.
pub fn is_plain_password(word: &str) -> bool {
    const ENDS: [&str; 22] = [
        "able", "ak", "al", "ary", "ect", "ed", "en", "ent", "ere", "ful", "ible", "ic", "id",
        "ing", "less", "ly", "ong", "ory", "ous", "text", "ure", "wn",
    ];
    const STATES: [&str; 12] = [
        "active",
        "always",
        "course",
        "enough",
        "secret",
        "string",
        "unique",
        "private",
        "default",
        "complex",
        "simple",
        "sensitive",
    ];
    let lower = word.to_lowercase();
    word.len() >= 6
        && word.chars().all(char::is_alphabetic)
        && !STATES.contains(&&*lower)
        && !ENDS.iter().any(|end| lower.ends_with(end))
}

/// Returns the length of what says of what a password is, as in `password for the db is …`; zero if
/// no value follows.
pub fn purpose(rest: &str) -> usize {
    let near = window(rest);
    let near = &near[..near.floor_char_boundary(LONGEST_GAP)];
    let Some(of) = ["for ", "of ", "für "]
        .iter()
        .find(|of| near.starts_with(**of))
    else {
        return 0;
    };
    let is_word = |word: &str| {
        word.chars()
            .all(|c| c.is_alphanumeric() || "-_.@/".contains(c))
    };
    let mut at = of.len();
    for word in near[of.len()..].split_inclusive(' ').take(4) {
        let bare = word.trim_end();
        if at > of.len() && VERBS.contains(&word) {
            return at - 1;
        }
        at += word.len();
        if let Some(last) = bare.strip_suffix(':').filter(|last| is_word(last)) {
            return at - word.len() + last.len();
        }
        if !is_word(bare) || word == bare {
            return 0;
        }
    }
    let behind = &near[at.min(near.len())..];
    if VERBS.iter().any(|verb| behind.starts_with(verb)) {
        at - 1
    } else {
        0
    }
}
