//! `delete`.

use crate::cli::args::delete::DeleteArgs;
use crate::cli::rim::Rim;
use crate::error::{Error, Result};
use crate::ops::context::Context;

pub fn delete(_context: &Context, _rim: &Rim<'_>, _args: &DeleteArgs) -> Result<u8> {
    Err(Error::unexpected("delete is not there yet".to_owned()))
}
