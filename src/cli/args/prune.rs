//! `checkpoint prune`.

use crate::ops::maintain::orphans::OrphanOptions;
use crate::ops::maintain::prune::PruneOptions;

/// Drop what is over the number to keep, and give its room back
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct PruneArgs {
    /// Tell what would go, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Checkpoints to keep, for this call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Remove the stores of directories that are gone, and damaged copies
    #[arg(long, conflicts_with = "keep")]
    pub orphaned: bool,
}

impl PruneArgs {
    pub fn resolve_orphaned(self, yes: bool) -> OrphanOptions {
        OrphanOptions { yes, dry_run: self.dry_run }
    }
}

impl From<PruneArgs> for PruneOptions {
    fn from(args: PruneArgs) -> Self {
        Self { dry_run: args.dry_run, keep: args.keep.map(|keep| keep as usize) }
    }
}
