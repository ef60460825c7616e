//! Small text files whose last line is a checksum of all lines above it, which detects damage.

use std::io::{self, ErrorKind};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::store::files::read_regular;

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

/// Parses a text with one record a line; `None` if the checksum or a line is wrong.
pub fn parse<T, C: FromIterator<T>>(
    text: &str,
    parse_line: impl Fn(&str) -> Option<T>,
) -> Option<C> {
    unseal(text)?.lines().map(parse_line).collect()
}

/// Reads a file with one record a line; `None` if it is missing.
///
/// # Errors
/// The file cannot be read, or is damaged (`InvalidData`).
pub fn read<T, C: FromIterator<T>>(
    path: &Path,
    parse_line: impl Fn(&str) -> Option<T>,
) -> io::Result<Option<C>> {
    match read_regular::read_text(path) {
        Ok(text) => match parse(&text, parse_line) {
            None => Err(io::Error::new(
                ErrorKind::InvalidData,
                "its checksum is wrong",
            )),
            records => Ok(records),
        },
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_whole_or_not_at_all() {
        let text = seal("a b\nsum 0\n");
        let read = |text: &str| parse::<_, Vec<_>>(text, |line| Some(line.to_owned()));
        assert_eq!(read(&text).unwrap(), ["a b", "sum 0"]);
        assert_eq!(parse::<String, Vec<_>>(&text, |_| None), None);
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
