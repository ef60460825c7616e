//! `checkpoint guard`.

use std::ffi::OsString;

/// Tell whether a fresh and whole checkpoint covers a change
///
/// Exit 0 and its id on stdout if there is one; exit 4 if there is none, with
/// the command that makes one. Nothing is written.
#[derive(Clone, Debug, clap::Args)]
pub struct GuardArgs {
    /// What is to be changed (several; @FILE has one a line, - reads them)
    /// [default: anything]
    #[arg(long, value_name = "GLOB|PATH", allow_hyphen_values = true)]
    pub scope: Vec<OsString>,
    /// How old it may be [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub max_age: Option<String>,
}
