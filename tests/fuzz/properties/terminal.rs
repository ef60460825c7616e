//! Terminal output: nothing in it acts there or reverses text, and names stay distinct.

use checkpoint::answer::format::Escaper;
use checkpoint::base::git_quoting::quoted;
use checkpoint::base::text::{escape_bytes, escape_content, percent_decode, percent_encode};
use checkpoint::model::state::rel_path::RelPath;

use super::draw::Draw;

pub fn check(data: &[u8]) {
    let name = escape_bytes(data);
    assert!(!name.chars().any(acts), "{name:?}");
    assert_eq!(unescaped(&name), data, "two names look the same: {name}");
    let content = escape_content(data);
    assert!(
        !content
            .chars()
            .any(|c| acts(c) && !matches!(c, '\t' | '\n')),
        "{content:?}"
    );
    assert_eq!(in_pieces(data), content);
    if let Ok(path) = RelPath::new(data) {
        assert!(!path.to_string().chars().any(acts));
    }
    assert!(quoted("a/", data).bytes().all(|b| matches!(b, b' '..=b'~')));
    let encoded = percent_encode(data);
    assert!(encoded.bytes().all(|b| b.is_ascii_graphic()));
    assert_eq!(percent_decode(&encoded).as_deref(), Some(data));
    decodes_as_it_says(data);
}

/// Whether a character acts: controls, and those that change the direction of text in Unicode.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn in_pieces(data: &[u8]) -> String {
    let mut cuts = Draw::new(data);
    let mut escaper = Escaper::default();
    let mut shown = String::new();
    let mut rest = data;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at((1 + cuts.below(7)).min(rest.len()));
        shown += &escaper.push(piece);
        rest = tail;
    }
    shown + &escaper.finish()
}

/// The bytes behind an escaped name.
fn unescaped(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else if let Some(tail) = rest.strip_prefix('\\') {
            bytes.push(b'\\');
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix('x') {
            bytes.push(u8::from_str_radix(&tail[..2], 16).expect("two hex digits"));
            rest = &tail[2..];
        } else {
            let (digits, tail) = rest
                .strip_prefix("u{")
                .expect("an escape")
                .split_once('}')
                .expect("its end");
            let c = u32::from_str_radix(digits, 16)
                .ok()
                .and_then(char::from_u32)
                .expect("a character");
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = tail;
        }
    }
    bytes
}

/// Asserts that a `%` is followed by two hex digits, or the text is refused.
fn decodes_as_it_says(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut parts = text.split('%');
    let plain = parts.next().unwrap_or_default().len();
    let sound = |part: &str| part.len() >= 2 && part.bytes().take(2).all(|b| b.is_ascii_hexdigit());
    let lengths: Option<Vec<usize>> = parts
        .map(|part| sound(part).then(|| part.len() - 1))
        .collect();
    assert_eq!(
        percent_decode(text).map(|bytes| bytes.len()),
        lengths.map(|all| plain + all.iter().sum::<usize>())
    );
}
