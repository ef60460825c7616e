//! `workflow`: begins, shows, changes and ends runs. `resume` and `recover` ask, and are beside it.

use std::path::PathBuf;

use clap::Subcommand;

use crate::base::text::escape;
use crate::cli::command_context::{CommandContext, answer, print_answer};
use crate::cli::commands::lists;
use crate::cli::commands::phase::print_step;
use crate::cli::commands::select_args::PlanArgs;
use crate::cli::commands::workflow_resume::{self, RecoverArgs};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::sentence::CommandWords;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::view::words::Output;
use crate::view::workflow::{findings, json as runs_json, listing, outcomes as workflow_view};
use crate::workflow::engine::import_export::{self, ExportOptions, ImportOptions};
use crate::workflow::engine::init_run::{self, InitOptions};
use crate::workflow::engine::report;
use crate::workflow::engine::resume_questions::ResumeOptions;
use crate::workflow::engine::rewind::{self, RewindOptions};
use crate::workflow::engine::run_lifecycle::{self, CleanupOptions, EndMode, EndOutcome};
use crate::workflow::engine::step::{StepOptions, step};
use crate::workflow::rules::change::{Change, Note};

/// Record a run of phases, and resume it after an interruption
///
/// Each transition is a commit in the store, under refs/workflows. With --profile the run is also
/// kept in the files of other programs; the next command imports edits of these files.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowArgs {
    #[command(subcommand)]
    pub command: WorkflowCommand,
}

#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "workflow.", serialize_all = "snake_case")]
pub enum WorkflowCommand {
    Init(InitOptions),
    /// Show the state of a run, and what changed since
    Status {
        #[command(flatten)]
        run: RunArgs,
        /// State file of another program to show, without recording it
        #[arg(long, value_name = "PATH", conflicts_with = "workflow")]
        file: Option<PathBuf>,
    },
    /// Show what to do next
    Next {
        #[command(flatten)]
        run: RunArgs,
        /// Show all phases that may start side by side
        #[arg(long)]
        parallel: bool,
    },
    Resume(ResumeOptions),
    Rewind(RewindOptions),
    /// Record what a new session should know
    Note {
        #[command(flatten)]
        note: Note,
        #[command(flatten)]
        step: StepOptions,
    },
    /// List the runs, newest first
    List {
        /// Only runs of this type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Also list archived runs
        #[arg(long)]
        all: bool,
    },
    /// Show a run and its history
    Show {
        #[command(flatten)]
        run: RunArgs,
        /// Maximum number of transitions
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Check the plan, order, times, tasks and outputs of a run
    #[command(hide = true)]
    Check {
        #[command(flatten)]
        run: RunArgs,
    },
    #[command(hide = true)]
    Recover(RecoverArgs),
    /// End a run and archive it; it stays readable
    #[command(hide = true)]
    End {
        #[command(flatten)]
        run: RunArgs,
        #[command(flatten)]
        mode: EndMode,
    },
    #[command(hide = true)]
    Cleanup(CleanupOptions),
    #[command(hide = true)]
    Import(ImportOptions),
    #[command(hide = true)]
    Export(ExportOptions),
}

// No doc comment: the commands have their own descriptions.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RunArgs {
    /// Run: its id or the beginning of it, its project, type or description [default: the newest
    /// open one]
    #[arg(value_name = "WORKFLOW")]
    pub workflow: Option<String>,
}

impl RunArgs {
    fn name(&self) -> Option<&str> {
        self.workflow.as_deref()
    }
}

impl RunCommand for WorkflowArgs {
    fn properties(&self) -> Properties {
        use WorkflowCommand as Of;
        let has_dry_run = matches!(
            self.command,
            Of::Rewind(_) | Of::Recover(_) | Of::Cleanup(_)
        );
        Properties {
            name: Some(self.command.into_str()),
            has_dry_run,
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        run(context, cmd, self.command)
    }
}

fn run(context: &Context, cmd: &CommandContext<'_>, command: WorkflowCommand) -> Result<u8> {
    let name = command.into_str();
    let document_in = |path: Option<&PathBuf>| path.map(|path| lists::content(path)).transpose();
    match command {
        WorkflowCommand::Init(options) => {
            let plan = document_in(options.plan.as_ref())?;
            let begun = init_run::init(context, &options, plan.as_deref())?;
            Ok(print_step(cmd, name, &begun))
        }
        WorkflowCommand::Status { run, file } => {
            let status = match document_in(file.as_ref())? {
                Some(document) => import_export::status_of_document(context, &document)?,
                None => report::status(context, run.name(), true)?,
            };
            answer(
                cmd,
                || runs_json::status(&status),
                || workflow_view::status(&status, context.now_ms, cmd.printer.for_a_person()),
                &status.warnings,
            )
        }
        WorkflowCommand::Next { run, parallel } => {
            let status = report::status(context, run.name(), false)?;
            answer(
                cmd,
                || runs_json::next(&status, parallel),
                || workflow_view::next(&status, parallel),
                &status.warnings,
            )
        }
        WorkflowCommand::Resume(options) => workflow_resume::resume(context, cmd, options),
        WorkflowCommand::Rewind(options) => rewind(context, cmd, options),
        WorkflowCommand::Note {
            note,
            step: options,
        } => {
            let outcome = step(context, &options, &Change::Note(note))?;
            Ok(print_step(cmd, name, &outcome))
        }
        WorkflowCommand::List { kind, all } => list(context, cmd, kind.as_deref(), all),
        WorkflowCommand::Show { run, limit } => show(context, cmd, run.name(), limit),
        WorkflowCommand::Check { run } => check(context, cmd, run.name()),
        WorkflowCommand::Recover(args) => workflow_resume::recover(context, cmd, &args),
        WorkflowCommand::End { run, mode } => {
            if mode.purge && !cmd.global.yes {
                let what = "drop a workflow with all its transitions, for good".to_owned();
                let question = format!("{what}? [y/N] ");
                cmd.prompt.ask(&context.interrupt, &what, &question)?;
            }
            ended(cmd, name, &run_lifecycle::end(context, run.name(), mode)?)
        }
        WorkflowCommand::Cleanup(options) => {
            ended(cmd, name, &run_lifecycle::cleanup(context, options)?)
        }
        WorkflowCommand::Import(options) => {
            let document = lists::content(&options.file)?;
            let imported = import_export::import(context, &options, &document)?;
            Ok(print_step(cmd, name, &imported))
        }
        WorkflowCommand::Export(options) => export(context, cmd, &options),
    }
}

fn list(context: &Context, cmd: &CommandContext<'_>, kind: Option<&str>, all: bool) -> Result<u8> {
    let listed = report::list(context, kind, all)?;
    answer(
        cmd,
        || runs_json::list(&listed),
        || listing::list(&listed, cmd.printer.for_a_person()),
        &listed.warnings,
    )
}

fn show(
    context: &Context,
    cmd: &CommandContext<'_>,
    named: Option<&str>,
    limit: Option<usize>,
) -> Result<u8> {
    let shown = report::show(context, named, limit)?;
    answer(
        cmd,
        || runs_json::show(&shown),
        || listing::show(&shown, cmd.printer.for_a_person()),
        &shown.warnings,
    )
}

fn rewind(context: &Context, cmd: &CommandContext<'_>, mut options: RewindOptions) -> Result<u8> {
    options.yes = cmd.global.yes;
    if !(options.files || options.state || options.both) {
        return Err(Error::usage(
            "choose what to rewind: --files, --state or --both",
        ));
    }
    if !options.state && !options.dry_run {
        // The files go back without a plan that was shown.
        PlanArgs::default()
            .resolve(context, cmd, false)
            .map_err(|_| {
                let before = format!("pre-{}", options.to);
                let command = CommandWords::new(["restore", &before, "--dry-run"]);
                Error::plan_needed(command)
            })?;
    }
    let mut agree = |what: String| {
        let question = format!("{what}? [y/N] ");
        cmd.prompt.ask(&context.interrupt, &what, &question)
    };
    let mut outcome = rewind::rewind(
        context,
        &options,
        &mut |proposal| cmd.consent(context, proposal),
        &mut agree,
    )?;
    let files = outcome.files.iter_mut().map(|files| &mut files.warnings);
    let state = outcome.state.iter_mut().map(|state| &mut state.warnings);
    let more: Vec<_> = files.chain(state).flat_map(std::mem::take).collect();
    outcome.warnings.extend(more);
    answer(
        cmd,
        || runs_json::rewind(&outcome),
        || workflow_view::rewind(&outcome),
        &outcome.warnings,
    )
}

/// Errors in a run count as damage in the exit code.
fn check(context: &Context, cmd: &CommandContext<'_>, named: Option<&str>) -> Result<u8> {
    let checked = report::check(context, named)?;
    let status = &checked.status;
    let is_sound = status.report.errors.is_empty() && status.conflicts.is_empty();
    let (word, code) = if is_sound {
        ("valid", exit_code::DONE)
    } else {
        ("not valid", exit_code::DAMAGED)
    };
    let words = || Output {
        result: format!("{} is {word}\n", escape(status.run.workflow.named())),
        talk: findings::remarks(status) + &findings::order(&checked.order),
    };
    print_answer(
        cmd,
        || runs_json::check(&checked, code),
        words,
        &status.warnings,
    );
    Ok(code)
}

fn export(context: &Context, cmd: &CommandContext<'_>, options: &ExportOptions) -> Result<u8> {
    let exported = import_export::export(context, options)?;
    if cmd.printer.json {
        cmd.printer.result(&runs_json::document(&exported));
    } else {
        cmd.printer.data(&exported.text);
    }
    cmd.printer.talk(&findings::conflicts(&exported.conflicts));
    cmd.warn(&exported.warnings);
    Ok(exit_code::DONE)
}

fn ended(cmd: &CommandContext<'_>, name: &str, outcome: &EndOutcome) -> Result<u8> {
    answer(
        cmd,
        || runs_json::ended(name, outcome),
        || workflow_view::ended(outcome),
        &outcome.warnings,
    )
}
