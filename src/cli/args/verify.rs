//! `checkpoint verify`.

use crate::ops::maintain::verify::VerifyOptions;

/// Check the store and every checkpoint in it
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {
    /// Only this checkpoint
    #[arg(value_name = "SEL", conflicts_with = "repair")]
    pub selector: Option<String>,
    /// Read and hash every object
    #[arg(long)]
    pub full: bool,
    /// Mend what can be mended; what is damaged is kept beside
    #[arg(long)]
    pub repair: bool,
}

impl From<&VerifyArgs> for VerifyOptions {
    fn from(args: &VerifyArgs) -> Self {
        Self { selector: args.selector.clone(), full: args.full, repair: args.repair }
    }
}
