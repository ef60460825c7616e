//! `checkpoint completions` and `checkpoint man`.

/// Print the completion script for a shell
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsArgs {}

/// Print the manual page
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {}
