//! `guard`: the id alone on stdout, or the refusal that an orchestrator heeds.

use crate::cli::args::guard::GuardArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::{exit_code, lists};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::contract::guard::{self as guard_op, GuardOptions};
use crate::view::{human, json};

pub fn guard(context: &Context, cmd: &CommandContext<'_>, args: GuardArgs) -> Result<u8> {
    let scope = (!args.scope.is_empty()).then(|| lists::expand(&args.scope)).transpose()?;
    let outcome = guard_op::guard(context, &GuardOptions { scope, max_age: args.max_age })?;
    if cmd.printer.json {
        cmd.printer.result(&json::guard::guard(&outcome));
    } else {
        cmd.say(&human::guard::guard(&outcome, context.now_ms), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
