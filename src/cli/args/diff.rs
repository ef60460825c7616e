//! `checkpoint diff`.

/// Show what differs between two checkpoints, or from the directory
#[derive(Clone, Debug, clap::Args)]
pub struct DiffArgs {}
