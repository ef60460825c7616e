//! One function a command: options in, the operation, its outcome out as text and exit code.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::cli::args::create::CreateArgs;
use crate::cli::args::list::{ListArgs, ShowArgs};
use crate::cli::args::prune::PruneArgs;
use crate::cli::args::restore::{RedoArgs, RestoreArgs, UndoArgs};
use crate::cli::args::status::StatusArgs;
use crate::cli::{Rim, exit_code};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::create::{CreateOutcome, Skipped};
use crate::ops::restore_terms::{Proposal, RestoreOutcome};
use crate::ops::warning::Warning;
use crate::ops::{create as create_op, list as list_op, prune as prune_op, restore as restore_op, status as status_op};
use crate::view::human::Said;
use crate::view::{human, json};

/// Longest tidying up after an id was printed.
const TIDY_TIME: Duration = Duration::from_millis(200);

impl Rim<'_> {
    fn say(&self, said: &Said, warnings: &[Warning]) {
        self.printer.result(&said.result);
        self.printer.talk(&said.talk);
        self.warn(warnings);
    }

    fn warn(&self, warnings: &[Warning]) {
        for warning in warnings {
            self.printer.talk(&human::warning(warning, self.printer.err_paint()));
        }
    }

    /// What even `--quiet` must not hide: that nothing was made, or not everything captured.
    fn insist(&self, outcome: &CreateOutcome) {
        let skipped = !matches!(outcome.skipped, None | Some(Skipped::Dedup));
        let partial = |warning: &&Warning| matches!(warning, Warning::NotCaptured { .. });
        let paint = self.printer.err_paint();
        if self.printer.quiet {
            for warning in outcome.warnings.iter().filter(|warning| skipped || partial(warning)) {
                self.printer.failure(&human::warning(warning, paint));
            }
        }
        if let Some(id) = outcome.checkpoint.as_ref().filter(|c| !c.is_complete()).map(|c| c.id) {
            self.printer.failure(&human::warning(&Warning::IsPartial { id }, paint));
        }
    }

    fn consent(&self, proposal: &Proposal<'_>) -> Result<()> {
        self.prompt.consent(proposal)
    }

    fn tell_no_store(&self, context: &Context) {
        let hint = context.no_store().hint().unwrap_or_default();
        self.printer.talk(&human::no_store(context.root.path(), &hint));
    }
}

pub fn create(context: &Context, rim: &Rim<'_>, args: CreateArgs) -> Result<u8> {
    let mut code = exit_code::DONE;
    let told_at = Cell::new(None);
    let store = context.store_dir()?;
    let mut tell = |outcome: &CreateOutcome| {
        code = exit_code::of_create(outcome);
        if rim.printer.json {
            rim.printer.result(&json::create(outcome, &store, code));
        } else {
            rim.say(&human::create(outcome, rim.started.elapsed().as_millis()), &outcome.warnings);
            rim.insist(outcome);
        }
        told_at.set(Some(Instant::now()));
    };
    let out_of_time = || told_at.get().is_some_and(|told| told.elapsed() > TIDY_TIME);
    let later = create_op::create(context, &args.into(), &mut tell, &out_of_time)?;
    rim.warn(&later);
    Ok(code)
}

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

pub fn show(context: &Context, rim: &Rim<'_>, args: &ShowArgs) -> Result<u8> {
    let outcome = list_op::show(context, &args.selector)?;
    if rim.printer.json {
        rim.printer.result(&json::show(&outcome));
    } else {
        rim.say(&human::show(&outcome, context.now_ms), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}

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

pub fn prune(context: &Context, rim: &Rim<'_>, args: PruneArgs) -> Result<u8> {
    let outcome = prune_op::prune(context, args.into())?;
    if rim.printer.json {
        rim.printer.result(&json::prune(&outcome));
        return Ok(exit_code::DONE);
    }
    if !outcome.exists {
        rim.tell_no_store(context);
    }
    rim.say(&human::prune(&outcome), &outcome.warnings);
    Ok(exit_code::DONE)
}

pub fn status(context: &Context, rim: &Rim<'_>, args: StatusArgs) -> Result<u8> {
    let outcome = status_op::status(context, args.into())?;
    if rim.printer.json {
        rim.printer.result(&json::status(&outcome, rim.global.verbose));
        return Ok(exit_code::DONE);
    }
    if !outcome.exists {
        rim.tell_no_store(context);
    }
    let said = if args.brief {
        human::status_brief(&outcome, context.now_ms)
    } else {
        human::status(&outcome, context.now_ms, rim.global.verbose)
    };
    rim.say(&said, &outcome.warnings);
    Ok(exit_code::DONE)
}
