//! `checkpoint cat`.

/// Print the bytes of one file of a checkpoint
#[derive(Clone, Debug, clap::Args)]
pub struct CatArgs {}
