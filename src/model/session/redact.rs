//! Replaces secrets and mail addresses in the text of a prompt before it is stored.
//!
//! Five kinds of secrets are known: keys by their prefix, private keys in a block, the value of a
//! name such as `password=`, what precedes the host of a URL, and long random text. What only
//! the words of a sentence tell is not found.

use std::ops::Range;
use std::sync::LazyLock;

#[cfg(test)]
mod tests;

/// Text in the place of a secret.
const REMOVED: &str = "«removed»";
/// Text in the place of a mail address.
const MAIL: &str = "«mail»";
/// Upper bound on passes over one text. Two are enough for nearly all.
const PASSES: usize = 8;
/// Upper bound on a view ahead in bytes. What is longer is judged by its beginning.
const WINDOW: usize = 512;

/// Returns the text without what appears to be a secret or a mail address.
///
/// A replacement can give the words around it another meaning, so the result is looked at again
/// until nothing more goes.
pub fn redact(text: &str) -> String {
    let mut text = redact_once(text);
    for _ in 1..PASSES {
        let again = redact_once(&text);
        if again == text {
            break;
        }
        text = again;
    }
    text
}

fn redact_once(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut at, mut run_end) = (0, 0);
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut len = next.len_utf8();
        let mut secret = None;
        match next {
            '«' if rest.starts_with(REMOVED) => len = REMOVED.len(),
            '«' if rest.starts_with(MAIL) => len = MAIL.len(),
            '-' => secret = key_block(rest).map(|len| 0..len),
            // The letter of an escaped character is no part of the word behind it.
            '\\' if rest[1..].starts_with(['n', 'r', 't']) => len = 2,
            ':' if rest.starts_with("://") => (len, secret) = url_user(rest),
            '@' => {
                if let Some((before, behind)) = mail(&out, rest) {
                    out.truncate(out.len() - before);
                    out.push_str(MAIL);
                    at += behind;
                    continue;
                }
            }
            _ if next.is_ascii() && is_word(next as u8) => {
                len = length_of(rest, is_name);
                secret = prefixed(rest).map(|len| 0..len);
                if secret.is_none() && at >= run_end {
                    let (run, is_random) = random_run(rest);
                    run_end = at + run;
                    secret = is_random.then_some(0..run);
                }
                secret = secret.or_else(|| named_value(&text[..at], rest, len));
            }
            _ => {}
        }
        let copied = secret.as_ref().map_or(len, |secret| secret.start);
        out.push_str(&rest[..copied]);
        if secret.is_some() {
            out.push_str(REMOVED);
        }
        at += secret.map_or(len, |secret| secret.end);
    }
    out
}

/// Prefixes of programs' keys, and how many letters and digits must stand in a row behind them. A
/// prefix that also begins names in source code needs more.
const PREFIXES: [(usize, &str); 7] = [
    (
        8,
        "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or- sk-lf- nvapi- tgp_v1_ lsv2_ pcsk_ wandb_v1_ \
         KGAT_ AIza ya29. GOCSPX- dop_v1_ doo_v1_ dor_v1_ cfut_ cfat_ fm1r_ fm1a_ fm2_ fo1_ HRKU- \
         nfp_ sb_secret_ pscale_tkn_ pscale_pw_ pscale_oauth_ tskey- sha256~ ghp_ gho_ ghu_ ghs_ \
         ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- \
         glffct- GR1348941 dckr_pat_ dckr_oat_ ATATT3x ATCTT3x bkua_ CCIPAT_ sntrys_ sntryu_ PMAK- \
         hvs. hvb. hvr. dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. AGE-SECRET-KEY- AGE-PLUGIN- \
         ops_ey xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe.xox xapp- xwfp- \
         xkeysib- xsmtpsib- sk_live_ sk_test_ rk_live_ rk_test_ whsec_ shpat_ shpca_ shppa_ shpss_ \
         sq0atp- sq0csp- access-sandbox- access-production- access_token$ amzn.mws. lin_api_ \
         lin_oauth_ figd_ glsa_ NRAK- hooks.slack.com/services/ hooks.slack.com/workflows/ \
         hooks.slack.com/triggers/ discord.com/api/webhooks/ discordapp.com/api/webhooks/ \
         hooks.zapier.com/hooks/catch/",
    ),
    (12, "tvly- LTAI SG. pat- eyJ"),
    (16, "AKIA ASIA ABIA ACCA"),
    (
        20,
        "sk- gsk_ xai- pplx- r8_ hf_ api_org_ csk- jina_ fw_ rnd_ vcp_ vercel_ nfc_ nfo_ sbp_ pul- \
         npm_ pypi- rubygems_ CLOJARS_ AKCp ATBB rdme_ key- re_ sk_ ntn_ secret_ glc_ phx_ sk. sl.",
    ),
    (24, "sess-"),
    (28, "ABSK AKID K00 EAAA"),
    (32, "dapi cio SK v1.0- oy2 EAA EZAK EZTK"),
];
/// From this many letters and digits on, a digit must be among them: long names of source code have
/// none.
const NEEDS_A_DIGIT: usize = 20;

static EACH_PREFIX: LazyLock<Vec<(&str, usize)>> = LazyLock::new(|| {
    let rows = PREFIXES.iter();
    rows.flat_map(|(least, prefixes)| prefixes.split(' ').map(|prefix| (prefix, *least)))
        .collect()
});

/// Returns the length of the key with a known prefix at the beginning of a text.
fn prefixed(text: &str) -> Option<usize> {
    let is_plain = |byte: u8| is_word(byte) || b"-.$/".contains(&byte);
    let body = EACH_PREFIX.iter().find_map(|(prefix, least)| {
        let body = text.strip_prefix(prefix)?;
        let near = &window(body)[..length_of(window(body), is_plain)];
        let has_digit = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit());
        let mut parts = near.split(|c: char| !c.is_ascii_alphanumeric());
        parts
            .any(|part| part.len() >= *least && (*least < NEEDS_A_DIGIT || has_digit(part)))
            .then_some(body)
    })?;
    let len = length_of(body, |byte| is_plain(byte) || b"+=~%".contains(&byte));
    let key = &text[..text.len() - body.len() + len];
    Some(key.trim_end_matches(['.', '/', '%', '$']).len())
}

/// Returns the length of the private key in a block at the beginning of a text. One that does not
/// end takes all of the text.
fn key_block(text: &str) -> Option<usize> {
    let header = text[..text.floor_char_boundary(80)]
        .split(['\n', '\\'])
        .next()?;
    let begin = header.find("BEGIN ").filter(|_| text.starts_with("----"))?;
    if !header[begin..].contains("PRIVATE KEY") || header[..begin].contains(char::is_alphanumeric) {
        return None;
    }
    let end = text.find("-END ").or_else(|| text.find("- END "));
    let closing = end.and_then(|end| Some(end + text[end + 1..].find("----")? + 1));
    let close = |at: usize| at + length_of(&text[at..], |byte| byte == b'-');
    Some(closing.map_or(text.len(), close))
}

/// Returns how much of a URL, which begins with its `://`, belongs to the user, and the secret in it:
/// the password, or a user's name that is a key.
fn url_user(text: &str) -> (usize, Option<Range<usize>>) {
    const SHORTEST_KEY: usize = 20;
    let start = "://".len();
    let is_end = |c: char| c.is_whitespace() || "\"'`<>\\/?#".contains(c);
    let authority = window(&text[start..]).split(is_end).next();
    let Some(len) = authority.and_then(|authority| authority.rfind('@')) else {
        return (start, None);
    };
    let user = &text[start..start + len];
    let secret = match user.split_once(':') {
        Some((name, _)) => name.len() + 1..len,
        None if len < SHORTEST_KEY => return (start + len + 1, None),
        None => 0..len,
    };
    let is_real = !is_placeholder(&user[secret.clone()]);
    let secret = is_real.then_some(start + secret.start..start + secret.end);
    (start + len + 1, secret)
}

/// Ends of names of files, as in `icon@2x.png`.
const FILES: &str = "css gif html jpeg jpg js json md pdf png svg tgz ts tsx txt webp";

/// Returns the lengths before and behind of the mail address around an `@`, with which `behind` begins.
fn mail(before: &str, behind: &str) -> Option<(usize, usize)> {
    const LONGEST: usize = 128;
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(LONGEST))..];
    let local = before.rsplit(|c: char| !c.is_alphanumeric() && !"._%+-'".contains(c));
    let local = local
        .map(|it| it.trim_start_matches(|c: char| !c.is_alphanumeric()))
        .next()?;
    let domain = window(&behind[1..]).split(|c: char| !c.is_alphanumeric() && c != '-' && c != '.');
    let domain = domain.map(|it| it.trim_end_matches(['.', '-'])).next()?;
    let (host, top) = domain.rsplit_once('.')?;
    let is_top = top.chars().count() >= 2 && top.chars().all(char::is_alphabetic);
    // `git` is the user of all who fetch.
    let is_mail = is_top
        && !host.is_empty()
        && !local.is_empty()
        && local != "git"
        && !FILES.split(' ').any(|file| file == top);
    is_mail.then_some((local.len(), 1 + domain.len()))
}

/// How sure a name makes that its value is a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Password,
    /// Such as `token`, of which programs also speak.
    Secret,
    /// Such as `key`, which names many things.
    Opaque,
}

/// Ends of names in small letters, without `_` and `-`.
const NAMES: [(NameKind, &str); 3] = [
    (
        NameKind::Password,
        "password passwd passphrase passcode passwort kennwort contrasena senha wachtwoord storepass \
         keypass userpwd",
    ),
    (
        NameKind::Secret,
        "secret token apikey accesskey secretkey privatekey credential credentials authorization",
    ),
    (
        NameKind::Opaque,
        "key keybase auth sig signature sid sessionid jwt bearer",
    ),
];
/// Last parts of names that are short for a password.
const SHORT_PASSWORDS: &str = "pass pw pwd psk";
/// Words before the value of a header.
const SCHEMES: &str = "apikey basic bearer negotiate token";
/// Values that are no secrets.
const WORDS: &str = "argon2 argon2id base32 base58 base64 base64url bcrypt bool boolean bytes empty es256 \
                     false hs256 int md5 none null number object optional pbkdf2 required rs256 sha1 sha256 \
                     sha512 str string text true undefined utf-8 utf8 x509";

fn is_among(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one.eq_ignore_ascii_case(word))
}

impl NameKind {
    fn of(name: &str) -> Option<Self> {
        const LONGEST: usize = 64;
        let name = name[name.len().saturating_sub(LONGEST)..].to_ascii_lowercase();
        let bare = name.replace(['_', '-'], "");
        let is_named = |(_, ends): &&(Self, &str)| ends.split(' ').any(|end| bare.ends_with(end));
        let is_short = || {
            name.rsplit(['_', '-'])
                .next()
                .is_some_and(|it| is_among(SHORT_PASSWORDS, it))
        };
        let found = NAMES.iter().find(is_named).map(|(kind, _)| *kind);
        // `PWD` is a directory.
        found.or_else(|| (is_short() && name != "pwd").then_some(Self::Password))
    }
}

/// Returns the secret that the name at the beginning of a text announces: `name=value`,
/// `"name": "value"`, `--name value`, `<name>value<`, also with the scheme of a header before it.
fn named_value(before: &str, text: &str, name_len: usize) -> Option<Range<usize>> {
    let name = &text[..name_len];
    let kind = NameKind::of(name.trim_end_matches('-'))?;
    let name_end = name_len + bounded(&text[name_len..], "\\\"'`]");
    let sign = name_end + bounded(&text[name_end..], " \t");
    let sign_end = sign + bounded(&text[sign..], ":=>");
    let mut start = sign_end + bounded(&text[sign_end..], " \t");
    let is_attached = name_end == sign && sign_end == start;
    match &text[sign..sign_end] {
        "" if before.ends_with("--") && name_end == name_len && sign > name_end => {}
        ">" if is_attached && before.ends_with('<') => {}
        "" | ">" | "::" => return None,
        ":" if text[sign_end..].starts_with("//") => return None,
        _ => {}
    }
    let word = length_of(window(&text[start..]), is_word);
    if word > 0 && is_among(SCHEMES, &text[start..start + word]) {
        start += word + bounded(&text[start + word..], " ");
    }
    let open = start + bounded(&text[start..], "\\");
    let quote = text[open..].chars().next().filter(|c| "\"'`".contains(*c));
    let is_end = |c: char| match quote {
        Some(quote) => c == quote || c == '\n',
        None => c.is_whitespace() || "\"'`;&<>\\".contains(c),
    };
    let start = open + usize::from(quote.is_some());
    let near = window(&text[start..]);
    let shown = &near[..near.find(is_end).unwrap_or(near.len())];
    let ends = if quote.is_some() {
        &['\\'][..]
    } else {
        &[',', ')', ']', '}', '.']
    };
    let shown = shown.trim_end_matches(ends);
    let end = start + shown.len();
    // A plain word may go on as a sentence.
    let rest = text[end..].trim_start_matches([' ', '\t']);
    let is_last = rest.is_empty() || rest.starts_with(['\n', '\r', '-']);
    let is_secret = match kind {
        NameKind::Opaque => has_dense_part(shown, 16),
        _ if quote.is_some() => kind == NameKind::Password || !shown.contains(' '),
        _ if is_code(shown) => false,
        _ if is_attached => shown.len() >= 3,
        NameKind::Password => is_strong(shown, 5) || (is_last && shown.len() > 3),
        NameKind::Secret => is_strong(shown, 8),
    };
    if !is_secret
        || is_placeholder(shown)
        || is_among(WORDS, shown)
        || name.eq_ignore_ascii_case(shown)
    {
        return None;
    }
    let len = text[start..].find(is_end).unwrap_or(text.len() - start);
    Some(
        start
            ..start
                + if shown.len() < near.len() {
                    shown.len()
                } else {
                    len
                },
    )
}

/// Whether a value is a placeholder: a variable, a gap to fill, a row of the same sign.
fn is_placeholder(value: &str) -> bool {
    let is_in = |open: char, close: char| value.starts_with(open) && value.ends_with(close);
    let is_variable = value.strip_prefix('$').is_some_and(|name| {
        let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        name.starts_with(['{', '(']) || name.bytes().all(is_name)
    });
    let is_gap = ["your", "YOUR", "Your", "REDACTED", "redacted", "…", "..."];
    let is_path = ["/", "~/", "./", "../"]
        .iter()
        .any(|it| value.starts_with(it));
    is_variable
        || value.is_empty()
        || value.bytes().all(|byte| byte == value.as_bytes()[0])
        || is_gap.iter().any(|gap| value.starts_with(gap))
        || is_in('{', '}')
        || is_in('<', '>')
        || is_in('%', '%')
        || is_in('[', ']')
        || (is_path && !is_strong(value, 1))
}

/// Whether a value is a call or names another value of a program.
fn is_code(value: &str) -> bool {
    const OWNERS: &str = "os process env self this config settings args opts options secrets vars var req request \
                          ctx std local";
    const SECRETS: &str = "credentials key passphrase password secret token";
    let path = length_of(value, |byte| {
        byte.is_ascii_alphabetic() || b"_.:".contains(&byte)
    });
    let owner = length_of(value, |byte| byte.is_ascii_alphabetic());
    let last = value.rsplit(['_', '.']).next().unwrap_or_default();
    (path > 0 && value[path..].starts_with(['(', '[', '!', '{']))
        || (is_among(OWNERS, &value[..owner]) && value[owner..].starts_with(['.', ':']))
        || (last.len() < value.len() && is_among(SECRETS, last))
}

/// Whether no word is so: letters with digits or signs.
fn is_strong(value: &str, least: usize) -> bool {
    let has_letter = value.contains(char::is_alphabetic);
    let other = |c: char| c.is_ascii_digit() || "!#$%^&*+?~@".contains(c);
    value.len() >= least && has_letter && value.contains(other)
}

/// Whether this many letters and digits stand in a row, both among them.
fn has_dense_part(value: &str, least: usize) -> bool {
    let mut parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| part.len() >= least && is_strong(part, least))
}

/// What begins like random text and is public: checksums of packages, SSH's public keys.
const PUBLIC: [&str; 5] = ["sha1-", "sha256-", "sha384-", "sha512-", "AAAA"];

/// Returns the length of the run of base64 at the beginning of a text, and whether it is random: it
/// changes between small letters, capitals and digits more often than names do.
fn random_run(text: &str) -> (usize, bool) {
    const SHORTEST: usize = 32;
    let len = length_of(text, |byte| is_name(byte) || b"+/".contains(&byte));
    let class = |byte: u8| match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    };
    let run = &text.as_bytes()[..len];
    let has = |wanted: usize| run.iter().any(|byte| class(*byte) == Some(wanted));
    let changes = run.windows(2).filter(|two| {
        let (former, next) = (class(two[0]), class(two[1]));
        former.is_some() && next.is_some() && former != next
    });
    let not_hex = run
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric() && !byte.is_ascii_hexdigit());
    let is_random = len >= SHORTEST
        && (0..3).all(has)
        && not_hex.count() * 8 >= len
        && changes.count() * 100 >= len * 42
        && !PUBLIC.iter().any(|public| text.starts_with(public));
    let padding = length_of(&text[len..], |byte| byte == b'=');
    (
        if is_random { len + padding.min(2) } else { len },
        is_random,
    )
}

/// Returns the beginning of a text that is looked at for a decision.
fn window(text: &str) -> &str {
    &text[..text.floor_char_boundary(WINDOW)]
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_name(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// Returns how many bytes at the beginning are of a kind.
fn length_of(text: &str, is_in: impl Fn(u8) -> bool) -> usize {
    let end = text.bytes().position(|byte| !is_in(byte));
    end.unwrap_or(text.len())
}

/// Returns how many bytes at the beginning are among the signs, up to a bound.
fn bounded(text: &str, signs: &str) -> usize {
    const MOST: usize = 16;
    length_of(&text[..text.floor_char_boundary(MOST)], |byte| {
        signs.as_bytes().contains(&byte)
    })
}
