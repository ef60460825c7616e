//! `verify`: what was found on stdout, one line on stderr if something is damaged.

use crate::cli::args::verify::VerifyArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::verify as verify_op;
use crate::view::human::verify as human;
use crate::view::json::verify as json;

pub fn verify(context: &Context, cmd: &CommandContext<'_>, args: &VerifyArgs) -> Result<u8> {
    let outcome = verify_op::verify(context, &args.into())?;
    let code = if outcome.is_whole() { exit_code::DONE } else { exit_code::DAMAGED };
    if cmd.printer.json {
        cmd.printer.result(&json::verify(&outcome, code));
    } else {
        if !outcome.exists {
            cmd.tell_no_store(context);
        }
        cmd.say(&human::verify(&outcome), &outcome.warnings);
    }
    if code != exit_code::DONE {
        cmd.printer.failure(&human::verdict(&outcome, cmd.printer.err_paint()));
    }
    Ok(code)
}
