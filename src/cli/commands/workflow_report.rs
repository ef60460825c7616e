//! `workflow status`, `list`, `show`, `next`, `validate` and `lint`: they only look.

use std::path::PathBuf;

use crate::base::text::escape;
use crate::cli::command_context::{CommandContext, answer, print_answer};
use crate::cli::commands::lists;
use crate::cli::commands::phase::RunArgs;
use crate::cli::exit_code;
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::words::Output;
use crate::view::workflow::{findings, json as runs_json, listing, outcomes as workflow_view};
use crate::workflow::engine::{import_export, report};

/// Show the state of a run, and what changed since
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowStatusArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// State file of another program to show, without recording it
    #[arg(long, value_name = "PATH", conflicts_with_all = ["workflow", "named"])]
    pub file: Option<PathBuf>,
}

/// List the runs, newest first
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowListArgs {
    /// Only runs of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Also list archived runs
    #[arg(long)]
    pub all: bool,
}

/// Show a run and its history
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowShowArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Print the state itself, as JSON
    #[arg(long)]
    pub raw: bool,
    /// Maximum number of transitions
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Show what to do next
#[derive(Clone, Debug, clap::Args)]
pub struct NextArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Show all phases that may start side by side
    #[arg(long)]
    pub parallel: bool,
    /// Print only the id of the phase; exit with 1 at the end of the run, and with 128 where
    /// another command exits with 1
    #[arg(long, conflicts_with = "parallel")]
    pub id: bool,
}

pub fn status(
    context: &Context,
    cmd: &CommandContext<'_>,
    args: &WorkflowStatusArgs,
) -> Result<u8> {
    let status = match &args.file {
        Some(path) => import_export::status_of_document(context, &lists::content(path)?)?,
        None => report::status(context, args.run.name(), true)?,
    };
    let document = || runs_json::status("workflow.status", &status, exit_code::DONE);
    answer(
        cmd,
        document,
        || workflow_view::status(&status, context.now_ms, cmd.printer.for_a_person()),
        &status.warnings,
    )
}

pub fn list(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowListArgs) -> Result<u8> {
    let listed = report::list(context, args.kind.as_deref(), args.all)?;
    answer(
        cmd,
        || runs_json::list(&listed),
        || listing::list(&listed, cmd.printer.for_a_person()),
        &listed.warnings,
    )
}

pub fn show(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowShowArgs) -> Result<u8> {
    let shown = report::show(context, args.run.name(), args.limit)?;
    let words = || {
        if args.raw {
            Output {
                result: shown.run.workflow.to_json(),
                talk: findings::conflicts(&shown.conflicts),
            }
        } else {
            listing::show(&shown, cmd.printer.for_a_person())
        }
    };
    answer(cmd, || runs_json::show(&shown), words, &shown.warnings)
}

pub fn next(context: &Context, cmd: &CommandContext<'_>, args: &NextArgs) -> Result<u8> {
    let status = report::status(context, args.run.name(), false)?;
    let code = if args.id {
        exit_code::of_next(&status.advice)
    } else {
        exit_code::DONE
    };
    let words = || {
        if args.id {
            workflow_view::next_id(&status)
        } else {
            workflow_view::next(&status, args.parallel)
        }
    };
    print_answer(
        cmd,
        || runs_json::next(&status, args.parallel, code),
        words,
        &status.warnings,
    );
    Ok(code)
}

/// Errors in a run count as damage in the exit code.
pub fn validate(context: &Context, cmd: &CommandContext<'_>, args: &RunArgs) -> Result<u8> {
    let status = report::status(context, args.name(), false)?;
    let is_sound = status.report.errors.is_empty() && status.conflicts.is_empty();
    let code = if is_sound {
        exit_code::DONE
    } else {
        exit_code::DAMAGED
    };
    let words = || {
        let word = if is_sound { "valid" } else { "not valid" };
        Output {
            result: format!("{} is {word}\n", escape(status.run.workflow.named())),
            talk: findings::remarks(&status),
        }
    };
    print_answer(
        cmd,
        || runs_json::status("workflow.validate", &status, code),
        words,
        &status.warnings,
    );
    Ok(code)
}

pub fn lint(context: &Context, cmd: &CommandContext<'_>, args: &RunArgs) -> Result<u8> {
    let (run, findings) = report::lint(context, args.name())?;
    let code = if findings.is_empty() {
        exit_code::DONE
    } else {
        exit_code::FAILED
    };
    let words = || listing::linted(&run.workflow, &findings);
    print_answer(cmd, || runs_json::lint(&run, &findings, code), words, &[]);
    Ok(code)
}
