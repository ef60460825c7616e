//! `checkpoint pin` and `checkpoint unpin`.

use crate::ops::maintain::pin::PinOptions;

/// Keep a checkpoint until it is unpinned
#[derive(Clone, Debug, clap::Args)]
pub struct PinArgs {
    /// An id, latest, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", allow_hyphen_values = true)]
    pub selector: String,
}

/// Let a pinned checkpoint go the way of the others
#[derive(Clone, Debug, clap::Args)]
pub struct UnpinArgs {
    /// An id, latest, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", allow_hyphen_values = true)]
    pub selector: String,
}

impl From<&PinArgs> for PinOptions {
    fn from(args: &PinArgs) -> Self {
        Self { selector: args.selector.clone(), pin: true }
    }
}

impl From<&UnpinArgs> for PinOptions {
    fn from(args: &UnpinArgs) -> Self {
        Self { selector: args.selector.clone(), pin: false }
    }
}
