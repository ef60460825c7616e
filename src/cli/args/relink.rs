//! `checkpoint relink`.

/// Take over the checkpoints of this project from the place where it was
#[derive(Clone, Debug, clap::Args)]
pub struct RelinkArgs {}
