//! `restore`, `undo` and `redo`.

use crate::cli::args::restore::{RedoArgs, RestoreArgs, UndoArgs};
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::restore as restore_op;
use crate::ops::restore_terms::RestoreOutcome;
use crate::view::{human, json};

pub fn restore(context: &Context, rim: &Rim<'_>, args: RestoreArgs) -> Result<u8> {
    let outcome = if args.resume {
        restore_op::resume(context, &args.common.resolve(true))?
    } else {
        restore_op::restore(context, &args.resolve(rim.global.yes), &mut |proposal| rim.consent(proposal))?
    };
    Ok(say_restored(rim, "restore", &outcome))
}

pub fn undo(context: &Context, rim: &Rim<'_>, args: &UndoArgs) -> Result<u8> {
    let common = args.common.resolve(rim.global.yes);
    let outcome = restore_op::undo(context, &common, &mut |proposal| rim.consent(proposal))?;
    Ok(say_restored(rim, "undo", &outcome))
}

pub fn redo(context: &Context, rim: &Rim<'_>, args: &RedoArgs) -> Result<u8> {
    let common = args.common.resolve(rim.global.yes);
    let outcome = restore_op::redo(context, &common, &mut |proposal| rim.consent(proposal))?;
    Ok(say_restored(rim, "redo", &outcome))
}

fn say_restored(rim: &Rim<'_>, command: &str, outcome: &RestoreOutcome) -> u8 {
    if rim.printer.json {
        rim.printer.result(&json::restore(command, outcome, exit_code::DONE));
    } else {
        rim.say(&human::restore(outcome, rim.printer.out_paint()), &outcome.warnings);
    }
    exit_code::DONE
}
