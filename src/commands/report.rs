//! `report`: the page of `ui` with its data inside, as one file.

use std::path::PathBuf;

use crate::commands::export::is_stdout;
use crate::commands::prelude::*;
use crate::ops::browse::list;
use crate::ops::transfer::bundle::into_file;

/// Write the page of the checkpoints into one file, which needs no server
///
/// For reviews and CI: the file holds the list, what each checkpoint changed, and the patches, so
/// the text of every file that was added or modified. It asks no network for anything.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// First and last checkpoint; either may be left out [default: all]
    #[arg(value_name = "SEL..SEL")]
    pub range: Option<String>,
    /// The file to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// What a report holds.
#[derive(Serialize, JsonSchema)]
pub struct ReportAnswer {
    /// The file that was written.
    file: String,
    file_bytes: u64,
    checkpoint_count: usize,
    patch_count: usize,
    /// How many patches were too large.
    left_out_count: usize,
}

impl Command for ReportArgs {
    type Answer = ReportAnswer;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<ReportAnswer>> {
        let make = cmd.services.report.ok_or_else(|| Error::no_feature("ui"))?;
        let is_stream = is_stdout(cmd, &self.output, "report")?;
        let ids = list::ids_in_range(context, self.range.as_deref())?;
        let report = make(context, cmd.global.base.as_deref(), &ids)?;
        let file = escape_path(&self.output);
        let patches = count(report.patch_count, "patch", "patches");
        let (number, bytes) = (
            checkpoints(report.checkpoint_count),
            size(report.patch_bytes),
        );
        cmd.printer.talk(&format!(
            "{file} will hold {number}, with all that is in {patches} ({bytes}), and the path of this directory\n"
        ));
        let html = report.html.as_bytes();
        if is_stream {
            let written = cmd.printer.bytes(html);
            written.map_err(Error::io("write", &self.output))?;
        } else {
            into_file(context, &environment::absolute(&self.output)?, |out| {
                out.write_all(html)
                    .map_err(Error::io("write", &self.output))
            })?;
        }
        let answer = ReportAnswer {
            file: self.output.display().to_string(),
            file_bytes: html.len() as u64,
            checkpoint_count: report.checkpoint_count,
            patch_count: report.patch_count,
            left_out_count: report.left_out_count,
        };
        Ok(Done::new(answer, Vec::new()))
    }
}

impl Text for ReportAnswer {
    fn write(&self, out: &mut Out<'_>) {
        let bytes = size(self.file_bytes);
        let file = escape_path(self.file.as_ref());
        if self.file == "-" {
            talkln!(out, "Wrote the report ({bytes})");
        } else {
            outln!(out, "Wrote {file} ({bytes})");
        }
        if self.left_out_count > 0 {
            let left = count(self.left_out_count, "patch", "patches");
            talkln!(out, "left out: {left}, which would make it too large");
        }
    }
}
