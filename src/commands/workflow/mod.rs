//! `workflow`, `phase` and `task`: what may be typed, what is done, and what is answered.

use std::path::PathBuf;

use clap::Subcommand;

use crate::answer::words::eviction_lines;
use crate::commands::args::{self, PlanArgs};
use crate::commands::prelude::*;
use crate::commands::restore;
use crate::commands::workflow::call::{WorkflowCall, done};
use crate::commands::workflow::report::{conflicts, place};
use crate::commands::workflow::resume::{RecoverArgs, ResumeArgs};
use crate::ops::restore::restore_paths::from_root;
use crate::workflow::documents::render;
use crate::workflow::engine::end::{CleanupOptions, EndMode, cleanup, end};
use crate::workflow::engine::exchange::{self, ExportOptions, ImportOptions};
use crate::workflow::engine::init;
use crate::workflow::engine::phase::{self, Finish, Note, commit_project, will_commit};
use crate::workflow::engine::report::{compare, list, show};
use crate::workflow::engine::rewind::{self, RewindOptions};
use crate::workflow::engine::transact::{check_expected, step, with_run};
use crate::workflow::words::phase_command;
use crate::workflow::{
    Change, EndOutcome, Exported, InitOptions, Phase, PhaseStatus, RewindOutcome, Start, Status,
    StepOptions, StepOutcome, Task, View, Work,
};

pub mod call;
pub mod report;
pub mod resume;

/// Record a run of phases, and resume it after an interruption
///
/// Each transition is a commit in the store, under refs/workflows. With --profile the run is also
/// kept in the files of other programs; the next command imports edits of these files. Phases and
/// tasks have commands of their own: see 'checkpoint phase --help' and 'checkpoint task --help'.
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
        /// Run: its id or the beginning of it, its project, type or description [default: the newest
        /// open one]
        workflow: Option<String>,
        /// State file of another program to show, without recording it
        #[arg(long, value_name = "PATH", conflicts_with = "workflow")]
        file: Option<PathBuf>,
    },
    /// Show what to do next
    Next {
        /// Run: its id or the beginning of it, its project, type or description [default: the newest
        /// open one]
        workflow: Option<String>,
        /// Show all phases that may start side by side
        #[arg(long)]
        parallel: bool,
    },
    Resume(ResumeArgs),
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
        /// Also list archived runs
        #[arg(long)]
        all: bool,
    },
    /// Show a run and its history, or what changed between two revisions
    Show {
        /// Run: its id or the beginning of it, its project, type or description [default: the newest
        /// open one]; or two revisions of one, as its history names them; '@~1 @' shows the last
        /// transition
        #[arg(value_name = "WORKFLOW|REVISION", num_args = 0..=2)]
        named: Vec<String>,
        /// Maximum number of transitions
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Check the plan, order, times, tasks and outputs of a run
    #[command(hide = true)]
    Check {
        /// Run: its id or the beginning of it, its project, type or description [default: the newest
        /// open one]
        workflow: Option<String>,
    },
    #[command(hide = true)]
    Recover(RecoverArgs),
    /// End a run and archive it; it stays readable
    #[command(hide = true)]
    End {
        /// Run: its id or the beginning of it, its project, type or description [default: the newest
        /// open one]
        workflow: Option<String>,
        #[command(flatten)]
        how: EndMode,
        /// Why it was given up
        #[arg(long = "reason", value_name = "TEXT", requires = "abandon")]
        why: Option<String>,
    },
    #[command(hide = true)]
    Cleanup(CleanupOptions),
    #[command(hide = true)]
    Import(ImportOptions),
    #[command(hide = true)]
    Export(ExportOptions),
}

// A step of a run; its help is that of the commands.
#[derive(Clone, Debug, clap::Args)]
pub struct StepArgs<C: Subcommand> {
    #[command(subcommand)]
    pub command: C,
    #[command(flatten)]
    pub step: StepOptions,
}

pub type PhaseArgs = StepArgs<PhaseCommand>;
pub type TaskArgs = StepArgs<TaskCommand>;

/// Start, track and end the phases of a run
#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[command(hide = true)]
#[strum(const_into_str, prefix = "phase.", serialize_all = "snake_case")]
pub enum PhaseCommand {
    Start(Start),
    /// Record the progress of a phase
    Progress {
        /// What is done, and what comes next
        text: String,
        /// Phase [default: the only one under way]
        #[arg(long, value_name = "PHASE")]
        phase: Option<String>,
    },
    Done(Finish),
    /// Record that a phase failed; it can be started again
    Fail {
        /// Phase [default: the only one under way]
        phase: Option<String>,
        /// What went wrong
        #[arg(long, value_name = "TEXT")]
        error: String,
        /// Fail the whole run
        #[arg(long = "final")]
        is_final: bool,
    },
    /// Skip a phase
    Skip {
        /// Phase
        phase: String,
        /// Reason
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Record the user's approval of a phase
    Approve {
        /// Phase [default: the only one under way]
        phase: Option<String>,
    },
}

/// Manage the tasks of a phase
#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[command(hide = true)]
#[strum(const_into_str, prefix = "task.", serialize_all = "snake_case")]
pub enum TaskCommand {
    /// Add a task
    Add {
        /// Id of the new task
        task: String,
        /// Short description
        #[arg(long, value_name = "TEXT")]
        name: Option<String>,
        /// Phase of the task [default: the one under way]
        #[arg(long, value_name = "PHASE")]
        phase: Option<String>,
        /// File that the task writes
        #[arg(long, value_name = "PATH")]
        output: Option<String>,
    },
    /// Start a task
    Start {
        /// Task
        task: String,
        /// Agent that does the task
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// End a task
    Done {
        /// Task
        task: String,
        /// Note about the result
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Record that a task failed; it can be started again
    Fail {
        /// Task
        task: String,
        /// What went wrong
        #[arg(long, value_name = "TEXT")]
        error: String,
    },
    /// Make a task pending again
    Reset {
        /// Task
        task: String,
    },
    /// List the tasks
    List,
}

/// Returns the properties of a command of runs.
fn of_runs(name: &'static str, has_dry_run: bool) -> Properties {
    Properties {
        name: Some(name),
        has_dry_run,
        left_by_a_signal: Some("'checkpoint workflow status' shows what was recorded"),
        ..Properties::LONG
    }
}

impl WorkflowCall<'_> {
    /// Ends a phase, and makes the commit in the project that is due then.
    fn finish_phase(self, options: &StepOptions, finish: &Finish) -> Result<Done<StepOutcome>> {
        let Self { context, cmd } = self;
        // Asked first, so that nothing has been changed if the answer is no.
        let commits = finish.project_git && will_commit(context, options)?;
        if commits && !cmd.global.yes {
            let what = "commit everything in the project's own repository";
            cmd.ask(context, what, &format!("{what}?"))?;
        }
        let mut outcome = phase::done(context, options, finish)?;
        if commits {
            let children = cmd.children(context);
            commit_project(context, options, &mut outcome, &|message| {
                let _shield = context.interrupt.shield();
                children.commit_all(message, context.root.path())
            })?;
        }
        Ok(done(context, outcome))
    }

    fn rewind(self, mut options: RewindOptions) -> Result<RewindOutcome> {
        let Self { context, cmd } = self;
        options.yes = cmd.global.yes;
        if !options.state && !options.dry_run {
            // The files go back without a plan that was shown.
            let before = format!("pre-{}", options.to);
            let again = CommandWords::new(["restore", &before]);
            PlanArgs::default().resolve(context, false, &again)?;
        }
        rewind::rewind(
            context,
            &options,
            &mut |planned| restore::consent(context, cmd, planned, None, None),
            &mut |what| cmd.ask(context, &what, &format!("{what}?")),
        )
    }
}

impl RunCommand for WorkflowArgs {
    fn properties(&self) -> Properties {
        use WorkflowCommand::{Cleanup, Recover, Rewind, Show};
        let command = &self.command;
        let has_dry_run = matches!(command, Rewind(_) | Recover(_) | Cleanup(_));
        let name = match command {
            Show { named, .. } if named.len() == 2 => "workflow.show.revisions",
            command => command.into_str(),
        };
        of_runs(name, has_dry_run)
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        use WorkflowCommand as Of;
        let call = WorkflowCall { context, cmd };
        let status = |run: Option<String>, view| {
            let status = call.status(run.as_deref(), view)?;
            Ok::<u8, Error>(cmd.print(context, &status))
        };
        Ok(match self.command {
            Of::Init(options) => {
                let plan = options.plan.as_deref().map(args::content).transpose()?;
                call.print(init::init(context, &options, plan.as_deref())?)
            }
            Of::Status { file: Some(of), .. } => {
                call.print(exchange::status_of_document(context, &args::content(&of)?)?)
            }
            Of::Status { workflow, .. } => status(workflow, View::Whole)?,
            Of::Next { workflow, parallel } => {
                let view = if parallel { View::Ready } else { View::Next };
                status(workflow, view)?
            }
            Of::Check { workflow } => status(workflow, View::Check)?,
            Of::Resume(args) => call.print(call.resume(&args)?),
            Of::Rewind(options) => call.print(call.rewind(options)?),
            Of::Note { mut note, step: of } => {
                let files = note.files.iter();
                note.files = files.map(|file| from_root(&context.root, file)).collect();
                call.print(step(context, &of, &note.into())?)
            }
            Of::List { all } => call.print(list(context, all)?),
            Of::Show { named, limit } => match &*named {
                [from, to] => call.print(compare(context, from, to)?),
                named => call.print(show(context, named.first().map(|run| &**run), limit)?),
            },
            Of::Recover(args) => call.print(call.recover(&args)?),
            Of::End { workflow, how, why } => {
                if how.purge && !cmd.global.yes {
                    let what = "drop a workflow with all its transitions, for good";
                    cmd.ask(context, what, &format!("{what}?"))?;
                }
                let why = why.unwrap_or_default();
                call.print(end(context, workflow.as_deref(), how, &why)?)
            }
            Of::Cleanup(options) => call.print(cleanup(context, options)?),
            Of::Import(options) => {
                let document = args::content(&options.file)?;
                call.print(exchange::import(context, &options, &document)?)
            }
            Of::Export(options) => call.print(exchange::export(context, &options)?),
        })
    }
}

impl Command for PhaseArgs {
    type Answer = StepOutcome;

    fn properties(&self) -> Properties {
        of_runs(self.command.into_str(), false)
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<StepOutcome>> {
        let options = &self.step;
        let (verb, phase, note, fails_run) = match self.command {
            PhaseCommand::Start(begin) => {
                let start = |work: &mut Work<'_>, run| phase::start(work, &run, &begin);
                return Ok(done(context, with_run(context, options, start)?));
            }
            PhaseCommand::Done(finish) => {
                return WorkflowCall { context, cmd }.finish_phase(options, &finish);
            }
            PhaseCommand::Progress { text, phase } => ("progress", phase, text, false),
            PhaseCommand::Fail {
                phase,
                error,
                is_final,
            } => ("fail", phase, error, is_final),
            PhaseCommand::Skip { phase, reason } => ("skip", Some(phase), reason, false),
            PhaseCommand::Approve { phase } => ("approve", phase, String::new(), false),
        };
        let mut change = Change::of_phase(verb, phase.as_deref()).noting(note);
        change.given.is_final = fails_run;
        Ok(done(context, step(context, options, &change)?))
    }
}

impl Command for TaskArgs {
    type Answer = Either<StepOutcome, Status>;

    fn properties(&self) -> Properties {
        of_runs(self.command.into_str(), false)
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>> {
        let mut of_task = Task::default();
        let (verb, task, note) = match self.command {
            TaskCommand::List => {
                let run = self.step.run.as_deref();
                let status = WorkflowCall { context, cmd }.status(run, View::Tasks)?;
                check_expected(&self.step, &status.answer.run)?;
                return Ok(status.map(Either::Second));
            }
            TaskCommand::Add {
                task,
                name,
                phase,
                output,
            } => {
                (of_task.name, of_task.phase, of_task.output) = (name, phase, output);
                ("add", task, None)
            }
            TaskCommand::Start { task, agent } => {
                of_task.agent = agent;
                ("start", task, None)
            }
            TaskCommand::Done { task, note } => ("done", task, note),
            TaskCommand::Fail { task, error } => ("fail", task, Some(error)),
            TaskCommand::Reset { task } => ("reset", task, None),
        };
        let mut change = Change::of_task(verb, &task).noting(note);
        change.given.task = of_task;
        let outcome = step(context, &self.step, &change)?;
        Ok(done(context, Either::First(outcome)))
    }
}

impl Text for StepOutcome {
    /// Of a new run the result is only its id.
    fn write(&self, out: &mut Out<'_>) {
        let (workflow, event) = (&self.run.workflow, &self.event);
        let is_again = event.verb == "import again";
        if is_again || matches!(&*event.verb, "init" | "import") {
            outln!(out, "{}", workflow.id);
            let done = if is_again { "updated" } else { "begun" };
            return talkln!(out, "Run {done}; {}", place(workflow));
        }
        outln!(out, "{}; {}", in_words(event), place(workflow));
        if let Some(id) = event.checkpoint_ids.first() {
            talkln!(out, "checkpoint {}", id.get(..8).unwrap_or(id));
        }
        let phase = event.phase_id.as_ref().and_then(|id| workflow.phase(id));
        let awaiting = phase.filter(|phase| phase.status == PhaseStatus::AwaitingApproval);
        if let Some(phase) = awaiting {
            let command = phase_command("approve", &phase.id, workflow.named()).to_string();
            let (id, command) = (escape(&phase.id), escape_line(&command));
            talkln!(out, "{id} waits for its approval: {command}");
        }
        let was_done =
            |phase: &Phase| phase.completed_ms.is_some() && phase.completed_ms < phase.approved_ms;
        if event.verb == "phase approve" && phase.is_some_and(was_done) {
            talkln!(out, "it was complete already");
        }
        out.talk.push_str(&eviction_lines("evicted", &self.dropped));
    }
}

/// Formats `Phase build started`; an event of the whole run is its verb.
fn in_words(event: &Change) -> String {
    let object = event.phase_id.as_ref().or(event.task_id.as_ref());
    let (Some(object), Some((noun, verb))) = (object, event.verb.split_once(' ')) else {
        return event.subject();
    };
    let noun = if noun == "phase" { "Phase" } else { "Task" };
    let done = match verb {
        "start" => "started",
        "fail" => "failed",
        "skip" => "skipped",
        "approve" => "approved",
        "await" => "waits for approval",
        "progress" => "goes on",
        "add" => "added",
        verb => verb,
    };
    format!("{noun} {} {done}", escape(object))
}

impl Text for RewindOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let would = if self.dry_run { "would go" } else { "went" };
        let to = escape(&self.to_phase_id);
        if let Some(files) = &self.rewound {
            let (plan, undo) = (&files.plan, "; 'checkpoint undo' takes this back");
            let (written, deleted) = (plan.write.len() + plan.chmod.len(), plan.delete.len());
            let undo = files.safety.as_ref().map_or("", |_| undo);
            outln!(
                out,
                "The files {would} back to before {to} ({written} written, {deleted} deleted){undo}."
            );
        }
        if self.state_rewound {
            let run = escape(self.run.workflow.named());
            outln!(out, "Workflow {run} {would} back to before {to}.");
        }
    }
}

impl Text for Exported {
    fn write(&self, out: &mut Out<'_>) {
        out.result.push_str(&render(&self.document));
        out.talk.push_str(&conflicts(&self.troubles));
    }
}

impl Text for EndOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let word = |would, did| if self.dry_run { would } else { did };
        for id in &self.archived {
            outln!(out, "{} {id}", word("Would archive", "Archived"));
        }
        for id in &self.purged {
            outln!(out, "Deleted {id} with all its transitions");
        }
        for path in &self.removed_paths {
            outln!(out, "{} {}", word("Would remove", "Removed"), escape(path));
        }
        if out.result.is_empty() {
            outln!(out, "Nothing to clean up.");
        }
    }
}
