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
