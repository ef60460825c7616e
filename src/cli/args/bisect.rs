//! `checkpoint bisect`.

/// Find the first checkpoint for which a command fails
#[derive(Clone, Debug, clap::Args)]
pub struct BisectArgs {}
