//! `restore`, `undo` and `redo`.

use crate::cli::args::restore::{RedoArgs, RestoreArgs, UndoArgs};
use crate::cli::contract::Words;
use crate::cli::rim::Rim;
use crate::cli::{environment, exit_code};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::contract::restore_contract;
use crate::ops::restore::commands as restore_op;
use crate::ops::restore::restore_options::{Check, RestoreOutcome};
use crate::ops::restore::to_directory::restore_to;
use crate::view::contract::Form;
use crate::view::human::{self, check as check_view, restore_to as restore_to_view};
use crate::view::json::{self, Given};
use crate::view::{databases, plan, restore_contract as contract_view};

pub fn restore(context: &Context, rim: &Rim<'_>, mut args: RestoreArgs) -> Result<u8> {
    let (to, check, wants) = (args.to.take(), args.check.take(), args.contract);
    let outcome = if args.resume {
        restore_op::resume(context, &args.common.resolve(true))?
    } else if let Some(to) = to {
        restore_to(context, &args.resolve_to(environment::absolute(&to)?))?
    } else {
        restore_op::restore(context, &args.resolve(rim.global.yes), &mut |proposal| rim.consent(context, proposal))?
    };
    if wants.contract {
        return say_contract(context, rim, &outcome, wants.into());
    }
    if let Some(command) = check {
        return say_checked(context, rim, outcome, command);
    }
    let values = restore_contract::values(context, &outcome)?;
    Ok(say_restored(rim, "restore", &outcome, values.as_deref()))
}

/// What was restored is read again, so a restore whose result is not what was recorded does not end well.
fn say_contract(context: &Context, rim: &Rim<'_>, outcome: &RestoreOutcome, form: Form) -> Result<u8> {
    let contract = restore_contract::of_restore(context, outcome)?;
    let values = restore_contract::values(context, outcome)?;
    let words = Words::of(context, rim);
    let document = contract_view::document(outcome, &contract, values.as_deref(), &words.call(context));
    let is_match = contract.is_match() || outcome.dry_run || contract.is_values_alone;
    let code = if is_match { exit_code::of_restore(outcome) } else { exit_code::PARTIAL };
    if rim.printer.json {
        let given = Given { values: values.as_deref(), contract: Some(&document) };
        rim.printer.result(&json::restore("restore", outcome, code, given));
        say_failures(rim, outcome);
        return Ok(code);
    }
    let mut said = human::restore(outcome, rim.printer.out_paint());
    said.result = document.text(form);
    rim.say(&said, &outcome.warnings);
    say_failures(rim, outcome);
    Ok(code)
}

/// Runs the check after the restore was told; a document has both.
fn say_checked(context: &Context, rim: &Rim<'_>, mut outcome: RestoreOutcome, command: String) -> Result<u8> {
    if !rim.printer.json {
        say_restored(rim, "restore", &outcome, None);
    }
    let dir = outcome.to.as_deref().unwrap_or(context.root.path());
    let _shield = context.interrupt.shield();
    let ended = match rim.children(context).shell(&command, dir) {
        Ok(ended) => Some(ended),
        Err(Error::Interrupted { signal }) => {
            let (done, hint) = (check_view::done(&outcome), check_view::way_back(&outcome));
            return Err(Error::CheckInterrupted { signal, done, hint });
        }
        Err(error) => {
            rim.printer.failure(&human::error(&error, rim.printer.err_paint()));
            None
        }
    };
    let check = Check { command, ended };
    let code = if check.is_ok() { exit_code::of_restore(&outcome) } else { exit_code::PARTIAL };
    if check.is_ok() {
        rim.printer.talk(&check_view::passed(&check));
    } else {
        rim.printer.failure(&check_view::failed(&check, &outcome, rim.printer.err_paint()));
    }
    outcome.check = Some(check);
    if rim.printer.json {
        rim.printer.result(&json::restore("restore", &outcome, code, Given::default()));
        say_failures(rim, &outcome);
    }
    Ok(code)
}

pub fn undo(context: &Context, rim: &Rim<'_>, args: &UndoArgs) -> Result<u8> {
    let common = args.common.resolve(rim.global.yes);
    let outcome = restore_op::undo(context, &common, &mut |proposal| rim.consent(context, proposal))?;
    Ok(say_restored(rim, "undo", &outcome, None))
}

pub fn redo(context: &Context, rim: &Rim<'_>, args: &RedoArgs) -> Result<u8> {
    let common = args.common.resolve(rim.global.yes);
    let outcome = restore_op::redo(context, &common, &mut |proposal| rim.consent(context, proposal))?;
    Ok(say_restored(rim, "redo", &outcome, None))
}

fn say_restored(rim: &Rim<'_>, command: &str, outcome: &RestoreOutcome, values: Option<&str>) -> u8 {
    let code = exit_code::of_restore(outcome);
    if rim.printer.json {
        let given = Given { values, contract: None };
        rim.printer.result(&json::restore(command, outcome, code, given));
    } else {
        let paint = rim.printer.out_paint();
        let said = outcome.to.as_ref().map(|to| restore_to_view::restore_to(outcome, to, paint));
        let mut said = said.unwrap_or_else(|| human::restore(outcome, paint));
        said.result.push_str(&values.map(human::values).unwrap_or_default());
        rim.say(&said, &outcome.warnings);
    }
    say_failures(rim, outcome);
    code
}

/// The files are restored by then, so what could not be done is said beside the answer.
fn say_failures(rim: &Rim<'_>, outcome: &RestoreOutcome) {
    let way_on = "all else is restored; 'checkpoint undo' takes it back";
    let mut failures = databases::failures(&outcome.databases, way_on, rim.printer.err_paint());
    failures.push_str(&plan::unreadable(&outcome.plan, rim.printer.err_paint()));
    if !failures.is_empty() {
        rim.printer.failure(&failures);
    }
}
