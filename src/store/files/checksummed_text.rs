//! Small text files whose last line is a checksum of all lines above it, which detects damage.

use std::io::{self, ErrorKind};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::base::json::{self, Deserialize, Serialize};
use crate::error::Result;
use crate::store::files::{atomic_file, read_regular};

/// Start of the last line: XXH3 over all lines above it, in hex.
const SUM: &str = "sum ";

/// Returns the checksum of a text in hex.
pub fn checksum(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// Appends the checksum line to the lines.
pub fn seal(lines: &str) -> String {
    format!("{lines}{SUM}{}\n", checksum(lines))
}

/// Returns the lines above the checksum; `None` if it does not match.
pub fn unseal(text: &str) -> Option<&str> {
    let (lines, sum) = text.strip_suffix('\n')?.rsplit_once(SUM)?;
    (sum == checksum(lines)).then_some(lines)
}

/// Reads a file that [`write`] made; the default if it is missing.
///
/// # Errors
/// The file cannot be read, or is damaged (`InvalidData`).
pub fn read<T: Default + for<'de> Deserialize<'de>>(path: &Path) -> io::Result<T> {
    read_if(path, |_| true)
}

/// As [`read`]; a value that is not sound counts as damaged.
///
/// # Errors
/// As [`read`].
pub fn read_if<T: Default + for<'de> Deserialize<'de>>(
    path: &Path,
    is_sound: impl FnOnce(&T) -> bool,
) -> io::Result<T> {
    match read_regular::read_text(path) {
        Ok(text) => unseal(&text)
            .and_then(|text| json::read(text.as_bytes()))
            .filter(is_sound)
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "its checksum is wrong")),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(T::default()),
        Err(cause) => Err(cause),
    }
}

/// Returns a value as JSON with a checksum.
pub fn document(value: &impl Serialize) -> String {
    seal(&json::document(value, false))
}

/// Replaces a file atomically by such a text.
///
/// # Errors
/// The file cannot be written; then it is as before.
pub fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    atomic_file::replace(path, document(value).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_whole_or_not_at_all() {
        let text = seal("a b\nsum 0\n");
        let read = |text: &str| unseal(text).map(str::to_owned);
        assert_eq!(read(&text).unwrap(), "a b\nsum 0\n");
        for at in 0..text.len() {
            assert_eq!(read(&text[..at]), None, "cut at {at}");
            let mut flipped = text.clone().into_bytes();
            flipped[at] ^= 1;
            assert_eq!(
                String::from_utf8(flipped)
                    .ok()
                    .and_then(|flipped| read(&flipped)),
                None,
                "flipped at {at}"
            );
        }
    }
}
