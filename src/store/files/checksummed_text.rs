//! Small texts whose last line is a sum over all lines above it, so that damage is told from another meaning.

use xxhash_rust::xxh3::xxh3_64;

/// Begins the last line: XXH3 over all lines above it, in hex.
const SUM: &str = "sum ";

/// Lines, each with its end, and the sum below them.
pub fn seal(lines: &str) -> String {
    format!("{lines}{SUM}{:016x}\n", xxh3_64(lines.as_bytes()))
}

/// The lines above the sum; `None` if it is not theirs.
pub fn unseal(text: &str) -> Option<&str> {
    let (lines, sum) = text.strip_suffix('\n')?.rsplit_once(SUM)?;
    (sum == format!("{:016x}", xxh3_64(lines.as_bytes()))).then_some(lines)
}
