//! Bracket expressions of glob patterns, such as `[a-z]`, `[!.]` or `[[:digit:]_]`, as byte sets.

/// A set of bytes; never contains `/`, which no bracket expression matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharSet([u64; 4]);

impl CharSet {
    /// Parses the expression after a `[`; returns the set and the number of bytes read, including
    /// the closing `]`. `None` if it is unclosed or names an unknown class, which matches nothing.
    pub fn parse(text: &[u8]) -> Option<(Self, usize)> {
        let mut set = Self([0; 4]);
        let negated = matches!(text.first(), Some(b'!' | b'^'));
        let mut at = usize::from(negated);
        let mut range_start = None;
        let mut is_first = true;
        loop {
            let byte = *text.get(at)?;
            at += 1;
            match byte {
                // A leading `]` is literal.
                b']' if !is_first => break,
                b'-' if range_start.is_some() && text.get(at).is_some_and(|next| *next != b']') => {
                    let (end, read) = possibly_escaped(&text[at..])?;
                    at += read;
                    set.insert_range(range_start.unwrap_or(end), end);
                    range_start = None;
                }
                b'[' if text.get(at) == Some(&b':') => match class_name(&text[at + 1..])? {
                    ClassName::Named(name) => {
                        set.insert_class(name)?;
                        at += 1 + name.len() + 2;
                        range_start = None;
                    }
                    ClassName::NoClass => {
                        set.insert(byte);
                        range_start = Some(byte);
                    }
                },
                _ => {
                    let (byte, read) = possibly_escaped(&text[at - 1..])?;
                    at += read - 1;
                    set.insert(byte);
                    range_start = Some(byte);
                }
            }
            is_first = false;
        }
        if negated {
            set.invert();
        }
        set.remove(b'/');
        Some((set, at))
    }

    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & bit(byte) != 0
    }

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= bit(byte);
    }

    fn remove(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] &= !bit(byte);
    }

    fn invert(&mut self) {
        for word in &mut self.0 {
            *word = !*word;
        }
    }

    fn insert_range(&mut self, first: u8, last: u8) {
        (first..=last).for_each(|byte| self.insert(byte));
    }

    fn insert_class(&mut self, name: &[u8]) -> Option<()> {
        let is_member = class_test(name)?;
        (0..=u8::MAX)
            .filter(is_member)
            .for_each(|byte| self.insert(byte));
        Some(())
    }
}

fn bit(byte: u8) -> u64 {
    1 << (byte & 63)
}

/// Reads one byte, or the byte after a backslash; returns it with the number of bytes read.
fn possibly_escaped(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', byte, ..] => Some((*byte, 2)),
        [b'\\'] | [] => None,
        [byte, ..] => Some((*byte, 1)),
    }
}

enum ClassName<'t> {
    Named(&'t [u8]),
    /// No `:]` follows, so the `[` is literal.
    NoClass,
}

/// Parses a class name after `[:`; `None` if no `]` follows.
fn class_name(text: &[u8]) -> Option<ClassName<'_>> {
    let end = text.iter().position(|b| *b == b']')?;
    Some(
        text[..end]
            .strip_suffix(b":")
            .map_or(ClassName::NoClass, ClassName::Named),
    )
}

/// Returns the test for a POSIX class as git defines it: ASCII only, and white space without
/// vertical tab and form feed.
fn class_test(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |b| matches!(b, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |b| matches!(b, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Option<String> {
        let (set, read) = CharSet::parse(text.as_bytes())?;
        assert_eq!(read, text.len(), "{text}");
        Some(
            (b' '..=b'~')
                .filter(|b| set.contains(*b))
                .map(char::from)
                .collect(),
        )
    }

    #[test]
    fn expressions_hold_what_they_name() {
        for (text, expected) in [
            ("abc]", "abc"),
            ("a-e]", "abcde"),
            ("e-a]", "e"),
            ("]]", "]"),
            ("]-a]", "]^_`a"),
            ("-a]", "-a"),
            ("a-]", "-a"),
            ("a-c-e]", "-abce"),
            ("\\]]", "]"),
            ("\\a-\\c]", "abc"),
            ("[:digit:]]", "0123456789"),
            ("[:digit:]-a]", "-0123456789a"),
            ("[:x]", ":[x"),
            ("[]", "["),
            ("a/]", "a"),
        ] {
            assert_eq!(members(text).as_deref(), Some(expected), "[{text}");
        }
        assert!(!members("!a]").unwrap().contains(['a', '/']));
        assert_eq!(members("!a]"), members("^a]"));
    }

    #[test]
    fn what_is_not_closed_or_not_known_is_refused() {
        for text in [
            "",
            "a",
            "!",
            "]",
            "a\\",
            "a-\\",
            "[:nope:]]",
            "[:digit:]",
            "[:digit:",
        ] {
            assert_eq!(CharSet::parse(text.as_bytes()), None, "[{text}");
        }
    }
}
