//! `hold` and `release`.

use crate::cli::args::hold::{HoldArgs, ReleaseArgs};
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::contract::hold as hold_op;
use crate::view::{human, json};

pub fn hold(context: &Context, cmd: &CommandContext<'_>, args: &HoldArgs) -> Result<u8> {
    let outcome = hold_op::hold(context, &args.into())?;
    if cmd.printer.json {
        cmd.printer.result(&json::hold::hold(&outcome));
    } else {
        cmd.say(&human::hold::hold(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}

pub fn release(context: &Context, cmd: &CommandContext<'_>, args: &ReleaseArgs) -> Result<u8> {
    let outcome = hold_op::release(context, args.name.as_deref())?;
    if cmd.printer.json {
        cmd.printer.result(&json::hold::release(&outcome));
    } else {
        cmd.say(&human::hold::release(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
