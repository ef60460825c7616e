//! The errors of reading objects, and of what they make up.

use std::io;

use crate::base::Malformed;
use crate::error::Error;
use crate::model::ObjectId;
use crate::store::ObjectKind;

/// The reason why an object could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// No pack and no loose file has the object.
    #[error("object {0} is missing")]
    Missing(ObjectId),
    /// No copy of the object is intact.
    #[error("object {id} is corrupt: {why}")]
    Corrupt { id: ObjectId, why: String },
    /// The store could not be read at the moment.
    #[error("{0}")]
    Io(Error),
    /// The receiver of the content failed, not the store.
    #[error("cannot hand on an object: {0}")]
    Sink(io::Error),
}

impl From<ObjectError> for Error {
    fn from(cause: ObjectError) -> Self {
        match cause {
            ObjectError::Io(cause) => cause,
            ObjectError::Missing(id) => Error::damaged(format!("object {id}"), "it is missing"),
            ObjectError::Corrupt { id, why } => Error::damaged(format!("object {id}"), why),
            ObjectError::Sink(cause) => {
                Self::unexpected(format!("cannot hand on an object: {cause}"))
            }
        }
    }
}

/// The reason why a tree, a checkpoint or a run could not be read from its objects, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadFailure(String);

impl<T: Into<String>> From<T> for ReadFailure {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}

impl From<ObjectError> for ReadFailure {
    fn from(cause: ObjectError) -> Self {
        Self(cause.to_string())
    }
}

impl From<Malformed> for ReadFailure {
    fn from(cause: Malformed) -> Self {
        Self(cause.to_string())
    }
}

/// Kind and content.
pub type AnyObject = (ObjectKind, Vec<u8>);
