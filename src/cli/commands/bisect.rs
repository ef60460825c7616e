//! `bisect`: the first checkpoint for which a command fails.

use crate::cli::args::bisect::BisectArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::browse::bisect as bisect_op;
use crate::ops::context::Context;
use crate::view::human::bisect as human;
use crate::view::json::bisect as json;

pub fn bisect(context: &Context, cmd: &CommandContext<'_>, args: &BisectArgs) -> Result<u8> {
    let children = cmd.children(context);
    let outcome = bisect_op::bisect(
        context,
        &args.into(),
        &mut |dir, scratch| children.program(&args.command, dir, scratch),
        &mut |tested| cmd.printer.talk(&human::tested(tested)),
    )?;
    let code = if outcome.first_bad().is_some() { exit_code::DONE } else { exit_code::PARTIAL };
    if cmd.printer.json {
        cmd.printer.result(&json::bisect(&outcome, code));
    } else {
        cmd.say(&human::bisect(&outcome), &outcome.warnings);
    }
    if code != exit_code::DONE {
        cmd.printer.failure(&human::undecided(&outcome, cmd.printer.err_paint()));
    }
    Ok(code)
}
