//! `checkpoint status`.

use crate::ops::browse::status::StatusOptions;

/// Say on one screen how things stand
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct StatusArgs {
    /// One line for prompts and skills, without looking at the files
    #[arg(long)]
    pub brief: bool,
}

impl From<StatusArgs> for StatusOptions {
    fn from(args: StatusArgs) -> Self {
        Self { brief: args.brief }
    }
}
