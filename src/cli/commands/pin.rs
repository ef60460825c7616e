//! `pin` and `unpin`.

use crate::cli::args::pin::{PinArgs, UnpinArgs};
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::pin::{self as pin_op, PinOptions};
use crate::view::{human, json};

pub fn pin(context: &Context, cmd: &CommandContext<'_>, args: &PinArgs) -> Result<u8> {
    run(context, cmd, "pin", &args.into())
}

pub fn unpin(context: &Context, cmd: &CommandContext<'_>, args: &UnpinArgs) -> Result<u8> {
    run(context, cmd, "unpin", &args.into())
}

fn run(context: &Context, cmd: &CommandContext<'_>, command: &str, options: &PinOptions) -> Result<u8> {
    let outcome = pin_op::pin(context, options)?;
    if cmd.printer.json {
        cmd.printer.result(&json::pin::pin(command, &outcome));
    } else {
        cmd.say(&human::pin::pin(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
