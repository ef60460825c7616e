//! `cat`: one file of a checkpoint, as it is.

use crate::cli::args::cat::CatArgs;
use crate::cli::exit_code;
use crate::cli::printer::ContentSink;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::browse::cat as cat_op;
use crate::ops::context::Context;
use crate::view::json;

pub fn cat(context: &Context, rim: &Rim<'_>, args: &CatArgs) -> Result<u8> {
    if rim.printer.json {
        let mut bytes = Vec::new();
        let outcome = cat_op::cat(context, &args.resolve(), &mut bytes)?;
        rim.printer.result(&json::cat::cat(&outcome, &bytes));
        return Ok(exit_code::DONE);
    }
    let mut sink = ContentSink::new(rim.printer);
    let outcome = cat_op::cat(context, &args.resolve(), &mut sink)?;
    sink.finish();
    rim.warn(&outcome.warnings);
    Ok(exit_code::DONE)
}
