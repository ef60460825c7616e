//! Secrets that are known by their shape: key blocks, keys without a prefix, random text.

use crate::model::session::redact::{is_name_byte, length_of, marker_at, window};

/// Upper bound on the first line of a key block in bytes.
const LONGEST_HEADER: usize = 80;

/// Returns the length of the private key at the beginning of a text. One that does not end takes
/// all of the text.
pub fn key_block(text: &str) -> Option<usize> {
    let forms = [
        ("-----BEGIN ", "-----END ", "-----"),
        ("---- BEGIN ", "---- END ", "----"),
    ];
    let (begin, end, dashes) = forms.into_iter().find(|(it, ..)| text.starts_with(it))?;
    let header = &text[begin.len()..text.floor_char_boundary(LONGEST_HEADER)];
    let header = &header[..header.find(dashes)?];
    if !header.contains("PRIVATE KEY") {
        return None;
    }
    let Some(last) = text.find(end) else {
        return Some(text.len());
    };
    let last = last + end.len();
    let tail = &text[last..text.floor_char_boundary(last + LONGEST_HEADER)];
    let tail = tail.find(dashes).map_or(tail.len(), |at| at + dashes.len());
    Some(last + tail)
}

/// What precedes the secret part of an address.
const WEBHOOKS: [&str; 9] = [
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/webhook",
    "outlook.office.com/webhook/",
    "outlook.office365.com/webhook/",
    "hooks.zapier.com/hooks/catch/",
];

/// Returns the length of the secret at the beginning of a text if it has the shape of a known kind.
pub fn known_shape(text: &str) -> Option<usize> {
    let first = length_of(window(text), is_name_byte);
    let (word, rest) = text.split_at(first);
    let bytes = word.as_bytes();
    if WEBHOOKS.iter().any(|hook| text.starts_with(hook)) {
        let is_end = |c: char| c.is_whitespace() || "\"'`<>)]«".contains(c);
        let end = text.find(is_end).unwrap_or(text.len());
        return Some(text[..end].trim_end_matches(['.', ',', ';', ':']).len());
    }
    if text.starts_with("PuTTY-User-Key-File-") {
        let last = text.find("Private-MAC:").unwrap_or(text.len());
        let tail = text[last..].find('\n').unwrap_or(text.len() - last);
        return Some(last + tail);
    }
    let next = |sign: &str| {
        let body = rest.strip_prefix(sign)?;
        Some(length_of(body, is_name_byte))
    };
    let is_hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    // A bot of Telegram.
    let number = word.strip_prefix("bot").unwrap_or(word);
    if (8..=12).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit()) {
        let len = next(":").filter(|len| *len >= 30);
        return len.map(|len| first + 1 + len);
    }
    // A key of Twilio; of Mailgun; of Mailchimp.
    let is_bare_key = match bytes {
        [b'S', b'K', body @ ..] => body.len() == 32 && is_hex(body),
        _ if bytes.len() == 50 => {
            is_hex(&bytes[..32]) && bytes[32] == b'-' && bytes[41] == b'-' && is_hex(&bytes[42..])
        }
        _ if (36..=37).contains(&bytes.len()) => {
            is_hex(&bytes[..32]) && bytes[32..].starts_with(b"-us")
        }
        _ => false,
    };
    // An account of 1Password.
    let is_in_groups = || {
        let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
        word.starts_with("A3-") && first >= 34 && word.bytes().all(is_part)
    };
    if is_bare_key || is_in_groups() {
        return Some(first);
    }
    dotted(text, word)
}

/// Keys in several parts with other signs between them.
fn dotted(text: &str, word: &str) -> Option<usize> {
    let first = word.len();
    let rest = &text[first..];
    let part = |from: usize| length_of(window(&text[from..]), is_name_byte);
    // A token of Terraform; of Airtable.
    if first == 14 && rest.starts_with(".atlasv1.") {
        return Some(first + 9 + part(first + 9));
    }
    if first == 17 && word.starts_with("pat") && rest.starts_with('.') && part(18) == 64 {
        return Some(18 + 64);
    }
    // A refresh token of Google.
    if word == "1" && rest.starts_with("//0") && part(3) >= 30 {
        return Some(3 + part(3));
    }
    // A secret of Azure.
    let bytes = text.as_bytes();
    let is_word = |byte: u8| is_name_byte(byte) || b"~.".contains(&byte);
    if bytes.len() > 36 && bytes[3].is_ascii_digit() && &bytes[4..6] == b"Q~" {
        let len = length_of(window(text), is_word);
        return (len >= 37).then(|| text[..len].trim_end_matches('.').len());
    }
    // A bot of Discord: user, time and signature.
    if (23..=28).contains(&first) && rest.starts_with('.') {
        let time = part(first + 1);
        let signature = first + 1 + time;
        if (6..=7).contains(&time) && text[signature..].starts_with('.') {
            let len = part(signature + 1);
            return (27..=45).contains(&len).then_some(signature + 1 + len);
        }
    }
    None
}

/// Lower bound on the length of what is called random.
const SHORTEST_RANDOM: usize = 32;
/// What begins like random text and is public: checksums of packages, SSH's public keys.
const PUBLIC: [&str; 5] = ["sha1-", "sha256-", "sha384-", "sha512-", "AAAA"];

/// Returns the length of the run of base64 at the beginning of a text, and whether it is random: it
/// changes between small letters, capitals and digits more often than names do. Replacements
/// belong to a run, and make it not random.
pub fn random_run(text: &str) -> (usize, bool) {
    let mut seen = [0_usize; 3];
    let (mut at, mut changes, mut not_hex, mut has_marker) = (0, 0, 0, false);
    let mut last = None;
    while let Some(byte) = text.as_bytes().get(at).copied() {
        let class = match byte {
            b'a'..=b'z' => Some(0),
            b'A'..=b'Z' => Some(1),
            b'0'..=b'9' => Some(2),
            b'+' | b'/' | b'-' | b'_' => None,
            _ => {
                let Some(marker) = text.get(at..).and_then(marker_at) else {
                    break;
                };
                has_marker = true;
                at += marker.len();
                continue;
            }
        };
        if let Some(class) = class {
            seen[class] += 1;
            not_hex += usize::from(!byte.is_ascii_hexdigit());
            changes += usize::from(last.is_some_and(|last| last != class));
        }
        last = class;
        at += 1;
    }
    let is_random = at >= SHORTEST_RANDOM
        && !has_marker
        && !seen.contains(&0)
        && not_hex * 8 >= at
        && changes * 100 >= at * 42
        && !PUBLIC.iter().any(|public| text.starts_with(public));
    let padding = length_of(&text[at..], |byte| byte == b'=');
    (if is_random { at + padding.min(2) } else { at }, is_random)
}
