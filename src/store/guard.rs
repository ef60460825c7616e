//! Whether a directory is a store, and one that may be used: ours, and without anything planted in it.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};
use crate::store::layout::Layout;

/// Whether anything of a store is there. A half-made one counts: it will be completed.
pub fn is_store(layout: &Layout) -> Result<bool> {
    for path in [layout.own(), layout.head(), layout.refs(), layout.objects()] {
        if lstat(&path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses a store that another user owns or that leads git elsewhere.
pub fn check(layout: &Layout) -> Result<()> {
    let refuse = |why: String| Error::HostileStore { store: layout.dir().to_path_buf(), why };
    if !is_own_directory(layout.dir())? {
        return Ok(());
    }
    for inside in layout.directories().iter().skip(1) {
        if lstat(inside)?.is_some_and(|found| !found.is_dir()) {
            return Err(refuse(format!("{} is no directory", inside.display())));
        }
    }
    let planted = [
        "commondir",
        "gitdir",
        "shallow",
        "info/grafts",
        "objects/info/alternates",
        "objects/info/http-alternates",
        "refs/replace",
    ];
    for name in planted {
        if lstat(&layout.dir().join(name))?.is_some() {
            return Err(refuse(format!("{name} was planted in it")));
        }
    }
    Ok(())
}

/// Whether something is there; if so it is a plain directory of this user.
///
/// # Errors
/// It is something else, or another user's.
pub fn is_own_directory(dir: &Path) -> Result<bool> {
    let refuse = |why: String| Error::HostileStore { store: dir.to_path_buf(), why };
    let Some(found) = lstat(dir)? else { return Ok(false) };
    if !found.is_dir() {
        return Err(refuse("it is no directory".into()));
    }
    check_owner(&found).map_err(refuse)?;
    Ok(true)
}

#[cfg(unix)]
fn check_owner(dir: &Metadata) -> std::result::Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    if dir.uid() != me {
        return Err(format!("it belongs to user {}, and this process runs as user {me}", dir.uid()));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_dir: &Metadata) -> std::result::Result<(), String> {
    Ok(())
}

fn lstat(path: &Path) -> Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io("look at", path)(e)),
    }
}
