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

/// The two kinds of search.
pub enum FindTarget {
    Path(FindOptions),
    Text(FindTextOptions),
}

impl FindArgs {
    /// # Errors
    /// `--since` or `--until` is not a time.
    pub fn resolve(&self, now_ms: i64) -> Result<FindTarget> {
        let period = self.period.resolve(now_ms)?;
        let bytes = |text: &OsString| text.as_encoded_bytes().to_vec();
        let (pattern, limit) = (
            self.pattern.as_ref().map(bytes),
            self.limit.map(NonZeroUsize::get),
        );
        Ok(match &self.text {
            Some(text) => FindTarget::Text(FindTextOptions {
                text: bytes(text),
                pattern,
                limit,
                period,
            }),
            None => FindTarget::Path(FindOptions {
                pattern: pattern.unwrap_or_default(),
                limit,
                period,
            }),
        })
    }
}

impl RunCommand for FindArgs {
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let paint = cmd.printer.out_paint();
        let (document, said, warnings) = match self.resolve(context.now_ms)? {
            FindTarget::Path(options) => {
                let outcome = find_op::find(context, &options)?;
                (
                    find_view::paths_json(&outcome),
                    find_view::paths(&outcome, paint, cmd.printer.for_a_person()),
                    outcome.warnings,
                )
            }
            FindTarget::Text(options) => {
                let outcome = text_op::find_text(context, &options)?;
                (
                    find_view::matches_json(&outcome),
                    find_view::matches(&outcome, paint),
                    outcome.warnings,
                )
            }
        };
        answer(cmd, || document, || said, &warnings)
    }
}
