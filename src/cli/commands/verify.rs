//! `verify`: what was found on stdout, one line on stderr if something is damaged.

use crate::cli::args::verify::VerifyArgs;
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::verify as verify_op;
use crate::view::human::verify as human;
use crate::view::json::verify as json;

pub fn verify(context: &Context, rim: &Rim<'_>, args: &VerifyArgs) -> Result<u8> {
    let outcome = verify_op::verify(context, &args.into())?;
    let code = if outcome.is_whole() { exit_code::DONE } else { exit_code::DAMAGED };
    if rim.printer.json {
        rim.printer.result(&json::verify(&outcome, code));
    } else {
        if !outcome.exists {
            rim.tell_no_store(context);
        }
        rim.say(&human::verify(&outcome), &outcome.warnings);
    }
    if code != exit_code::DONE {
        rim.printer.failure(&human::verdict(&outcome, rim.printer.err_paint()));
    }
    Ok(code)
}
