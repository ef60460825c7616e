//! The answer of a command: data that are printed as JSON or as text, and how the command ended.

use crate::error::Error;
use crate::model::json::Serialize;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::view::format::Paint;

/// A command that did its work, all of it or a part.
pub struct Done<A> {
    pub answer: A,
    pub warnings: Vec<Warning>,
    /// The exit code.
    pub exit: u8,
    /// What failed; the answer says what was done nevertheless.
    pub error: Option<Error>,
}

impl<A> Done<A> {
    /// Returns the end of a command that did all.
    pub fn new(answer: A, warnings: Vec<Warning>) -> Self {
        Self {
            answer,
            warnings,
            exit: 0,
            error: None,
        }
    }
}

impl<A> From<(A, Vec<Warning>)> for Done<A> {
    fn from((answer, warnings): (A, Vec<Warning>)) -> Self {
        Self::new(answer, warnings)
    }
}

/// The text of an answer while it is written, and for whom it is.
pub struct Out<'c> {
    /// Text for stdout.
    pub result: String,
    /// Text for stderr.
    pub talk: String,
    pub paint: Paint,
    pub talk_paint: Paint,
    /// Whether the result goes to a terminal.
    pub is_for_a_person: bool,
    /// Width of the terminal in columns.
    pub columns: usize,
    pub context: &'c Context,
}

/// An answer that has a text beside its JSON.
pub trait Text: Serialize {
    fn write(&self, out: &mut Out<'_>);
}

/// Adds a line to the result.
macro_rules! outln {
    ($out:expr, $($part:tt)*) => {{
        $out.result.push_str(&format!($($part)*));
        $out.result.push('\n');
    }};
}

/// Adds a line to the talk.
macro_rules! talkln {
    ($out:expr, $($part:tt)*) => {{
        $out.talk.push_str(&format!($($part)*));
        $out.talk.push('\n');
    }};
}

pub(crate) use {outln, talkln};
