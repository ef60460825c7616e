//! `prune`.

use crate::cli::args::prune::PruneArgs;
use crate::cli::exit_code;
use crate::cli::rim::Rim;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::prune as prune_op;
use crate::view::{human, json};

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
