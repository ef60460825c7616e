//! `relink`.

use crate::cli::args::relink::RelinkArgs;
use crate::cli::rim::Rim;
use crate::cli::{environment, exit_code};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::relink::{self as relink_op, RelinkOptions, Relinking};
use crate::view::{human, json};

pub fn relink(context: &Context, rim: &Rim<'_>, args: &RelinkArgs) -> Result<u8> {
    let old_root = environment::absolute(&args.old_path)?;
    let options = RelinkOptions { old_root, yes: rim.global.yes, dry_run: args.dry_run };
    let mut ask = |relinking: &Relinking<'_>| {
        rim.prompt.ask(&context.interrupt, human::relink::stake(relinking), &human::relink::question(relinking))
    };
    let outcome = relink_op::relink(context, &options, &mut ask)?;
    if rim.printer.json {
        rim.printer.result(&json::relink::relink(&outcome));
    } else {
        rim.say(&human::relink::relink(&outcome), &outcome.warnings);
    }
    Ok(exit_code::DONE)
}
