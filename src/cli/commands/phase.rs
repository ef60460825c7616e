//! `phase` and `task`: the transitions of phases and tasks, and what they share with `workflow`:
//! how a run is named.

use clap::Subcommand;

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::workflow::{json as runs_json, listing, outcomes as workflow_view};
use crate::workflow::engine::phase_transitions::{self as phase_op, DoneOptions, StartOptions};
use crate::workflow::engine::report;
use crate::workflow::engine::step::{StepOptions, step};
use crate::workflow::engine::transition::StepOutcome;
use crate::workflow::rules::change::Change;

/// The run of a transition, and its actor.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StepArgs {
    /// Run [default: the newest open one]
    #[arg(short = 'w', long, value_name = "WORKFLOW")]
    pub workflow: Option<String>,
    /// Revision at which the run must be; refuse otherwise
    #[arg(long, value_name = "REVISION", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub expect: Option<String>,
    /// Actor to record [default: the source, as in create]
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
}

// No doc comment: the commands have their own descriptions.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RunArgs {
    /// Run: its id or the beginning of it, its project, type or description [default: the newest
    /// open one]
    #[arg(value_name = "WORKFLOW", conflicts_with = "named")]
    pub workflow: Option<String>,
    /// The run, as an option
    #[arg(short = 'w', long = "workflow", id = "named", value_name = "WORKFLOW")]
    pub named: Option<String>,
}

impl RunArgs {
    /// Returns the run that was named, in whichever way.
    pub fn name(&self) -> Option<&str> {
        self.workflow.as_deref().or(self.named.as_deref())
    }

    pub fn step(&self) -> StepOptions {
        StepOptions {
            run: self.name().map(str::to_owned),
            ..StepOptions::default()
        }
    }
}

impl From<&StepArgs> for StepOptions {
    fn from(args: &StepArgs) -> Self {
        Self {
            run: args.workflow.clone(),
            expect: args.expect.clone(),
            actor: args.actor.clone(),
        }
    }
}

/// Start, track and end the phases of a run
#[derive(Clone, Debug, clap::Args)]
#[command(hide = true)]
pub struct PhaseArgs {
    #[command(subcommand)]
    pub command: PhaseCommand,
    /// With --json, answer with the whole run too
    #[arg(long, global = true)]
    pub full: bool,
}

#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "phase.", serialize_all = "snake_case")]
pub enum PhaseCommand {
    Start(StartArgs),
    Progress(ProgressArgs),
    Done(DoneArgs),
    Fail(FailArgs),
    Skip(SkipArgs),
    Approve(ApproveArgs),
}

/// Start a phase, with a checkpoint of the files before it
#[derive(Clone, Debug, clap::Args)]
pub struct StartArgs {
    /// Phase [default: the next one]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Start it despite open dependencies or shared files
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Record the progress of a phase
#[derive(Clone, Debug, clap::Args)]
pub struct ProgressArgs {
    /// What is done, and what comes next
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Phase [default: the only one under way]
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// End a phase, with a checkpoint of the files after it
#[derive(Clone, Debug, clap::Args)]
pub struct DoneArgs {
    /// Phase [default: the only one under way]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Commit made in the phase [default: HEAD, if it moved]
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// File made or changed in the phase (repeatable)
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    /// Decision made in the phase (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub decision: Vec<String>,
    /// End it despite missing outputs and open tasks
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Record that a phase failed; it can be started again
#[derive(Clone, Debug, clap::Args)]
pub struct FailArgs {
    /// Phase [default: the only one under way]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// What went wrong
    #[arg(long, value_name = "TEXT")]
    pub error: String,
    /// Fail the whole run
    #[arg(long = "final")]
    pub is_final: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Skip a phase
#[derive(Clone, Debug, clap::Args)]
pub struct SkipArgs {
    /// Phase
    #[arg(value_name = "PHASE")]
    pub phase: String,
    /// Reason
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Record the user's approval of a phase
#[derive(Clone, Debug, clap::Args)]
pub struct ApproveArgs {
    /// Phase [default: the only one under way]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

impl From<&StartArgs> for StartOptions {
    fn from(args: &StartArgs) -> Self {
        let step = (&args.step).into();
        Self {
            step,
            phase: args.phase.clone(),
            force: args.force,
            no_snapshot: args.no_snapshot,
        }
    }
}

impl From<&DoneArgs> for DoneOptions {
    fn from(args: &DoneArgs) -> Self {
        Self {
            step: (&args.step).into(),
            phase: args.phase.clone(),
            commit: args.commit.clone(),
            files: args.file.clone(),
            decisions: args.decision.clone(),
            force: args.force,
            no_snapshot: args.no_snapshot,
        }
    }
}

/// Manage the tasks of a phase
#[derive(Clone, Debug, clap::Args)]
#[command(hide = true)]
pub struct TaskArgs {
    #[command(subcommand)]
    pub command: TaskCommand,
    /// With --json, answer with the whole run too
    #[arg(long, global = true)]
    pub full: bool,
}

#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "task.", serialize_all = "snake_case")]
pub enum TaskCommand {
    Add(TaskAddArgs),
    Start(TaskStartArgs),
    Done(TaskDoneArgs),
    Fail(TaskFailArgs),
    Reset(TaskResetArgs),
    List(TaskListArgs),
}

impl TaskCommand {
    /// Returns the requested transition; `None` for a read-only command.
    pub fn change(&self) -> Option<(&StepArgs, Change)> {
        Some(match self {
            Self::Add(args) => (
                &args.step,
                Change::AddTask {
                    id: args.id.clone(),
                    name: args.name.clone(),
                    phase: args.phase.clone(),
                    output: args.output.clone(),
                    agent: args.agent.clone(),
                },
            ),
            Self::Start(args) => (
                &args.step,
                Change::StartTask {
                    id: args.id.clone(),
                    agent: args.agent.clone(),
                },
            ),
            Self::Done(args) => {
                let (id, output, note) = (args.id.clone(), args.output.clone(), args.note.clone());
                (&args.step, Change::FinishTask { id, output, note })
            }
            Self::Fail(args) => (
                &args.step,
                Change::FailTask {
                    id: args.id.clone(),
                    error: args.error.clone(),
                },
            ),
            Self::Reset(args) => (
                &args.step,
                Change::ResetTask {
                    id: args.id.clone(),
                    cut_off: args.cut_off,
                },
            ),
            Self::List(_) => return None,
        })
    }
}

/// Add a task
#[derive(Clone, Debug, clap::Args)]
pub struct TaskAddArgs {
    /// Id of the new task
    #[arg(value_name = "TASK")]
    pub id: String,
    /// Short description
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Phase of the task [default: the one under way]
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// File that the task writes
    #[arg(long, value_name = "PATH")]
    pub output: Option<String>,
    /// Agent that does the task
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Start a task
#[derive(Clone, Debug, clap::Args)]
pub struct TaskStartArgs {
    /// Task
    #[arg(value_name = "TASK")]
    pub id: String,
    /// Agent that does the task
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// End a task
#[derive(Clone, Debug, clap::Args)]
pub struct TaskDoneArgs {
    /// Task
    #[arg(value_name = "TASK")]
    pub id: String,
    /// File that the task writes
    #[arg(long, value_name = "PATH")]
    pub output: Option<String>,
    /// Note about the result
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Record that a task failed; it can be started again
#[derive(Clone, Debug, clap::Args)]
pub struct TaskFailArgs {
    /// Task
    #[arg(value_name = "TASK")]
    pub id: String,
    /// What went wrong
    #[arg(long, value_name = "TEXT")]
    pub error: String,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Make a task pending again
#[derive(Clone, Debug, clap::Args)]
pub struct TaskResetArgs {
    /// Task
    #[arg(value_name = "TASK")]
    pub id: String,
    /// Count the interrupted attempt
    #[arg(long)]
    pub cut_off: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// List the tasks
#[derive(Clone, Debug, clap::Args)]
pub struct TaskListArgs {
    /// Only tasks of this phase
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// Run [default: the newest open one]
    #[arg(short = 'w', long, value_name = "WORKFLOW")]
    pub workflow: Option<String>,
}

impl RunCommand for PhaseArgs {
    fn properties(&self) -> Properties {
        Properties {
            name: Some(self.command.into_str()),
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        phase(context, cmd, &self)
    }
}

fn phase(context: &Context, cmd: &CommandContext<'_>, args: &PhaseArgs) -> Result<u8> {
    let command = &args.command;
    let make =
        |options: StepOptions, change: Change| step(context, &options, &mut |_| Ok(change.clone()));
    let outcome = match command {
        PhaseCommand::Start(args) => phase_op::start(context, &args.into()),
        PhaseCommand::Done(args) => phase_op::done(context, &args.into()),
        PhaseCommand::Progress(args) => {
            let change = Change::Progress {
                phase: args.phase.clone(),
                text: args.text.clone(),
            };
            make((&args.step).into(), change)
        }
        PhaseCommand::Fail(args) => {
            let (phase, error) = (args.phase.clone(), args.error.clone());
            make(
                (&args.step).into(),
                Change::FailPhase {
                    phase,
                    error,
                    is_final: args.is_final,
                },
            )
        }
        PhaseCommand::Skip(args) => {
            let change = Change::SkipPhase {
                phase: args.phase.clone(),
                reason: args.reason.clone(),
            };
            make((&args.step).into(), change)
        }
        PhaseCommand::Approve(args) => make(
            (&args.step).into(),
            Change::ApprovePhase {
                phase: args.phase.clone(),
            },
        ),
    };
    Ok(print_step_of(cmd, command.into_str(), &outcome?, args.full))
}

impl RunCommand for TaskArgs {
    fn properties(&self) -> Properties {
        Properties {
            name: Some(self.command.into_str()),
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        task(context, cmd, &self)
    }
}

fn task(context: &Context, cmd: &CommandContext<'_>, args: &TaskArgs) -> Result<u8> {
    let command = &args.command;
    if let Some((step_args, change)) = command.change() {
        let outcome = step(context, &step_args.into(), &mut |_| Ok(change.clone()))?;
        let name = command.into_str();
        return Ok(print_step_of(cmd, name, &outcome, args.full));
    }
    let TaskCommand::List(args) = command else {
        return Ok(exit_code::DONE);
    };
    let status = report::status(context, args.workflow.as_deref(), false)?;
    let phase = args.phase.as_deref();
    answer(
        cmd,
        || runs_json::tasks(&status, phase),
        || listing::tasks(&status, phase),
        &status.warnings,
    )
}

/// Prints a transition. The exit code is partial if a profile file could not be written.
pub fn print_step(cmd: &CommandContext<'_>, command: &str, outcome: &StepOutcome) -> u8 {
    print_step_of(cmd, command, outcome, true)
}

/// Like [`print_step`]; `full` is whether JSON has the whole run.
fn print_step_of(cmd: &CommandContext<'_>, command: &str, outcome: &StepOutcome, full: bool) -> u8 {
    let code = if outcome.is_partial {
        exit_code::PARTIAL
    } else {
        exit_code::DONE
    };
    if cmd.printer.json {
        cmd.printer
            .result(&runs_json::step(command, outcome, code, full));
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
