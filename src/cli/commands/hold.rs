//! `hold` and `release`.

use crate::cli::args::hold::{HoldArgs, ReleaseArgs};
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::contract::hold as hold_op;
use crate::view::{human, json};

pub fn hold(context: &Context, rim: &Rim<'_>, args: &HoldArgs) -> Result<u8> {
    let outcome = hold_op::hold(context, &args.into())?;
    if rim.printer.json {
        rim.printer.result(&json::hold::hold(&outcome));
    } else {
        rim.say(&human::hold::hold(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}

pub fn release(context: &Context, rim: &Rim<'_>, args: &ReleaseArgs) -> Result<u8> {
    let outcome = hold_op::release(context, args.name.as_deref())?;
    if rim.printer.json {
        rim.printer.result(&json::hold::release(&outcome));
    } else {
        rim.say(&human::hold::release(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
