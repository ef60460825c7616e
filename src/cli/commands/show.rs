//! `show`: one checkpoint.

use crate::cli::args::list::ShowArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::browse::list as list_op;
use crate::ops::context::Context;
use crate::view::{human, json};

pub fn show(context: &Context, cmd: &CommandContext<'_>, args: &ShowArgs) -> Result<u8> {
    let outcome = list_op::show(context, &args.selector)?;
    if cmd.printer.json {
        cmd.printer.result(&json::show(&outcome));
    } else {
        cmd.say(&human::show(&outcome, context.now_ms), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
