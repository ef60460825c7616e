//! `prune`: drops surplus checkpoints, or orphaned stores.

use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::orphans::{self, OrphanOptions};
use crate::ops::maintain::prune::{self as prune_op, PruneOptions};
use crate::ops::maintain::stores::KnownStore;
use crate::view::words::Output;
use crate::view::{prune, stores as stores_view};

/// Drop checkpoints beyond the limits, and free their space
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct PruneArgs {
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Number of checkpoints to keep, in this call only [default: as configured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Remove the stores of directories that are gone, and damaged copies
    #[arg(long, conflicts_with = "keep")]
    pub orphaned: bool,
}

impl PruneArgs {
    pub fn resolve_orphaned(self, yes: bool) -> OrphanOptions {
        OrphanOptions {
            yes,
            dry_run: self.dry_run,
        }
    }
}

impl From<PruneArgs> for PruneOptions {
    fn from(args: PruneArgs) -> Self {
        Self {
            dry_run: args.dry_run,
            keep: args.keep.map(|keep| keep as usize),
        }
    }
}

impl RunCommand for PruneArgs {
    fn properties(&self) -> Properties {
        Properties {
            may_take_long: true,
            has_dry_run: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        if self.orphaned {
            return prune_orphaned(context, cmd, self);
        }
        let outcome = prune_op::prune(context, self.into())?;
        if cmd.printer.json {
            cmd.printer.result(&prune::json(&outcome));
            return Ok(exit_code::DONE);
        }
        if !outcome.exists {
            cmd.print_no_store(context);
        }
        cmd.print_output(&prune::human(&outcome), &outcome.warnings);
        Ok(exit_code::DONE)
    }
}

fn prune_orphaned(context: &Context, cmd: &CommandContext<'_>, args: PruneArgs) -> Result<u8> {
    let mut ask = |stores: &[KnownStore]| {
        let question = stores_view::question(stores, context.now_ms, cmd.printer.err_paint());
        cmd.prompt
            .ask(&context.interrupt, stores_view::stake(stores), &question)
    };
    let outcome =
        orphans::prune_orphaned(context, args.resolve_orphaned(cmd.global.yes), &mut ask)?;
    let code = exit_code::of_orphans(&outcome);
    if cmd.printer.json {
        cmd.printer
            .result(&stores_view::orphans_json(&outcome, code));
        return Ok(code);
    }
    let said = stores_view::orphans(&outcome, context.now_ms, cmd.printer.out_paint());
    if code == exit_code::DONE {
        cmd.print_output(&said, &outcome.warnings);
    } else {
        cmd.printer.failure(&said.talk);
        cmd.print_output(
            &Output {
                talk: String::new(),
                ..said
            },
            &outcome.warnings,
        );
    }
    Ok(code)
}
