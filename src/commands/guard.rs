//! `guard`: prints the id alone on stdout, or refuses with a distinct exit code.

use std::ffi::OsString;

use crate::base::cut_list::and_more;
use crate::base::time::age;
use crate::commands::args;
use crate::commands::prelude::*;
use crate::ops::GuardOutcome;
use crate::ops::contract::guard::guard;

/// Maximum number of paths of a scope that are named.
const NAMED_PARTS: usize = 5;

/// Check that a recent and complete checkpoint covers a change
///
/// Prints its id if there is one; else exits with 4 and names the command that makes one. Nothing
/// is written.
#[derive(Clone, Debug, clap::Args)]
pub struct GuardArgs {
    /// Path or pattern that is about to change (repeatable; @FILE reads a list, - reads stdin)
    /// [default: anything]
    #[arg(long, value_name = "GLOB|PATH", allow_hyphen_values = true)]
    pub scope: Vec<OsString>,
    /// Maximum age of the checkpoint [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub max_age: Option<String>,
    /// Also require that the checkpoint holds the files as they are now
    #[arg(long)]
    pub exact: bool,
}

impl Command for GuardArgs {
    type Answer = GuardOutcome;
    const TRAITS: Properties = Properties::USUAL;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<GuardOutcome>> {
        let scope = (!self.scope.is_empty())
            .then(|| args::expand(&self.scope))
            .transpose()?;
        let (scope, max_age) = (scope.as_deref(), self.max_age.as_deref());
        guard(context, scope, max_age, self.exact).map(Done::from)
    }
}

impl Text for GuardOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let what = match &self.scope {
            Some(parts) => format!("{} only", and_more(parts, NAMED_PARTS)),
            None => "the whole directory".to_owned(),
        };
        let reason = escape(&self.checkpoint.record.reason);
        outln!(out, "{}", self.checkpoint.id.short());
        let age = age(-self.age_ms, 0);
        talkln!(out, "covered by '{reason}' ({what}, {age} old)");
    }
}
