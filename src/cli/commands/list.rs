//! `list`: a table for people, markdown for pipes.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::select_args::PeriodArgs;
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::config::settings::OwnFile;
use crate::error::Result;
use crate::model::checkpoint::record::CheckpointKind;
use crate::ops::browse::list::{self as list_op, ListOptions};
use crate::ops::context::Context;
use crate::ops::maintain::stores;
use crate::ops::select::timeline;
use crate::ops::warning::Warning;
use crate::view::words::Output;
use crate::view::{list, stores as stores_view};

/// List the checkpoints, newest first
///
/// To a pipe, prints a markdown table in a stable format.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Maximum number of checkpoints
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Only checkpoints whose reason matches this pattern of * and ?
    #[arg(long, value_name = "GLOB")]
    pub reason: Option<String>,
    /// Only checkpoints whose reason contains this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only checkpoints that changed this file or directory; may be repeated
    #[arg(long, value_name = "PATH")]
    pub path: Vec<OsString>,
    /// Only checkpoints of this source
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,
    /// Only checkpoints made in this session of an agent [without ID: the current one]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = timeline::CURRENT)]
    pub session: Option<String>,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Only checkpoints of this kind
    #[arg(long)]
    pub kind: Option<KindArg>,
    /// On a terminal, also show the restores, undos and redos
    #[arg(long)]
    pub restores: bool,
    /// Also show how many files each one added, changed and deleted
    #[arg(long)]
    pub stat: bool,
    /// List what was fetched from a remote
    #[arg(long, value_name = "NAME")]
    pub remote: Option<String>,
    /// List the stores of all directories, with their state
    #[arg(long, conflicts_with_all = ["limit", "reason", "grep", "path", "source", "session", "since", "until", "kind", "restores", "stat", "remote"])]
    pub all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    Checkpoint,
    Safety,
}

impl ListArgs {
    /// # Errors
    /// `--since` or `--until` is not a time.
    pub fn resolve(self, now_ms: i64, is_for_a_person: bool) -> Result<ListOptions> {
        let period = self.period.resolve(now_ms)?;
        let kind = self.kind.map(|kind| match kind {
            KindArg::Checkpoint => CheckpointKind::Regular,
            KindArg::Safety => CheckpointKind::Safety,
        });
        Ok(ListOptions {
            remote: self.remote,
            limit: self.limit,
            reason: self.reason,
            grep: self.grep,
            paths: self
                .path
                .into_iter()
                .map(OsString::into_encoded_bytes)
                .collect(),
            hides_restores: is_for_a_person
                && !self.restores
                && kind != Some(CheckpointKind::Safety),
            tells: is_for_a_person,
            counts_changes: self.stat,
            source: self.source,
            session: self.session,
            period,
            kind,
        })
    }
}

impl RunCommand for ListArgs {
    const OWN_FILE: OwnFile = OwnFile::MayBeBad;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        if self.all {
            return list_all(context, cmd);
        }
        let is_for_a_person = cmd.printer.for_a_person() && !cmd.printer.json;
        let options = self.resolve(context.now_ms, is_for_a_person)?;
        let outcome = list_op::list(context, &options)?;
        if cmd.printer.json {
            cmd.printer
                .result(&list::json(&outcome, &context.store_dir()?));
            return Ok(exit_code::DONE);
        }
        if !outcome.exists {
            cmd.print_no_store(context);
        }
        let said = if is_for_a_person {
            let screen = cmd.printer.screen(context.now_ms);
            list::table(&outcome, options.has_filters(), screen)
        } else {
            list::markdown(&outcome, options.has_filters())
        };
        cmd.print_output(&said, &outcome.warnings);
        Ok(exit_code::DONE)
    }
}

fn list_all(context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
    let stores = stores::all(context)?;
    let warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    if cmd.printer.json {
        cmd.printer
            .result(&stores_view::list_json(&stores, &warnings));
        return Ok(exit_code::DONE);
    }
    if stores.is_empty() {
        cmd.printer.talk(&stores_view::none(&context.base));
    }
    let result = if cmd.printer.for_a_person() {
        stores_view::table(&stores, context.now_ms, cmd.printer.out_paint())
    } else {
        stores_view::markdown(&stores)
    };
    cmd.print_output(
        &Output {
            result,
            talk: String::new(),
        },
        &warnings,
    );
    Ok(exit_code::DONE)
}
