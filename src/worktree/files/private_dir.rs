//! A directory of our own in the working directory: private, made where it is missing, reached through no symlink.

use std::io::ErrorKind;

use crate::error::Result;
use crate::model::state::rel_path::RelPath;
use crate::worktree::tree_handle::WorkTree;

const PRIVATE: u32 = 0o700;

/// Opens the directory of this name right below the top of `work`. One that stands there keeps its mode.
///
/// # Errors
/// It cannot be made, or something else stands there, perhaps a symlink.
pub fn open_or_make(work: &WorkTree, path: &RelPath) -> Result<WorkTree> {
    match work.root().make_dir(path.name()) {
        // A umask may have taken away what is needed to fill it.
        Ok(()) => {
            let opened = work.root().chmod_child(path.name(), PRIVATE);
            opened.map_err(|error| work.io("set the mode of", path, error))?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(work.io("make", path, error)),
    }
    work.below(path)
}
