//! `list`: a table for people, markdown for pipes.

use crate::cli::args::list::ListArgs;
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::list as list_op;
use crate::view::{human, json};

pub fn list(context: &Context, rim: &Rim<'_>, args: ListArgs) -> Result<u8> {
    let outcome = list_op::list(context, &args.resolve(context.now_ms)?)?;
    if rim.printer.json {
        rim.printer.result(&json::list(&outcome, &context.store_dir()?));
        return Ok(exit_code::DONE);
    }
    if !outcome.exists {
        rim.tell_no_store(context);
    }
    let said = if rim.printer.for_a_person() {
        human::list_table(&outcome, context.now_ms, rim.printer.out_paint())
    } else {
        human::list_markdown(&outcome)
    };
    rim.say(&said, &outcome.warnings);
    Ok(exit_code::DONE)
}
