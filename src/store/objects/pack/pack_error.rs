//! The error of adding an object to a pack.

use std::{fmt, io};

use crate::error::Error;
use crate::store::objects::object_hash::Collision;

pub type PackResult<T> = std::result::Result<T, PackError>;

/// The reason why an object was not added; the pack is unchanged.
#[derive(Debug)]
pub enum PackError {
    /// The content bears the mark of a collision attack.
    Collision,
    /// The content could not be read to its end, or a copied entry does not match its checksum.
    Source(io::Error),
    /// The pack could not be written.
    Store(Error),
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collision => Collision.fmt(f),
            Self::Source(cause) => write!(f, "cannot read the content: {cause}"),
            Self::Store(cause) => cause.fmt(f),
        }
    }
}

impl std::error::Error for PackError {}

impl From<Error> for PackError {
    fn from(cause: Error) -> Self {
        Self::Store(cause)
    }
}

impl From<PackError> for Error {
    fn from(cause: PackError) -> Self {
        match cause {
            PackError::Store(cause) => cause,
            other => Self::Unexpected(anyhow::Error::new(other)),
        }
    }
}
