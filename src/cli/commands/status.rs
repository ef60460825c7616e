//! `status`: one screen, or one line.

use crate::cli::args::status::StatusArgs;
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::browse::status as status_op;
use crate::ops::context::Context;
use crate::view::{human, json};

pub fn status(context: &Context, rim: &Rim<'_>, args: StatusArgs) -> Result<u8> {
    let outcome = status_op::status(context, args.into())?;
    if rim.printer.json {
        rim.printer.result(&json::status(&outcome, rim.global.verbose));
        return Ok(exit_code::DONE);
    }
    if !outcome.exists {
        rim.tell_no_store(context);
    }
    let said = if args.brief {
        human::status_brief(&outcome, context.now_ms)
    } else {
        human::status(&outcome, context.now_ms, rim.global.verbose)
    };
    rim.say(&said, &outcome.warnings);
    Ok(exit_code::DONE)
}
