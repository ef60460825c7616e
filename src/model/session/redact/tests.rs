//! Secrets that go, sentences that stay.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::cases::properties;

/// Sentences with one secret each, between `⟦` and `⟧`. No secret is written out, so that nothing
/// takes this file for a leak: `<a8>` are 8 letters and digits, `<d8>` digits, `<h8>` hex digits,
/// `<l8>` small letters and digits, `<u8>` capitals and digits, `<b8>` signs of base64.
static SECRETS: LazyLock<Vec<String>> =
    LazyLock::new(|| samples(include_str!("tests/secrets.txt")));
/// What people write without a secret in it.
static INNOCENT: LazyLock<Vec<String>> =
    LazyLock::new(|| samples(include_str!("tests/innocent.txt")));

/// The samples of a file, one a line; `¶` ends a line within one.
fn samples(text: &str) -> Vec<String> {
    text.lines().map(|line| line.replace('¶', "\n")).collect()
}

/// Makes up the parts of a template, the same each time.
fn expand(template: &str) -> String {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('<') {
        text.push_str(before);
        let number = behind.get(1..).and_then(|it| it.split_once('>'));
        let number = number.and_then(|(number, rest)| Some((number.parse::<usize>().ok()?, rest)));
        let Some((count, tail)) = number else {
            text.push('<');
            rest = behind;
            continue;
        };
        let signs = match behind.as_bytes()[0] {
            b'd' => "0123456789",
            b'h' => "0123456789abcdef",
            b'l' => "0123456789abcdefghijklmnopqrstuvwxyz",
            b'u' => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            b'a' => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            _ => "+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        };
        for _ in 0..count {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(seed >> 33).unwrap() % signs.len();
            text.push(char::from(signs.as_bytes()[at]));
        }
        rest = tail;
    }
    text + rest
}

#[test]
fn secrets_go_and_the_words_around_them_stay() {
    let mut wrong = Vec::new();
    for template in SECRETS.iter() {
        let text = expand(template);
        let (before, rest) = text.split_once('⟦').unwrap();
        let (secret, behind) = rest.split_once('⟧').unwrap();
        let found = redact(&format!("{before}{secret}{behind}"));
        if found != format!("{before}{REMOVED}{behind}") {
            wrong.push(format!("{text}\n    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sentences_without_a_secret_stay_as_they_are() {
    for text in INNOCENT.iter() {
        assert_eq!(redact(text), *text);
    }
    assert_eq!(redact(&INNOCENT.join("\n")), INNOCENT.join("\n"));
}

#[test]
fn mail_addresses_go() {
    for (text, expected) in [
        ("ask jane.doe+x@example.com.", "ask «mail»."),
        ("<a@b.co>, jörg@müller.de", "<«mail»>, «mail»"),
        ("mailto:me@163.com?x", "mailto:«mail»?x"),
        (
            "{\"user_email\":\"me@example.org\"}",
            "{\"user_email\":\"«mail»\"}",
        ),
        ("https://me@example.org/x", "https://me@example.org/x"),
    ] {
        assert_eq!(redact(text), expected);
    }
}

#[test]
fn several_secrets_in_one_text_all_go() {
    let parts: Vec<String> = SECRETS
        .iter()
        .filter(|template| !template.contains("PRIVATE KEY"))
        .map(|template| expand(template))
        .collect();
    let text: String = parts.join("\n").replace(['⟦', '⟧'], "");
    let found = redact(&text);
    for part in &parts {
        let secret = part.split(['⟦', '⟧']).nth(1).unwrap();
        // What is short may stand elsewhere as a word.
        assert!(secret.len() < 12 || !found.contains(secret), "{part}");
    }
    assert_eq!(found.matches(REMOVED).count(), parts.len());
}

/// Pieces of which hostile texts are made, between `|`.
const PIECES: &str = "password|token|key|=|:|: | |\"|'|\\|\n|://|@|/|«removed»|«mail»|sk-|ghp_|AKIA|\
    abcdefgh12345678ABCDEFGH|example.com|.|a|7|-----BEGIN PRIVATE KEY-----|-----END | -p|bearer |\
    Basic |é|%20|<|>|{|$|bot12345678|hooks.slack.com/services/|(|,|;|-";

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PIECES.split('|').collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(properties(4_000))]

    #[test]
    fn a_result_is_its_own_result(pieces in prop::collection::vec(piece(), 0..40)) {
        let once = redact(&pieces.concat());
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn a_result_with_secrets_is_its_own_result(templates in prop::collection::vec(prop::sample::select(&SECRETS[..]), 0..4), gaps in prop::collection::vec(piece(), 4)) {
        let text: String = templates.iter().zip(&gaps).map(|(template, gap)| expand(template) + gap).collect();
        let once = redact(&text.replace(['⟦', '⟧'], ""));
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }
}

#[test]
fn a_mebibyte_takes_little_time() {
    let text: String = SECRETS
        .iter()
        .chain(&*INNOCENT)
        .map(|text| expand(text) + "\n")
        .collect();
    let text = text.replace(['⟦', '⟧'], "").replace("PRIVATE KEY", "");
    let text = text.repeat((1 << 20) / text.len() + 1);
    assert_takes_little_time(&text);
}

/// With time that grows with the square of the length, this is minutes.
fn assert_takes_little_time(text: &str) {
    let started = std::time::Instant::now();
    redact(text);
    let taken = started.elapsed();
    let shown = &text[..text.floor_char_boundary(100)];
    assert!(taken.as_secs() < 20, "{shown:?}: {taken:?}");
}

/// The value behind the word would reach to the end each time.
#[test]
fn words_for_a_password_that_are_schemes_of_urls_take_little_time() {
    for word in ["password", "token", "pwd"] {
        let text = format!("{word}://");
        assert_takes_little_time(&text.repeat((1 << 18) / text.len()));
    }
    assert_eq!(redact("password://host/path"), "password://host/path");
    assert_eq!(redact("password: //x9Kq2"), "password: «removed»");
}

proptest! {
    #![proptest_config(properties(8))]

    #[test]
    fn the_same_over_and_over_takes_little_time(pieces in prop::collection::vec(piece(), 1..4)) {
        let text = pieces.concat();
        assert_takes_little_time(&text.repeat((1 << 18) / text.len()));
    }
}
