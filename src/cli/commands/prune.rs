//! `prune`.

use crate::cli::args::prune::PruneArgs;
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::stores::KnownStore;
use crate::ops::maintain::{orphans, prune as prune_op};
use crate::view::human::{self, Said};
use crate::view::json;

pub fn prune(context: &Context, rim: &Rim<'_>, args: PruneArgs) -> Result<u8> {
    if args.orphaned {
        return prune_orphaned(context, rim, args);
    }
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

fn prune_orphaned(context: &Context, rim: &Rim<'_>, args: PruneArgs) -> Result<u8> {
    let mut ask = |stores: &[KnownStore]| {
        let question = human::stores::question(stores, context.now_ms, rim.printer.err_paint());
        rim.prompt.ask(&context.interrupt, human::stores::stake(stores), &question)
    };
    let outcome = orphans::prune_orphaned(context, args.resolve_orphaned(rim.global.yes), &mut ask)?;
    let code = exit_code::of_orphans(&outcome);
    if rim.printer.json {
        rim.printer.result(&json::stores::orphans(&outcome, code));
        return Ok(code);
    }
    let said = human::stores::orphans(&outcome, context.now_ms, rim.printer.out_paint());
    if code == exit_code::DONE {
        rim.say(&said, &outcome.warnings);
    } else {
        rim.printer.failure(&said.talk);
        rim.say(&Said { talk: String::new(), ..said }, &outcome.warnings);
    }
    Ok(code)
}
