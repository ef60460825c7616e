//! `checkpoint relink`.

use std::path::PathBuf;

/// Bring the checkpoints of a moved project here
///
/// After a project was moved or renamed, its checkpoints are still kept under
/// the old path. This moves them here: ids, pins and what can be undone stay.
#[derive(Clone, Debug, clap::Args)]
pub struct RelinkArgs {
    /// Where the project was before
    #[arg(value_name = "OLD-PATH")]
    pub old_path: PathBuf,
    /// Tell what would be taken over, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}
