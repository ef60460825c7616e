//! `create`: the id alone on stdout, everything else beside it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::cli::args::create::CreateArgs;
use crate::cli::exit_code;
use crate::cli::lists;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::create::{self as create_op, CreateOutcome};
use crate::view::{human, json};

/// Longest tidying up after an id was printed.
const TIDY_TIME: Duration = Duration::from_millis(200);

/// `made` tells whether a checkpoint was recorded, whatever came after.
pub fn create(context: &Context, rim: &Rim<'_>, args: CreateArgs, made: &mut bool) -> Result<u8> {
    let scope = (!args.scope.is_empty()).then(|| lists::expand(&args.scope)).transpose()?;
    let options = args.into_options(scope);
    let mut code = exit_code::DONE;
    let told_at = Cell::new(None);
    let store = context.store_dir()?;
    let mut tell = |outcome: &CreateOutcome| {
        code = exit_code::of_create(outcome);
        *made = outcome.checkpoint.is_some() && outcome.skipped.is_none();
        if rim.printer.json {
            rim.printer.result(&json::create(outcome, &store, code));
        } else {
            rim.say(&human::create(outcome, rim.started.elapsed().as_millis()), &outcome.warnings);
            rim.insist(outcome);
        }
        told_at.set(Some(Instant::now()));
    };
    let out_of_time = || told_at.get().is_some_and(|told| told.elapsed() > TIDY_TIME);
    let later = create_op::create(context, &options, &mut tell, &out_of_time)?;
    rim.warn(&later);
    rim.warn_late(&later);
    Ok(code)
}
