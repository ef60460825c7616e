//! The secret part of a URL, and mail addresses.

use std::ops::Range;

use crate::model::session::redact::value_text::is_placeholder;
use crate::model::session::redact::window;

/// Lower bound on the length of a user's name that is a key.
const SHORTEST_KEY: usize = 20;

/// What stands before the host of a URL.
pub struct UrlUser {
    /// Length up to the `@`.
    pub len: usize,
    pub secret: Option<Range<usize>>,
}

/// Reads user and password of a URL, given what follows `://`.
pub fn user_of_url(text: &str) -> Option<UrlUser> {
    let is_end = |c: char| c.is_whitespace() || "\"'`<>\\".contains(c);
    let url = window(text);
    let url = &url[..url.find(is_end).unwrap_or(url.len())];
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    let colon = authority.find(':');
    let Some(len) = authority.rfind('@') else {
        // A password with a sign that should be escaped.
        let colon = colon.filter(|colon| {
            let port = &authority[colon + 1..];
            !authority.starts_with('[') && !port.bytes().all(|byte| byte.is_ascii_digit())
        })?;
        let untouched = url.split('«').next()?;
        let len = untouched.rfind('@').filter(|len| *len > colon)?;
        let secret = Some(colon + 1..len);
        return Some(UrlUser { len, secret });
    };
    let secret = match colon.filter(|colon| *colon < len) {
        Some(colon) => Some(colon + 1..len),
        None => Some(0..len).filter(|_| len >= SHORTEST_KEY),
    };
    let is_real =
        |secret: &Range<usize>| !secret.is_empty() && !is_placeholder(&authority[secret.clone()]);
    let secret = secret.filter(is_real);
    Some(UrlUser { len, secret })
}

/// A mail address around an `@`.
pub struct MailAddress {
    /// Length of the part before the `@`.
    pub before: usize,
    /// Length of the rest, with the `@`.
    pub behind: usize,
}

/// Upper bound on the part before the `@` in bytes.
const LONGEST_LOCAL: usize = 128;
/// Ends of names of files, as in `icon@2x.png`.
const FILES: [&str; 16] = [
    "css", "gif", "html", "jpeg", "jpg", "js", "json", "md", "pdf", "png", "svg", "tgz", "ts",
    "tsx", "txt", "webp",
];

/// Reads the mail address of which `before` ends and `behind` begins with its `@`.
pub fn mail(before: &str, behind: &str) -> Option<MailAddress> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || ('À'..'ɏ').contains(&c);
    let is_local = |c: char| is_letter(c) || "._%+-'".contains(c);
    let start = before
        .char_indices()
        .rev()
        .take(LONGEST_LOCAL)
        .take_while(|(_, c)| is_local(*c))
        .last()?
        .0;
    let local = before[start..].trim_start_matches(|c| !is_letter(c));
    let domain = window(behind.get(1..)?);
    let domain_end = domain.find(|c| !is_letter(c) && c != '-' && c != '.');
    let domain = &domain[..domain_end.unwrap_or(domain.len())];
    let labels: Vec<&str> = domain.split('.').collect();
    let is_top = |label: &str| label.chars().count() >= 2 && label.chars().all(char::is_alphabetic);
    let named = labels.iter().take_while(|label| !label.is_empty()).count();
    let count = (2..=named).rev().find(|count| is_top(labels[count - 1]))?;
    let is_version = labels[0].bytes().all(|byte| byte.is_ascii_digit())
        && labels[1].starts_with(|c: char| c.is_ascii_digit());
    // `git` is the user of all who fetch.
    if local.is_empty() || local == "git" || is_version || FILES.contains(&labels[count - 1]) {
        return None;
    }
    let host: usize = labels[..count].iter().map(|label| label.len()).sum();
    Some(MailAddress {
        before: local.len(),
        behind: host + count,
    })
}
