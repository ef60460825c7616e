//! `checkpoint delete`.

/// Delete checkpoints
#[derive(Clone, Debug, clap::Args)]
pub struct DeleteArgs {}
