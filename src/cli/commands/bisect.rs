//! `bisect`.

use crate::cli::args::bisect::BisectArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn bisect(_context: &Context, _rim: &Rim<'_>, _args: &BisectArgs) -> Result<u8> {
    Err(Error::unexpected("bisect is not there yet".to_owned()))
}
