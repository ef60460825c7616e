//! `pin` and `unpin`.

use crate::cli::args::pin::{PinArgs, UnpinArgs};
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::pin::{self as pin_op, PinOptions};
use crate::view::{human, json};

pub fn pin(context: &Context, rim: &Rim<'_>, args: &PinArgs) -> Result<u8> {
    run(context, rim, "pin", &args.into())
}

pub fn unpin(context: &Context, rim: &Rim<'_>, args: &UnpinArgs) -> Result<u8> {
    run(context, rim, "unpin", &args.into())
}

fn run(context: &Context, rim: &Rim<'_>, command: &str, options: &PinOptions) -> Result<u8> {
    let outcome = pin_op::pin(context, options)?;
    if rim.printer.json {
        rim.printer.result(&json::pin::pin(command, &outcome));
    } else {
        rim.say(&human::pin::pin(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
