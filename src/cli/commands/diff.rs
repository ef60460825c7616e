//! `diff`.

use crate::cli::args::diff::DiffArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn diff(_context: &Context, _rim: &Rim<'_>, _args: &DiffArgs) -> Result<u8> {
    Err(Error::unexpected("diff is not there yet".to_owned()))
}
