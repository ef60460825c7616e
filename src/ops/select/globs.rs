//! Parses `--glob` and `--exclude`.

use crate::base::text::escape_bytes;
use crate::error::{Error, Result};
use crate::model::path_filter::PathFilter;
use crate::model::state::scope::{Scope, ScopePart};
use crate::ops::restore::restore_paths;
use crate::worktree::root::Root;

/// Patterns as typed.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    pub only: Vec<Vec<u8>>,
    pub except: Vec<Vec<u8>>,
}

impl Globs {
    /// # Errors
    /// A pattern can match nothing.
    pub fn parse(&self, root: &Root) -> Result<PathFilter> {
        let part = |typed: &Vec<u8>| {
            let glob = ScopePart::glob(restore_paths::inside(root, typed));
            glob.filter(|_| !typed.is_empty())
                .ok_or_else(|| Error::Usage {
                    what: format!("the pattern '{}' can match nothing", escape_bytes(typed)),
                })
        };
        let scope = |typed: &[Vec<u8>]| -> Result<Option<Scope>> {
            let parts = typed.iter().map(part).collect::<Result<Vec<_>>>()?;
            Ok((!parts.is_empty()).then(|| Scope::new(parts)))
        };
        let (only, except) = (scope(&self.only)?, scope(&self.except)?);
        Ok(PathFilter { only, except })
    }
}
