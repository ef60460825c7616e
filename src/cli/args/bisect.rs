//! `checkpoint bisect`.

use std::ffi::OsString;

use crate::ops::browse::bisect::BisectOptions;

/// Find the first checkpoint for which a command fails
///
/// The command is run in copies of the checkpoints between GOOD and BAD; this
/// directory is not touched. Exit 0 means good, 125 cannot tell, 1 to 124 bad;
/// anything else, and a signal, ends the search.
#[derive(Clone, Debug, clap::Args)]
pub struct BisectArgs {
    /// A checkpoint for which the command succeeds
    #[arg(value_name = "GOOD")]
    pub good: String,
    /// A later one for which it fails
    #[arg(value_name = "BAD")]
    pub bad: String,
    /// The command and its arguments, behind --
    #[arg(value_name = "CMD", last = true, required = true)]
    pub command: Vec<OsString>,
}

impl From<&BisectArgs> for BisectOptions {
    fn from(args: &BisectArgs) -> Self {
        Self { good: args.good.clone(), bad: args.bad.clone() }
    }
}
