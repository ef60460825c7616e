//! `relink`.

use crate::cli::args::relink::RelinkArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::{environment, exit_code};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::relink::{self as relink_op, RelinkOptions, Relinking};
use crate::view::{human, json};

pub fn relink(context: &Context, cmd: &CommandContext<'_>, args: &RelinkArgs) -> Result<u8> {
    let old_root = environment::absolute(&args.old_path)?;
    let options = RelinkOptions { old_root, yes: cmd.global.yes, dry_run: args.dry_run };
    let mut ask = |relinking: &Relinking<'_>| {
        cmd.prompt.ask(&context.interrupt, human::relink::stake(relinking), &human::relink::question(relinking))
    };
    let outcome = relink_op::relink(context, &options, &mut ask)?;
    if cmd.printer.json {
        cmd.printer.result(&json::relink::relink(&outcome));
    } else {
        cmd.say(&human::relink::relink(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
