//! `checkpoint verify`.

/// Check the store and every checkpoint in it
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {}
