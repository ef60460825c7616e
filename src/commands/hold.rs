//! `hold` and `release`: keep checkpoints from being made for a while.

use crate::base::shell_word::shell_word;
use crate::base::time::utc_seconds;
use crate::commands::prelude::*;
use crate::ops::contract::hold::{hold, release};
use crate::ops::{HoldOutcome, ReleaseOutcome};

/// Refuse new checkpoints until the hold is released
///
/// Meanwhile `create` exits with 4; a restore, undo or redo still makes its safety checkpoint. A
/// hold expires by itself.
#[derive(Clone, Debug, clap::Args)]
pub struct HoldArgs {
    /// Name of the hold; taking it again renews it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Time until it expires by itself, at most 24h [default: 30m]
    #[arg(long = "for", value_name = "TIME")]
    pub span: Option<String>,
}

/// Release a hold
#[derive(Clone, Debug, clap::Args)]
pub struct ReleaseArgs {
    /// Name of the hold [default: the only one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

impl Command for HoldArgs {
    type Answer = HoldOutcome;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<HoldOutcome>> {
        hold(context, self.name, self.span.as_deref()).map(Done::from)
    }
}

impl Command for ReleaseArgs {
    type Answer = ReleaseOutcome;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<ReleaseOutcome>> {
        release(context, self.name.as_deref()).map(Done::from)
    }
}

impl Text for HoldOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let done = if self.renewed { "Renewed hold" } else { "Hold" };
        let name = shell_word(self.hold.name.as_bytes());
        let end = utc_seconds(self.hold.end_ms);
        outln!(out, "{done} {name} until {end} UTC.");
    }
}

impl Text for ReleaseOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if let Some(hold) = &self.hold {
            outln!(out, "Released {}.", shell_word(hold.name.as_bytes()));
        } else {
            talkln!(out, "no hold is active");
        }
    }
}
