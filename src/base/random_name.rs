//! Random parts of names that must not collide, and their recognition.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

const HEX_DIGITS: usize = 16;

/// Sixteen unpredictable hex digits, which another process is unlikely to draw.
pub fn random_hex() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Whether this is in the form of [`random_hex`].
pub fn is_random_hex(digits: &[u8]) -> bool {
    digits.len() == HEX_DIGITS && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Whether a name is this prefix and [`random_hex`].
pub fn is_random_name(name: &[u8], prefix: &[u8]) -> bool {
    name.strip_prefix(prefix).is_some_and(is_random_hex)
}

/// Words in the names of files that this program leaves beside others for a while.
const PASSING: [&str; 5] = ["began", "lost", "state", "tmp", "told"];

/// What watchman calls the file that it makes whenever it is asked, see its option `sync_timeout`.
const COOKIE: &str = ".watchman-cookie-";

/// Whether a name is that of such a file: `.checkpoint-`, a word, `-`, hex digits, and perhaps a
/// number behind a dot; or of one that watchman makes for us.
pub fn is_passing_name(name: &[u8]) -> bool {
    let name = std::str::from_utf8(name).unwrap_or_default();
    if name.starts_with(COOKIE) {
        return true;
    }
    let rest = name.strip_prefix(".checkpoint-");
    let parts = rest.and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(word, digits)| {
        let digits = digits.split('.').next().unwrap_or_default();
        PASSING.contains(&word) && is_random_hex(digits.as_bytes())
    })
}
