//! `checkpoint create`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::args::contract::ContractArgs;
use crate::model::checkpoint::terms::CheckpointType;
use crate::ops::create::command::{CreateOptions, DedupPolicy};
use crate::ops::create::create_terms::TermsOptions;
use crate::ops::create::gate::GateOptions;
use crate::view::json::copies::manifest;

/// Record the present state of the directory
///
/// Prints the id of the checkpoint, and nothing else, on stdout.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Why: what `list` shows and `restore` finds [default: manual]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Who asks, such as the name of a skill
    /// [default: `CHECKPOINT_SOURCE`, or cli]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// Capture only this path or pattern (several; @FILE has one a line, - reads them)
    #[arg(long, value_name = "GLOB|PATH", allow_hyphen_values = true)]
    pub scope: Vec<OsString>,
    /// Hold this database: a file of SQLite, or a NAME of your configuration (several)
    #[arg(long, value_name = "FILE|NAME", allow_hyphen_values = true)]
    pub db: Vec<OsString>,
    /// How the state is to be held [default: the whole directory]
    #[arg(long = "type", value_name = "TYPE")]
    pub mechanism: Option<Type>,
    /// Record a value that is no file (several); without a --scope, no files are recorded
    #[arg(long, value_name = "KEY=JSON")]
    pub state: Vec<String>,
    /// Record the JSON object in this file (- reads it), as it is
    #[arg(long, value_name = "FILE")]
    pub state_file: Option<PathBuf>,
    /// Make plain copies of a `file_backup` too, under .checkpoints/
    #[arg(long)]
    pub copies: bool,
    /// When a prune may drop it: 24h, a time, or never (as good as a pin)
    #[arg(long, value_name = "WHEN")]
    pub expires: Option<String>,
    /// Checkpoints to keep, for this call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Make nothing above this number of files; 0 is no limit
    #[arg(long, value_name = "N")]
    pub max_files: Option<u64>,
    /// The session for which the size of the directory is judged once
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Judge the size again in this session
    #[arg(long)]
    pub recount: bool,
    /// Capture sensitive files too, all or those of a pattern
    #[arg(long, value_name = "GLOB", num_args = 0..=1, require_equals = true, default_missing_value = "*")]
    pub include_sensitive: Vec<String>,
    /// Take a root that is refused, and any number of files
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub contract: ContractArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Type {
    /// The files in scope that git tracks; the stash of the project is not touched
    GitStash,
    /// Any files
    FileBackup,
    /// Values that are no files
    StateSnapshot,
    /// Databases, each named by --db
    DatabaseSavepoint,
}

impl From<Type> for CheckpointType {
    fn from(typed: Type) -> Self {
        match typed {
            Type::GitStash => Self::GitStash,
            Type::FileBackup => Self::FileBackup,
            Type::StateSnapshot => Self::StateSnapshot,
            Type::DatabaseSavepoint => Self::DatabaseSavepoint,
        }
    }
}

impl CreateArgs {
    /// `scope` is what the options name, with all that stands in their files; `state` what the file of values holds.
    pub fn into_options(self, scope: Option<Vec<Vec<u8>>>, state: Option<Vec<u8>>) -> CreateOptions {
        let args = self;
        let terms = TermsOptions {
            scope,
            databases: args.db.into_iter().map(OsString::into_encoded_bytes).collect(),
            mechanism: args.mechanism.map(CheckpointType::from),
            expires: args.expires,
            state_file: args.state_file.zip(state),
            state: args.state,
        };
        CreateOptions {
            standing: DedupPolicy::default(),
            reason: args.reason,
            source: args.source,
            keep: args.keep.map(|keep| keep as usize),
            gate: GateOptions { max_files: args.max_files, session: args.session, recount: args.recount },
            force: args.force,
            include_sensitive: args.include_sensitive,
            terms,
            copies: args.copies.then_some(manifest),
        }
    }
}
