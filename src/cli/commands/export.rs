//! `export`: writes checkpoints into a git bundle.

use std::path::PathBuf;

use crate::cli::command_context::CommandContext;
use crate::cli::run::RunCommand;
use crate::cli::terminal::printer::StdoutSink;
use crate::cli::{environment, exit_code};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::transfer::export::{self as export_op, ExportBundleOptions, ExportTarget};
use crate::view::export as export_view;

/// Write checkpoints into a file that another machine can import
///
/// The file is a git bundle: `git bundle verify` checks it, `git clone` reads it. It has the files,
/// metas, pins and scopes of the checkpoints, and without SEL all workflows. It is not encrypted.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportBundleArgs {
    /// Checkpoints [default: all but safety checkpoints]
    #[arg(value_name = "SEL")]
    pub selectors: Vec<String>,
    /// The file to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Only what came after this checkpoint, which the other side has
    #[arg(long, value_name = "SEL")]
    pub since: Option<String>,
    /// Safety checkpoints of restores too
    #[arg(long)]
    pub safety: bool,
    /// Also those that keep the text of a prompt
    #[arg(long)]
    pub with_prompts: bool,
}

impl RunCommand for ExportBundleArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let is_stream = self.output.as_os_str() == "-";
        if is_stream && (cmd.printer.json || cmd.printer.for_a_person()) {
            let reader = if cmd.printer.json {
                "JSON"
            } else {
                "a terminal"
            };
            return Err(Error::Usage {
                what: format!("the bundle cannot go to standard output together with {reader}"),
            });
        }
        let options = ExportBundleOptions {
            selectors: self.selectors,
            since: self.since,
            with_safety: self.safety,
            with_prompts: self.with_prompts,
            host: environment::host_name(),
        };
        let mut sink = StdoutSink::new(cmd.printer);
        let target = if is_stream {
            ExportTarget::Stream(&mut sink)
        } else {
            ExportTarget::File(environment::absolute(&self.output)?)
        };
        let outcome = export_op::export(context, &options, target)?;
        if cmd.printer.json {
            let document = export_view::json(&outcome, &self.output);
            cmd.printer.result(&document);
        } else if is_stream {
            sink.finish();
            cmd.printer
                .talk(&export_view::human(&outcome, &self.output).result);
            cmd.warn(&outcome.warnings);
        } else {
            let said = export_view::human(&outcome, &self.output);
            cmd.print_output(&said, &outcome.warnings);
        }
        Ok(exit_code::of_transfer(&outcome.warnings))
    }
}
