//! The error of adding an object to a pack.

use std::io;

use crate::error::Error;
use crate::store::Collision;

pub type PackResult<T> = std::result::Result<T, PackError>;

/// The reason why an object was not added; the pack is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The content bears the mark of a collision attack.
    #[error("{}", Collision)]
    Collision,
    /// The content could not be read to its end, or a copied entry does not match its checksum.
    #[error("cannot read the content: {0}")]
    Source(io::Error),
    /// The pack could not be written.
    #[error("{0}")]
    Store(Error),
}

impl From<Error> for PackError {
    fn from(cause: Error) -> Self {
        Self::Store(cause)
    }
}

impl From<PackError> for Error {
    fn from(cause: PackError) -> Self {
        match cause {
            PackError::Store(cause) => cause,
            other => Self::unexpected(other),
        }
    }
}
