//! The answer of a command: data that are printed as JSON or as text, and how the command ended.
//! Beside it the words and the JSON that commands share; pure but for options in `place` and the
//! local time zone.

pub mod contract;
pub mod envelope;
pub mod format;
pub mod patch;
pub mod place;
pub mod plan;
pub mod table;
pub mod words;

pub use contract::{ContractDocument, ContractForm};
pub use envelope::{Answer, ErrorJson};
pub use plan::Tense;

use crate::answer::format::Paint;
use crate::answer::place::PlaceWords;
use crate::base::text::escape_path;
use crate::base::time;
use crate::error::Error;
use crate::model::json::Serialize;
use crate::ops::{Context, Warning};

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

    /// Sets the exit code if a part failed or is not as it should be.
    #[must_use]
    pub fn exit_if(self, is_so: bool, code: u8) -> Self {
        let exit = if is_so { code } else { self.exit };
        Self { exit, ..self }
    }

    /// Adds what failed, with its exit code.
    #[must_use]
    pub fn but(self, error: Option<Error>) -> Self {
        let exit = error.as_ref().map_or(self.exit, |error| error.code.exit);
        Self {
            exit,
            error,
            ..self
        }
    }

    /// Makes another answer of this one.
    pub fn map<B>(self, make: impl FnOnce(A) -> B) -> Done<B> {
        Done {
            answer: make(self.answer),
            warnings: self.warnings,
            exit: self.exit,
            error: self.error,
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
    /// Text for stderr that `--quiet` does not hide.
    pub remark: String,
    /// Text for stderr.
    pub talk: String,
    pub paint: Paint,
    pub talk_paint: Paint,
    /// Whether the result goes to a terminal.
    pub is_for_a_person: bool,
    /// Width of the terminal in columns.
    pub columns: usize,
    pub context: &'c Context,
    pub place: &'c PlaceWords,
}

impl Out<'_> {
    /// Says where no store exists, and none is required.
    pub fn no_store(&mut self) {
        let hint = words::hint(&self.context.no_store(), self.place).unwrap_or_default();
        let root = escape_path(self.context.root.path());
        talkln!(self, "no checkpoints for {root} yet: {hint}");
    }

    /// Formats how long ago a time was: `3m ago`.
    pub fn ago(&self, time_ms: i64) -> String {
        time::ago(time_ms, self.context.now_ms)
    }
}

/// An answer that has a text beside its JSON.
pub trait Text: Serialize {
    fn write(&self, out: &mut Out<'_>);

    /// Formats what failed although the rest was done, for stderr beside text and JSON.
    fn failures(&self, _: Paint) -> String {
        String::new()
    }
}

/// One of two answers, by the options of a command.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Either<A, B> {
    First(A),
    Second(B),
}

impl<A: Text, B: Text> Text for Either<A, B> {
    fn write(&self, out: &mut Out<'_>) {
        match self {
            Self::First(answer) => answer.write(out),
            Self::Second(answer) => answer.write(out),
        }
    }

    fn failures(&self, paint: Paint) -> String {
        match self {
            Self::First(answer) => answer.failures(paint),
            Self::Second(answer) => answer.failures(paint),
        }
    }
}

pub(crate) use {outln, talkln};
