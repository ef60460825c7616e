//! `find`.

use crate::cli::args::find::FindArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn find(_context: &Context, _rim: &Rim<'_>, _args: &FindArgs) -> Result<u8> {
    Err(Error::unexpected("find is not there yet".to_owned()))
}
