//! `show`: prints one checkpoint, through a pager on a terminal.

use std::ffi::OsString;
use std::ops::ControlFlow;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::select_args::bytes_of;
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::cli::terminal::pager::PagerOutput;
use crate::error::Result;
use crate::ops::browse::diff::compare::{self, DiffOutcome};
use crate::ops::browse::diff::file_diff::{Detail, FileDiff, PatchOptions};
use crate::ops::browse::list::{self as list_op, ShowOutcome};
use crate::ops::context::Context;
use crate::ops::select::words::TypedWords;
use crate::view::patch::{self, PatchStyle};
use crate::view::show::{self, ShownMore};
use crate::view::{diff as diff_view, diffstat, words};

/// Show one checkpoint: what it holds and what changed in it
///
/// The changes are those since the checkpoint before it. The values of --state are shown too.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct ShowArgs {
    /// A checkpoint (an id, @, latest~N, a reason, or a time), then paths; or SEL:PATH [default: @]
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// Only the changes of these files and directories
    #[arg(value_name = "PATH", last = true)]
    pub only: Vec<OsString>,
    /// Show the changes as a patch
    #[arg(short, long, group = "form")]
    pub patch: bool,
    /// Show the number of added and deleted lines of each changed file
    #[arg(long, group = "form")]
    pub stat: bool,
    /// List all files that it holds, instead of the changes
    #[arg(long, group = "form")]
    pub files: bool,
}

impl RunCommand for ShowArgs {
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let words = TypedWords {
            words: bytes_of(self.words.clone()),
            paths: bytes_of(self.only.clone()),
            ..TypedWords::default()
        };
        let outcome = list_op::show(context, &words)?;
        if cmd.printer.json {
            return self.json(context, cmd, &outcome);
        }
        let mut output = PagerOutput::new(
            cmd.printer,
            context.environment.pager.as_deref(),
            &context.interrupt,
        );
        let head = show::head(&outcome, context.now_ms);
        let mut code = exit_code::DONE;
        if self.files {
            let files = list_op::files(context, &outcome.checkpoint)?;
            let text = format!("{head}\n{}", show::files(&files));
            let _ = output.write(text.as_bytes())?;
        } else {
            let text = head + &show::against(&outcome);
            let _ = output.write(text.as_bytes())?;
            if self.patch || self.stat {
                code = self.compare(context, cmd, &outcome, &mut output)?;
            } else {
                let _ = output.write(show::changes(&outcome).as_bytes())?;
            }
        }
        output.finish()?;
        cmd.warn(&outcome.warnings);
        Ok(code)
    }
}

impl ShowArgs {
    /// Compares with the checkpoint before it and hands on the patch, file by file.
    fn changes(
        &self,
        context: &Context,
        cmd: &CommandContext<'_>,
        shown: &ShowOutcome,
        write: &mut dyn FnMut(Vec<u8>) -> Result<ControlFlow<()>>,
    ) -> Result<DiffOutcome> {
        let style = PatchStyle {
            paint: cmd.printer.out_paint(),
            is_for_terminal: cmd.printer.for_a_person(),
        };
        let detail = if self.patch {
            Detail::Patch
        } else {
            Detail::Counts
        };
        let options = PatchOptions {
            detail,
            context: 3,
            binary: false,
        };
        let (before, checkpoint) = (shown.before.as_ref(), &shown.checkpoint);
        let mut receiver = |file: &FileDiff| write(patch::render(file, style));
        compare::changes_of(
            context,
            before,
            checkpoint,
            &shown.paths,
            options,
            &mut receiver,
        )
    }

    /// Prints one object, with what the options ask for.
    fn json(&self, context: &Context, cmd: &CommandContext<'_>, shown: &ShowOutcome) -> Result<u8> {
        let mut more = ShownMore::default();
        if self.files {
            more.files = Some(list_op::files(context, &shown.checkpoint)?);
        }
        if self.patch || self.stat {
            let mut text = Vec::new();
            let mut write = |part: Vec<u8>| {
                text.extend(part);
                Ok(ControlFlow::Continue(()))
            };
            more.compared = Some(self.changes(context, cmd, shown, &mut write)?);
            more.patch = self.patch.then_some(text);
        }
        let compared = more.compared.as_ref();
        let code = compared.map_or(exit_code::DONE, |compared| {
            exit_code::of_diff(compared, false)
        });
        cmd.printer.result(&show::json(shown, &more, code));
        Ok(code)
    }

    /// Writes the changes with their lines; returns the exit code.
    fn compare(
        &self,
        context: &Context,
        cmd: &CommandContext<'_>,
        shown: &ShowOutcome,
        output: &mut PagerOutput,
    ) -> Result<u8> {
        let paint = cmd.printer.out_paint();
        let mut write = |text: Vec<u8>| output.write(&text);
        let compared = self.changes(context, cmd, shown, &mut write)?;
        if self.stat {
            let _ = output.write(diffstat::render(&compared.files, paint).as_bytes())?;
        }
        cmd.printer.failure(&diff_view::missing(&compared));
        if let Some(failure) = compared.failure() {
            let paint = cmd.printer.err_paint();
            cmd.printer.failure(&words::error(&failure, paint));
        }
        Ok(exit_code::of_diff(&compared, false))
    }
}
