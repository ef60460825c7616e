//! `export`: writes checkpoints into a git bundle.

use std::path::{Path, PathBuf};

use crate::commands::prelude::*;
use crate::commands::remote::transferred;
use crate::ops::transfer::bundle::{ExportTarget, export};
use crate::ops::{ExportBundleOptions, ExportOutcome};
use crate::shell::StdoutSink;

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

impl Command for ExportBundleArgs {
    type Answer = ExportOutcome;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<ExportOutcome>> {
        let is_stream = is_stdout(cmd, &self.output, "bundle")?;
        let options = ExportBundleOptions {
            selectors: self.selectors,
            since: self.since,
            with_safety: self.safety,
            with_prompts: self.with_prompts,
            host: environment::host_name(),
            ..ExportBundleOptions::default()
        };
        let mut sink = StdoutSink::new(cmd.printer.clone());
        let target = if is_stream {
            ExportTarget::Stream(&mut sink)
        } else {
            ExportTarget::File(environment::absolute(&self.output)?)
        };
        let mut outcome = export(context, &options, target)?;
        sink.finish();
        outcome.file = self.output;
        let warnings = std::mem::take(&mut outcome.warnings);
        Ok(transferred((outcome, warnings)))
    }
}

/// Whether `-` is named, for standard output.
///
/// # Errors
/// Something else goes there.
pub fn is_stdout(cmd: &CommandContext<'_>, output: &Path, what: &str) -> Result<bool> {
    let is_json = cmd.printer.json;
    let reader = if is_json { "JSON" } else { "a terminal" };
    let is_stream = output.as_os_str() == "-";
    if is_stream && (is_json || cmd.printer.for_a_person()) {
        let what = format!("the {what} cannot go to standard output together with {reader}");
        return Err(Error::usage(what));
    }
    Ok(is_stream)
}

/// Says how many checkpoints with prompts are left out.
pub fn write_left_out(number: usize, verb: &str, out: &mut Out<'_>) {
    if number > 0 {
        let left = checkpoints(number);
        let what = "with the text of a prompt, which only --with-prompts";
        outln!(out, "Left out: {left} {what} {verb}.");
    }
}

impl Text for ExportOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let is_stream = self.file.as_os_str() == "-";
        let place = if is_stream {
            "standard output".to_owned()
        } else {
            escape_path(&self.file)
        };
        let number = checkpoints(self.checkpoints.len());
        let bytes = size(self.size.size_bytes);
        outln!(out, "Exported {number} to {place} ({bytes})");
        if let Some(since) = self.prerequisite {
            outln!(out, "The other side needs {} already.", since.short());
        }
        write_left_out(self.left_out_for_prompts.len(), "exports", out);
        if is_stream {
            out.talk = std::mem::take(&mut out.result);
        }
    }
}
