//! Whether a directory is a store and safe to use: owned by the user, nothing planted, no
//! unexpected file types.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};
use crate::model::checkpoint::manifest;
use crate::store::files::{atomic_file, read_regular};
use crate::store::layout::Layout;
use crate::store::refs::ref_files::{self, Family};

/// Files that would redirect git, or us, elsewhere.
const PLANTED: [&str; 7] = [
    "commondir",
    "gitdir",
    "shallow",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "refs/replace",
];

/// Whether any part of a store exists. A half-made one counts: it will be completed.
///
/// # Errors
/// The path is not a directory.
pub fn is_store(layout: &Layout) -> Result<bool> {
    if let Some(found) = lstat(layout.dir())?.filter(|found| !found.is_dir()) {
        return Err(wrong_kind(layout, layout.dir(), &found, "directory"));
    }
    for path in [
        layout.own(),
        layout.head(),
        layout.refs(),
        layout.objects(),
        layout.manifest(),
    ] {
        if lstat(&path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses a store that another user owns, that leads elsewhere, or in which a file or directory
/// has another type and could block a read. Goes by metadata; reads the manifest only if the
/// objects are missing.
pub fn check(layout: &Layout) -> Result<()> {
    let refuse = |why: String| Error::hostile_store(layout.dir(), why);
    let Some(dir) = lstat(layout.dir())? else {
        return Ok(());
    };
    if !dir.is_dir() {
        return Err(wrong_kind(layout, layout.dir(), &dir, "directory"));
    }
    check_owner(layout.dir(), &dir)?;
    for name in PLANTED {
        if lstat(&layout.dir().join(name))?.is_some() {
            return Err(refuse(format!("{name} was planted in it")));
        }
    }
    if lstat(&layout.objects())?.is_none() && has_no_record(layout) {
        let why = "its objects are missing, and neither refs nor a manifest tell which they were"
            .to_owned();
        return Err(Error::store_unusable(layout.dir(), why));
    }
    let unusable = parts_of_a_wrong_kind(layout)?;
    let wrong = unusable.iter();
    let mut wrong = wrong.map(|(path, found, wanted)| wrong_kind(layout, path, found, wanted));
    let is_attack = |error: &Error| error.code == Code::HOSTILE_STORE;
    wrong
        .clone()
        .find(is_attack)
        .or(wrong.next())
        .map_or(Ok(()), Err)
}

/// Whether nothing tells which checkpoints existed, not even that there were none.
fn has_no_record(layout: &Layout) -> bool {
    let manifest = read_regular::read(&layout.manifest()).unwrap_or_default();
    let has_refs =
        || ref_files::names(layout, Family::Checkpoints).is_ok_and(|names| !names.is_empty());
    !manifest::is_readable(&manifest) && !has_refs()
}

/// Returns paths of the wrong type: not a directory, or not a regular file.
fn parts_of_a_wrong_kind(layout: &Layout) -> Result<Vec<(PathBuf, Metadata, &'static str)>> {
    let mut wrong = Vec::new();
    for path in layout.directories().into_iter().skip(1) {
        wrong.extend(
            lstat(&path)?
                .filter(|found| !found.is_dir())
                .map(|found| (path, found, "directory")),
        );
    }
    for path in layout.files() {
        wrong.extend(
            lstat(&path)?
                .filter(|found| !found.is_file() && !is_put_right(layout, &path, found))
                .map(|found| (path, found, "plain file")),
        );
    }
    Ok(wrong)
}

/// Removes a link in the place of a cache: nothing that it leads to is needed.
fn is_put_right(layout: &Layout, path: &Path, found: &Metadata) -> bool {
    let is_cache = || layout.caches().iter().any(|cache| cache == path);
    found.is_symlink() && is_cache() && atomic_file::remove_if_there(path).is_ok()
}

/// Classifies a wrong file type: a link in the place of a directory may lead to another user's files
/// and is an attack. Anything else is damage: no link is followed to a file.
fn wrong_kind(layout: &Layout, path: &Path, found: &Metadata, wanted: &str) -> Error {
    let inside = layout.name_of(path).unwrap_or_else(|| path.to_path_buf());
    let named = if inside.as_os_str().is_empty() {
        "it".to_owned()
    } else {
        inside.display().to_string()
    };
    let (store, why) = (
        layout.dir().to_path_buf(),
        format!("{named} is no {wanted}"),
    );
    if found.is_symlink() && wanted == "directory" {
        let why = format!("{named} is a symbolic link, and no link is followed in a store");
        Error::hostile_store(&store, why)
    } else if path == layout.exclusion_list() {
        Error::store_unusable(&store, why)
            .advise("'checkpoint verify --repair' keeps all that can be read")
    } else {
        Error::store_unusable(&store, why)
    }
}

/// Whether a path exists; if so, it is a directory of this user.
///
/// # Errors
/// The path is of another type or owned by another user.
pub fn is_own_directory(dir: &Path) -> Result<bool> {
    let Some(found) = lstat(dir)? else {
        return Ok(false);
    };
    if !found.is_dir() {
        return Err(Error::hostile_store(dir, "it is not a directory"));
    }
    check_owner(dir, &found)?;
    Ok(true)
}

#[cfg(unix)]
fn check_owner(dir: &Path, found: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    if found.uid() != me {
        let why = format!(
            "it belongs to user {}, and this process runs as user {me}",
            found.uid()
        );
        return Err(Error::hostile_store(dir, why));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_dir: &Path, _found: &Metadata) -> Result<()> {
    Ok(())
}

fn lstat(path: &Path) -> Result<Option<Metadata>> {
    read_regular::lstat(path).map_err(Error::io("look at", path))
}
