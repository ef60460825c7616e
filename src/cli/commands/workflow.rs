//! `workflow`: the list of its commands, and those that begin, change and end a run.

use std::path::PathBuf;

use clap::Subcommand;

use crate::base::time;
use crate::cli::command_context::{CommandContext, answer, print_answer};
use crate::cli::commands::lists;
use crate::cli::commands::phase::{RunArgs, StepArgs, print_step};
use crate::cli::commands::select_args::PlanArgs;
use crate::cli::commands::workflow_documents::{self, ExportArgs, ImportArgs};
use crate::cli::commands::workflow_report::{
    self, NextArgs, WorkflowListArgs, WorkflowShowArgs, WorkflowStatusArgs,
};
use crate::cli::commands::workflow_resume::{self, RecoverArgs, ResumeArgs};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::sentence::CommandWords;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::restore::restore_options::CommonOptions;
use crate::view::workflow::{json as runs_json, outcomes as workflow_view};
use crate::workflow::engine::init_run::{self, InitOptions};
use crate::workflow::engine::make_mini_commit::{CommitInProject, mini_commit};
use crate::workflow::engine::report;
use crate::workflow::engine::rewind::{self, RewindOptions};
use crate::workflow::engine::run_lifecycle::{self, CleanupOptions, EndOutcome};
use crate::workflow::engine::step::step;
use crate::workflow::rules::change::{Change, value_of};
use crate::workflow::rules::mini_commit::project_commit_due;

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
    Init(InitArgs),
    Status(WorkflowStatusArgs),
    Next(NextArgs),
    Resume(ResumeArgs),
    Rewind(RewindArgs),
    Note(NoteArgs),
    List(WorkflowListArgs),
    Show(WorkflowShowArgs),
    #[command(hide = true)]
    Set(SetArgs),
    /// Check the plan, order, times, tasks and outputs of a run
    #[command(hide = true)]
    Validate(RunArgs),
    /// Suggest phases of a plan that should come earlier
    #[command(hide = true)]
    Lint(RunArgs),
    #[command(hide = true)]
    Recover(RecoverArgs),
    #[command(hide = true)]
    Interrupt(InterruptArgs),
    #[command(hide = true)]
    MiniCommit(MiniCommitArgs),
    /// Archive a run as it is
    #[command(hide = true)]
    Archive(RunArgs),
    #[command(hide = true)]
    Abandon(AbandonArgs),
    #[command(hide = true)]
    Delete(WorkflowDeleteArgs),
    #[command(hide = true)]
    Cleanup(CleanupArgs),
    #[command(hide = true)]
    Import(ImportArgs),
    #[command(hide = true)]
    Export(ExportArgs),
}

/// Start a run
#[derive(Clone, Debug, clap::Args)]
pub struct InitArgs {
    /// Type of the run, such as implement
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Project of the run [default: the name of the directory]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Goal of the run, in one line
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Profiles whose files also hold the run: phases, pipeline or registry
    #[arg(long, value_name = "PROFILE,…")]
    pub profile: Vec<String>,
    /// Built-in plan: dotagent
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Plan as JSON: a file, or - for stdin
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Phase, its name and the phases on which it depends (repeatable)
    #[arg(long = "phase", value_name = "ID[:NAME[:ID,…]]")]
    pub phases: Vec<String>,
    /// Branch of the work [default: that of HEAD]
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Id of the run [default: <type>_<project>_<time>]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Actor to record [default: the source, as in create]
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
}

/// Take files, state or both back to right before a phase
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
#[derive(Clone, Debug, clap::Args)]
pub struct RewindArgs {
    /// Phase; with --state also a revision
    #[arg(value_name = "PHASE")]
    pub to: String,
    /// Rewind the files, as 'checkpoint restore' would
    #[arg(long, conflicts_with_all = ["state", "both"])]
    pub files: bool,
    /// Rewind the state of the run
    #[arg(long, conflicts_with = "both")]
    pub state: bool,
    /// Rewind files and state
    #[arg(long)]
    pub both: bool,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Set keys of the run, or of its free state
#[derive(Clone, Debug, clap::Args)]
pub struct SetArgs {
    /// Key with JSON or plain text; null removes the key
    #[arg(value_name = "KEY=VALUE", required = true)]
    pub pairs: Vec<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Record decisions and files that a new session should know
#[derive(Clone, Debug, clap::Args)]
pub struct NoteArgs {
    /// Decision (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub decision: Vec<String>,
    /// File made or changed (repeatable)
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    /// Branch of the work
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Record that the run was interrupted
#[derive(Clone, Debug, clap::Args)]
pub struct InterruptArgs {
    /// Reason, in a word or two
    #[arg(long, value_name = "TEXT", default_value = "interrupted")]
    pub reason: String,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Make the checkpoint that is due after every third phase
#[derive(Clone, Debug, clap::Args)]
pub struct MiniCommitArgs {
    /// Also commit everything in the project's own repository
    #[arg(long)]
    pub project_git: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// End a run and archive it
#[derive(Clone, Debug, clap::Args)]
pub struct AbandonArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Reason
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
}

/// Archive a run and remove its files; it stays readable
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowDeleteArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Drop it with all its transitions and its archived files
    #[arg(long)]
    pub purge: bool,
}

/// Archive old runs, and clean up those that failed long ago
#[derive(Clone, Debug, clap::Args)]
pub struct CleanupArgs {
    /// Age at which an untouched open run is archived
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub max_age: String,
    /// Age at which a failed or abandoned run is cleaned up
    #[arg(long, value_name = "TIME", default_value = "30d")]
    pub failed_max_age: String,
    /// Number of folders to keep in memory/state/.archive
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub keep_archives: usize,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
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
            failure_code: match &self.command {
                Of::Next(args) if args.id => exit_code::FAILED_TO_COMPARE,
                _ => exit_code::FAILED,
            },
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
    match command {
        WorkflowCommand::Init(args) => init(context, cmd, args),
        WorkflowCommand::Status(args) => workflow_report::status(context, cmd, &args),
        WorkflowCommand::List(args) => workflow_report::list(context, cmd, &args),
        WorkflowCommand::Show(args) => workflow_report::show(context, cmd, &args),
        WorkflowCommand::Next(args) => workflow_report::next(context, cmd, &args),
        WorkflowCommand::Resume(args) => workflow_resume::resume(context, cmd, &args),
        WorkflowCommand::Recover(args) => workflow_resume::recover(context, cmd, &args),
        WorkflowCommand::Rewind(args) => rewind(context, cmd, &args),
        WorkflowCommand::Set(args) => set(context, cmd, &args),
        WorkflowCommand::Note(args) => note(context, cmd, args),
        WorkflowCommand::Interrupt(args) => interrupt(context, cmd, args),
        WorkflowCommand::Validate(args) => workflow_report::validate(context, cmd, &args),
        WorkflowCommand::Lint(args) => workflow_report::lint(context, cmd, &args),
        WorkflowCommand::MiniCommit(args) => mini(context, cmd, &args),
        WorkflowCommand::Archive(args) => archive(context, cmd, name, &args),
        WorkflowCommand::Abandon(args) => abandon(context, cmd, &args),
        WorkflowCommand::Delete(args) => delete(context, cmd, &args),
        WorkflowCommand::Cleanup(args) => cleanup(context, cmd, &args),
        WorkflowCommand::Import(args) => workflow_documents::import(context, cmd, &args),
        WorkflowCommand::Export(args) => workflow_documents::export(context, cmd, &args),
    }
}

fn init(context: &Context, cmd: &CommandContext<'_>, args: InitArgs) -> Result<u8> {
    let plan = args.plan.as_deref().map(lists::content).transpose()?;
    let options = InitOptions {
        id: args.id,
        kind: args.kind,
        project: args.project,
        description: args.description,
        profiles: args.profile,
        preset: args.preset,
        plan,
        phases: args.phases,
        branch: args.branch,
        actor: args.actor,
    };
    Ok(print_step(
        cmd,
        "workflow.init",
        &init_run::init(context, &options)?,
    ))
}

fn set(context: &Context, cmd: &CommandContext<'_>, args: &SetArgs) -> Result<u8> {
    let pair = |text: &String| {
        let what = || Error::Usage {
            what: format!("'{text}' is not KEY=VALUE"),
        };
        let (key, value) = text.split_once('=').ok_or_else(what)?;
        // Other text than JSON is taken as is, to spare the user a second level of quotes.
        Ok((key.to_owned(), value_of(value)))
    };
    let pairs = args.pairs.iter().map(pair).collect::<Result<Vec<_>>>()?;
    let outcome = step(context, &(&args.step).into(), &mut |_| {
        Ok(Change::Set(pairs.clone()))
    })?;
    Ok(print_step(cmd, "workflow.set", &outcome))
}

fn note(context: &Context, cmd: &CommandContext<'_>, args: NoteArgs) -> Result<u8> {
    let change = Change::Note {
        decisions: args.decision,
        files: args.file,
        branch: args.branch,
    };
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(change.clone()))?;
    Ok(print_step(cmd, "workflow.note", &outcome))
}

fn interrupt(context: &Context, cmd: &CommandContext<'_>, args: InterruptArgs) -> Result<u8> {
    let change = Change::Interrupt {
        reason: args.reason,
    };
    let outcome = step(context, &(&args.step).into(), &mut |_| Ok(change.clone()))?;
    Ok(print_step(cmd, "workflow.interrupt", &outcome))
}

fn rewind(context: &Context, cmd: &CommandContext<'_>, args: &RewindArgs) -> Result<u8> {
    if !(args.files || args.state || args.both) {
        return Err(Error::Usage {
            what: "choose what to rewind: --files, --state or --both".to_owned(),
        });
    }
    if !args.state && !args.dry_run {
        // The files go back without a plan that was shown.
        PlanArgs::default()
            .resolve(context, cmd, false)
            .map_err(|_| {
                let before = format!("pre-{}", args.to);
                let command = CommandWords::new(["restore", &before, "--dry-run"]);
                Error::PlanNeeded { command }
            })?;
    }
    let common = CommonOptions {
        yes: cmd.global.yes,
        dry_run: args.dry_run,
        ..CommonOptions::default()
    };
    let options = RewindOptions {
        step: (&args.step).into(),
        to: args.to.clone(),
        files: args.files || args.both,
        state: args.state || args.both,
        common,
    };
    let mut agree = |what: String| {
        let question = format!("{what}? [y/N] ");
        cmd.prompt.ask(&context.interrupt, what, &question)
    };
    let outcome = rewind::rewind(
        context,
        &options,
        &mut |proposal| cmd.consent(context, proposal),
        &mut agree,
    )?;
    let mut warnings = outcome.warnings.clone();
    warnings.extend(
        outcome
            .files
            .iter()
            .flat_map(|files| files.warnings.clone()),
    );
    warnings.extend(
        outcome
            .state
            .iter()
            .flat_map(|state| state.warnings.clone()),
    );
    answer(
        cmd,
        || runs_json::rewind(&outcome, exit_code::DONE),
        || workflow_view::rewind(&outcome),
        &warnings,
    )
}

fn mini(context: &Context, cmd: &CommandContext<'_>, args: &MiniCommitArgs) -> Result<u8> {
    let status = report::status(context, args.step.workflow.as_deref(), false)?;
    // Asked first, so that nothing has been changed if the answer is no.
    if args.project_git && !cmd.global.yes && project_commit_due(&status.run.workflow).is_some() {
        let what = "commit everything in the project's own repository".to_owned();
        cmd.prompt
            .ask(&context.interrupt, what.clone(), &format!("{what}? [y/N] "))?;
    }
    let children = cmd.children(context);
    let commit = |message: &str| {
        let _shield = context.interrupt.shield();
        children.commit_all(message, context.root.path())
    };
    let commit: Option<&CommitInProject<'_>> = if args.project_git {
        Some(&commit)
    } else {
        None
    };
    let outcome = mini_commit(context, &(&args.step).into(), &status.run, commit)?;
    let warnings = outcome
        .step
        .as_ref()
        .map(|step| step.warnings.clone())
        .unwrap_or_default();
    answer(
        cmd,
        || runs_json::mini_commit(&outcome),
        || workflow_view::mini_commit(&outcome),
        &warnings,
    )
}

fn archive(context: &Context, cmd: &CommandContext<'_>, name: &str, args: &RunArgs) -> Result<u8> {
    Ok(ended(
        cmd,
        name,
        &run_lifecycle::archive(context, &args.step())?,
    ))
}

fn abandon(context: &Context, cmd: &CommandContext<'_>, args: &AbandonArgs) -> Result<u8> {
    let outcome = run_lifecycle::abandon(context, &args.run.step(), &args.reason)?;
    Ok(print_step(cmd, "workflow.abandon", &outcome))
}

fn delete(context: &Context, cmd: &CommandContext<'_>, args: &WorkflowDeleteArgs) -> Result<u8> {
    if args.purge && !cmd.global.yes {
        let what = "drop a workflow with all its transitions, for good".to_owned();
        cmd.prompt
            .ask(&context.interrupt, what.clone(), &format!("{what}? [y/N] "))?;
    }
    Ok(ended(
        cmd,
        "workflow.delete",
        &run_lifecycle::delete(context, &args.run.step(), args.purge)?,
    ))
}

fn cleanup(context: &Context, cmd: &CommandContext<'_>, args: &CleanupArgs) -> Result<u8> {
    let options = CleanupOptions {
        max_age_ms: parse_span("--max-age", &args.max_age)?,
        failed_max_age_ms: parse_span("--failed-max-age", &args.failed_max_age)?,
        keep_archives: args.keep_archives,
        dry_run: args.dry_run,
    };
    Ok(ended(
        cmd,
        "workflow.cleanup",
        &run_lifecycle::cleanup(context, options)?,
    ))
}

fn parse_span(option: &'static str, typed: &str) -> Result<i64> {
    time::parse_span(typed).ok_or_else(|| Error::bad_span(option, typed))
}

fn ended(cmd: &CommandContext<'_>, name: &str, outcome: &EndOutcome) -> u8 {
    print_answer(
        cmd,
        || runs_json::ended(name, outcome),
        || workflow_view::ended(outcome),
        &outcome.warnings,
    );
    exit_code::DONE
}
