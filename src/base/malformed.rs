//! Parse error: the input does not have the expected format.

/// What is wrong with the bytes or the text, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

impl<T: Into<String>> From<T> for Malformed {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}
