//! A path as one word of a shell command that can be copied and run.

/// Quoted as little as a POSIX shell needs; bytes that a terminal cannot show take the `$'…'` of bash and zsh.
pub fn shell_word(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./,:+@%=".contains(byte);
    // A word that begins with a dash would be taken for an option.
    let dash = if bytes.starts_with(b"-") { "./" } else { "" };
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

/// A whole command line that can be copied and run.
pub fn shell_line<'w>(words: impl IntoIterator<Item = &'w [u8]>) -> String {
    let quoted = words.into_iter().map(|word| {
        let dashes = word.iter().take_while(|byte| **byte == b'-').count();
        // Here a dash is meant to begin an option.
        match word.split_at(dashes) {
            (dashes, []) if !dashes.is_empty() => String::from_utf8_lossy(dashes).into_owned(),
            (dashes, rest) => format!("{}{}", String::from_utf8_lossy(dashes), shell_word(rest)),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
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
    fn a_line_is_its_words_with_options_left_as_they_are() {
        let words = ["checkpoint", "create", "--reason", "a b", "-", "--scope=x y", "", "$(rm)"];
        let line = shell_line(words.map(str::as_bytes));
        assert_eq!(line, "checkpoint create --reason 'a b' - --'scope=x y' '' '$(rm)'");
    }

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
    }
}
