//! `checkpoint delete`.

use crate::ops::maintain::delete::DeleteOptions;
use crate::ops::maintain::delete_store::DeleteStoreOptions;

/// Delete checkpoints
///
/// The room of what only they held comes back at once. This cannot be taken
/// back. A damaged checkpoint can be named by its id; a pinned one must be
/// unpinned first.
#[derive(Clone, Debug, clap::Args)]
pub struct DeleteArgs {
    /// Ids, latest, latest~N, reasons, or times such as '10m ago'
    #[arg(value_name = "SEL", required_unless_present = "all", conflicts_with = "all")]
    pub selectors: Vec<String>,
    /// Remove the whole store of this directory, pins and all
    #[arg(long)]
    pub all: bool,
    /// With --all: also while an interrupted restore is waiting
    #[arg(long, requires = "all", conflicts_with = "selectors")]
    pub force: bool,
    /// Show what would go, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl DeleteArgs {
    pub fn resolve(&self, yes: bool) -> DeleteOptions {
        DeleteOptions { selectors: self.selectors.clone(), yes, dry_run: self.dry_run }
    }

    pub fn resolve_all(&self, yes: bool) -> DeleteStoreOptions {
        DeleteStoreOptions { yes, dry_run: self.dry_run, force: self.force }
    }
}
