//! What the commands on runs share: a call of one, and how it is answered.

use crate::commands::prelude::*;
use crate::commands::workflow::report::{is_sound, with_place};
use crate::workflow::engine::report;
use crate::workflow::{Status, View};

/// Returns an answer with the warnings that arose on the way to it.
pub fn done<A>(context: &Context, answer: A) -> Done<A> {
    Done::new(answer, context.pending_warnings.take())
}

/// A call of a command on runs: where it acts, and how it asks and answers.
#[derive(Clone, Copy)]
pub struct WorkflowCall<'c> {
    pub context: &'c Context,
    pub cmd: &'c CommandContext<'c>,
}

impl WorkflowCall<'_> {
    pub fn print<A: Text>(self, answer: A) -> u8 {
        self.cmd.print(self.context, &done(self.context, answer))
    }

    /// Returns the status of a run; commands that it names work as printed.
    pub fn status(self, named: Option<&str>, view: View) -> Result<Done<Status>> {
        let mut status = report::status(self.context, named, view)?;
        with_place(&mut status, &self.cmd.printer.place);
        let is_damaged = view == View::Check && !is_sound(&status);
        Ok(done(self.context, status).exit_if(is_damaged, exit_code::DAMAGED))
    }
}
