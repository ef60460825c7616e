//! `cat`: one file of a checkpoint, as it is.

use crate::cli::args::cat::CatArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::printer::StdoutSink;
use crate::error::Result;
use crate::ops::browse::cat as cat_op;
use crate::ops::context::Context;
use crate::view::json;

pub fn cat(context: &Context, cmd: &CommandContext<'_>, args: &CatArgs) -> Result<u8> {
    if cmd.printer.json {
        let mut bytes = Vec::new();
        let outcome = cat_op::cat(context, &args.resolve(), &mut bytes)?;
        cmd.printer.result(&json::cat::cat(&outcome, &bytes));
        return Ok(exit_code::DONE);
    }
    let mut sink = StdoutSink::new(cmd.printer);
    let outcome = cat_op::cat(context, &args.resolve(), &mut sink)?;
    sink.finish();
    cmd.warn(&outcome.warnings);
    Ok(exit_code::DONE)
}
