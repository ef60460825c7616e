//! `verify`.

use crate::cli::args::verify::VerifyArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn verify(_context: &Context, _rim: &Rim<'_>, _args: &VerifyArgs) -> Result<u8> {
    Err(Error::unexpected("verify is not there yet".to_owned()))
}
