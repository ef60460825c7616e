//! `completions` and `man`: what a shell and a reader of manuals need. Neither looks at a store.

use crate::cli::args::shell::{CompletionsArgs, ManArgs};
use crate::cli::rim::Rim;
use crate::error::{Error, Result};

pub fn completions(_rim: &Rim<'_>, _args: &CompletionsArgs) -> Result<u8> {
    Err(Error::unexpected("completions is not there yet".to_owned()))
}

pub fn man(_rim: &Rim<'_>, _args: &ManArgs) -> Result<u8> {
    Err(Error::unexpected("man is not there yet".to_owned()))
}
