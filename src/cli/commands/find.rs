//! `find`: the history of paths, or where a text is.

use crate::cli::args::find::{FindArgs, FindTarget};
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::browse::find::{find_path as find_op, find_text as text_op};
use crate::ops::context::Context;
use crate::view::human::find as human;
use crate::view::json::find as json;

pub fn find(context: &Context, cmd: &CommandContext<'_>, args: &FindArgs) -> Result<u8> {
    let paint = cmd.printer.out_paint();
    let (document, said, warnings) = match args.into() {
        FindTarget::Path(options) => {
            let outcome = find_op::find(context, &options)?;
            (json::paths(&outcome), human::paths(&outcome, paint, cmd.printer.for_a_person()), outcome.warnings)
        }
        FindTarget::Text(options) => {
            let outcome = text_op::find_text(context, &options)?;
            (json::matches(&outcome), human::matches(&outcome, paint), outcome.warnings)
        }
    };
    if cmd.printer.json {
        cmd.printer.result(&document);
    } else {
        cmd.say(&said, &warnings);
    }
    Ok(exit_code::DONE)
}
