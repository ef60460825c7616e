//! `help`: what `--help` says of a command, or a page of `src/docs`.

use std::ffi::OsStr;

use crate::base::interrupt::Interrupt;
use crate::cli::args::help::HelpArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::pager::PagerOutput;
use crate::cli::{args, exit_code, signals};
use crate::error::{Error, Result};
use crate::view::{json, topics};

pub fn help(cmd: &CommandContext<'_>, args: &HelpArgs, pager: Option<&OsStr>) -> Result<u8> {
    let text = text(&args.words)?;
    if cmd.printer.json {
        cmd.printer.result(&json::shell::text("help", "text", &text));
        return Ok(exit_code::DONE);
    }
    let interrupt = Interrupt::default();
    signals::install(&interrupt);
    let mut output = PagerOutput::new(cmd.printer, pager, &interrupt);
    let _ = output.write(text.as_bytes())?;
    output.finish()?;
    Ok(exit_code::DONE)
}

fn text(words: &[String]) -> Result<String> {
    let page = match words {
        [topic] => topics::page(topic).map(str::to_owned),
        _ => None,
    };
    page.or_else(|| args::help_of(words)).ok_or_else(|| Error::Usage {
        what: format!(
            "'{}' is neither a command nor a topic; the topics: {}",
            words.join(" "),
            topics::names().join(", ")
        ),
    })
}
