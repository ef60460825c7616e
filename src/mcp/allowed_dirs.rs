//! The directories in which a server may act.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::ops::find_root::{Place, exactly};

/// Canonical paths; what lies below them is allowed too.
#[derive(Clone, Debug)]
pub struct AllowedDirs {
    /// The directory of calls that name none.
    usual: PathBuf,
    tops: Vec<PathBuf>,
}

impl AllowedDirs {
    /// `reaches_below` says whether directories below the usual one are allowed.
    ///
    /// # Errors
    /// One of them does not exist.
    pub fn new(usual: &Path, reaches_below: bool, others: &[PathBuf]) -> Result<Self> {
        let usual = exactly(usual)?.path().to_path_buf();
        let mut tops = Vec::new();
        for other in others {
            tops.push(exactly(other)?.path().to_path_buf());
        }
        if reaches_below {
            tops.push(usual.clone());
        }
        Ok(Self { usual, tops })
    }

    /// Returns where a call acts: a directory that it names may belong to a root above.
    pub fn place(&self, dir: &Path) -> Place {
        Place {
            dir: dir.to_path_buf(),
            is_exact: dir == self.usual,
        }
    }

    pub fn usual(&self) -> &Path {
        &self.usual
    }

    /// Finds the directory that a call names, by its canonical path.
    ///
    /// # Errors
    /// It does not exist, or is not allowed.
    pub fn find(&self, typed: Option<&str>) -> Result<PathBuf> {
        let Some(typed) = typed else {
            return Ok(self.usual.clone());
        };
        let dir = self.usual.join(typed);
        // What lies outside is not even told to be missing.
        let outside = |_| Error::dir_not_allowed(&dir);
        let found = exactly(&dir).map_err(outside)?;
        self.check(found.path())?;
        Ok(found.path().to_path_buf())
    }

    /// # Errors
    /// A canonical path is not allowed.
    pub fn check(&self, dir: &Path) -> Result<()> {
        if dir == self.usual || self.tops.iter().any(|top| dir.starts_with(top)) {
            return Ok(());
        }
        Err(Error::dir_not_allowed(dir))
    }
}
