//! `prune`.

use crate::cli::args::prune::PruneArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::stores::KnownStore;
use crate::ops::maintain::{orphans, prune as prune_op};
use crate::view::human::{self, Output};
use crate::view::json;

pub fn prune(context: &Context, cmd: &CommandContext<'_>, args: PruneArgs) -> Result<u8> {
    if args.orphaned {
        return prune_orphaned(context, cmd, args);
    }
    let outcome = prune_op::prune(context, args.into())?;
    if cmd.printer.json {
        cmd.printer.result(&json::prune(&outcome));
        return Ok(exit_code::DONE);
    }
    if !outcome.exists {
        cmd.tell_no_store(context);
    }
    cmd.say(&human::prune(&outcome), &outcome.warnings);
    Ok(exit_code::DONE)
}

fn prune_orphaned(context: &Context, cmd: &CommandContext<'_>, args: PruneArgs) -> Result<u8> {
    let mut ask = |stores: &[KnownStore]| {
        let question = human::stores::question(stores, context.now_ms, cmd.printer.err_paint());
        cmd.prompt.ask(&context.interrupt, human::stores::stake(stores), &question)
    };
    let outcome = orphans::prune_orphaned(context, args.resolve_orphaned(cmd.global.yes), &mut ask)?;
    let code = exit_code::of_orphans(&outcome);
    if cmd.printer.json {
        cmd.printer.result(&json::stores::orphans(&outcome, code));
        return Ok(code);
    }
    let said = human::stores::orphans(&outcome, context.now_ms, cmd.printer.out_paint());
    if code == exit_code::DONE {
        cmd.say(&said, &outcome.warnings);
    } else {
        cmd.printer.failure(&said.talk);
        cmd.say(&Output { talk: String::new(), ..said }, &outcome.warnings);
    }
    Ok(code)
}
