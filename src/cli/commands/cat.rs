//! `cat`: prints one file of a checkpoint.

use std::ffi::OsString;

use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::cli::terminal::printer::StdoutSink;
use crate::config::settings::OwnFile;
use crate::error::Result;
use crate::ops::browse::cat::{self as cat_op, CatOptions};
use crate::ops::context::Context;
use crate::view::cat as cat_view;

/// Print the content of one file of a checkpoint
///
/// SEL:PATH and SEL PATH mean the same; a PATH alone is that of the latest checkpoint. The last
/// colon that leaves an existing checkpoint and file counts. A symlink is printed as its target.
#[derive(Clone, Debug, clap::Args)]
pub struct CatArgs {
    /// Checkpoint, a colon, and a path relative to the root
    #[arg(value_name = "SEL:PATH", required_unless_present = "only")]
    pub what: Option<OsString>,
    /// Path, if the first word is a checkpoint alone
    #[arg(value_name = "PATH")]
    pub path: Option<OsString>,
    /// A path alone, no checkpoint
    #[arg(value_name = "PATH", last = true, conflicts_with = "path")]
    pub only: Option<OsString>,
}

impl CatArgs {
    pub fn resolve(&self) -> CatOptions {
        let path = self.only.as_ref().or(self.path.as_ref());
        let what = self.what.clone().unwrap_or_else(|| "latest".into());
        CatOptions {
            what: what.into_encoded_bytes(),
            path: path.cloned().map(OsString::into_encoded_bytes),
        }
    }
}

impl RunCommand for CatArgs {
    fn properties(&self) -> Properties {
        Properties {
            own_file: OwnFile::MayBeBad,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        if cmd.printer.json {
            let mut bytes = Vec::new();
            let outcome = cat_op::cat(context, &self.resolve(), &mut bytes)?;
            cmd.printer.result(&cat_view::json(&outcome, &bytes));
            return Ok(exit_code::DONE);
        }
        let mut sink = StdoutSink::new(cmd.printer);
        let outcome = cat_op::cat(context, &self.resolve(), &mut sink)?;
        sink.finish();
        cmd.warn(&outcome.warnings);
        Ok(exit_code::DONE)
    }
}
