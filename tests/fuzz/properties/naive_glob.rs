//! Globs by their definition, slowly: a table of which tail of the pattern matches which tail of
//! the text.

enum Token {
    Byte(u8),
    Any,
    Star,
    Deep,
    DeepSlash,
}

/// Whether the text matches; `None` for patterns with brackets, and those that end in a backslash.
pub fn matches(pattern: &[u8], text: &[u8]) -> Option<bool> {
    let tokens = tokens(pattern)?;
    // Whether the tokens from the present one on match the text from each place on; at first, no
    // token is left.
    let mut after: Vec<bool> = (0..=text.len()).map(|at| at == text.len()).collect();
    for token in tokens.iter().rev() {
        let mut here = vec![false; text.len() + 1];
        for at in (0..=text.len()).rev() {
            let next = text.get(at);
            here[at] = match token {
                Token::Byte(byte) => next == Some(byte) && after[at + 1],
                Token::Any => next.is_some_and(|byte| *byte != b'/') && after[at + 1],
                Token::Star => after[at] || next.is_some_and(|byte| *byte != b'/') && here[at + 1],
                Token::Deep => after[at] || next.is_some() && here[at + 1],
                Token::DeepSlash => {
                    after[at] || (at..text.len()).any(|to| text[to] == b'/' && after[to + 1])
                }
            };
        }
        after = here;
    }
    Some(after[0])
}

fn tokens(pattern: &[u8]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        let stars = pattern[at..]
            .iter()
            .take_while(|byte| **byte == b'*')
            .count();
        let is_deep = stars > 1 && (at == 0 || pattern[at - 1] == b'/');
        let behind = &pattern[at + stars..];
        let (token, length) = match byte {
            b'[' => return None,
            b'*' if is_deep && behind.starts_with(b"/") => (Token::DeepSlash, stars + 1),
            b'*' if is_deep && (behind.is_empty() || behind.starts_with(b"\\/")) => {
                (Token::Deep, stars)
            }
            b'*' => (Token::Star, stars),
            b'?' => (Token::Any, 1),
            b'\\' => (Token::Byte(*pattern.get(at + 1)?), 2),
            byte => (Token::Byte(*byte), 1),
        };
        tokens.push(token);
        at += length;
    }
    Some(tokens)
}
