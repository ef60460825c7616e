//! An empty file where nothing stands, with the directories above it; no link is followed.

use crate::error::Result;
use crate::model::state::rel_path::RelPath;
use crate::worktree::sys::{Access, Dir, is_absent};
use crate::worktree::tree_handle::WorkTree;

/// Makes it, for its owner alone.
///
/// # Errors
/// Something stands there, a link or a file stands where a directory is needed, or the system refuses.
pub fn make(work: &WorkTree, path: &RelPath) -> Result<()> {
    let parent = path.parent().unwrap_or_default();
    let mut dir = work.dir(&RelPath::root())?;
    let mut reached = RelPath::root();
    for name in parent.components() {
        reached = reached.join(name);
        dir = enter(&dir, name).map_err(|error| work.io("make", &reached, error))?;
    }
    dir.create_file(path.name()).map(drop).map_err(|error| work.io("make", path, error))
}

fn enter(dir: &Dir, name: &[u8]) -> std::io::Result<Dir> {
    match dir.open_child(name, Access::Read) {
        Err(error) if is_absent(&error) => {
            dir.make_dir(name)?;
            dir.open_child(name, Access::Read)
        }
        opened => opened,
    }
}
