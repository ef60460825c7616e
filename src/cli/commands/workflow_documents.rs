//! `workflow import` and `export`: documents of other programs.

use std::path::PathBuf;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::lists;
use crate::cli::commands::phase::{RunArgs, print_step};
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::workflow::{findings, json as runs_json};
use crate::workflow::engine::import_export::{self, ExportOptions, ImportOptions};

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
    if cmd.printer.json {
        cmd.printer.result(&runs_json::document(&exported));
    } else {
        cmd.printer.data(&exported.text);
    }
    cmd.printer.talk(&findings::conflicts(&exported.conflicts));
    cmd.warn(&exported.warnings);
    Ok(exit_code::DONE)
}
