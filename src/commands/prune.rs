//! `prune`: drops surplus checkpoints, or orphaned stores.

use crate::answer::words::eviction_lines;
use crate::base::Malformed;
use crate::base::time::parse_span;
use crate::commands::args;
use crate::commands::prelude::*;
use crate::commands::stores;
use crate::model::{KeepReason, PolicyChange};
use crate::ops::maintain::prune::{beyond, prune};
use crate::ops::{KeepOptions, OrphansOutcome, PruneOutcome};

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
    /// Takes what was typed as consent to what it drops.
    fn agreed(self) -> KeepOptions {
        let number = |number: Option<u32>| number.map(|number| number as usize);
        let change = PolicyChange {
            keep: number(self.keep),
            keep_hourly: number(self.keep_hourly),
            keep_daily: number(self.keep_daily),
            keep_weekly: number(self.keep_weekly),
            keep_monthly: number(self.keep_monthly),
            keep_within: self.keep_within,
            keep_auto: number(self.keep_auto),
        };
        KeepOptions {
            change,
            agreed: None,
        }
    }

    /// As [`Self::agreed`], but on a terminal the user is shown what goes that the configured policy
    /// would keep, and asked.
    ///
    /// # Errors
    /// The answer was not yes.
    fn confirmed(self, context: &Context, cmd: &CommandContext<'_>) -> Result<KeepOptions> {
        let keep = self.agreed();
        let needs_plan = args::needs_plan(context);
        if !needs_plan && (cmd.global.yes || !cmd.prompt.is_at_terminal) {
            return Ok(keep);
        }
        let gone = beyond(context, &keep.change)?;
        if needs_plan && !gone.is_empty() {
            let what = "not confirmed: by the user's setting agent_restore, an agent drops no checkpoint that the configuration keeps";
            let next = "nothing was changed; 'checkpoint prune' drops the others";
            return Err(Error::new(Code::CONSENT_NEEDED, what).advise(next));
        }
        if !gone.is_empty() {
            let lines = eviction_lines("  drop", &gone);
            let what = format!("{} that the configuration keeps", checkpoints(gone.len()));
            let question = format!("{lines}Drop {what}? This cannot be taken back.");
            cmd.ask(context, &format!("drop {what}"), &question)?;
        }
        let agreed = Some(gone.iter().map(|gone| gone.checkpoint.id).collect());
        Ok(KeepOptions { agreed, ..keep })
    }
}

impl Command for PruneArgs {
    type Answer = Either<PruneOutcome, OrphansOutcome>;

    fn properties(&self) -> Properties {
        Properties {
            name: self.orphaned.then_some("prune.orphaned"),
            has_dry_run: true,
            left_by_a_signal: Some("'checkpoint prune' again frees the rest"),
            ..Properties::LONG
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>> {
        if self.orphaned {
            return Ok(stores::prune(context, cmd, self.dry_run)?.map(Either::Second));
        }
        let keep = if self.dry_run {
            self.keep.agreed()
        } else {
            self.keep.confirmed(context, cmd)?
        };
        let mut outcome = prune(context, &keep, self.dry_run)?;
        let warnings = std::mem::take(&mut outcome.warnings);
        Ok(Done::new(Either::First(outcome), warnings))
    }
}

impl Text for PruneOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if !self.exists {
            return out.no_store();
        }
        let (before, after) = (size(self.bytes_before), size(self.bytes_after));
        let drops_nothing = self.evicted.is_empty() && self.rows_removed == 0;
        let (did, evict) = if self.dry_run {
            ("Would prune", "would evict")
        } else {
            ("Pruned", "evicted")
        };
        if drops_nothing && (before == after || self.bytes_after >= self.bytes_before) {
            outln!(out, "Nothing to prune.");
        } else {
            let evicted = checkpoints(self.evicted.len());
            let rows = count(self.rows_removed, "row", "rows");
            // Packs that are merged may take still less.
            let most = if self.dry_run { "at most " } else { "" };
            outln!(out, "{did}: {evicted}, {rows}, {before} → {most}{after}");
        }
        out.talk.push_str(&eviction_lines(evict, &self.evicted));
        for kept in self.kept.iter().filter(|_| self.dry_run) {
            let rules: Vec<&str> = kept.rules.iter().map(KeepReason::into_str).collect();
            let rules = rules.join(", ").replace('_', " ");
            talkln!(out, "would keep {}: {rules}", kept.checkpoint.named());
        }
    }
}
