//! `find`: shows the history of paths, or searches for a text.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::commands::select_args::PeriodArgs;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::browse::find::find_path::{self as find_op, FindOptions};
use crate::ops::browse::find::find_text::{self as text_op, FindTextOptions};
use crate::ops::context::Context;
use crate::view::find as find_view;

/// Find the checkpoints that hold or changed a path, or contain a text
///
/// PATTERN is a path, or a pattern with * ? [ as in a .gitignore: without a slash it is a name in
/// any directory, with one a path from the root, such as ./README.md.
#[derive(Clone, Debug, clap::Args)]
pub struct FindArgs {
    /// Path or pattern; with --text, only these files are searched
    #[arg(value_name = "PATTERN", required_unless_present = "text")]
    pub pattern: Option<OsString>,
    /// Text to search for in the files of all checkpoints
    #[arg(long, value_name = "STRING")]
    pub text: Option<OsString>,
    /// Maximum number of results [default: all, or 100 with --text]
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    #[command(flatten)]
    pub period: PeriodArgs,
}

impl RunCommand for FindArgs {
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let paint = cmd.printer.out_paint();
        let period = self.period.resolve(context.now_ms)?;
        let bytes = |text: OsString| text.into_encoded_bytes();
        let (pattern, limit) = (self.pattern.map(bytes), self.limit.map(NonZeroUsize::get));
        if let Some(text) = self.text.map(bytes) {
            let options = FindTextOptions {
                text,
                pattern,
                limit,
                period,
            };
            let found = text_op::find_text(context, &options)?;
            let (document, words) = (find_view::matches_json, find_view::matches);
            return answer(
                cmd,
                || document(&found),
                || words(&found, paint),
                &found.warnings,
            );
        }
        let options = FindOptions {
            pattern: pattern.unwrap_or_default(),
            limit,
            period,
        };
        let found = find_op::find(context, &options)?;
        let words = || find_view::paths(&found, paint, cmd.printer.for_a_person());
        answer(
            cmd,
            || find_view::paths_json(&found),
            words,
            &found.warnings,
        )
    }
}
