//! `phase` and `task`: the transitions of phases and tasks.

use clap::Subcommand;

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::workflow::{json as runs_json, listing, outcomes as workflow_view};
use crate::workflow::engine::make_mini_commit::{commit_project, will_commit};
use crate::workflow::engine::phase_transitions;
use crate::workflow::engine::report;
use crate::workflow::engine::step::{StepOptions, check_expected, step};
use crate::workflow::engine::transition::StepOutcome;
use crate::workflow::rules::change::{Change, Finish, PhaseChange, TaskChange};

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

impl RunCommand for PhaseArgs {
    fn properties(&self) -> Properties {
        Properties {
            name: Some(self.change.into_str()),
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let name = self.change.into_str();
        let outcome = match self.change {
            PhaseChange::Start(begin) => phase_transitions::start(context, &self.step, &begin),
            PhaseChange::Done(finish) => done(context, cmd, &self.step, &finish),
            change => step(context, &self.step, &Change::Phase(change)),
        };
        Ok(print_step(cmd, name, &outcome?))
    }
}

/// Ends a phase, and makes the commit in the project that is due then.
fn done(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &StepOptions,
    finish: &Finish,
) -> Result<StepOutcome> {
    // Asked first, so that nothing has been changed if the answer is no.
    let commits = finish.project_git && will_commit(context, options)?;
    if commits && !cmd.global.yes {
        let what = "commit everything in the project's own repository".to_owned();
        let question = format!("{what}? [y/N] ");
        cmd.prompt.ask(&context.interrupt, &what, &question)?;
    }
    let mut outcome = phase_transitions::done(context, options, finish)?;
    if commits {
        let children = cmd.children(context);
        commit_project(context, options, &mut outcome, &|message| {
            let _shield = context.interrupt.shield();
            children.commit_all(message, context.root.path())
        })?;
    }
    Ok(outcome)
}

impl RunCommand for TaskArgs {
    fn properties(&self) -> Properties {
        Properties {
            name: Some(self.command.name()),
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let name = self.command.name();
        match self.command {
            TaskCommand::Change(change) => {
                let outcome = step(context, &self.step, &Change::Task(change))?;
                Ok(print_step(cmd, name, &outcome))
            }
            TaskCommand::List { phase } => {
                let status = report::status(context, self.step.run.as_deref(), false)?;
                check_expected(&self.step, &status.run)?;
                answer(
                    cmd,
                    || runs_json::tasks(&status, phase.as_deref()),
                    || listing::tasks(&status, phase.as_deref()),
                    &status.warnings,
                )
            }
        }
    }
}

impl TaskCommand {
    fn name(&self) -> &'static str {
        match self {
            Self::Change(change) => change.into_str(),
            Self::List { .. } => "task.list",
        }
    }
}

/// Prints a transition. The exit code is partial if a profile file could not be written.
pub fn print_step(cmd: &CommandContext<'_>, command: &str, outcome: &StepOutcome) -> u8 {
    let code = if outcome.is_partial {
        exit_code::PARTIAL
    } else {
        exit_code::DONE
    };
    if cmd.printer.json {
        cmd.printer.result(&runs_json::step(command, outcome, code));
    } else {
        let begins = matches!(command, "workflow.init" | "workflow.import");
        let output = if begins {
            workflow_view::begun(outcome)
        } else {
            workflow_view::step(outcome)
        };
        cmd.print_output(&output, &outcome.warnings);
    }
    code
}
