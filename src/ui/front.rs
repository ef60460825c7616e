//! Runs the commands of the page as if each were called with `--json` in the root.

use std::ffi::OsString;
use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;
use tokio::process::Child;

use crate::base::Interrupt;
use crate::cli::entry;
use crate::config::Environment;
use crate::error::{Error, exit_code};
use crate::ops::Place;
use crate::ops::find_root::canonical_or_gone;
use crate::shell::{Printer, child, signals};
use crate::ui::allow;

/// Upper bound on the bytes of a file whose content, or difference, is shown.
pub const MOST_FILE_BYTES: u32 = 8 << 20;

/// What all commands of a server share.
#[derive(Clone)]
pub struct Runner {
    /// The root that the server was started for.
    pub root: PathBuf,
    /// `--base` of the server.
    pub given_base: Option<PathBuf>,
    /// `--lock-timeout` of the server, in seconds.
    pub lock_timeout: u64,
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

/// What the page posts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    args: Vec<String>,
    /// What the command reads instead of standard input.
    input: Option<String>,
}

impl CommandCall {
    /// Reads a command as the page posts it.
    pub fn parse(posted: &[u8]) -> Option<Self> {
        let asked: Asked = serde_json::from_slice(posted).ok()?;
        Some(Self {
            words: asked.args.into_iter().map(OsString::from).collect(),
            input: asked.input.map(String::into_bytes),
        })
    }

    /// Returns the line from which [`Self::parse`] makes a command without input again.
    pub fn as_line(&self) -> Vec<u8> {
        let words = self.words.iter().map(|word| word.to_string_lossy());
        let words: Vec<_> = words.collect();
        let mut line = serde_json::json!({ "args": words }).to_string();
        line.push('\n');
        line.into_bytes()
    }
}

impl Runner {
    /// Runs a command; returns the document that `--json` prints. `None` if it is not allowed.
    pub fn document(&self, call: &CommandCall, interrupt: &Interrupt) -> Option<Vec<u8>> {
        let is_read = call.input.is_none() || call.words.first().is_some_and(|it| it == "restore");
        let may_run = is_read && allow::is_allowed(&call.words, self.may_change, false);
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
        let bound = format!("--bytes={}", MOST_FILE_BYTES + 1);
        let call = CommandCall {
            words: [&words[..1], &[bound.into()], &words[1..]].concat(),
            input: None,
        };
        Some(match self.run(&call, interrupt, false) {
            (exit_code::DONE, bytes) => Ok(bytes),
            _ => Err(self.run(&call, interrupt, true).1),
        })
    }

    /// Whether a command only reads: then a process of its own may run it, and the system has back at
    /// its end the memory that it needed.
    pub fn only_reads(&self, call: &CommandCall) -> bool {
        let is_here = canonical_or_gone(&self.root).is_some_and(|path| path == self.root);
        is_here && call.input.is_none() && allow::is_allowed(&call.words, false, false)
    }

    /// Starts the process that runs [`answer_one`].
    pub fn start_reader(&self) -> std::io::Result<Child> {
        let line = self.line(&["ui", "--reader", "--read-only"].map(OsString::from));
        child::this_program(&line[1..])
    }

    /// Returns the whole line of a command.
    fn line(&self, words: &[OsString]) -> Vec<OsString> {
        let mut line: Vec<OsString> = ["checkpoint", "--no-input", "-C"].map(Into::into).into();
        line.push(self.root.clone().into());
        if let Some(base) = &self.given_base {
            line.extend(["--base".into(), base.into()]);
        }
        line.push(format!("--lock-timeout={}", self.lock_timeout).into());
        line.extend_from_slice(words);
        line
    }

    fn run(&self, call: &CommandCall, interrupt: &Interrupt, as_json: bool) -> (u8, Vec<u8>) {
        let mut line = self.line(&call.words);
        if as_json {
            line.insert(1, "--json".into());
        }
        let place = Place {
            dir: self.root.clone(),
            is_exact: true,
        };
        entry::answer(&line, &place, self.environment.clone(), &|context, _, _| {
            // It was made canonical again, in case a link took its place meanwhile.
            if context.root.path() != self.root {
                return Err(Error::root_missing(&self.root));
            }
            context.largest_text_bytes = MOST_FILE_BYTES.into();
            context.interrupt = interrupt.clone();
            // Whatever the terminal of the server has is not for the page.
            context.input = Some(call.input.clone().unwrap_or_default());
            Ok(None)
        })
    }
}

/// Answers the one command that a server writes to this process, which ends at once when the server
/// has ended, or no longer wants the answer: the pipe is closed then.
///
/// # Errors
/// There is no such command.
pub fn answer_one(runner: &Runner, printer: &Printer) -> crate::error::Result<u8> {
    let mut line = Vec::new();
    let read = std::io::stdin().lock().read_until(b'\n', &mut line);
    read.map_err(Error::io("read", Path::new("the command")))?;
    thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        signals::end_at_once();
    });
    let call = CommandCall::parse(&line).ok_or_else(|| Error::usage("no command"))?;
    if let Some(document) = runner.document(&call, &Interrupt::default()) {
        let failed = Error::io("write", Path::new("the answer"));
        printer.bytes(&document).map_err(failed)?;
    }
    Ok(exit_code::DONE)
}
