//! Glob patterns over bytes with git's semantics of `*`, `**`, `?`, `[…]` and `\`.
//!
//! Matching needs neither recursion nor exponential time: it suffices to backtrack to the last `*`
//! and, if that reached a `/`, to the last `**`, because the later one can match everything that an
//! earlier one could.

/// A pattern that can match something.
#[derive(Clone, Debug)]
pub struct Glob {
    tokens: Vec<Token>,
    sets: Vec<CharSet>,
    /// Minimum length of a matching text in bytes.
    min_len: usize,
    /// Last byte of every match, if fixed; rejects most texts at once.
    last: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`: any byte but `/`.
    AnyByte,
    /// A bracket expression, by its index in `sets`.
    Set(u32),
    /// `*`: any bytes but `/`.
    Star,
    /// `**` as a whole component, at the end or before an escaped slash: any bytes.
    Deep,
    /// `**/`: nothing, or any bytes up to and including a `/`.
    DeepSlash,
}

/// Backtracking point: token and text position to resume at after a mismatch.
#[derive(Clone, Copy)]
struct Retry {
    token: usize,
    text: usize,
}

impl Glob {
    /// Compiles a pattern; `None` if it can never match: an unclosed bracket, an unknown class, a
    /// trailing backslash.
    pub fn compile(pattern: &[u8]) -> Option<Self> {
        let mut glob = Self {
            tokens: Vec::new(),
            sets: Vec::new(),
            min_len: 0,
            last: None,
        };
        let mut at = 0;
        while let Some(byte) = pattern.get(at) {
            let (token, read) = match byte {
                b'*' => stars(pattern, at),
                b'?' => (Token::AnyByte, 1),
                b'\\' => (Token::Byte(*pattern.get(at + 1)?), 2),
                b'[' => {
                    let (set, read) = CharSet::parse(&pattern[at + 1..])?;
                    glob.sets.push(set);
                    (
                        Token::Set(u32::try_from(glob.sets.len() - 1).ok()?),
                        read + 1,
                    )
                }
                byte => (Token::Byte(*byte), 1),
            };
            at += read;
            glob.push(token);
        }
        if let Some(Token::Byte(byte)) = glob.tokens.last() {
            glob.last = Some(*byte);
        }
        Some(glob)
    }

    fn push(&mut self, token: Token) {
        let takes_one = !matches!(token, Token::Star | Token::Deep | Token::DeepSlash);
        // A repeated `**/` adds nothing.
        if !(token == Token::DeepSlash && self.tokens.last() == Some(&token)) {
            self.tokens.push(token);
        }
        self.min_len += usize::from(takes_one);
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        if text.len() < self.min_len || self.last.is_some() && self.last != text.last().copied() {
            return false;
        }
        let (mut token, mut at) = (0, 0);
        let (mut star, mut deep): (Option<Retry>, Option<Retry>) = (None, None);
        loop {
            match self.tokens.get(token) {
                Some(Token::Star) => {
                    token += 1;
                    star = Some(Retry { token, text: at });
                    continue;
                }
                Some(Token::Deep | Token::DeepSlash) => {
                    token += 1;
                    star = None;
                    deep = Some(Retry { token, text: at });
                    continue;
                }
                Some(single) if at < text.len() && self.takes(*single, text[at]) => {
                    token += 1;
                    at += 1;
                    continue;
                }
                None if at == text.len() => return true,
                _ => {}
            }
            let Some(next) = self.next_try(&mut star, &mut deep, text) else {
                return false;
            };
            (token, at) = (next.token, next.text);
        }
    }

    fn takes(&self, token: Token, byte: u8) -> bool {
        match token {
            Token::Byte(expected) => byte == expected,
            Token::AnyByte => byte != b'/',
            Token::Set(index) => self.sets[index as usize].contains(byte),
            Token::Star | Token::Deep | Token::DeepSlash => false,
        }
    }

    /// Extends the match of the last star: by one byte, or for `**/` through the next slash.
    fn next_try(
        &self,
        star: &mut Option<Retry>,
        deep: &mut Option<Retry>,
        text: &[u8],
    ) -> Option<Retry> {
        if let Some(retry) = star
            && text.get(retry.text).is_some_and(|byte| *byte != b'/')
        {
            retry.text += 1;
            return Some(*retry);
        }
        let retry = deep.as_mut()?;
        let rest = text.get(retry.text..)?;
        retry.text += match self.tokens[retry.token - 1] {
            Token::DeepSlash => rest.iter().position(|byte| *byte == b'/')? + 1,
            _ if rest.is_empty() => return None,
            _ => 1,
        };
        Some(*retry)
    }
}

/// Returns the token for a run of asterisks and the bytes read. Two or more are `**` only as a
/// whole component.
fn stars(pattern: &[u8], at: usize) -> (Token, usize) {
    let len = pattern[at..]
        .iter()
        .take_while(|byte| **byte == b'*')
        .count();
    let begins_component = at == 0 || pattern[at - 1] == b'/';
    if len < 2 || !begins_component {
        return (Token::Star, len);
    }
    match &pattern[at + len..] {
        [b'/', ..] => (Token::DeepSlash, len + 1),
        [] | [b'\\', b'/', ..] => (Token::Deep, len),
        _ => (Token::Star, len),
    }
}

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
    use std::time::{Duration, Instant};

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::compile(pattern.as_bytes()).is_some_and(|glob| glob.matches(text.as_bytes()))
    }

    #[test]
    fn stars_stay_in_a_component_and_double_stars_do_not() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("*a*b*", "xxaxxbxx"),
            ("*/b", "a/b"),
            ("**/b", "b"),
            ("**/b", "x/y/b"),
            ("a/**", "a/b/c"),
            ("a/**/b", "a/b"),
            ("a/**/b", "a/x/y/b"),
            ("a/**/*.c", "a/x/y/b.c"),
            ("**/**/b", "b"),
            ("a**b", "axxb"),
            ("**/*a/b*", "x/y/za/b1"),
            ("a/***/b", "a/x/y/b"),
            ("**\\/b", "x/y/b"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("*", "a/b"),
            ("a*b", "a/b"),
            ("a**b", "a/b"),
            ("?", "/"),
            ("[!a]", "/"),
            ("*/b", "b"),
            ("**/b", "xb"),
            ("a/**", "a"),
            ("**\\/b", "b"),
            ("a\\", "a"),
            ("a\\", "a\\"),
            ("[", "["),
            ("a[", "a["),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn hostile_patterns_take_no_long_time() {
        let begin = Instant::now();
        let name = "a".repeat(4_000);
        let path = vec!["a"; 2_000].join("/");
        for pattern in [
            format!("{}b", "*a".repeat(1_000)),
            format!("{}b", "**/".repeat(100_000)),
            format!("{}b", "**/a/".repeat(500)),
            format!("{}b", "**/*a*/".repeat(300)),
            format!("{}b", "**\\/*a*".repeat(300)),
            format!("{}b", "*".repeat(1_000_000)),
            format!("{}b", "[a-z]*".repeat(1_000)),
        ] {
            assert!(!matches(&pattern, &name));
            assert!(!matches(&pattern, &path));
        }
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "{:?}",
            begin.elapsed()
        );
    }

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
        for text in "|a|!|]|a\\|a-\\|[:nope:]]|[:digit:]|[:digit:".split('|') {
            assert_eq!(CharSet::parse(text.as_bytes()), None, "[{text}");
        }
    }
}
