//! A path or an argument as one word of a shell command that can be copied and run.

/// Quoted as little as a POSIX shell needs; bytes that a terminal cannot show take the `$'…'` of bash and zsh.
pub fn shell_word(bytes: &[u8]) -> String {
    // A word that begins with a dash would be taken for an option.
    quoted(if bytes.starts_with(b"-") { "./" } else { "" }, bytes)
}

/// The same for a word that may be an option.
pub fn shell_argument(bytes: &[u8]) -> String {
    quoted("", bytes)
}

fn quoted(dash: &str, bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./,:+@%=".contains(byte);
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.is_empty() && bytes.iter().all(is_plain) => format!("{dash}{text}"),
        Ok(text) if crate::model::text::escape(text).replace("\\\\", "\\") == text => {
            format!("'{dash}{}'", text.replace('\'', r"'\''"))
        }
        _ => {
            let escaped: String = bytes.iter().copied().map(escape_byte).collect();
            format!("$'{dash}{escaped}'")
        }
    }
}

fn escape_byte(byte: u8) -> String {
    match byte {
        b'\\' | b'\'' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gives_back_the_very_bytes() {
        for (bytes, word) in [
            (&b"src/lost.rs"[..], "src/lost.rs"),
            (b"a b", "'a b'"),
            (b"it's", r"'it'\''s'"),
            (b"-rf", "./-rf"),
            (b"$(x);\\", r"'$(x);\'"),
            ("gr\u{fc}n".as_bytes(), "'gr\u{fc}n'"),
            (b"new\nline", r"$'new\x0aline'"),
            (b"caf\xe9'", r"$'caf\xe9\''"),
            (b"", "''"),
        ] {
            assert_eq!(shell_word(bytes), word);
        }
        assert_eq!((shell_argument(b"-r"), shell_argument(b"-r x")), ("-r".to_owned(), "'-r x'".to_owned()));
    }
}
