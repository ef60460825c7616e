//! `checkpoint pin` and `checkpoint unpin`.

/// Keep a checkpoint until it is unpinned
#[derive(Clone, Debug, clap::Args)]
pub struct PinArgs {}

/// Let a pinned checkpoint go the way of the others
#[derive(Clone, Debug, clap::Args)]
pub struct UnpinArgs {}
