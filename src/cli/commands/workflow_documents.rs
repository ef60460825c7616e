//! `workflow import`, `export`, `skeleton` and `shims`: documents and scripts for other programs.

use std::path::PathBuf;

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::commands::lists;
use crate::cli::commands::phase::{RunArgs, print_step};
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::workflow::{findings, json as runs_json, outcomes as workflow_view};
use crate::workflow::documents::shims;
use crate::workflow::engine::import_export::{self, ExportOptions, Exported, ImportOptions};

/// Make a run from a document of another program
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// Document: a file, or - for stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of the document [default: detected]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Type of the run, for a document that names none
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Project of the run, for a document that names none
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Keep it in the files of its format from now on
    #[arg(long)]
    pub keep_files: bool,
}

/// Write a run as a document of another program
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Format: phases, pipeline, registry, plan or state [default: its own]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Newest run of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Newest run of this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

/// Print the state of a pipeline without any plan
#[derive(Clone, Debug, clap::Args)]
pub struct SkeletonArgs {
    /// Branch of the work
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
}

/// Write the small scripts that skills call
#[derive(Clone, Debug, clap::Args)]
pub struct ShimsArgs {
    /// Folder for the scripts inside the directory, such as .claude/utils
    // `--dir` is the directory to act on, of every command.
    #[arg(long, value_name = "FOLDER")]
    pub into: PathBuf,
    /// Overwrite other files of these names
    #[arg(long)]
    pub force: bool,
}

pub fn import(context: &Context, cmd: &CommandContext<'_>, args: &ImportArgs) -> Result<u8> {
    let options = ImportOptions {
        bytes: lists::content(&args.file)?,
        profile: args.profile.clone(),
        kind: args.kind.clone(),
        project: args.project.clone(),
        keep_files: args.keep_files,
        actor: None,
    };
    Ok(print_step(
        cmd,
        "workflow.import",
        &import_export::import(context, &options)?,
    ))
}

pub fn export(context: &Context, cmd: &CommandContext<'_>, args: &ExportArgs) -> Result<u8> {
    let options = ExportOptions {
        run: args.run.name().map(str::to_owned),
        kind: args.kind.clone(),
        project: args.project.clone(),
        form: args.format.clone(),
    };
    let exported = import_export::export(context, &options)?;
    print_document(cmd, "workflow.export", &exported);
    cmd.printer.talk(&findings::conflicts(&exported.conflicts));
    cmd.warn(&exported.warnings);
    Ok(exit_code::DONE)
}

pub fn skeleton(context: &Context, cmd: &CommandContext<'_>, args: &SkeletonArgs) -> u8 {
    let text = import_export::skeleton(context, args.branch.as_deref());
    let document = Exported {
        text,
        conflicts: Vec::new(),
        warnings: Vec::new(),
    };
    print_document(cmd, "workflow.skeleton", &document);
    exit_code::DONE
}

pub fn shims(context: &Context, cmd: &CommandContext<'_>, args: &ShimsArgs) -> Result<u8> {
    let outcome = shims::shims(
        context,
        args.into.as_os_str().as_encoded_bytes(),
        args.force,
    )?;
    let code = if outcome.left.is_empty() {
        exit_code::DONE
    } else {
        exit_code::REFUSED
    };
    print_answer(
        cmd,
        || runs_json::shims(&outcome, code),
        || workflow_view::shims(&outcome),
        &[],
    );
    Ok(code)
}

fn print_document(cmd: &CommandContext<'_>, command: &str, document: &Exported) {
    if cmd.printer.json {
        cmd.printer.result(&runs_json::document(command, document));
    } else {
        cmd.printer.data(&document.text);
    }
}
