//! `schema`: a JSON Schema, or the names of those there are.

use crate::cli::args::schema::SchemaArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::error::{Error, Result};
use crate::view::schema;

pub fn schema(cmd: &CommandContext<'_>, args: &SchemaArgs) -> Result<u8> {
    let Some(name) = &args.name else {
        cmd.printer.result(&schema::names());
        return Ok(exit_code::DONE);
    };
    let text = schema::text(name).ok_or_else(|| Error::NothingFound {
        what: format!("there is no schema named '{name}'"),
        hint: "'checkpoint schema' lists them".to_owned(),
    })?;
    cmd.printer.data(text);
    Ok(exit_code::DONE)
}
