//! Quotes words of command lines for copying into any POSIX shell, or on Windows into PowerShell and,
//! as far as it has a quote for them, `cmd`.

use crate::base::text::escape;

/// Quotes a word as little as needed. Bytes that cannot be shown are written with `printf`, as not
/// every shell knows `$'…'`.
pub fn shell_word(bytes: &[u8]) -> String {
    // A leading dash would make it an option.
    if bytes.starts_with(b"-") {
        quoted(&[b"./", bytes].concat())
    } else {
        quoted(bytes)
    }
}

fn quoted(bytes: &[u8]) -> String {
    if cfg!(windows) {
        return for_windows(bytes);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if is_plain(text) => text.to_owned(),
        Ok(text) if is_quotable(text) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => spelled(bytes),
    }
}

/// Quotes a word for the shells of Windows. Both know double quotes, but PowerShell reads `$` and
/// backticks in them and `cmd` percent signs; such words are quoted for PowerShell alone. What a
/// shell cannot be told is shown in hex digits.
fn for_windows(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!("'{}'", crate::base::text::escape_bytes(bytes));
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:+=\\~".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    if !is_shown(text) {
        return spelled_for_powershell(text);
    }
    if text.contains(['"', '$', '`', '%', '!']) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    // A backslash before the last quote would hide it from the program.
    let ends = text.len() - text.trim_end_matches('\\').len();
    format!("\"{text}{}\"", "\\".repeat(ends))
}

/// Writes a word as PowerShell expands it, characters that cannot be shown by their numbers.
fn spelled_for_powershell(text: &str) -> String {
    let spell = |sign: char| match sign {
        '"' | '$' | '`' => format!("`{sign}"),
        sign if is_shown(sign.encode_utf8(&mut [0; 4])) => sign.to_string(),
        sign => format!("$([char]::ConvertFromUtf32({}))", u32::from(sign)),
    };
    format!("\"{}\"", text.chars().map(spell).collect::<String>())
}

/// Whether a text stands as it is in a line of a terminal.
fn is_shown(text: &str) -> bool {
    escape(text).replace("\\\\", "\\") == text
}

/// Whether a text needs no quotes in any shell; zsh expands a leading `=`.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./,:+@%=".contains(&byte);
    !text.is_empty() && !text.starts_with('=') && text.bytes().all(plain)
}

/// Whether a text can be shown and single quotes suffice, also in fish, which reads `\'` and `\\`
/// in quotes as escapes.
fn is_quotable(text: &str) -> bool {
    is_shown(text) && !text.contains("\\'") && !text.contains("\\\\") && !text.ends_with('\\')
}

/// Writes a word with `printf`; trailing line breaks stay literal, because `$(…)` strips them.
fn spelled(bytes: &[u8]) -> String {
    let kept = bytes
        .iter()
        .rposition(|byte| *byte != b'\n')
        .map_or(0, |last| last + 1);
    let (spoken, breaks) = bytes.split_at(kept);
    let mut word = String::new();
    if !spoken.is_empty() {
        let octal = spoken.iter().map(|byte| match byte {
            b' ' | b'_' | b'-' | b'.' | b'/' | b',' | b':' | b'+' | b'@' | b'=' => {
                char::from(*byte).to_string()
            }
            letter if letter.is_ascii_alphanumeric() => char::from(*letter).to_string(),
            other => format!("\\{other:03o}"),
        });
        word = format!("\"$(printf '{}')\"", octal.collect::<String>());
    }
    if !breaks.is_empty() {
        word.push_str(&format!("'{}'", "\n".repeat(breaks.len())));
    }
    word
}

/// Returns a whole command line for copying into a shell.
pub fn shell_line<'w>(words: impl IntoIterator<Item = &'w [u8]>) -> String {
    let quoted = words.into_iter().map(|word| {
        // Here a leading dash does mean an option; what is quoted is its value.
        let name = match word.iter().position(|byte| *byte == b'=') {
            Some(equals) if word.starts_with(b"--") => equals + 1,
            _ => word.iter().take_while(|byte| **byte == b'-').count(),
        };
        let (name, value) = word.split_at(name);
        match std::str::from_utf8(name) {
            Ok(name) if is_plain(name) && value.is_empty() => name.to_owned(),
            Ok(name) if is_plain(name) => name.to_owned() + &quoted(value),
            _ => quoted(word),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_windows_a_word_fits_its_shells() {
        for (word, quoted) in [
            (r"C:\p\a.txt", r"C:\p\a.txt"),
            (r"C:\my files\a", r#""C:\my files\a""#),
            (r"C:\my files\", r#""C:\my files\\""#),
            ("it's", r#""it's""#),
            ("a $b's", "'a $b''s'"),
            ("100%", "'100%'"),
            ("", r#""""#),
            ("a,b", r#""a,b""#),
            ("@x", r#""@x""#),
            ("two\nlines", r#""two$([char]::ConvertFromUtf32(10))lines""#),
            ("$x`\u{202e}", r#""`$x``$([char]::ConvertFromUtf32(8238))""#),
        ] {
            assert_eq!(for_windows(word.as_bytes()), quoted);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_line_is_its_words_with_options_left_as_they_are() {
        let words = "checkpoint|create|--reason|a b|-|--scope=x y||$(rm)".split('|');
        let line = shell_line(words.map(str::as_bytes));
        assert_eq!(
            line,
            "checkpoint create --reason 'a b' - --scope='x y' '' '$(rm)'"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_gives_back_the_very_bytes() {
        for (bytes, word) in [
            (&b"src/lost.rs"[..], "src/lost.rs"),
            (b"a b", "'a b'"),
            (b"it's", r"'it'\''s'"),
            (b"-rf", "./-rf"),
            (b"$(x);\\y", r"'$(x);\y'"),
            ("gr\u{fc}n".as_bytes(), "'gr\u{fc}n'"),
            (b"=ls", "'=ls'"),
            (b"new\nline", r#""$(printf 'new\012line')""#),
            (b"caf\xe9' %s", r#""$(printf 'caf\351\047 \045s')""#),
            (
                br"\'; touch x #",
                r#""$(printf '\134\047\073 touch x \043')""#,
            ),
            (br"\", r#""$(printf '\134')""#),
            (br"a\\b", r#""$(printf 'a\134\134b')""#),
            (b"-\x01\n\n", "\"$(printf './-\\001')\"'\n\n'"),
            (b"\n", "'\n'"),
            (b"", "''"),
        ] {
            assert_eq!(shell_word(bytes), word);
        }
    }
}
