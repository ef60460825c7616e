//! Small text files whose last line is a checksum of all lines above it, which detects damage.

use xxhash_rust::xxh3::xxh3_64;

/// Start of the last line: XXH3 over all lines above it, in hex.
const SUM: &str = "sum ";

/// Appends the checksum line to the lines.
pub fn seal(lines: &str) -> String {
    format!("{lines}{SUM}{:016x}\n", xxh3_64(lines.as_bytes()))
}

/// Returns the lines above the checksum; `None` if it does not match.
pub fn unseal(text: &str) -> Option<&str> {
    let (lines, sum) = text.strip_suffix('\n')?.rsplit_once(SUM)?;
    (sum == format!("{:016x}", xxh3_64(lines.as_bytes()))).then_some(lines)
}
