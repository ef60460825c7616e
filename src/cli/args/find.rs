//! `checkpoint find`.

/// Find the checkpoints that hold or changed a path, or hold a text
#[derive(Clone, Debug, clap::Args)]
pub struct FindArgs {}
