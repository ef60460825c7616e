//! Quotes paths as git does in patches: C-style if a byte is not plain ASCII, unchanged otherwise.

/// Returns `prefix` and `path` as one word of a patch, quoted as by git's `core.quotePath`.
pub fn quoted(prefix: &str, path: &[u8]) -> String {
    let mut word = String::with_capacity(prefix.len() + path.len());
    let mut has_escapes = false;
    for byte in prefix.bytes().chain(path.iter().copied()) {
        has_escapes |= push(&mut word, byte);
    }
    if has_escapes {
        format!("\"{word}\"")
    } else {
        word
    }
}

/// Bytes that C has a letter for.
const LETTERS: [(u8, u8); 9] = [
    (0x07, b'a'),
    (0x08, b'b'),
    (b'\t', b't'),
    (b'\n', b'n'),
    (0x0b, b'v'),
    (0x0c, b'f'),
    (b'\r', b'r'),
    (b'"', b'"'),
    (b'\\', b'\\'),
];

/// Appends a byte; returns whether it was escaped.
fn push(word: &mut String, byte: u8) -> bool {
    let letter = LETTERS.iter().find(|(escaped, _)| *escaped == byte);
    match letter {
        Some((_, letter)) => word.extend(['\\', char::from(*letter)]),
        None if matches!(byte, b' '..=b'~') => {
            word.push(char::from(byte));
            return false;
        }
        None => word.push_str(&format!("\\{byte:03o}")),
    }
    true
}

/// Reads a word that is quoted as C does; `None` if it is not quoted.
pub fn unquoted(word: &[u8]) -> Option<Vec<u8>> {
    let mut inner = word.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut path = Vec::new();
    while let [byte, rest @ ..] = inner {
        let read;
        (read, inner) = match (byte, rest) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..]) => {
                (((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'), rest)
            }
            (b'\\', [letter, rest @ ..]) => (unescaped(*letter), rest),
            _ => (*byte, rest),
        };
        path.push(read);
    }
    Some(path)
}

fn unescaped(letter: u8) -> u8 {
    let found = LETTERS.iter().find(|(_, short)| *short == letter);
    found.map_or(letter, |(escaped, _)| *escaped)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn plain_names_stay_and_others_are_quoted_as_c_does() {
        for (path, shown) in [
            (&b"src/a b.rs"[..], "a/src/a b.rs"),
            (b"tab\there", "\"a/tab\\there\""),
            (b"new\nline", "\"a/new\\nline\""),
            (b"quo\"te", "\"a/quo\\\"te\""),
            (b"back\\slash", "\"a/back\\\\slash\""),
            (b"caf\xc3\xa9", "\"a/caf\\303\\251\""),
            (b"\x01\x7f\xff", "\"a/\\001\\177\\377\""),
        ] {
            assert_eq!(quoted("a/", path), shown);
        }
    }
}
