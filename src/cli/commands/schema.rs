//! `schema`: prints a JSON Schema, or the names of all.

use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::run::RunAnywhere;
use crate::cli::schema;
use crate::config::environment::Environment;
use crate::error::sentence::Sentence;
use crate::error::{Code, Error, Result};

/// Print the JSON Schema of a document
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct SchemaArgs {
    /// Name of the document [default: list the names]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

impl RunAnywhere for SchemaArgs {
    fn run(self, cmd: &CommandContext<'_>, _: Environment) -> Result<u8> {
        let Some(name) = &self.name else {
            let listed = schema::names().join("\n");
            cmd.printer.result(&if cmd.printer.json {
                schema::json(None)
            } else {
                format!("{listed}\n")
            });
            return Ok(exit_code::DONE);
        };
        let text = schema::text(name).ok_or_else(|| {
            Error::new(
                Code::NOTHING_FOUND,
                format!("there is no schema named '{name}'"),
            )
            .next(Sentence::new("'checkpoint schema' lists them", &[]))
        })?;
        if cmd.printer.json {
            cmd.printer.result(&schema::json(Some(&text)));
        } else {
            cmd.printer.data(&text);
        }
        Ok(exit_code::DONE)
    }
}
