//! The question before a change, for a person at a terminal.

use std::io::IsTerminal;

use crate::cli::printer;
use crate::error::{Error, Result};
use crate::ops::restore_terms::Proposal;
use crate::view::format::Paint;
use crate::view::plan;

/// Whether a question can be asked at all.
#[derive(Clone, Copy, Debug)]
pub struct Prompt {
    pub may_ask: bool,
    pub paint: Paint,
}

impl Prompt {
    pub fn new(json: bool, no_input: bool, paint: Paint) -> Self {
        let person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Self { may_ask: person && !json && !no_input, paint }
    }

    /// Shows the plan and asks.
    ///
    /// # Errors
    /// Nobody is there to answer, or the answer was not yes.
    pub fn consent(&self, proposal: &Proposal<'_>) -> Result<()> {
        if proposal.plan.is_empty() {
            return Ok(());
        }
        let what = format!("{} {}", proposal.verb.word(), plan::counts(proposal.plan));
        self.ask(what, &plan::question(proposal.verb, proposal.target, proposal.plan, proposal.again, self.paint))
    }

    /// Asks one question. `what` says in a few words what would be done.
    ///
    /// # Errors
    /// Nobody is there to answer, or the answer was not yes.
    pub fn ask(&self, what: String, question: &str) -> Result<()> {
        if !self.may_ask {
            return Err(Error::ConsentNeeded { what });
        }
        printer::to_stderr(question);
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
        if read.is_ok() && yes { Ok(()) } else { Err(Error::Declined) }
    }
}
