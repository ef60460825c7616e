//! `checkpoint list` and `checkpoint show`.

use clap::ValueEnum;

use crate::base::time;
use crate::error::{Error, Result};
use crate::model::checkpoint::record::CheckpointKind;
use crate::ops::browse::list::ListOptions;

/// List the checkpoints, newest first
///
/// Piped, this is a markdown table that stays the same byte for byte.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Only reasons that match this pattern of * and ?
    #[arg(long, value_name = "GLOB")]
    pub reason: Option<String>,
    /// Only checkpoints of this source
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,
    /// Only those made since, such as '2h ago' or 2026-03-24T12:45
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only those of one kind
    #[arg(long)]
    pub kind: Option<KindArg>,
    /// List the stores of all directories, with what has become of them
    #[arg(long, conflicts_with_all = ["limit", "reason", "source", "since", "kind"])]
    pub all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    Checkpoint,
    Safety,
}

impl ListArgs {
    /// # Errors
    /// A `--since` that is no time.
    pub fn resolve(self, now_ms: i64) -> Result<ListOptions> {
        let since_ms = match &self.since {
            None => None,
            Some(text) => Some(time::parse(text, now_ms).ok_or_else(|| Error::Usage {
                what: format!("--since '{text}' is no time; '2h ago' and 2026-03-24T12:45 are"),
            })?),
        };
        let kind = self.kind.map(|kind| match kind {
            KindArg::Checkpoint => CheckpointKind::Regular,
            KindArg::Safety => CheckpointKind::Safety,
        });
        Ok(ListOptions { limit: self.limit, reason: self.reason, source: self.source, since_ms, kind })
    }
}

/// Show one checkpoint: what it holds and what changed in it
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// An id, latest, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", allow_hyphen_values = true)]
    pub selector: String,
}
