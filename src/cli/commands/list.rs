//! `list`: a table for people, markdown for pipes.

use crate::cli::args::list::ListArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::browse::list as list_op;
use crate::ops::context::Context;
use crate::ops::maintain::stores;
use crate::ops::warning::Warning;
use crate::view::human::{self, Output};
use crate::view::json;

pub fn list(context: &Context, cmd: &CommandContext<'_>, args: ListArgs) -> Result<u8> {
    if args.all {
        return list_all(context, cmd);
    }
    let outcome = list_op::list(context, &args.resolve(context.now_ms)?)?;
    if cmd.printer.json {
        cmd.printer.result(&json::list(&outcome, &context.store_dir()?));
        return Ok(exit_code::DONE);
    }
    if !outcome.exists {
        cmd.tell_no_store(context);
    }
    let said = if cmd.printer.for_a_person() {
        human::list_table(&outcome, context.now_ms, cmd.printer.out_paint())
    } else {
        human::list_markdown(&outcome)
    };
    cmd.say(&said, &outcome.warnings);
    Ok(exit_code::DONE)
}

fn list_all(context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
    let stores = stores::all(context)?;
    let warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    if cmd.printer.json {
        cmd.printer.result(&json::stores::list_all(&stores, &warnings));
        return Ok(exit_code::DONE);
    }
    if stores.is_empty() {
        cmd.printer.talk(&human::stores::none(&context.base));
    }
    let result = if cmd.printer.for_a_person() {
        human::stores::table(&stores, context.now_ms, cmd.printer.out_paint())
    } else {
        human::stores::markdown(&stores)
    };
    cmd.say(&Output { result, talk: String::new() }, &warnings);
    Ok(exit_code::DONE)
}
