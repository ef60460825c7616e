//! `checkpoint diff`.

use std::ffi::OsString;

use crate::ops::browse::diff::compare::DiffOptions;
use crate::ops::browse::diff::file_diff::{Detail, Manner};

/// Show what differs between two checkpoints, or from the directory
///
/// With no SEL the latest checkpoint is compared with the directory as it
/// stands, with one SEL that checkpoint, with two the first with the second.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct DiffArgs {
    /// An id, latest, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", num_args = 0..=2)]
    pub selectors: Vec<String>,
    /// Only these files and directories; literal names, no patterns
    #[arg(value_name = "PATH", last = true)]
    pub paths: Vec<OsString>,
    /// Count the lines of each file that were added and deleted
    #[arg(long, group = "form")]
    pub stat: bool,
    /// Only the names of the files that differ
    #[arg(long, group = "form")]
    pub name_only: bool,
    /// The names, with A, D, M or T for what happened
    #[arg(long, group = "form")]
    pub name_status: bool,
    /// Exit with 1 if there are differences, with 128 on failure
    #[arg(long)]
    pub exit_code: bool,
    /// Put binary contents into the patch, for 'git apply'
    #[arg(long)]
    pub binary: bool,
    /// Unchanged lines to show round each change
    #[arg(short = 'U', long, value_name = "N", default_value_t = 3)]
    pub unified: u32,
}

/// What goes to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffForm {
    Patch,
    Stat,
    NameOnly,
    NameStatus,
    Json,
}

impl DiffArgs {
    pub fn form(&self, json: bool) -> DiffForm {
        match self {
            _ if json => DiffForm::Json,
            Self { stat: true, .. } => DiffForm::Stat,
            Self { name_only: true, .. } => DiffForm::NameOnly,
            Self { name_status: true, .. } => DiffForm::NameStatus,
            _ => DiffForm::Patch,
        }
    }

    pub fn resolve(&self, form: DiffForm) -> DiffOptions {
        let detail = match form {
            DiffForm::Patch => Detail::Patch,
            DiffForm::Stat | DiffForm::Json => Detail::Counts,
            DiffForm::NameOnly | DiffForm::NameStatus => Detail::Names,
        };
        DiffOptions {
            selectors: self.selectors.clone(),
            paths: self.paths.iter().cloned().map(OsString::into_encoded_bytes).collect(),
            manner: Manner { detail, context: self.unified, binary: self.binary },
        }
    }
}
