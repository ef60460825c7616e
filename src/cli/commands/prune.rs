//! `prune`: drops surplus checkpoints, or orphaned stores.

use crate::base::malformed::Malformed;
use crate::base::time::parse_span;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::model::checkpoint::keep_policy::PolicyChange;
use crate::ops::context::Context;
use crate::ops::create::apply_retention::KeepOptions;
use crate::ops::maintain::orphans;
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
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Remove the stores of directories that are gone, and damaged copies
    #[arg(long, conflicts_with = "KeepArgs")]
    pub orphaned: bool,
}

/// What to keep, in this call only; what is not given is as configured.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct KeepArgs {
    /// Number of last checkpoints to keep [default: as configured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Also keep the last checkpoint of each of the last N hours that have one
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub keep_hourly: Option<u32>,
    /// … of the last N days
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub keep_daily: Option<u32>,
    /// … of the last N weeks
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub keep_weekly: Option<u32>,
    /// … of the last N months
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub keep_monthly: Option<u32>,
    /// Also keep those made within this time before the newest, such as 7d
    #[arg(long, value_name = "TIME", hide_short_help = true, value_parser = duration)]
    pub keep_within: Option<i64>,
    /// Automatic checkpoints (hooks, phases) to keep
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_auto: Option<u32>,
}

fn duration(typed: &str) -> std::result::Result<i64, Malformed> {
    parse_span(typed).ok_or_else(|| "write a duration such as 36h, 7d or 4w".into())
}

impl KeepArgs {
    fn change(self) -> PolicyChange {
        let number = |number: Option<u32>| number.map(|number| number as usize);
        PolicyChange {
            last: number(self.keep),
            hourly: number(self.keep_hourly),
            daily: number(self.keep_daily),
            weekly: number(self.keep_weekly),
            monthly: number(self.keep_monthly),
            within_ms: self.keep_within,
            auto: number(self.keep_auto),
        }
    }

    /// Takes what was typed as consent to what it drops.
    fn agreed(self) -> KeepOptions {
        KeepOptions {
            change: self.change(),
            ..KeepOptions::default()
        }
    }

    /// As [`Self::agreed`], but on a terminal the user is shown what goes that the configured policy
    /// would keep, and asked.
    ///
    /// # Errors
    /// The answer was not yes.
    fn confirmed(self, context: &Context, cmd: &CommandContext<'_>) -> Result<KeepOptions> {
        let keep = self.agreed();
        if cmd.global.yes || !cmd.prompt.may_ask {
            return Ok(keep);
        }
        let gone = prune_op::beyond(context, &keep.change)?;
        if !gone.is_empty() {
            let question = prune::question(&gone);
            cmd.prompt
                .ask(&context.interrupt, String::new(), &question)?;
        }
        let agreed = Some(gone.iter().map(|gone| gone.checkpoint.id).collect());
        Ok(KeepOptions { agreed, ..keep })
    }
}

impl RunCommand for PruneArgs {
    const MAY_TAKE_LONG: bool = true;
    const HAS_DRY_RUN: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        if self.orphaned {
            return prune_orphaned(context, cmd, self);
        }
        let dry_run = self.dry_run;
        let keep = if dry_run {
            self.keep.agreed()
        } else {
            self.keep.confirmed(context, cmd)?
        };
        let outcome = prune_op::prune(context, &PruneOptions { dry_run, keep })?;
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
    let outcome = orphans::prune_orphaned(context, cmd.global.yes, args.dry_run, &mut ask)?;
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
