//! `ls`: lists the files of a checkpoint.

use std::ffi::OsString;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::select_args::{GlobArgs, bytes_of};
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::cli::terminal::pager::PagerOutput;
use crate::config::settings::OwnFile;
use crate::error::Result;
use crate::ops::browse::ls::{self as ls_op, LsOptions};
use crate::ops::context::Context;
use crate::ops::restore::restore_paths;
use crate::ops::select::words::TypedWords;
use crate::view::ls;

/// List the files of a checkpoint
///
/// Without SEL it is @, where the directory stands. Paths are printed as restore and cat accept them in
/// the current directory. A directory is listed one level deep; names of directories end in /.
#[derive(Clone, Debug, clap::Args)]
pub struct LsArgs {
    /// A checkpoint (an id, @, latest~N, a reason, or a time), then paths; or SEL:PATH
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// List modes and sizes too
    #[arg(short, long)]
    pub long: bool,
    /// End each path with NUL and print it as it is, for 'restore @-'
    #[arg(short = 'z', conflicts_with = "long")]
    pub z: bool,
    /// List everything below, not only what is directly in a directory
    #[arg(short = 'R', long)]
    pub recursive: bool,
    #[command(flatten)]
    pub globs: GlobArgs,
    /// Only these files and directories; literal names, for patterns see --glob
    #[arg(value_name = "PATH", last = true)]
    pub paths: Vec<OsString>,
}

impl RunCommand for LsArgs {
    const OWN_FILE: OwnFile = OwnFile::MayBeBad;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let options = LsOptions {
            words: TypedWords {
                words: bytes_of(self.words),
                paths: bytes_of(self.paths),
                ..TypedWords::default()
            },
            globs: self.globs.resolve(),
            recursive: self.recursive,
            sizes: self.long || cmd.printer.json,
        };
        let outcome = ls_op::ls(context, &options)?;
        if cmd.printer.json {
            cmd.printer.result(&ls::json(&outcome));
            return Ok(exit_code::DONE);
        }
        let pager = context.environment.pager.as_deref();
        let mut output = PagerOutput::new(cmd.printer, pager, &context.interrupt);
        let from_here = |path: &_| restore_paths::from_here(&context.root, path);
        let _ = output.write(&ls::text(&outcome, &from_here, self.long, self.z))?;
        output.finish()?;
        if outcome.entries.is_empty() {
            cmd.printer.talk(&ls::nothing(&outcome));
        }
        cmd.warn(&outcome.warnings);
        Ok(exit_code::DONE)
    }
}
