//! `status`: one screen, or one line.

use crate::cli::args::status::StatusArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::browse::status as status_op;
use crate::ops::context::Context;
use crate::view::{human, json};

pub fn status(context: &Context, cmd: &CommandContext<'_>, args: StatusArgs) -> Result<u8> {
    let outcome = status_op::status(context, args.into())?;
    if cmd.printer.json {
        cmd.printer.result(&json::status(&outcome, cmd.global.verbose));
        return Ok(exit_code::DONE);
    }
    if !outcome.exists {
        cmd.tell_no_store(context);
    }
    let said = if args.brief {
        human::status_brief(&outcome, context.now_ms)
    } else {
        human::status(&outcome, context.now_ms, cmd.global.verbose)
    };
    cmd.say(&said, &outcome.warnings);
    Ok(exit_code::DONE)
}
