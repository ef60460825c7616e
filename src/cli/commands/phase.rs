//! `phase` and `task`.

use crate::cli::args::phase::{PhaseCommand, TaskCommand};
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::human::workflow as human;
use crate::view::json::workflow as json;
use crate::workflow::engine::step::{StepOptions, step};
use crate::workflow::engine::transition::StepOutcome;
use crate::workflow::engine::{phase_transitions as phase_op, report};
use crate::workflow::rules::change::Change;

pub fn phase(context: &Context, cmd: &CommandContext<'_>, command: &PhaseCommand) -> Result<u8> {
    let make = |options: StepOptions, change: Change| step(context, &options, &mut |_| Ok(change.clone()));
    let outcome = match command {
        PhaseCommand::Start(args) => phase_op::start(context, &args.into()),
        PhaseCommand::Done(args) => phase_op::done(context, &args.into()),
        PhaseCommand::Progress(args) => {
            let change = Change::Progress { phase: args.phase.clone(), text: args.text.clone() };
            make((&args.step).into(), change)
        }
        PhaseCommand::Fail(args) => {
            let (phase, error) = (args.phase.clone(), args.error.clone());
            make((&args.step).into(), Change::FailPhase { phase, error, is_final: args.is_final })
        }
        PhaseCommand::Skip(args) => {
            let change = Change::SkipPhase { phase: args.phase.clone(), reason: args.reason.clone() };
            make((&args.step).into(), change)
        }
        PhaseCommand::Approve(args) => make((&args.step).into(), Change::ApprovePhase { phase: args.phase.clone() }),
    };
    Ok(said(cmd, command.name(), &outcome?))
}

pub fn task(context: &Context, cmd: &CommandContext<'_>, command: &TaskCommand) -> Result<u8> {
    if let Some((args, change)) = command.change() {
        let outcome = step(context, &args.into(), &mut |_| Ok(change.clone()))?;
        return Ok(said(cmd, command.name(), &outcome));
    }
    let TaskCommand::List(args) = command else { return Ok(exit_code::DONE) };
    let status = report::status(context, args.workflow.as_deref(), false)?;
    if cmd.printer.json {
        cmd.printer.result(&json::tasks(&status, args.phase.as_deref()));
    } else {
        cmd.say(&human::listing::tasks(&status, args.phase.as_deref()), &status.warnings);
    }
    Ok(exit_code::DONE)
}

/// Tells a transition. It is recorded; a file that could not follow makes it partial.
pub fn said(cmd: &CommandContext<'_>, command: &str, outcome: &StepOutcome) -> u8 {
    let code = if outcome.is_partial { exit_code::PARTIAL } else { exit_code::DONE };
    if cmd.printer.json {
        cmd.printer.result(&json::step(command, outcome, code));
    } else {
        let begins = matches!(command, "workflow.init" | "workflow.import");
        let said = if begins { human::begun(outcome) } else { human::step(outcome) };
        cmd.say(&said, &outcome.warnings);
    }
    code
}
