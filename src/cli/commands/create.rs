//! `create`: the id alone on stdout, or the contract; everything else beside it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::cli::args::create::CreateArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::contract::Words;
use crate::cli::{exit_code, lists};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::contract::create_contract as contract_op;
use crate::ops::create::command::{self as create_op, CreateOutcome};
use crate::view::contract::{self as contract_view, ContractDocument, ContractForm};
use crate::view::{human, json};

/// Longest tidying up after an id was printed.
const TIDY_TIME: Duration = Duration::from_millis(200);

/// `made` tells whether a checkpoint was recorded, whatever came after.
pub fn create(context: &Context, cmd: &CommandContext<'_>, args: CreateArgs, made: &mut bool) -> Result<u8> {
    let scope = (!args.scope.is_empty()).then(|| lists::expand(&args.scope)).transpose()?;
    let state = args.state_file.as_deref().map(lists::content).transpose()?;
    let (wants, has_reason) = (args.contract, args.reason.is_some());
    let options = args.into_options(scope, state);
    let mut code = Ok(exit_code::DONE);
    let told_at = Cell::new(None);
    let mut tell = |outcome: &CreateOutcome| {
        let document = wants.contract.then(|| contract(context, cmd, outcome, has_reason)).transpose();
        code = document.and_then(|document| told(context, cmd, outcome, document.as_ref(), wants.into()));
        *made = outcome.checkpoint.is_some() && outcome.skipped.is_none();
        told_at.set(Some(Instant::now()));
    };
    let out_of_time = || told_at.get().is_some_and(|told| told.elapsed() > TIDY_TIME);
    let later = create_op::create(context, &options, &mut tell, &out_of_time)?;
    cmd.warn(&later);
    cmd.warn_late(&later);
    code
}

fn told(
    context: &Context,
    cmd: &CommandContext<'_>,
    outcome: &CreateOutcome,
    contract: Option<&ContractDocument>,
    form: ContractForm,
) -> Result<u8> {
    // What cannot be read back right after it was made is no checkpoint to rely on.
    let is_proven = contract.is_none_or(ContractDocument::is_proven);
    let code = if is_proven { exit_code::of_create(outcome) } else { exit_code::DAMAGED };
    if cmd.printer.json {
        cmd.printer.result(&json::create(outcome, &context.store_dir()?, code, contract));
        return Ok(code);
    }
    let mut said = human::create(outcome, cmd.started.elapsed().as_millis());
    if let Some(contract) = contract {
        said.result = contract.text(form);
    }
    cmd.say(&said, &outcome.warnings);
    cmd.insist(outcome);
    Ok(code)
}

fn contract(
    context: &Context,
    cmd: &CommandContext<'_>,
    outcome: &CreateOutcome,
    has_reason: bool,
) -> Result<ContractDocument> {
    let words = Words::of(context, cmd);
    let call = words.call(context);
    if let Some(contract) = contract_op::of_create(context, outcome, has_reason)? {
        return Ok(contract_view::document(&contract, &call));
    }
    let why: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
    Ok(contract_view::nothing_made(&why.join("; "), call.anchor))
}
