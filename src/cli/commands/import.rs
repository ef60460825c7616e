//! `import`: adds the checkpoints of a git bundle.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, stdin};
use std::path::PathBuf;

use crate::base::text::escape_path;
use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::transfer::import::{self as import_op, ImportBundleOptions};
use crate::view::import as import_view;

/// Bytes read from a bundle at a time.
const READ_BYTES: usize = 1 << 20;

/// Add the checkpoints of a file made by export
///
/// Everything is checked first: a bad checkpoint is left out and named. Ids stay, what is here
/// already is passed over, and the order is that of the times. Files of the directory do not
/// change; 'checkpoint restore' brings them.
#[derive(Clone, Debug, clap::Args)]
pub struct ImportBundleArgs {
    /// The file to read, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Safety checkpoints of restores too
    #[arg(long)]
    pub safety: bool,
    /// Begin a store even for the home directory or a temporary folder
    #[arg(long)]
    pub force: bool,
}

impl RunCommand for ImportBundleArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let is_stream = self.file.as_os_str() == "-";
        let mut input: Box<dyn BufRead> = if !is_stream {
            let file = File::open(&self.file).map_err(Error::io("open", &self.file))?;
            Box::new(BufReader::with_capacity(READ_BYTES, file))
        } else if stdin().is_terminal() {
            return Err(Error::Usage {
                what: "standard input is a terminal, not a bundle".to_owned(),
            });
        } else {
            Box::new(BufReader::with_capacity(READ_BYTES, stdin()))
        };
        let options = ImportBundleOptions {
            name: if is_stream {
                "the bundle of standard input".to_owned()
            } else {
                format!("the bundle {}", escape_path(&self.file))
            },
            with_safety: self.safety,
            force: self.force,
        };
        let outcome = import_op::import(context, &options, &mut input)?;
        print_answer(
            cmd,
            || import_view::json(&outcome),
            || import_view::human(&outcome),
            &outcome.warnings,
        );
        Ok(exit_code::of_transfer(&outcome.warnings))
    }
}
