//! Formats for numbers, and colours, shared by all text views.

use crate::ops::warning::warning_words::thousands;

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

/// Formats `1 file`, `3,000 files`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        thousands(number as u64),
        if number == 1 { one } else { many }
    )
}

/// Formats `1 checkpoint`, `3,000 checkpoints`.
pub fn checkpoints(number: usize) -> String {
    count(number, "checkpoint", "checkpoints")
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
