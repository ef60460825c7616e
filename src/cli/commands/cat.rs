//! `cat`.

use crate::cli::args::cat::CatArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn cat(_context: &Context, _rim: &Rim<'_>, _args: &CatArgs) -> Result<u8> {
    Err(Error::unexpected("cat is not there yet".to_owned()))
}
