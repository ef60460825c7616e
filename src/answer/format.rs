//! Formats for numbers, and colours; and what makes text harmless for a terminal.

pub use crate::base::text::count;
use crate::base::text::{escape_content, thousands};

/// Formats bytes as `12.3 MiB`, in the largest unit that leaves a whole part.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Formats those of some numbers that are not zero, each with its noun.
pub fn counts(numbers: &[(usize, &str, &str)]) -> Vec<String> {
    let some = numbers.iter().filter(|(number, ..)| *number > 0);
    some.map(|(number, one, many)| count(*number, one, many))
        .collect()
}

/// Formats `1 checkpoint`, `3,000 checkpoints`.
pub fn checkpoints(number: usize) -> String {
    count(number, "checkpoint", "checkpoints")
}

/// Formats `3 checkpoints, 1 safety`: the one count, and the safety checkpoints beside it.
pub fn checkpoints_and_safety(number: usize, safeties: usize) -> String {
    match (number, safeties) {
        (_, 0) => checkpoints(number),
        (0, _) => count(safeties, "safety checkpoint", "safety checkpoints"),
        _ => format!(
            "{}, {} safety",
            checkpoints(number),
            thousands(safeties as u64)
        ),
    }
}

/// Colours text, if enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    pub enabled: bool,
}

impl Paint {
    /// Prefix of each colour code.
    pub const MARK: &str = "\x1b[";
    const CODES: [&str; 7] = ["0", "1", "2", "31", "32", "33", "36"];

    fn wrap(self, code: &str, text: &str) -> String {
        if self.enabled {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Returns the length of the colour code at the start of `text`, if it is one of ours.
    pub fn length_of_code(text: &str) -> Option<usize> {
        let (code, _) = text.strip_prefix(Self::MARK)?.split_once('m')?;
        Self::CODES
            .contains(&code)
            .then_some(Self::MARK.len() + code.len() + 1)
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }
}

/// Escapes our own text with inserted names; newlines are kept, and colours if enabled.
pub fn harmless(text: &str, paint: Paint) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code)) = rest
        .find(Paint::MARK)
        .filter(|_| paint.enabled)
        .map(|at| rest.split_at(at))
    {
        shown.push_str(&escape_content(before.as_bytes()));
        let passed = Paint::length_of_code(code).map(|length| code.split_at(length));
        let (passed, after) = passed.unwrap_or_else(|| ("\\x1b", &code[1..]));
        shown.push_str(passed);
        rest = after;
    }
    shown + &escape_content(rest.as_bytes())
}

/// Escapes content that arrives in pieces of any length.
#[derive(Debug, Default)]
pub struct Escaper {
    /// An incomplete UTF-8 sequence at the end of the last piece.
    held: Vec<u8>,
}

impl Escaper {
    /// Returns what can be shown so far.
    pub fn push(&mut self, piece: &[u8]) -> String {
        self.held.extend_from_slice(piece);
        let cut = self.held.len() - unfinished(&self.held);
        let shown = escape_content(&self.held[..cut]);
        self.held.drain(..cut);
        shown
    }

    /// Returns the rest.
    pub fn finish(&mut self) -> String {
        escape_content(&std::mem::take(&mut self.held))
    }
}

/// Returns the length of an incomplete UTF-8 sequence at the end.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last();
    let end = last.map(|chunk| chunk.invalid()).unwrap_or_default();
    match std::str::from_utf8(end) {
        Err(cause) if cause.error_len().is_none() => end.len(),
        _ => 0,
    }
}

/// Formats an age such as `12 minutes ago`.
pub fn ago(time_ms: i64, now_ms: i64) -> String {
    let minutes = now_ms.saturating_sub(time_ms) / 60_000;
    let (number, one, many) = match minutes {
        ..1 => return "just now".to_owned(),
        1..60 => (minutes, "minute", "minutes"),
        60..1440 => (minutes / 60, "hour", "hours"),
        _ => (minutes / 1440, "day", "days"),
    };
    let number = usize::try_from(number).unwrap_or_default();
    format!("{} ago", count(number, one, many))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Paint;

    #[test]
    fn a_character_that_has_no_end_yet_is_awaited_and_a_wrong_byte_is_not() {
        let cases: [(&[u8], usize); 4] =
            [(b"a", 0), (b"a\xc3", 1), (b"a\xe2\x82", 2), (b"a\xff", 0)];
        for (bytes, left) in cases {
            assert_eq!(unfinished(bytes), left, "{bytes:?}");
        }
    }

    #[test]
    fn sizes_have_a_unit_and_one_digit_behind_the_point() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (12_897_485, "12.3 MiB"),
            (u64::MAX, "16383.9 PiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }

    #[test]
    fn colours_are_only_there_when_wanted() {
        assert_eq!(Paint { enabled: false }.red("x"), "x");
        assert_eq!(Paint { enabled: true }.red("x"), "\x1b[31mx\x1b[0m");
    }

    #[test]
    fn only_colours_of_ours_pass_and_only_where_there_are_any() {
        let (plain, coloured) = (Paint { enabled: false }, Paint { enabled: true });
        let text = format!(
            "{}:\t\u{9b}2J\x1b]0;x\x07\x7f\\\u{202e}\x1b[5m\x1b[\n",
            coloured.red("checkpoint")
        );
        let rest = "\t\\u{9b}2J\\x1b]0;x\\x07\\x7f\\\\u{202e}\\x1b[5m\\x1b[\n";
        let found = harmless(&text, coloured);
        assert_eq!(found, format!("\x1b[31mcheckpoint\x1b[0m:{rest}"));
        let found = harmless(&text, plain);
        assert_eq!(found, format!("\\x1b[31mcheckpoint\\x1b[0m:{rest}"));
    }

    #[test]
    fn characters_cut_in_two_come_out_whole_and_broken_ones_escaped() {
        let content = "grün ✓ \u{1b}[31m 🎈".as_bytes();
        for cut in 0..content.len() {
            let mut escaper = Escaper::default();
            let shown =
                escaper.push(&content[..cut]) + &escaper.push(&content[cut..]) + &escaper.finish();
            assert_eq!(shown, "grün ✓ \\x1b[31m 🎈", "cut at {cut}");
        }
        let mut escaper = Escaper::default();
        let found = escaper.push(b"a\xe2\x82") + &escaper.finish();
        assert_eq!(found, "a\\xe2\\x82");
    }
}
