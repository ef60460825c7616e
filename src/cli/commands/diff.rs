//! `diff`: a patch, a table of counts, or names.

use std::ffi::OsString;
use std::ops::ControlFlow;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::select_args::{GlobArgs, bytes_of};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::cli::terminal::pager::PagerOutput;
use crate::error::Result;
use crate::ops::browse::diff::compare::{self as diff_op, DiffOptions};
use crate::ops::browse::diff::file_diff::{Detail, PatchOptions};
use crate::ops::context::Context;
use crate::ops::restore::restore_paths;
use crate::ops::select::words::TypedWords;
use crate::view::patch::{self, PatchStyle};
use crate::view::{diff as diff_view, diffstat, words};

/// Compare two checkpoints, or a checkpoint with the directory
///
/// Without SEL, compares @, where it stands, with the directory; with one SEL, that checkpoint
/// with the directory; with two, the first with the second. PATHs follow, or SEL:PATH; a word that
/// could be both is a checkpoint, and a path behind --.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct DiffArgs {
    /// Up to two checkpoints (an id, @, latest~N, a reason, or a time), then paths
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// Only these files and directories; literal names, for patterns see --glob
    #[arg(value_name = "PATH", last = true)]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub globs: GlobArgs,
    /// Show the number of added and deleted lines of each file
    #[arg(long, group = "form")]
    pub stat: bool,
    /// Show only the names of the files that differ
    #[arg(long, group = "form")]
    pub name_only: bool,
    /// Show only the names, with A, D, M or T for the kind of change
    #[arg(long, group = "form")]
    pub name_status: bool,
    /// Exit with 1 if there are differences, and with 128 on failure
    #[arg(long)]
    pub exit_code: bool,
    /// Include binary content in the patch, for 'git apply'
    #[arg(long)]
    pub binary: bool,
    /// Number of unchanged lines around each change [default: 3]
    #[arg(short = 'U', long, value_name = "N")]
    pub unified: Option<u32>,
    /// End each name with NUL and print it as it is, for 'restore @-'
    #[arg(short = 'z', requires = "form", conflicts_with = "stat")]
    pub z: bool,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffForm {
    Patch,
    Stat,
    NameOnly,
    NameStatus,
    Json,
}

impl DiffArgs {
    pub fn form(&self, json: bool) -> DiffForm {
        match self {
            _ if json => DiffForm::Json,
            Self { stat: true, .. } => DiffForm::Stat,
            Self {
                name_only: true, ..
            } => DiffForm::NameOnly,
            Self {
                name_status: true, ..
            } => DiffForm::NameStatus,
            _ => DiffForm::Patch,
        }
    }

    pub fn resolve(&self, form: DiffForm) -> DiffOptions {
        let has_patch = self.binary || self.unified.is_some();
        let detail = match form {
            DiffForm::Patch => Detail::Patch,
            DiffForm::Json if has_patch => Detail::Patch,
            DiffForm::Stat | DiffForm::Json => Detail::Counts,
            DiffForm::NameOnly | DiffForm::NameStatus => Detail::Names,
        };
        DiffOptions {
            words: TypedWords {
                words: bytes_of(self.words.clone()),
                paths: bytes_of(self.paths.clone()),
                ..TypedWords::default()
            },
            globs: self.globs.clone().resolve(),
            patch: PatchOptions {
                detail,
                context: self.unified.unwrap_or(3),
                binary: self.binary,
            },
        }
    }
}

impl RunCommand for DiffArgs {
    fn properties(&self) -> Properties {
        let failure_code = if self.exit_code {
            exit_code::FAILED_TO_COMPARE
        } else {
            exit_code::FAILED
        };
        Properties {
            may_take_long: true,
            failure_code,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let form = self.form(cmd.printer.json);
        let style = PatchStyle {
            paint: cmd.printer.out_paint(),
            is_for_terminal: cmd.printer.for_a_person(),
        };
        let chosen = context.environment.pager.as_deref();
        let mut output = PagerOutput::new(cmd.printer, chosen, &context.interrupt);
        let (options, mut patch) = (self.resolve(form), Vec::new());
        let mut receiver = |file: &_| {
            let part = patch::render(file, style);
            if form != DiffForm::Json {
                return output.write(&part);
            }
            patch.extend(part);
            Ok(ControlFlow::Continue(()))
        };
        let outcome = diff_op::diff(context, &options, &mut receiver)?;
        let code = exit_code::of_diff(&outcome, self.exit_code);
        let failure = outcome.failure();
        let from_here = |path: &_| restore_paths::from_here(&context.root, path);
        let names = |letters| diff_view::names(&outcome.files, &from_here, letters, self.z);
        let text = match form {
            DiffForm::Patch => Vec::new(),
            DiffForm::Stat => diffstat::render(&outcome.files, style.paint).into(),
            DiffForm::NameOnly => names(false),
            DiffForm::NameStatus => names(true),
            DiffForm::Json => {
                let patch = (options.patch.detail == Detail::Patch).then_some(&*patch);
                diff_view::json(&outcome, patch, code, failure.as_ref()).into()
            }
        };
        let _ = output.write(&text)?;
        output.finish()?;
        cmd.printer.failure(&diff_view::missing(&outcome));
        cmd.printer
            .talk(&diff_view::talk(&outcome, cmd.global.verbose));
        cmd.warn(&outcome.warnings);
        if let Some(failure) = failure {
            cmd.printer
                .failure(&words::error(&failure, cmd.printer.err_paint()));
        }
        Ok(code)
    }
}
