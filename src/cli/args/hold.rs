//! `checkpoint hold` and `checkpoint release`.

use crate::ops::contract::hold::HoldOptions;

/// Let nobody make a checkpoint until it is released
///
/// Between the two `create` refuses with exit 4. What a restore, an undo or a
/// redo records before it is made all the same. A hold ends by itself.
#[derive(Clone, Debug, clap::Args)]
pub struct HoldArgs {
    /// What is under way; taking it again renews it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// When it ends by itself, at most 24h [default: 30m]
    #[arg(long = "for", value_name = "TIME")]
    pub span: Option<String>,
}

/// End a hold
#[derive(Clone, Debug, clap::Args)]
pub struct ReleaseArgs {
    /// Which one [default: the only one that stands]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

impl From<&HoldArgs> for HoldOptions {
    fn from(args: &HoldArgs) -> Self {
        Self { name: args.name.clone(), span: args.span.clone() }
    }
}
