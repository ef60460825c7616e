//! `config`.

use crate::cli::args::config::ConfigArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn config(_context: &Context, _rim: &Rim<'_>, _args: &ConfigArgs) -> Result<u8> {
    Err(Error::unexpected("config is not there yet".to_owned()))
}
