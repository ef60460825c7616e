//! `checkpoint workflow`: arguments of each command.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::commands::phase::StepArgs;
use crate::workflow::engine::step::StepOptions;

/// Record a run of phases, and resume it after an interruption
///
/// Each transition is a commit in the store, under refs/workflows. With --profile the run is also kept in the files of
/// other programs; the next command imports edits of these files.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowArgs {
    #[command(subcommand)]
    pub command: WorkflowCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub enum WorkflowCommand {
    Init(InitArgs),
    Status(WorkflowStatusArgs),
    List(WorkflowListArgs),
    Show(WorkflowShowArgs),
    Next(NextArgs),
    Resume(ResumeArgs),
    Rewind(RewindArgs),
    Set(SetArgs),
    Note(NoteArgs),
    Diff(WorkflowDiffArgs),
    /// Check the plan, order, times, tasks and outputs of a run
    Validate(RunArgs),
    /// Suggest phases of a plan that should come earlier
    Lint(RunArgs),
    Recover(RecoverArgs),
    Interrupt(InterruptArgs),
    MiniCommit(MiniCommitArgs),
    /// Archive a run as it is
    Archive(RunArgs),
    Abandon(AbandonArgs),
    Delete(WorkflowDeleteArgs),
    Cleanup(CleanupArgs),
    Import(ImportArgs),
    Export(ExportArgs),
    Skeleton(SkeletonArgs),
    Shims(ShimsArgs),
}

impl WorkflowCommand {
    /// Returns the name in the JSON schema.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Init(_) => "workflow.init",
            Self::Status(_) => "workflow.status",
            Self::List(_) => "workflow.list",
            Self::Show(_) => "workflow.show",
            Self::Next(_) => "workflow.next",
            Self::Resume(_) => "workflow.resume",
            Self::Rewind(_) => "workflow.rewind",
            Self::Set(_) => "workflow.set",
            Self::Note(_) => "workflow.note",
            Self::Diff(_) => "workflow.diff",
            Self::Validate(_) => "workflow.validate",
            Self::Lint(_) => "workflow.lint",
            Self::Recover(_) => "workflow.recover",
            Self::Interrupt(_) => "workflow.interrupt",
            Self::MiniCommit(_) => "workflow.mini_commit",
            Self::Archive(_) => "workflow.archive",
            Self::Abandon(_) => "workflow.abandon",
            Self::Delete(_) => "workflow.delete",
            Self::Cleanup(_) => "workflow.cleanup",
            Self::Import(_) => "workflow.import",
            Self::Export(_) => "workflow.export",
            Self::Skeleton(_) => "workflow.skeleton",
            Self::Shims(_) => "workflow.shims",
        }
    }
}

// No doc comment: the commands have their own descriptions.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RunArgs {
    /// Run: its id or the beginning of it, its project, type or description [default: the newest open one]
    #[arg(value_name = "WORKFLOW")]
    pub workflow: Option<String>,
}

impl RunArgs {
    pub fn step(&self) -> StepOptions {
        StepOptions { workflow: self.workflow.clone(), ..StepOptions::default() }
    }
}

/// Show the state of a run, and what changed since
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowStatusArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// State file of another program to show, without recording it
    #[arg(long, value_name = "PATH", conflicts_with = "workflow")]
    pub file: Option<PathBuf>,
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
}

/// Show the state of a run, ask, and resume it
///
/// Without a terminal it asks nothing: it shows the same, exits with 4 and names the answers. A run with errors is
/// resumed only with --anyway.
#[derive(Clone, Debug, clap::Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Answer: y, n, restart, abandon or pick:ID; with registry r, s, v or d
    #[arg(long, value_name = "ANSWER")]
    pub choose: Option<String>,
    /// Resume even if 'workflow validate' finds errors
    #[arg(long)]
    pub anyway: bool,
}

/// Take files, state or both back to right before a phase
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
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

/// Compare two states of a run
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowDiffArgs {
    /// Revisions: beginnings of ids, @ or @~N [default: the last two]
    #[arg(value_name = "REVISION", num_args = 0..=2)]
    pub revisions: Vec<String>,
    /// Run [default: the newest open one]
    #[arg(short = 'w', long, value_name = "WORKFLOW")]
    pub workflow: Option<String>,
}

/// Repair a run after an interruption, or settle an unreadable state file
#[derive(Clone, Debug, clap::Args)]
pub struct RecoverArgs {
    /// Run; with --take, path of a file
    #[arg(value_name = "WORKFLOW|PATH")]
    pub what: Option<String>,
    /// Side that counts: file, state or none; what it replaces is kept aside
    #[arg(long, value_name = "SIDE", value_parser = ["file", "state", "none"], conflicts_with = "dry_run")]
    pub take: Option<String>,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
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

/// Make a run from a document of another program
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// Document: a file, or - for stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of the document [default: detected]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Type of the run, for a document that names none
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Project of the run, for a document that names none
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Keep it in the files of its format from now on
    #[arg(long)]
    pub keep_files: bool,
}

/// Write a run as a document of another program
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Format: phases, pipeline, registry, plan or state [default: its own]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Newest run of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Newest run of this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

/// Print the state of a pipeline without any plan
#[derive(Clone, Debug, clap::Args)]
pub struct SkeletonArgs {
    /// Branch of the work
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
}

/// Write the small scripts that skills call
#[derive(Clone, Debug, clap::Args)]
pub struct ShimsArgs {
    /// Folder for the scripts inside the directory, such as .claude/utils
    // `--dir` is the directory to act on, of every command.
    #[arg(long, value_name = "FOLDER")]
    pub into: PathBuf,
    /// Overwrite other files of these names
    #[arg(long)]
    pub force: bool,
}
