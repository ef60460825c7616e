//! `checkpoint create`.

use crate::ops::create::CreateOptions;
use crate::ops::gate::GateOptions;

/// Record the present state of the directory
///
/// Prints the id of the checkpoint, and nothing else, on stdout.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Why: what `list` shows and `restore` finds [default: manual]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Who asks, such as the name of a skill
    /// [default: `CHECKPOINT_SOURCE`, or cli]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// Checkpoints to keep, for this call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Make nothing above this number of files; 0 is no limit
    #[arg(long, value_name = "N")]
    pub max_files: Option<u64>,
    /// The session for which the size of the directory is judged once
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Judge the size again in this session
    #[arg(long)]
    pub recount: bool,
    /// Capture sensitive files too, all or those of a pattern
    #[arg(long, value_name = "GLOB", num_args = 0..=1, require_equals = true, default_missing_value = "*")]
    pub include_sensitive: Vec<String>,
    /// Take a root that is refused, and any number of files
    #[arg(long)]
    pub force: bool,
}

impl From<CreateArgs> for CreateOptions {
    fn from(args: CreateArgs) -> Self {
        Self {
            reason: args.reason,
            source: args.source,
            keep: args.keep.map(|keep| keep as usize),
            gate: GateOptions { max_files: args.max_files, session: args.session, recount: args.recount },
            force: args.force,
            include_sensitive: args.include_sensitive,
        }
    }
}
