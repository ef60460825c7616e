//! `completions` and `man`.

use crate::cli::args::shell::{CompletionsArgs, ManArgs};
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn completions(_context: &Context, _rim: &Rim<'_>, _args: &CompletionsArgs) -> Result<u8> {
    Err(Error::unexpected("completions is not there yet".to_owned()))
}

pub fn man(_context: &Context, _rim: &Rim<'_>, _args: &ManArgs) -> Result<u8> {
    Err(Error::unexpected("man is not there yet".to_owned()))
}
