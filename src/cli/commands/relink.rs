//! `relink`.

use crate::cli::args::relink::RelinkArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn relink(_context: &Context, _rim: &Rim<'_>, _args: &RelinkArgs) -> Result<u8> {
    Err(Error::unexpected("relink is not there yet".to_owned()))
}
