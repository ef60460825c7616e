//! Parse error: the input does not have the expected format.

use std::fmt;

/// What is wrong with the bytes or the text, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl<T: Into<String>> From<T> for Malformed {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}
