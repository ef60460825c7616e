//! Why an object could not be had.

use std::{fmt, io};

use crate::error::Error;
use crate::model::state::object_id::ObjectId;
use crate::store::objects::hash::object_hash::ObjectKind;

/// Why an object could not be had.
#[derive(Debug)]
pub enum ObjectError {
    /// No pack and no loose file has it.
    Missing(ObjectId),
    /// It is there, but no copy of it is whole.
    Corrupt { id: ObjectId, why: String },
    /// The store could not be read just now.
    Io(Error),
    /// The receiver of the content failed, not the store.
    Sink(io::Error),
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(id) => write!(f, "object {id} is missing"),
            Self::Corrupt { id, why } => write!(f, "object {id} is corrupt: {why}"),
            Self::Io(cause) => cause.fmt(f),
            Self::Sink(cause) => write!(f, "cannot hand on an object: {cause}"),
        }
    }
}

impl std::error::Error for ObjectError {}

impl From<ObjectError> for Error {
    fn from(cause: ObjectError) -> Self {
        match cause {
            ObjectError::Io(cause) => cause,
            ObjectError::Missing(id) => Self::Damaged { what: format!("object {id}"), why: "it is missing".into() },
            ObjectError::Corrupt { id, why } => Self::Damaged { what: format!("object {id}"), why },
            ObjectError::Sink(cause) => Self::Unexpected(anyhow::Error::new(cause).context("cannot hand on an object")),
        }
    }
}

/// Kind and content; the kind of a tag is `None`.
pub type AnyObject = (Option<ObjectKind>, Vec<u8>);
