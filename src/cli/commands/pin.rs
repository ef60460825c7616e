//! `pin` and `unpin`.

use crate::cli::args::pin::{PinArgs, UnpinArgs};
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn pin(_context: &Context, _rim: &Rim<'_>, _args: &PinArgs) -> Result<u8> {
    Err(Error::unexpected("pin is not there yet".to_owned()))
}

pub fn unpin(_context: &Context, _rim: &Rim<'_>, _args: &UnpinArgs) -> Result<u8> {
    Err(Error::unexpected("unpin is not there yet".to_owned()))
}
