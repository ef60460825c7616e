//! `create`: the id alone on stdout, everything else beside it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::cli::args::create::CreateArgs;
use crate::cli::exit_code;
use crate::cli::lists;
use crate::cli::printer;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::audit::{self as audit_op, Ended};
use crate::ops::context::Context;
use crate::ops::create::{self as create_op, CreateOutcome};
use crate::ops::warning::Warning;
use crate::view::{human, json};

/// Longest tidying up after an id was printed.
const TIDY_TIME: Duration = Duration::from_millis(200);

pub fn create(context: &Context, rim: &Rim<'_>, args: CreateArgs) -> Result<u8> {
    let mut made = false;
    let ended = run(context, rim, args, &mut made);
    if context.settings.audit {
        audit(context, rim, &ended, made);
    }
    ended
}

/// A root that is refused, or that is not there, gets no log either.
fn audit(context: &Context, rim: &Rim<'_>, ended: &Result<u8>, made: bool) {
    if matches!(ended, Err(Error::UnsafeRoot { .. } | Error::RootMissing { .. })) {
        return;
    }
    let code = ended.as_ref().map_or_else(exit_code::of_error, |code| *code);
    let exit = printer::lost().map_or(code, |_| exit_code::unanswered(code, exit_code::FAILED));
    let words = rim.words.iter().map(|word| word.as_encoded_bytes()).collect();
    let warnings: Vec<Warning> = audit_op::note(context, &Ended { words, exit, made }).into_iter().collect();
    rim.warn(&warnings);
    rim.warn_late(&warnings);
}

fn run(context: &Context, rim: &Rim<'_>, args: CreateArgs, made: &mut bool) -> Result<u8> {
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
