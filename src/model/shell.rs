//! Words for a shell: a path as it can be pasted into a command line.

use crate::model::text::escape_bytes;

/// A word as a POSIX shell reads it back. Bytes that cannot be shown go in as `$'\xNN'`, which bash, zsh and fish's
/// users can paste too.
pub fn quote(word: &[u8]) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(b);
    match std::str::from_utf8(word) {
        Ok(text) if !text.is_empty() && word.iter().all(plain) => text.to_owned(),
        Ok(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => format!("$'{}'", escape_bytes(word).replace('\'', "\\'")),
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_are_quoted_only_where_that_is_needed() {
        for (word, quoted) in [
            (b"src/a-b_c.rs".as_slice(), "src/a-b_c.rs"),
            (b"", "''"),
            (b"with blank", "'with blank'"),
            (b"it's", "'it'\\''s'"),
            ("gr\u{fc}n".as_bytes(), "'gr\u{fc}n'"),
            (b"a\nb'\\", "$'a\\x0ab\\'\\\\'"),
            (b"\xff", "$'\\xff'"),
        ] {
            assert_eq!(quote(word), quoted);
        }
    }
}
