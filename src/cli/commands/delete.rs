//! `delete`.

use crate::cli::args::delete::DeleteArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::delete::{self as delete_op, Deletion};
use crate::ops::maintain::delete_store;
use crate::view::{human, json};

pub fn delete(context: &Context, cmd: &CommandContext<'_>, args: &DeleteArgs) -> Result<u8> {
    let yes = cmd.global.yes;
    let mut ask = |deletion: &Deletion<'_>| {
        let question = human::delete::question(deletion, context.now_ms, cmd.printer.err_paint());
        cmd.prompt.ask(&context.interrupt, human::delete::stake(deletion), &question)
    };
    let outcome = if args.all {
        delete_store::delete_store(context, args.resolve_all(yes), &mut ask)?
    } else {
        Some(delete_op::delete(context, &args.resolve(yes), &mut ask)?)
    };
    match outcome {
        None if cmd.printer.json => cmd.printer.result(&json::delete::nothing(&context.store_dir()?)),
        None => cmd.tell_no_store(context),
        Some(outcome) if cmd.printer.json => cmd.printer.result(&json::delete::delete(&outcome)),
        Some(outcome) => {
            let said = human::delete::delete(&outcome, context.now_ms, cmd.printer.out_paint());
            cmd.say(&said, &outcome.warnings);
        }
    }
    Ok(exit_code::DONE)
}
