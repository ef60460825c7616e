//! `find`: the history of paths, or where a text is.

use crate::cli::args::find::{FindArgs, Wanted};
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::browse::find::{find_path as find_op, find_text as text_op};
use crate::ops::context::Context;
use crate::view::human::find as human;
use crate::view::json::find as json;

pub fn find(context: &Context, rim: &Rim<'_>, args: &FindArgs) -> Result<u8> {
    let paint = rim.printer.out_paint();
    let (document, said, warnings) = match args.into() {
        Wanted::Path(options) => {
            let outcome = find_op::find(context, &options)?;
            (json::paths(&outcome), human::paths(&outcome, paint, rim.printer.for_a_person()), outcome.warnings)
        }
        Wanted::Text(options) => {
            let outcome = text_op::find_text(context, &options)?;
            (json::matches(&outcome), human::matches(&outcome, paint), outcome.warnings)
        }
    };
    if rim.printer.json {
        rim.printer.result(&document);
    } else {
        rim.say(&said, &warnings);
    }
    Ok(exit_code::DONE)
}
