//! Secrets that are known by the name before them: assignments, headers, options, sentences.

use std::ops::Range;

use crate::model::session::redact::spoken;
use crate::model::session::redact::value_text::{
    bounded, has_dense_part, has_digit_and_letter, is_code, is_long, is_mixed, is_number,
    is_placeholder, is_strong, quoted, run,
};
use crate::model::session::redact::{has_marker, is_name_byte, length_of, marker_at, window};

#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Password,
    /// Of something that is nearly always a secret, such as `token`.
    Secret,
    /// Of something that may also be a secret, such as `auth`.
    Opaque,
    /// `key`, which names many things.
    Key,
}

/// Ends of names, in small letters and without signs.
const PASSWORDS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "storepass",
    "keypass",
    "userpwd",
    "kennwort",
    "contrasena",
    "senha",
    "wachtwoord",
];
const SECRETS: [&str; 30] = [
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "secretkeybase",
    "privatekey",
    "credential",
    "credentials",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "accountkey",
    "authkey",
    "appkey",
    "applicationkey",
    "deploykey",
    "licensekey",
    "storagekey",
    "servicekey",
    "subscriptionkey",
    "clientkey",
    "sharedkey",
    "accesssignature",
    "sessionid",
    "phpsessid",
    "authorization",
    "connectsid",
    "amzsignature",
    "googsignature",
];
/// Whole names, or their last part behind `_` or `-`.
const SHORT_NAMES: [(&str, NameKind); 13] = [
    ("pass", NameKind::Password),
    ("pw", NameKind::Password),
    ("pwd", NameKind::Password),
    ("psk", NameKind::Password),
    ("pin", NameKind::Password),
    ("auth", NameKind::Opaque),
    ("sig", NameKind::Opaque),
    ("sid", NameKind::Opaque),
    ("jwt", NameKind::Opaque),
    ("bearer", NameKind::Opaque),
    ("otp", NameKind::Opaque),
    ("session", NameKind::Opaque),
    ("key", NameKind::Key),
];
/// What makes a secret of a `key` behind it.
const KINDS_OF_KEY: [&str; 9] = [
    "api",
    "secret",
    "access",
    "private",
    "signing",
    "encryption",
    "master",
    "account",
    "license",
];
/// What may follow a password that is a plain word.
const BREAKS: [&str; 6] = [", ", "; ", ") ", " for ", " on ", " please"];
/// Upper bound on a name in bytes.
const LONGEST_NAME: usize = 64;

impl NameKind {
    fn of(text: &str, word: &Range<usize>) -> Option<Self> {
        let name = text[word.clone()].trim_end_matches('-');
        let name = name.get(name.len().saturating_sub(LONGEST_NAME)..)?;
        let name = name.to_ascii_lowercase();
        let bare: String = name.chars().filter(|c| !"_-".contains(*c)).collect();
        if PASSWORDS.iter().any(|end| bare.ends_with(end)) {
            return Some(Self::Password);
        }
        if SECRETS.iter().any(|end| bare.ends_with(end)) {
            return Some(Self::Secret);
        }
        let last = name.rsplit(['_', '-']).next().unwrap_or_default();
        let (_, kind) = SHORT_NAMES.iter().find(|(short, _)| *short == last)?;
        let before = || {
            let before = text[..word.start].strip_suffix(' ')?;
            let len = before
                .bytes()
                .rev()
                .take(12)
                .take_while(|byte| is_name_byte(*byte))
                .count();
            before.get(before.len() - len..)
        };
        if name == "key"
            && before().is_some_and(|it| KINDS_OF_KEY.contains(&&*it.to_ascii_lowercase()))
        {
            return Some(Self::Secret);
        }
        Some(*kind)
    }
}

/// How a value stands behind its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// `name="value"`
    Quoted,
    /// `name=value`
    Attached,
    /// `name: value`
    Spaced,
    /// `--name value`
    Argument,
    /// `name is value`
    Told,
    /// `name to value`
    Verb,
    /// `name is "value"`, `name to "value"`
    VerbQuoted,
    /// `name value`
    Behind,
    /// Within `machine … login … password value`.
    Netrc,
}

/// Returns the secret that a name or the scheme of a header announces.
pub fn after(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    if let Some(value) = after_scheme(text, word) {
        return Some(value);
    }
    let kind = NameKind::of(text, word)?;
    let (manner, value) = value_of(text, word)?;
    let shown = &text[value.clone()];
    let ends_line = || {
        let behind = &text[value.end..];
        let rest = behind.trim_start_matches([',', ';', ' ', '\t', '.']);
        let goes_on = BREAKS.iter().any(|it| behind.starts_with(it));
        rest.is_empty()
            || rest.starts_with(['\n', '\r'])
            || (goes_on && spoken::is_plain_password(shown))
    };
    let is_secret = !has_marker(shown)
        && !is_placeholder(shown)
        && !is_plain_word(&text[word.clone()], shown)
        && (is_long(shown) || kind.is_met_by(manner, shown, &text[word.clone()], ends_line));
    is_secret.then_some(value)
}

fn value_of(text: &str, word: &Range<usize>) -> Option<(Manner, Range<usize>)> {
    let mut name_end = word.end + bounded(&text[word.end..], 4, "\\\"'`]?");
    let behind = text[word.end..].strip_prefix(' ').unwrap_or_default();
    let purpose = spoken::purpose(behind);
    if purpose > 0 {
        name_end = word.end + 1 + purpose;
    }
    let sign = name_end + bounded(&text[name_end..], 8, " \t");
    let sign_end = sign + bounded(&text[sign..], 3, ":=>!");
    let start = sign_end + bounded(&text[sign_end..], 16, " \t");
    if text[sign..].starts_with("://") {
        return None;
    }
    match &text[sign..sign_end] {
        "" if name_end == word.end || purpose > 0 => value_without_sign(text, word, name_end, sign),
        ">" if text[..word.start].ends_with('<') => {
            let len = window(&text[sign_end..]).find(['<', '\n'])?;
            Some((Manner::Quoted, sign_end..sign_end + len))
        }
        "" | "::" => None,
        sign_text if sign_text.starts_with('>') => None,
        _ => Some(match quoted(text, start) {
            Some(value) => (Manner::Quoted, value),
            None if sign == name_end && sign_end == start => (Manner::Attached, run(text, start)),
            None => (Manner::Spaced, run(text, start)),
        }),
    }
}

fn value_without_sign(
    text: &str,
    word: &Range<usize>,
    name_end: usize,
    start: usize,
) -> Option<(Manner, Range<usize>)> {
    if start == name_end {
        return None;
    }
    let before = &text[..word.start];
    // More dashes are the end of a key.
    let is_option = before.ends_with('-') && !before.ends_with("---");
    let rest = &text[start..];
    let verbs = spoken::VERBS.into_iter().chain(["to ", "= "]);
    let verb = verbs
        .filter(|_| !is_option)
        .find(|verb| rest.starts_with(verb));
    let start = start + verb.map_or(0, str::len);
    let in_quotes = quoted(text, start);
    let manner = match (verb, &in_quotes) {
        (Some(_), Some(_)) => Manner::VerbQuoted,
        (Some("is " | "was "), None) => Manner::Told,
        (Some(_), None) => Manner::Verb,
        (None, _) if is_option => Manner::Argument,
        (None, _) if is_in_netrc(before) => Manner::Netrc,
        (None, _) => Manner::Behind,
    };
    let value = in_quotes.unwrap_or_else(|| run(text, start));
    let shown = &text[value.clone()];
    let len = match manner {
        Manner::Told | Manner::Verb | Manner::Behind => {
            shown.trim_end_matches(['.', ',', '!', '?', ':', ')']).len()
        }
        _ => shown.len(),
    };
    Some((manner, value.start..value.start + len))
}

/// Whether the text ends with `login` and a user.
fn is_in_netrc(before: &str) -> bool {
    let user_and_more = before.trim_end();
    let user = user_and_more.rfind(char::is_whitespace).unwrap_or_default();
    // A replacement may stand for several words.
    let is_one = !has_marker(&user_and_more[user..]);
    is_one && user_and_more[..user].trim_end().ends_with("login")
}

impl NameKind {
    /// Whether a value behind a name of this kind is a secret.
    fn is_met_by(
        self,
        manner: Manner,
        value: &str,
        name: &str,
        ends_line: impl Fn() -> bool,
    ) -> bool {
        let is_password = match self {
            Self::Password => true,
            Self::Secret => false,
            Self::Opaque => return has_dense_part(value, 12) || is_mixed(value),
            Self::Key => return has_dense_part(value, 16) && !value.contains('.'),
        };
        let is_option_or_word = || {
            let lower = value.to_ascii_lowercase();
            value.starts_with('-') || STOP_WORDS.contains(&&*lower)
        };
        match manner {
            Manner::Quoted => is_password || !value.contains(' '),
            Manner::Attached => value.len() >= 3 && !is_code(value),
            Manner::Argument | Manner::Netrc => !is_option_or_word(),
            Manner::VerbQuoted if is_password => true,
            _ if is_code(value) => false,
            Manner::Spaced if is_password => {
                is_strong(value, 5) || is_number(value, 4) || ends_line()
            }
            Manner::Told if is_password => {
                let is_word = spoken::is_plain_password(value) && ends_line();
                is_strong(value, 5) || is_number(value, 4) || is_word
            }
            Manner::Verb if is_password => is_strong(value, 6) || is_number(value, 6),
            Manner::Behind if is_password => {
                is_strong(value, 6) && !value.contains(['-', '/', '_', '.'])
            }
            Manner::Spaced | Manner::VerbQuoted => is_strong(value, 8),
            Manner::Told | Manner::Verb => is_strong(value, 12),
            Manner::Behind => name.contains(['_', '-']) && is_strong(value, 12),
        }
    }
}

/// Whether a value is a word that tells of a secret, or a place.
fn is_plain_word(name: &str, value: &str) -> bool {
    let (name, lower) = (name.to_ascii_lowercase(), value.to_ascii_lowercase());
    let is_directory = name.ends_with("pwd") && value.starts_with(['/', '~', '.']);
    value.is_empty()
        || is_directory
        || lower == name
        || WORDS.contains(&&*lower)
        || SCHEMES.contains(&&*lower)
}

/// Schemes of authorization headers.
const SCHEMES: [&str; 5] = ["apikey", "basic", "bearer", "negotiate", "token"];
/// Values that are no secrets.
const WORDS: [&str; 46] = [
    "aes256",
    "argon2",
    "argon2id",
    "argon2i",
    "base32",
    "base58",
    "base64",
    "base64url",
    "bcrypt",
    "boolean",
    "bytes",
    "digest",
    "empty",
    "es256",
    "false",
    "hs256",
    "ipv4",
    "ipv6",
    "md5",
    "missing",
    "nil",
    "none",
    "null",
    "oauth2",
    "object",
    "optional",
    "pbkdf2",
    "prompt",
    "required",
    "rs256",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "str",
    "string",
    "text",
    "true",
    "undefined",
    "unset",
    "utf16",
    "utf8",
    "utf-8",
    "utf-16",
    "x509",
];
/// Words that follow the name of an option in a sentence.
const STOP_WORDS: [&str; 36] = [
    "a",
    "after",
    "an",
    "and",
    "are",
    "argument",
    "as",
    "at",
    "because",
    "before",
    "but",
    "by",
    "does",
    "field",
    "fields",
    "flag",
    "for",
    "from",
    "has",
    "if",
    "in",
    "is",
    "it",
    "must",
    "of",
    "on",
    "option",
    "or",
    "parameter",
    "should",
    "that",
    "the",
    "then",
    "to",
    "when",
    "with",
];

/// Returns what follows the scheme of an authorization header.
fn after_scheme(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let scheme = text[word.clone()].to_ascii_lowercase();
    let start = word.end + bounded(&text[word.end..], 4, " ");
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte);
    let value = &text[start..];
    let len = length_of(window(value), is_token);
    let shown = value[..len].trim_end_matches('.');
    let is_secret = start > word.end
        && marker_at(&value[len..]).is_none()
        && match &*scheme {
            "bearer" => is_strong(shown, 8) || len >= 20,
            "token" | "apikey" | "negotiate" => {
                len >= 16 && (is_strong(shown, 16) || is_mixed(shown))
            }
            "basic" => {
                let is_capital = |byte: u8| byte.is_ascii_uppercase();
                len >= 8
                    && len % 4 == 0
                    && shown.bytes().any(is_capital)
                    && (is_mixed(shown) || has_digit_and_letter(shown) || shown.ends_with('='))
            }
            _ => false,
        };
    is_secret.then(|| {
        let whole = length_of(value, is_token);
        start..start + value[..whole].trim_end_matches('.').len()
    })
}
