//! `workflow`, `phase` and `task`: what may be typed, what is done, and what is answered.

use std::path::PathBuf;

use clap::Subcommand;

use crate::answer::Done;
use crate::commands::lists;
use crate::commands::workflow::report::{Checked, Next, TaskList};
use crate::commands::workflow::resume::RecoverArgs;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::shell::command_context::CommandContext;
use crate::shell::exit_code;
use crate::shell::run::{Command, Properties, RunCommand};
use crate::workflow::engine::end::{CleanupOptions, EndMode, cleanup, end};
use crate::workflow::engine::exchange::{self, ExportOptions, ImportOptions};
use crate::workflow::engine::init::{self, InitOptions};
use crate::workflow::engine::report::{Status, list, show};
use crate::workflow::engine::resume_questions::ResumeOptions;
use crate::workflow::engine::rewind::RewindOptions;
use crate::workflow::engine::transact::{check_expected, step};
use crate::workflow::engine::work::{StepOptions, StepOutcome};
use crate::workflow::rules::change::{Change, Note, PhaseChange, TaskChange};

pub mod documents;
mod questions;
pub mod report;
pub mod resume;
mod steps;

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

/// Start, track and end the phases of a run
#[derive(Clone, Debug, clap::Args)]
#[command(hide = true)]
pub struct PhaseArgs {
    #[command(subcommand)]
    pub change: PhaseChange,
    #[command(flatten)]
    pub step: StepOptions,
}

/// Manage the tasks of a phase
#[derive(Clone, Debug, clap::Args)]
#[command(hide = true)]
pub struct TaskArgs {
    #[command(subcommand)]
    pub command: TaskCommand,
    #[command(flatten)]
    pub step: StepOptions,
}

#[derive(Clone, Debug, Subcommand)]
pub enum TaskCommand {
    #[command(flatten)]
    Change(TaskChange),
    /// List the tasks
    List {
        /// Only tasks of this phase
        #[arg(long, value_name = "PHASE")]
        phase: Option<String>,
    },
}

/// The end of a check: errors in a run count as damage.
fn check((status, warnings): (Status, Vec<Warning>)) -> Done<Checked> {
    let mut done = Done::new(Checked(status), warnings);
    if !done.answer.is_sound() {
        done.exit = exit_code::DAMAGED;
    }
    done
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
            ..Properties::LONG
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        use WorkflowCommand as Of;
        Ok(match self.command {
            Of::Init(options) => {
                let plan = options.plan.as_deref().map(lists::content).transpose()?;
                let begun = init::init(context, &options, plan.as_deref())?;
                cmd.print(context, &begun.into())
            }
            Of::Status { run, file } => {
                let document = file.as_deref().map(lists::content).transpose()?;
                let found = match document {
                    Some(document) => exchange::status_of_document(context, &document)?,
                    None => report::status(context, run.name(), true)?,
                };
                cmd.print(context, &Done::from(found))
            }
            Of::Next { run, parallel } => {
                let (status, warnings) = report::status(context, run.name(), false)?;
                cmd.print(context, &Done::new(Next::new(status, parallel), warnings))
            }
            Of::Resume(options) => match resume::settle_first(context, cmd, &options)? {
                Some(settled) => cmd.print(context, &Done::from(settled)),
                None => cmd.print(context, &resume::resume(context, cmd, options)?.into()),
            },
            Of::Rewind(options) => {
                cmd.print(context, &documents::rewind(context, cmd, options)?.into())
            }
            Of::Note { note, step: of } => {
                let noted = step(context, &of, &Change::Note(note))?;
                cmd.print(context, &noted.into())
            }
            Of::List { kind, all } => {
                cmd.print(context, &list(context, kind.as_deref(), all)?.into())
            }
            Of::Show { run, limit } => {
                cmd.print(context, &show(context, run.name(), limit)?.into())
            }
            Of::Check { run } => {
                let found = report::status(context, run.name(), false)?;
                cmd.print(context, &check(found))
            }
            Of::Recover(args) => cmd.print(context, &resume::recover(context, cmd, &args)?.into()),
            Of::End { run, mode } => {
                if mode.purge && !cmd.global.yes {
                    let what = "drop a workflow with all its transitions, for good";
                    cmd.ask(context, what, &format!("{what}?"))?;
                }
                cmd.print(context, &end(context, run.name(), mode)?.into())
            }
            Of::Cleanup(options) => cmd.print(context, &cleanup(context, options)?.into()),
            Of::Import(options) => {
                let document = lists::content(&options.file)?;
                let imported = exchange::import(context, &options, &document)?;
                cmd.print(context, &imported.into())
            }
            Of::Export(options) => cmd.print(context, &exchange::export(context, &options)?.into()),
        })
    }
}

impl Command for PhaseArgs {
    type Answer = StepOutcome;

    fn properties(&self) -> Properties {
        Properties {
            name: Some(self.change.into_str()),
            ..Properties::LONG
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<StepOutcome>> {
        Ok(steps::change_phase(context, cmd, &self.step, self.change)?.into())
    }
}

impl RunCommand for TaskArgs {
    fn properties(&self) -> Properties {
        Properties {
            name: Some(match &self.command {
                TaskCommand::Change(change) => change.into_str(),
                TaskCommand::List { .. } => "task.list",
            }),
            ..Properties::LONG
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let phase = match self.command {
            TaskCommand::Change(change) => {
                let change = Change::Task(change);
                let changed = step(context, &self.step, &change)?;
                return Ok(cmd.print(context, &changed.into()));
            }
            TaskCommand::List { phase } => phase,
        };
        let (status, warnings) = report::status(context, self.step.run.as_deref(), false)?;
        check_expected(&self.step, &status.run)?;
        let tasks = TaskList::new(status, phase.as_deref());
        Ok(cmd.print(context, &Done::new(tasks, warnings)))
    }
}
