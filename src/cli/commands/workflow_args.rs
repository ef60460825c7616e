//! `checkpoint workflow`: arguments of each command.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::commands::phase::StepArgs;
use crate::workflow::engine::step::StepOptions;

/// Keep the state of a run of phases, and resume it after an interruption
///
/// Each transition is a commit in the store, under refs/workflows. With
/// --profile the run is kept in the files of other programs too; what is
/// edited there is taken in by the next command.
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
    /// Check plan, order, times, tasks and outputs of a run
    Validate(RunArgs),
    /// Tell which phases of a plan should come earlier
    Lint(RunArgs),
    Recover(RecoverArgs),
    Interrupt(InterruptArgs),
    MiniCommit(MiniCommitArgs),
    /// Put a run aside as it is
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
    /// Its id, the beginning of it, its project, type or description [default: the newest that is open]
    #[arg(value_name = "WORKFLOW")]
    pub workflow: Option<String>,
}

impl RunArgs {
    pub fn step(&self) -> StepOptions {
        StepOptions { workflow: self.workflow.clone(), ..StepOptions::default() }
    }
}

/// Show where a run stands, and what changed since
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowStatusArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// What a state file of another program says; nothing is recorded
    #[arg(long, value_name = "PATH", conflicts_with = "workflow")]
    pub file: Option<PathBuf>,
}

/// Begin a run
#[derive(Clone, Debug, clap::Args)]
pub struct InitArgs {
    /// What kind of run it is, such as implement
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// What it works on [default: the name of the directory]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// What is to be reached, in a line
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Keep it in the files of phases, pipeline or registry too
    #[arg(long, value_name = "PROFILE,…")]
    pub profile: Vec<String>,
    /// A plan that is built in: dotagent
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// A plan as JSON: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// One phase, and those on which it depends
    #[arg(long = "phase", value_name = "ID[:NAME[:ID,…]]")]
    pub phases: Vec<String>,
    /// The branch on which the work goes on [default: what HEAD says]
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The id [default: <type>_<project>_<time>]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Who does it [default: as create has it]
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
}

/// List the runs, the newest first
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowListArgs {
    /// Those of one type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Those that were put aside, too
    #[arg(long)]
    pub all: bool,
}

/// Show one run and what happened in it
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowShowArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// The state itself, as JSON
    #[arg(long)]
    pub raw: bool,
    /// Upper limit of transitions
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Say what is to be done next
#[derive(Clone, Debug, clap::Args)]
pub struct NextArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// All phases that may begin side by side
    #[arg(long)]
    pub parallel: bool,
}

/// Show where a run stands, ask, and go on with it
///
/// Without a terminal nothing is asked: it shows the same, ends with 4 and names
/// the answers. A run with which something is wrong is not gone on with unless
/// --anyway says so.
#[derive(Clone, Debug, clap::Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// The answer: y, n, restart, abandon, pick:ID; with registry r, s, v, d
    #[arg(long, value_name = "ANSWER")]
    pub choose: Option<String>,
    /// Go on with it although 'workflow validate' finds something wrong
    #[arg(long)]
    pub anyway: bool,
}

/// Take files, state or both back to right before a phase began
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[derive(Clone, Debug, clap::Args)]
pub struct RewindArgs {
    /// The phase; for the state alone a revision will do
    #[arg(value_name = "PHASE")]
    pub to: String,
    /// The files, as 'checkpoint restore' does it
    #[arg(long, conflicts_with_all = ["state", "both"])]
    pub files: bool,
    /// The state of the run
    #[arg(long, conflicts_with = "both")]
    pub state: bool,
    /// Files and state
    #[arg(long)]
    pub both: bool,
    /// Tell what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Set keys of the run, or of its free state
#[derive(Clone, Debug, clap::Args)]
pub struct SetArgs {
    /// JSON, or text that is none; null takes the key away
    #[arg(value_name = "KEY=VALUE", required = true)]
    pub pairs: Vec<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Note decisions and files that a new session should know of
#[derive(Clone, Debug, clap::Args)]
pub struct NoteArgs {
    /// What was decided
    #[arg(long, value_name = "TEXT")]
    pub decision: Vec<String>,
    /// What was made or changed
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    /// The branch on which the work goes on
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Compare two states of a run
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowDiffArgs {
    /// Revisions: digits of one, @ or @~N [default: the last two]
    #[arg(value_name = "REVISION", num_args = 0..=2)]
    pub revisions: Vec<String>,
    /// Which run
    #[arg(short = 'w', long, value_name = "WORKFLOW")]
    pub workflow: Option<String>,
}

/// Mend what an interruption left, or settle a file that could not be read
#[derive(Clone, Debug, clap::Args)]
pub struct RecoverArgs {
    /// A run; with --take the path of a file
    #[arg(value_name = "WORKFLOW|PATH")]
    pub what: Option<String>,
    /// What counts: file, state or none; what is replaced is put aside first
    #[arg(long, value_name = "SIDE", value_parser = ["file", "state", "none"], conflicts_with = "dry_run")]
    pub take: Option<String>,
    /// Tell what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Note that the run was cut off
#[derive(Clone, Debug, clap::Args)]
pub struct InterruptArgs {
    /// Why, in a word or two
    #[arg(long, value_name = "TEXT", default_value = "interrupted")]
    pub reason: String,
    #[command(flatten)]
    pub step: StepArgs,
}

/// Make the checkpoint that is due after every third phase
#[derive(Clone, Debug, clap::Args)]
pub struct MiniCommitArgs {
    /// Commit everything in the project's own repository, too
    #[arg(long)]
    pub project_git: bool,
    #[command(flatten)]
    pub step: StepArgs,
}

/// End a run and put it aside
#[derive(Clone, Debug, clap::Args)]
pub struct AbandonArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
}

/// Put a run aside and remove its files; it can be read for ever
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowDeleteArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Drop it with all its transitions, and the files that it left in the archives
    #[arg(long)]
    pub purge: bool,
}

/// Put old runs aside, and remove what failed long ago
#[derive(Clone, Debug, clap::Args)]
pub struct CleanupArgs {
    /// Open runs that were not touched for so long
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub max_age: String,
    /// Failed and abandoned ones
    #[arg(long, value_name = "TIME", default_value = "30d")]
    pub failed_max_age: String,
    /// Folders of old files that stay in memory/state/.archive
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub keep_archives: usize,
    /// Tell what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Make a run from a document of another program
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// The document: a file, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its format [default: as it looks]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// For a state that names no type: the type of its run
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Its project
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
    /// phases, pipeline, registry, plan or state [default: as it is kept]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The newest of a type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The newest of a project
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

/// Print the state of a pipeline in which nothing is planned yet
#[derive(Clone, Debug, clap::Args)]
pub struct SkeletonArgs {
    /// The branch on which the work goes on
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
}

/// Write the scripts that skills name, two lines each
#[derive(Clone, Debug, clap::Args)]
pub struct ShimsArgs {
    /// Where to, inside the directory, such as .claude/utils
    // `--dir` is the directory to act on, of every command.
    #[arg(long, value_name = "FOLDER")]
    pub into: PathBuf,
    /// Write over other files of these names
    #[arg(long)]
    pub force: bool,
}
