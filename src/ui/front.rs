//! Runs the commands of the page as if each were called with `--json` in the root.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::base::interrupt::Interrupt;
use crate::cli::entry;
use crate::config::environment::Environment;
use crate::error::{Error, exit_code};
use crate::ops::find_root::Place;
use crate::shell::child;
use crate::ui::allow;
use crate::worktree::root::canonical;

/// Upper bound on the bytes of a content that is shown.
const MOST_CONTENT_BYTES: u64 = 32 << 20;

/// What all commands of a server share.
#[derive(Clone)]
pub struct Runner {
    /// The root that the server was started for.
    pub root: PathBuf,
    /// `--base` of the server.
    pub given_base: Option<PathBuf>,
    pub base: PathBuf,
    pub environment: Environment,
    pub may_change: bool,
}

/// A command as the page asks for it.
#[derive(Clone, Debug, Default)]
pub struct CommandCall {
    pub words: Vec<OsString>,
    /// What it reads instead of standard input.
    pub input: Option<Vec<u8>>,
}

impl Runner {
    /// Runs a command; returns the document that `--json` prints. `None` if it is not allowed.
    pub fn document(&self, call: &CommandCall, interrupt: &Interrupt) -> Option<Vec<u8>> {
        let may_run = allow::is_allowed(&call.words, self.may_change, false);
        may_run.then(|| self.run(call, interrupt, true).1)
    }

    /// Reads a file of a checkpoint; or returns the document of the failure. `None` if the command is
    /// not allowed.
    pub fn content(
        &self,
        call: &CommandCall,
        interrupt: &Interrupt,
    ) -> Option<Result<Vec<u8>, Vec<u8>>> {
        let words = &call.words;
        if !allow::is_allowed(words, self.may_change, true) {
            return None;
        }
        // Of two bounds, the last one counts.
        let bound = format!("--bytes={MOST_CONTENT_BYTES}");
        let call = CommandCall {
            words: [&words[..1], &[bound.into()], &words[1..]].concat(),
            input: None,
        };
        Some(match self.run(&call, interrupt, false) {
            (exit_code::DONE, bytes) => Ok(bytes),
            _ => Err(self.run(&call, interrupt, true).1),
        })
    }

    /// Returns the process for a command that only reads and may need much memory, which the system
    /// has back at its end. `None` if it has to run here.
    pub fn process(&self, call: &CommandCall) -> Option<Command> {
        let is_link = canonical(&self.root).is_ok_and(|path| path != self.root);
        let fits = call.input.is_none() && !is_link && allow::is_allowed(&call.words, false, false);
        fits.then(|| child::this_program(&self.line(call, true)[1..]).ok())?
    }

    /// Returns the whole line of a command.
    fn line(&self, call: &CommandCall, as_json: bool) -> Vec<OsString> {
        let mut line: Vec<OsString> = ["checkpoint", "--no-input", "-C"].map(Into::into).into();
        line.push(self.root.clone().into());
        if let Some(base) = &self.given_base {
            line.extend(["--base".into(), base.into()]);
        }
        line.extend(as_json.then(|| "--json".into()));
        line.extend_from_slice(&call.words);
        line
    }

    fn run(&self, call: &CommandCall, interrupt: &Interrupt, as_json: bool) -> (u8, Vec<u8>) {
        let line = self.line(call, as_json);
        let place = Place {
            dir: self.root.clone(),
            is_exact: true,
        };
        entry::answer(&line, &place, self.environment.clone(), &|context, _, _| {
            // It was made canonical again, in case a link took its place meanwhile.
            if context.root.path() != self.root {
                return Err(Error::root_missing(&self.root));
            }
            context.interrupt = interrupt.clone();
            // Whatever the terminal of the server has is not for the page.
            context.input = Some(call.input.clone().unwrap_or_default());
            Ok(None)
        })
    }
}
