//! Replaces secrets and mail addresses in the text of a prompt before it is stored.
//!
//! A pass goes from left to right, with bounded views ahead, between two that look for numbers of
//! cards alone. What touches a replacement is not replaced again.

use std::ops::Range;

mod address;
mod card;
mod named_value;
mod prefixes;
mod shapes;
mod spoken;
mod standard_input;
mod tool_flags;
mod value_text;

#[cfg(test)]
mod tests;

/// Text in the place of a secret.
const REMOVED: &str = "«removed»";
/// Text in the place of a mail address.
const MAIL: &str = "«mail»";

/// Upper bound on passes over one text. Two are enough for nearly all.
const PASSES: usize = 8;

/// Returns the text without what appears to be a secret or a mail address.
///
/// A replacement can give the words around it another meaning, so the result is looked at again
/// until nothing more goes.
pub fn redact(text: &str) -> String {
    let mut text = redact_once(text);
    for _ in 1..PASSES {
        let again = redact_once(&text);
        if again == text {
            break;
        }
        text = again;
    }
    text
}

fn redact_once(text: &str) -> String {
    // A number in groups must be one word before words are looked at.
    let text = &*card::removed(text);
    let mut redactor = Redactor {
        text,
        out: String::with_capacity(text.len()),
        at: 0,
        ahead: Vec::new(),
        run_end: 0,
        plain_at_sign: None,
        tool: None,
    };
    while redactor.at < text.len() {
        redactor.step();
    }
    // One may have been written on behind a secret.
    card::removed(&redactor.out).into_owned()
}

struct Redactor<'t> {
    text: &'t str,
    out: String,
    at: usize,
    /// Secrets ahead, known by what precedes them; only a few can be.
    ahead: Vec<Range<usize>>,
    /// Where the run ends that was last examined for randomness.
    run_end: usize,
    /// The end of the user's name in a URL.
    plain_at_sign: Option<usize>,
    /// The tool of this command line that takes passwords by a short option.
    tool: Option<&'static tool_flags::Tool>,
}

impl Redactor<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        if let Some(marker) = marker_at(rest) {
            return self.copy(marker.len());
        }
        let at = self.at;
        self.ahead.retain(|value| value.start >= at);
        if let Some(value) = self.ahead.iter().find(|value| value.start == at) {
            return self.remove(value.len());
        }
        let bytes = rest.as_bytes();
        match bytes[0] {
            b'-' => {
                if let Some(len) = shapes::key_block(rest) {
                    return self.remove(len);
                }
                let tool = self.tool;
                let value = tool.and_then(|tool| tool.value(self.text, self.at));
                let is_option = value.is_some();
                self.expect(value);
                // The letter of an option is no part of a value that directly follows.
                self.copy(1 + usize::from(is_option));
            }
            b':' if rest.starts_with("://") => self.url(),
            b'@' => self.mail(),
            b'\n' | b'|' | b';' | b'&' => {
                self.tool = None;
                self.copy(1);
            }
            // An escaped character is no part of the word behind it.
            b'\\' if bytes.get(1).is_some_and(|next| b"nrt".contains(next)) => self.copy(2),
            b'%' if bytes.len() > 2 && bytes[1..3].iter().all(u8::is_ascii_hexdigit) => {
                self.copy(3);
            }
            byte if is_word_byte(byte) => self.word(),
            byte => {
                if !byte.is_ascii() && !self.out.ends_with(char::is_alphabetic) {
                    self.expect(spoken::after(self.text, at));
                }
                self.copy(rest.chars().next().map_or(1, char::len_utf8));
            }
        }
    }

    fn word(&mut self) {
        let rest = &self.text[self.at..];
        if let Some(len) = prefixes::token(rest).or_else(|| shapes::known_shape(rest)) {
            return self.remove(len);
        }
        if self.at >= self.run_end {
            let (len, is_random) = shapes::random_run(rest);
            self.run_end = self.at + len;
            if is_random {
                return self.remove(len);
            }
        }
        let word = self.at..self.at + length_of(rest, is_name_byte);
        self.tool = tool_flags::tool_after(self.tool, &self.text[word.clone()]);
        self.expect(named_value::after(self.text, &word));
        self.expect(standard_input::after(self.text, &word));
        if !self
            .out
            .ends_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            self.expect(spoken::after(self.text, word.start));
        }
        self.copy(word.len());
    }

    /// Remembers a secret ahead, unless part of it was replaced already.
    fn expect(&mut self, value: Option<Range<usize>>) {
        let is_untouched = |value: &Range<usize>| !has_marker(&self.text[value.clone()]);
        self.ahead.extend(value.filter(is_untouched));
    }

    fn url(&mut self) {
        let start = self.at + "://".len();
        if let Some(user) = address::user_of_url(&self.text[start..]) {
            let secret = user.secret.map(|it| start + it.start..start + it.end);
            self.expect(secret);
            self.plain_at_sign = Some(start + user.len);
        }
        self.copy("://".len());
    }

    fn mail(&mut self) {
        let is_plain = self.plain_at_sign == Some(self.at);
        let mail = address::mail(&self.out, &self.text[self.at..]);
        let Some(mail) = mail.filter(|_| !is_plain) else {
            return self.copy(1);
        };
        self.out.truncate(self.out.len() - mail.before);
        self.out.push_str(MAIL);
        self.at += mail.behind;
    }

    fn copy(&mut self, len: usize) {
        self.out.push_str(&self.text[self.at..self.at + len]);
        self.at += len;
    }

    /// Removes a secret, and those that begin within it.
    fn remove(&mut self, len: usize) {
        let end = self.at + len;
        let within = self.ahead.iter().filter(|value| value.start < end);
        self.at = within.map(|value| value.end).fold(end, usize::max);
        self.out.push_str(REMOVED);
    }
}

/// Upper bound on a view ahead in bytes. What is longer is judged by its beginning.
const WINDOW: usize = 512;

/// Returns the beginning of a text that is looked at for a decision.
fn window(text: &str) -> &str {
    &text[..text.floor_char_boundary(WINDOW)]
}

fn has_marker(text: &str) -> bool {
    let looked_at = window(text);
    looked_at
        .match_indices('«')
        .any(|(at, _)| marker_at(&text[at..]).is_some())
}

/// Returns the replacement at the beginning of a text.
fn marker_at(text: &str) -> Option<&'static str> {
    [REMOVED, MAIL]
        .into_iter()
        .find(|marker| text.starts_with(marker))
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_name_byte(byte: u8) -> bool {
    is_word_byte(byte) || byte == b'-'
}

/// Returns how many bytes at the beginning are of a kind.
fn length_of(text: &str, is_in: impl Fn(u8) -> bool) -> usize {
    let end = text.bytes().position(|byte| !is_in(byte));
    end.unwrap_or(text.len())
}
