//! `checkpoint restore`, `undo` and `redo`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::args::contract::ContractArgs;
use crate::ops::restore::commands::RestoreOptions;
use crate::ops::restore::restore_options::CommonOptions;
use crate::ops::restore::to_directory::RestoreToOptions;

/// Make the directory what it was at a checkpoint
///
/// What stands there now is kept in a safety checkpoint first; `checkpoint
/// undo` brings it back. Files that the checkpoint left out by its rules are
/// left alone.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// An id, latest, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", required_unless_present = "resume")]
    pub selector: Option<String>,
    /// Only these files and directories; literal names, no patterns
    #[arg(value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// Write what the checkpoint has, and delete nothing
    #[arg(long)]
    pub overlay: bool,
    /// Put set-uid, set-gid and sticky bits back too
    #[arg(long)]
    pub restore_suid: bool,
    /// Write into this new or empty directory, and leave this one as it is
    #[arg(long, value_name = "DIR", conflicts_with_all = ["overlay", "keep", "contract"])]
    pub to: Option<PathBuf>,
    /// Run this shell command afterwards, and exit with 5 if it fails
    #[arg(long, value_name = "CMD", conflicts_with_all = ["dry_run", "contract"], value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub check: Option<String>,
    /// Finish a restore that was interrupted
    #[arg(long, conflicts_with_all = ["selector", "paths", "overlay", "restore_suid", "dry_run", "to", "check"])]
    pub resume: bool,
    #[command(flatten)]
    pub contract: ContractArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Take the last restore back
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Give back what the last undo took away
#[derive(Debug, clap::Args)]
pub struct RedoArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub struct CommonArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Checkpoints to keep, for this call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
}

impl CommonArgs {
    pub fn resolve(&self, yes: bool) -> CommonOptions {
        CommonOptions { yes, dry_run: self.dry_run, keep: self.keep.map(|keep| keep as usize) }
    }
}

impl RestoreArgs {
    pub fn resolve(self, yes: bool) -> RestoreOptions {
        RestoreOptions {
            selector: self.selector.unwrap_or_default(),
            paths: self.paths.into_iter().map(OsString::into_encoded_bytes).collect(),
            overlay: self.overlay,
            special_bits: self.restore_suid,
            common: self.common.resolve(yes),
        }
    }

    /// The same for another directory, by its absolute path.
    pub fn resolve_to(self, to: PathBuf) -> RestoreToOptions {
        let RestoreOptions { selector, paths, special_bits, common, .. } = self.resolve(true);
        RestoreToOptions { selector, paths, to, special_bits, dry_run: common.dry_run }
    }
}
