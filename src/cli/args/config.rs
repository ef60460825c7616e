//! `checkpoint config`.

/// Show each setting and where it came from
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigArgs {}
